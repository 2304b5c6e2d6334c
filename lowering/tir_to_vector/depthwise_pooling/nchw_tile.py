"""Tiles of outputs of planes, and the masks of their loads."""

from dataclasses import dataclass, replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index


@dataclass
class Tile:
    """Rows of outputs that are computed together.

    Attributes:
        row: the first row.
        rows: the number of rows.
        left: how many of them exist.
        col: the first column.
        mask: the lanes that are outputs, None for all.
        inside: whether a whole vector of columns is before this one.
        follows: whether there are columns after this vector.
    """

    row: Index
    rows: int
    left: Index
    col: Index = 0
    mask: ir.Value | None = None
    inside: bool = False
    follows: bool = False

    def of_rows(self, other: "Tile") -> "Tile":
        """Return a tile with these columns and another's rows."""
        return replace(self, row=other.row, rows=other.rows, left=other.left)


class PixelMasks:
    """Masks of adjacent pixels that are in the image.

    Args:
        emit: where to write.
        machine: what for.
        lanes: of a vector.
        count: pixels of a row.
        stride: the distance of the pixels of neighbouring outputs.
        sure: how far to the right of an output's pixel there are pixels in any case.
    """

    def __init__(
        self, emit: Emitter, machine: Machine, lanes: int, count: Index, stride: int, sure: int
    ) -> None:
        self._emit, self._machine, self._lanes = emit, machine, lanes
        self._count, self._stride, self._sure = count, stride, sure
        self.type: ir.VectorType = ir.VectorType.get([lanes], emit.bool_type)

    def mask(self, tile: Tile, first: int) -> ir.Value | None:
        """Return a mask of adjacent pixels, None for all.

        Args:
            tile: the tile that loads them.
            first: the first pixel, relative to the tile's.
        """
        emit, lanes, stride = self._emit, self._lanes, self._stride
        at = emit.add(emit.mul(tile.col, stride), first)
        # A masked vector has at least one output.
        more = 0 if tile.mask is not None else lanes - 1 + tile.follows
        mask = None
        if first + lanes - 1 > self._sure + more * stride:
            mask = emit.mask(emit.sub(self._count, at), lanes)
        if first < 0 and not (tile.inside and -first <= lanes * stride):
            mask = self.without(mask, emit.sub(0, at))
        return mask

    def without(self, mask: ir.Value | None, count: Index) -> ir.Value:
        """Return a mask, or that of all lanes, with its first lanes off."""
        off = self._emit.mask(count, self._lanes)
        on = self._emit.op("arith.xori", [off, self._emit.constant(self.type, 1)], self.type)
        return on if mask is None else self._emit.both(mask, on)

    def kept(self, mask: ir.Value | None) -> ir.Value | None:
        """Return a mask in a register: otherwise each use would compute it again."""
        if mask is None or not self._machine.isa.tables or _is_constant(mask):
            return mask
        return self._emit.register_barrier([mask])[0]


def _is_constant(value: ir.Value) -> bool:
    """Whether a value depends on constants only."""
    if isinstance(value.owner, ir.Block):
        return False
    op = value.owner.operation
    return op.name == "arith.constant" or (
        len(op.operands) > 0 and all(map(_is_constant, op.operands))
    )
