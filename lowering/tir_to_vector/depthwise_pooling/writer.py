"""What kernels of depthwise convolution and pooling share: sizes, addresses, loads and stores."""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.tir_to_vector.contraction.operands import Layout, Loader
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.pattern import DepthwisePool
from relax_mlir.lowering.tir_to_vector.emit import Emitter, multiply_add
from relax_mlir.lowering.tir_to_vector.flat import row_major_strides
from relax_mlir.lowering.tir_to_vector.index_emit import Index, Span, ceil_div
from relax_mlir.lowering.tir_to_vector.nest_elements import work_of
from relax_mlir.lowering.tir_to_vector.parallel_region import ParallelDim
from relax_mlir.lowering.tir_to_vector.shuffles import every_nth
from relax_mlir.lowering.tir_to_vector.window import WindowWriter

# Taps of windows that are unrolled whole; larger windows are unrolled along their rows.
MAX_ELEMENTS = 36
# Rows of a register tile: the first that divides the rows, and those of dynamic tails.
ROWS = (7, 8, 6, 5, 4)
REST_ROWS = 4


class DepthwisePoolWriter(WindowWriter, ABC):
    """The sizes of planes and windows.

    Attributes:
        size: elements of the buffer for a plane, or for a row of it.
    """

    size: Index

    pool: DepthwisePool

    def __init__(self, pool: DepthwisePool, emit: Emitter) -> None:
        super().__init__(pool, emit)
        self.pool = pool
        self.weight: Layout | None = None if pool.weight is None else Layout(pool.weight, emit)
        source = pool.image.buffer if pool.padded is None else pool.padded.source
        self.source: ir.Value = emit.flatten_once(source)
        self.source_strides: list[Index] = [*map(emit.size, row_major_strides(source))]
        self.befores: list[int] = (
            [0] * len(pool.axes) if pool.padded is None else pool.padded.before
        )
        self.reach: list[Index] = [self._reach(axis.inner) for axis in pool.axes]
        self.counts: list[Index] = [self._count(d) for d in range(len(pool.axes))]
        # The place of the present plane.
        self.start: Index = 0
        self._shape()

    def _reach(self, inner: dict[int, int]) -> Index:
        """Return how many elements of a dimension the windows of a plane see."""
        reach = SymExpr.const(1)
        for i, factor in inner.items():
            reach = reach + (self.pool.flat.iters[i].extent - 1) * factor
        return self.emit.size(reach)

    def _count(self, d: int) -> Index:
        """Return how many of them are in the image."""
        emit, padded = self.emit, self.pool.padded
        count = self.reach[d] - self.befores[d]
        if padded is not None and not self.pool.axes[d].outer:
            count = emit.min(count, emit.size(padded.sizes[d]))
        return count

    @contextmanager
    def _spread(self, unit: int) -> Iterator[tuple[dict[int, Span], Span]]:
        """Split the work: planes, the longest iterator first, or rows of outputs.

        Args:
            unit: rows that go together.

        Yields:
            What a thread does of the outer iterators, in the order of loops, and of rows.
        """
        emit, order = self.emit, self._longest_first()
        parts = [ParallelDim(self.extent(i), min_extent=2 * emit.threads) for i in order]
        parts.append(ParallelDim(self.extent(self.pool.row), unit))
        with emit.parallel_region(parts, work_of(emit, self.pool.flat, 1)) as (*ranges, rows):
            yield dict(zip(order, ranges, strict=True)), rows

    def _longest_first(self) -> list[int]:
        """Return the iterators over planes, those of known extents by them."""
        extents = {i: self.extent(i) for i in self.pool.outer}
        return sorted(extents, key=lambda i: -e if isinstance(e := extents[i], int) else 0)

    def _filled(self, size: Index, number: ir.Attribute | None) -> ir.Value:
        """Allocate a buffer and fill it, with whole vectors of a number, zeros for None."""
        emit = self.emit
        buffer = emit.alloc(size, self.pool.element)
        fill = self.splat(number)
        with emit.loop(0, size, self.lanes) as at:
            emit.vector_store(fill, buffer, [at.counter])
        return buffer

    @property
    def element_bytes(self) -> int:
        """The bytes of an element of the buffer."""
        return max(8, self.pool.element.width) // 8

    def _fill_value(self) -> ir.Value:
        """Return a vector of padding."""
        return self.splat(self.pool.fill)

    def load(
        self, at: Index, mask: ir.Value | None = None, other: ir.Value | None = None
    ) -> ir.Value:
        """Load adjacent pixels in the type of the sum; masked-off lanes are `other`, or zero."""
        widen = self.pool.widen[0]
        if widen is None:
            return self.emit.vector_load(self.source, [at], self.vector, mask, other)
        value = Loader(self.emit, self.source, widen, self.vector).vectors(at, mask)
        if mask is None or other is None:
            return value
        return self.emit.op("arith.select", [mask, value, other], self.vector)

    def splat(self, number: ir.Attribute | None) -> ir.Value:
        """Return a number in all lanes, zeros for None."""
        if number is None:
            return self.emit.constant(self.vector, 0)
        return self.emit.constant_of(self.vector, number)

    def output(self, env: dict[int, Index], row: Index, col: Index) -> dict[int, Index]:
        """Return the counters of an output of a plane."""
        there = {**env, self.pool.col: col}
        return there if self.pool.row is None else {**there, self.pool.row: row}

    def plane_at(self, env: dict[int, Index]) -> Index:
        """Return the place of a plane's first element in the image."""
        place: Index = 0
        for axis, stride in zip(self.pool.axes, self.source_strides, strict=True):
            first: Index = axis.constant
            for i, factor in axis.outer.items():
                first += env[i] * factor
            place += first * stride
        return place

    def _elements(self, env: dict[int, Index]) -> dict[tuple[int, ...], ir.Value | None] | None:
        """Return the weights as vectors, None if they are too many."""
        pool = self.pool
        sizes = [pool.flat.iters[i].extent.value for i in pool.reductions]
        known = [size for size in sizes if size is not None]
        if len(known) < len(sizes) or math.prod(known) > MAX_ELEMENTS:
            return None
        values: dict[tuple[int, ...], ir.Value | None] = {}
        for steps in itertools.product(*map(range, known)):
            at = dict(zip(pool.reductions, steps, strict=True))
            values[steps] = self._element({**env, **at})
        return values

    def _element(self, env: dict[int, Index]) -> ir.Value | None:
        """Return a splat of a weight, None for pooling."""
        if self.weight is None:
            return None
        return self.emit.splat(self.weights.one(self.weight.at(env).offset), self.vector)

    @property
    def weights(self) -> Loader:
        """The loader of the elements of windows."""
        assert self.weight is not None  # pooling has none
        return Loader(self.emit, self.weight.base, self.pool.widen[1], self.vector)

    def combined(self, total: ir.Value, pixel: ir.Value, element: ir.Value | None) -> ir.Value:
        """Add pixels times a weight, or combine them for pooling."""
        if element is None:
            return self.emit.op(self.pool.flat.combiner, [total, pixel], self.vector)
        return multiply_add(self.emit, pixel, element, total)

    def _heights(self, low: Index, high: Index) -> Iterator[tuple[int, bool]]:
        """Yield the rows of tiles, and whether tiles may be partial."""
        if isinstance(low, int) and isinstance(high, int):
            rows = high - low
            best = next((n for n in ROWS if rows % n == 0), min(REST_ROWS, max(rows, 1)))
            yield best, False
            if rows % best:
                yield rows % best, False
        elif self.pool.flat.init is None:
            yield from ((REST_ROWS, False), (1, False))
        else:
            yield from ((ROWS[0], False), (REST_ROWS, True))

    def _row_ranges(self, low: Index, high: Index) -> Iterator[tuple[Index, Index, int, bool]]:
        """Yield where rows of tiles begin and end, how high those are, and if they may be partial.

        Ranges that are known to be empty are left out.
        """
        emit, done = self.emit, low
        for height, guarded in self._heights(low, high):
            upto = high
            if not guarded:
                upto = done + emit.round_down(high - done, height)
            if not isinstance(upto, int) or upto != done:
                yield done, upto, height, guarded
            done = upto

    @property
    def row_span(self) -> tuple[Index, Index]:
        """Elements of a row of the image, and of the padding before them."""
        return self.counts[-1], self.befores[-1]

    def _phase_size(self, reach: Index) -> Index:
        """Return the room for the elements of a row of some with one remainder to the stride."""
        phase = ceil_div(reach, self.pool.stride)
        # Vectors that begin before a row's end may end beyond it.
        return (phase // self.lanes + 2) * self.lanes

    def _store_phases(
        self, plane: ir.Value, to: Index, phase_size: Index,
        load: Callable[[Index, Sequence[ir.Value | None]], Sequence[ir.Value]],
    ) -> None:  # fmt: skip
        """Store a row of the image sorted by the remainder to the stride, without its border.

        `load` loads adjacent vectors of the row, as many as the stride, given their masks.
        """
        emit, lanes, stride = self.emit, self.lanes, self.pool.stride
        count, before = self.row_span
        whole = emit.round_down(count, lanes * stride)
        targets = []
        for r in range(stride):
            quotient = (before + r) // stride
            phase = before + r - quotient * stride
            targets.append(to + (phase * phase_size + quotient))

        def run(at: Index, masks: Sequence[ir.Value | None]) -> None:
            quotient = at // stride
            vectors = list(load(at, masks))
            for r, target in enumerate(targets):
                value = every_nth(emit, vectors, r)
                emit.vector_store(value, plane, [target + quotient])

        with emit.loop(0, whole, lanes * stride) as loop:
            run(loop.counter, [None] * stride)
        left = count - whole
        if left != 0:
            run(whole, [emit.mask(left - v * lanes, lanes) for v in range(stride)])

    @abstractmethod
    def _shape(self) -> None:
        """Compute the size of a plane, and its layout in the buffer."""


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
        before: how many columns are before this vector at least.
        follows: whether there are columns after this vector.
    """

    row: Index
    rows: int
    left: Index
    col: Index = 0
    mask: ir.Value | None = None
    before: int = 0
    follows: bool = False

    def of_rows(self, other: "Tile") -> "Tile":
        """Return a tile with these columns and another's rows."""
        return replace(self, row=other.row, rows=other.rows, left=other.left)


class PixelMasks:
    """Masks of adjacent pixels that are in the image.

    Args:
        emit: where to write.
        lanes: of a vector.
        count: pixels of a row.
        stride: the distance of the pixels of neighbouring outputs.
        sure: how far to the right of an output's pixel there are pixels in any case.
    """

    def __init__(self, emit: Emitter, lanes: int, count: Index, stride: int, sure: int) -> None:
        self._emit, self._lanes = emit, lanes
        self._count, self._stride, self._sure = count, stride, sure
        self.type: ir.VectorType = ir.VectorType.get([lanes], emit.bool_type)

    def mask(self, tile: Tile, first: int) -> ir.Value | None:
        """Return a mask of adjacent pixels, None for all.

        Args:
            tile: the tile that loads them.
            first: the first pixel, relative to the tile's.
        """
        emit, lanes, stride = self._emit, self._lanes, self._stride
        at = tile.col * stride + first
        # A masked vector has at least one output.
        more = 0 if tile.mask is not None else lanes - 1 + tile.follows
        mask = None
        if first + lanes - 1 > self._sure + more * stride:
            mask = emit.mask(self._count - at, lanes)
        if first < 0 and -first > tile.before * stride:
            mask = self.without(mask, -at)
        return mask

    def without(self, mask: ir.Value | None, count: Index) -> ir.Value:
        """Return a mask, or that of all lanes, with its first lanes off."""
        off = self._emit.mask(count, self._lanes)
        on = self._emit.op("arith.xori", [off, self._emit.constant(self.type, 1)], self.type)
        return on if mask is None else self._emit.both(mask, on)

    def kept(self, mask: ir.Value | None) -> ir.Value | None:
        """Return a mask in a register: otherwise each use would compute it again."""
        if mask is None or not self._emit.isa.tables or _is_constant(mask):
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
