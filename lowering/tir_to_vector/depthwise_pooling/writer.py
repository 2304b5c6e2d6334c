"""What kernels of depthwise convolution and pooling share: sizes, addresses, loads and stores."""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial

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
        plane: that buffer.
        phase: the room in it for the elements of a row with one remainder to the stride.
    """

    size: Index
    plane: ir.Value
    phase: Index

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
        iters = self.pool.flat.iters
        steps = ((iters[i].extent - 1) * factor for i, factor in inner.items())
        return self.emit.size(sum(steps, SymExpr.const(1)))

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

    def _adjacent(
        self, at: Index, masks: Sequence[ir.Value | None], other: ir.Value
    ) -> list[ir.Value]:
        """Load adjacent vectors."""
        return [self.load(at + v * self.lanes, mask, other) for v, mask in enumerate(masks)]

    def _begin(
        self, env: dict[int, Index], row: Index, rows: int, col: Index, mask: ir.Value | None
    ) -> list[ir.Value]:
        """Return what the sums of adjacent outputs begin with, in some rows."""
        if self.pool.flat.init is not None:
            return [self.splat(self.pool.flat.init)] * rows
        places = (self.out.at(self.output(env, row + r, col)).offset for r in range(rows))
        return [self.emit.vector_load(self.out.base, [at], self.vector, mask) for at in places]

    def _put_rows(
        self, sums: Sequence[ir.Value], places: Iterable[dict[int, Index]], left: Index,
        mask: ir.Value | None,
    ) -> None:  # fmt: skip
        """Store the sums of a tile's rows, of which `left` are there."""
        for row, (value, there) in enumerate(zip(sums, places, strict=True)):
            put = partial(self.put, value, there, mask)
            # A sum would take an instruction that a comparison does not.
            self.emit.choose(not row or self.emit.holds("slt", row, left), put, lambda: None)

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
            first = sum((env[i] * factor for i, factor in axis.outer.items()), axis.constant)
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
        self, to: Index, load: Callable[[Index, Sequence[ir.Value | None]], Sequence[ir.Value]]
    ) -> None:
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
            targets.append(to + (phase * self.phase + quotient))

        def run(at: Index, masks: Sequence[ir.Value | None]) -> None:
            quotient = at // stride
            vectors = list(load(at, masks))
            for r, target in enumerate(targets):
                value = every_nth(emit, vectors, r)
                emit.vector_store(value, self.plane, [target + quotient])

        with emit.loop(0, whole, lanes * stride) as loop:
            run(loop.counter, [None] * stride)
        left = count - whole
        if left != 0:
            run(whole, [emit.mask(left - v * lanes, lanes) for v in range(stride)])

    @abstractmethod
    def _shape(self) -> None:
        """Compute the size of a plane, and its layout in the buffer."""


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


class InPlaceWriter(DepthwisePoolWriter):
    """Loads rows of the image that are read in place.

    Attributes:
        shifts: for all taps, the pixel's column less the output's column times the stride; sorted.
        sure: how far to the right of an output's pixel there are pixels in any case.
    """

    shifts: list[int]
    sure: int

    def prepare_shifts(self) -> None:
        """Write the padding that is shifted into vectors.

        LLVM shifts vectors that contain zeros or are not integers by slower instructions, so values
        are made opaque integers.
        """
        self._integers = self.vector
        if self.emit.isa.tables:
            bits = ir.IntegerType.get_signless(self.pool.element.width)
            self._integers = ir.VectorType.get([self.lanes], bits)
        self._around = self._opaque(self._cast(self._fill_value(), self._integers))

    def row(self, col: Index, load: Callable[[int], ir.Value]) -> Callable[[int], ir.Value]:
        """Return what returns the pixels of a shift in a row, of the outputs from a column on.

        `load` loads a vector of adjacent pixels, given the first, relative to the tile's. Each is
        loaded once, when it is used.
        """
        vector = cache(load)

        @cache
        def pixels(shift: int) -> ir.Value:
            vectors = [*map(vector, self.loads(shift, col))]
            other = self._neighbour(shift)
            if other is None:
                return every_nth(self.emit, vectors, shift % self.pool.stride)
            return self._shifted(pixels(other), vectors, shift < other)

        return pixels

    def loads(self, shift: int, col: Index) -> list[int]:
        """Return the first pixels of the vectors that are loaded for a shift, relative to the tile.

        `col` is the tile's first column of outputs.
        """
        other, last, stride = self._neighbour(shift), self.lanes - 1, self.pool.stride
        if other is None:
            first = shift // stride * stride
            return [first + number * self.lanes for number in range(stride)]
        if shift > other:
            return [shift + last * stride]
        outside = isinstance(col, int) and col * stride + shift < 0
        return [] if outside else [shift - last]

    def _neighbour(self, shift: int) -> int | None:
        """Return the shift whose pixels are the same but for a lane, or None."""
        stride = self.pool.stride
        quotient, quotients = shift // stride, [each // stride for each in self.shifts]
        base = next((each for each in quotients if each >= 0), quotients[-1])
        if stride == 1 or quotient == base:
            return None
        other = shift + (stride if quotient < base else -stride)
        return other if other in self.shifts else None

    def _shifted(self, pixels: ir.Value, edge: list[ir.Value], up: bool) -> ir.Value:
        """Return pixels a lane up or down; the new lane comes from `edge`, or is padding."""
        lanes = self.lanes
        order = [2 * lanes - 1, *range(lanes - 1)] if up else [*range(1, lanes), lanes]
        other = self._cast(edge[0], self._integers) if edge else self._around
        moved = self.emit.shuffle(self._cast(pixels, self._integers), other, order)
        return self._cast(self._opaque(moved), self.vector)

    def _cast(self, value: ir.Value, type_: ir.VectorType) -> ir.Value:
        return value if value.type == type_ else self.emit.op("vector.bitcast", [value], type_)

    def _opaque(self, value: ir.Value) -> ir.Value:
        return self.emit.register_barrier([value])[0] if self.emit.isa.tables else value

    def mask(self, tile: Tile, first: int) -> ir.Value | None:
        """Return the mask of adjacent pixels that are in the image, None for all.

        Args:
            tile: the tile that loads them.
            first: the first pixel, relative to the tile's.
        """
        emit, lanes, stride = self.emit, self.lanes, self.pool.stride
        at = tile.col * stride + first
        # A masked vector has at least one output.
        more = 0 if tile.mask is not None else lanes - 1 + tile.follows
        mask = None
        if first + lanes - 1 > self.sure + more * stride:
            mask = emit.mask(self.counts[-1] - at, lanes)
        if first < 0 and -first > tile.before * stride:
            mask = self.without(mask, -at)
        return mask

    def without(self, mask: ir.Value | None, count: Index) -> ir.Value:
        """Return a mask, or that of all lanes, with its first lanes off."""
        on = self.emit.negated(self.emit.mask(count, self.lanes))
        return on if mask is None else self.emit.both(mask, on)

    def kept(self, mask: ir.Value | None) -> ir.Value | None:
        """Return a mask in a register: otherwise each use would compute it again."""
        return mask if mask is None or _is_constant(mask) else self._opaque(mask)


def _is_constant(value: ir.Value) -> bool:
    """Whether a value depends on constants only."""
    if isinstance(value.owner, ir.Block):
        return False
    op = value.owner.operation
    return op.name == "arith.constant" or (
        len(op.operands) > 0 and all(map(_is_constant, op.operands))
    )
