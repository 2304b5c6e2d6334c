"""The pixels of a row that a tile sees, with neighbouring outputs in neighbouring lanes.

With a stride, the pixels of a tap are, but for one, those of another tap at the outputs to the
right or left: vectors are loaded for some taps, and shifted by a lane for the others.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.shuffles import every_nth


class PixelSources:
    """Where the pixels of each shift come from.

    Args:
        shifts: the pixel's column less the output's column times the stride.
        stride: the distance of the pixels of neighbouring outputs.
        lanes: of a vector.
    """

    stride: int
    lanes: int

    def __init__(self, shifts: Sequence[int], stride: int, lanes: int) -> None:
        self.stride, self.lanes = stride, lanes
        self._shifts = frozenset(shifts)
        quotients = {shift // stride for shift in shifts}
        self._base = min((q for q in quotients if q >= 0), default=max(quotients))

    def neighbour(self, shift: int) -> int | None:
        """Return the shift whose pixels are the same but for a lane, or None."""
        quotient = shift // self.stride
        if self.stride == 1 or quotient == self._base:
            return None
        other = shift + (self.stride if quotient < self._base else -self.stride)
        return other if other in self._shifts else None

    def loads(self, shift: int, col: Index) -> list[int]:
        """Return the first pixels of the vectors that are loaded for a shift, relative to the tile.

        Args:
            shift: the pixel's column less the output's column times the stride.
            col: the tile's first column.
        """
        other, last = self.neighbour(shift), self.lanes - 1
        if other is None:
            first = shift // self.stride * self.stride
            return [first + number * self.lanes for number in range(self.stride)]
        if shift > other:
            return [shift + last * self.stride]
        outside = isinstance(col, int) and col * self.stride + shift < 0
        return [] if outside else [shift - last]


class Shifter:
    """Shifts vectors by a lane.

    LLVM shifts vectors that contain zeros or are not integers by slower instructions, so values are
    made opaque.

    Args:
        emit: where to write.
        vector: the type of the vectors.
        around: the padding.
        opaque: whether the target has register barriers.
    """

    def __init__(
        self, emit: Emitter, vector: ir.VectorType, around: ir.Value, opaque: bool
    ) -> None:
        self._emit, self._vector, self._opaque = emit, vector, opaque
        bits = ir.IntegerType.get_signless(vector.element_type.width)
        self._bits = ir.VectorType.get(vector.shape, bits)
        self._around = around
        if opaque:
            (self._around,) = emit.register_barrier([self._cast(around, self._bits)])

    def shift(self, pixels: ir.Value, edge: ir.Value | None, up: bool) -> ir.Value:
        """Return pixels a lane up or down; the new lane comes from `edge`, or is padding."""
        lanes = self._vector.shape[0]
        order = [2 * lanes - 1, *range(lanes - 1)] if up else [*range(1, lanes), lanes]
        if not self._opaque:
            return self._emit.shuffle(pixels, self._around if edge is None else edge, order)
        other = self._around if edge is None else self._cast(edge, self._bits)
        moved = self._emit.shuffle(self._cast(pixels, self._bits), other, order)
        return self._cast(self._emit.register_barrier([moved])[0], self._vector)

    def _cast(self, value: ir.Value, type_: ir.VectorType) -> ir.Value:
        return value if value.type == type_ else self._emit.op("vector.bitcast", [value], type_)


class RowPixels:
    """Loads the pixels of a row when they are used, each once.

    Args:
        emit: where to write.
        sources: where they come from.
        col: the first column of outputs.
        load: loads adjacent pixels.
        shifter: shifts vectors.
    """

    def __init__(
        self, emit: Emitter, sources: PixelSources, col: Index, load: Callable[[int], ir.Value],
        shifter: Shifter,
    ) -> None:  # fmt: skip
        self._emit, self._sources, self._col = emit, sources, col
        self._load, self._shifter = load, shifter
        self._loaded: dict[int, ir.Value] = {}
        self._picked: dict[int, ir.Value] = {}

    def at(self, shift: int) -> ir.Value:
        """Return the pixels of a shift."""
        if shift not in self._picked:
            self._picked[shift] = self._pick(shift)
        return self._picked[shift]

    def _pick(self, shift: int) -> ir.Value:
        vectors = [*map(self._vector, self._sources.loads(shift, self._col))]
        other = self._sources.neighbour(shift)
        if other is None:
            return every_nth(self._emit, vectors, shift % self._sources.stride)
        edge = vectors[0] if vectors else None
        return self._shifter.shift(self.at(other), edge, shift < other)

    def _vector(self, first: int) -> ir.Value:
        if first not in self._loaded:
            self._loaded[first] = self._load(first)
        return self._loaded[first]


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
