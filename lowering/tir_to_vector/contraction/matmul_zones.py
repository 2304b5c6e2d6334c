"""How a block's columns are cut into register tiles of three vectors, and of two for the rest."""

from dataclasses import dataclass

from relax_mlir.lowering.tir_to_vector.contraction.microkernel import VECTORS
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index

_WIDE = 3


@dataclass(frozen=True)
class Zone:
    """Columns of a block whose tiles have one width.

    Attributes:
        vectors: of a tile.
        first, last: the range of columns, counted from the block's first.
        masked: whether the last tile may have fewer columns.
    """

    vectors: int
    first: Index
    last: Index
    masked: bool


def zones(emit: Emitter, columns: Index, lanes: int, exact: bool) -> list[Zone]:
    """Cut columns into tiles: as many vectors as there are in threes, the rest in twos.

    One vector that is left over goes with a three as two times two: a tile of one alone would load
    more than it multiplies.

    Args:
        emit: where to write.
        columns: how many there are.
        lanes: of a vector.
        exact: whether vectors are known to be full.
    """
    count = emit.div(emit.add(columns, lanes - 1), lanes)
    if isinstance(columns, int) and isinstance(count, int):
        rest = min(2 * (2 * count % _WIDE), count)
        done = min((count - rest) * lanes, columns)
        partial = columns % lanes != 0
        both = [
            Zone(_WIDE, 0, done, partial and not rest),
            Zone(VECTORS, done, columns, partial or rest % 2 != 0),
        ]
        return [zone for zone in both if zone.first != zone.last]
    double = emit.mul(count, 2)
    rest = emit.mul(emit.sub(double, emit.round_down(double, _WIDE)), 2)
    done = emit.mul(emit.max(emit.sub(count, rest), 0), lanes)
    done = emit.min(done, columns)
    return [Zone(_WIDE, 0, done, not exact), Zone(VECTORS, done, columns, True)]
