"""Register tiles of attention, and the packed panels of keys and values that they read."""

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_llvm.math.lane_math import Lanes
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import DotProduct
from relax_mlir.lowering.tir_to_vector.contraction.microkernel import (
    RegisterTile,
    StridedRef,
    tile_sums,
)
from relax_mlir.lowering.tir_to_vector.contraction.panel_loads import PanelLoad
from relax_mlir.lowering.tir_to_vector.emit import Emitter, multiply_add
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.shuffles import transpose_tile

# 2 ** r for |r| <= 1/2: a minimax fit with an error of at most 1.4 ULP.
_POWER = (
    1.0, 0.6931470036506653, 0.24022242426872253, 0.05550733581185341, 0.009671512991189957,
    0.001326472731307149,
)  # fmt: skip
# Adding 1.5 * 2**23 rounds to an integer; with 127 more its low bits are a biased exponent.
_ROUNDER = 12582912.0 + 127.0
# Below this the result is subnormal, and negligible beside the largest one, which is 1.
_MIN_EXPONENT = -126.0
# The same for |r| <= 1/64 and a table of 2 ** (i / 32): an error of at most 2.7 ULP. The table has
# the bits of each power less what the shifted index adds to them.
_SMALL_POWER = (1.0, 0.6931573432671668, 0.24022474572963)
_PARTS = tuple(
    struct.unpack("f", struct.pack("I", struct.unpack("I", struct.pack("f", x))[0] - (i << 18)))[0]
    for i, x in enumerate(2.0 ** (part / 32) for part in range(32))
)
_ROUNDER_TO_PARTS = 1.5 * 2.0**18
# 2 to this power is subtracted from each result: negligible beside 1, and none is subnormal.
_NOTHING = -100.0
# Vectors of a row up to which there is no loop.
_SHORT = 4


@dataclass(frozen=True)
class Arithmetic:
    """Vector arithmetic of one element type.

    Attributes:
        emit: where to write.
        vector: the type of a register.
        fma: whether the target has FMA.
        tables: whether it has permutes from tables in registers.
    """

    emit: Emitter
    vector: ir.VectorType
    fma: bool
    tables: bool = False

    @property
    def lanes(self) -> int:
        """Elements of a vector."""
        return self.vector.shape[0]

    @property
    def is_single(self) -> bool:
        """Whether elements are f32, whose exponentials have base 2 instead of e."""
        return isinstance(self.vector.element_type, ir.F32Type)

    def multiply_add(self, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
        """Return x * y + z."""
        return multiply_add(self.emit, self.fma, x, y, z)

    def add_product(
        self, x: ir.Value, y: ir.Value, z: ir.Value, pairs: DotProduct | None
    ) -> ir.Value:
        """Return x * y + z, or z and the sum of products of pairs."""
        if pairs is None:
            return self.multiply_add(x, y, z)
        return pairs.multiply_add(self.emit, x, y, z)

    def add(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """Return x + y."""
        return self.emit.op("arith.addf", [x, y], x.type)

    def larger(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """Return the larger, or y if x is NaN: a NaN shows in the sum of exponentials."""
        return self.emit.select(self.emit.compare_floats("ogt", x, y), x, y)

    def exp(self, x: ir.Value) -> ir.Value:
        """Return the exponential of numbers that are at most 0, or NaN."""
        if not self.is_single:
            return self.emit.op("math.exp", [x], x.type)
        y = Lanes(x, fma=self.fma, avx512=self.tables)
        if self.tables:
            # A comparison would compete with FMAs for their ports.
            y = (y < _NOTHING).select(y.like(_NOTHING), y)
            shifted = y + _ROUNDER_TO_PARTS
            part = shifted.bits().picked(_PARTS, y).bits() + (shifted.bits() << 18)
            rest = y - (shifted - _ROUNDER_TO_PARTS)
            return (
                part.from_bits().times_plus(rest.polynomial(_SMALL_POWER), -(2.0**_NOTHING)).value
            )
        shifted = y + _ROUNDER
        rest = y - (shifted - _ROUNDER)
        result = rest.polynomial(_POWER) * (shifted.bits() << 23).from_bits()
        return (y < _MIN_EXPONENT).select(y.like(0.0), result).value

    def bounded_exp(self, x: ir.Value) -> ir.Value:
        """Return 2 to the power of f32 numbers whose result is normal."""
        y = Lanes(x, fma=self.fma, avx512=self.tables)
        if self.tables:
            shifted = y + _ROUNDER_TO_PARTS
            rest = y - (shifted - _ROUNDER_TO_PARTS)
            part = shifted.bits().picked(_PARTS, y).bits() + (shifted.bits() << 18)
            return (part.from_bits() * rest.polynomial(_SMALL_POWER)).value
        shifted = y + _ROUNDER
        rest = y - (shifted - _ROUNDER)
        return (rest.polynomial(_POWER) * (shifted.bits() << 23).from_bits()).value

    def across(
        self, vector: ir.Value, combine: Callable[[ir.Value, ir.Value], ir.Value]
    ) -> ir.Value:
        """Combine a vector's lanes, halves first."""
        lanes = self.lanes
        while lanes > 1:
            lanes //= 2
            vector = combine(*(self.emit.part(vector, lanes * i, lanes) for i in (0, 1)))
        return self.emit.extract(vector, 0)

    def splat(self, value: ir.Value) -> ir.Value:
        """Return a scalar in every lane."""
        return self.emit.splat(value, self.vector)

    def load(self, base: ir.Value, at: Index) -> ir.Value:
        """Load a vector of what is computed with."""
        return self.emit.vector_load(base, [at], self.vector)

    def tail(self, columns: Index, at: Index) -> ir.Value | None:
        """Return the mask of a row's vector, None if rows are whole vectors."""
        if isinstance(columns, int) and columns % self.lanes == 0:
            return None
        return self.emit.mask(self.emit.sub(columns, at), self.lanes)

    def each_vector(
        self, columns: Index, write: Callable[[Index, ir.Value | None], None]
    ) -> None:  # fmt: skip
        """Call `write` with the place and the mask of each vector of a row."""
        emit, lanes = self.emit, self.lanes
        if isinstance(columns, int) and columns <= _SHORT * lanes:
            for at in range(0, columns, lanes):
                write(at, None if at + lanes <= columns else emit.mask(columns - at, lanes))
            return
        with emit.loop(0, columns, lanes) as loop:
            write(loop.counter, self.tail(columns, loop.counter))


def rows_of(base: ir.Value, offset: Index, stride: Index, last: Index | None = None) -> StridedRef:
    """Return rows whose elements are adjacent; those past the last one repeat it."""
    return StridedRef(base, offset, {"m": stride, "k": 1}, last)


def sum_products(
    use: Arithmetic, shape: tuple[int, int], a: StridedRef, b: StridedRef, steps: Index,
    start: Sequence[ir.Value] | None = None, pairs: DotProduct | None = None,
    load: PanelLoad | None = None,
) -> list[list[ir.Value]]:  # fmt: skip
    """Write the sums over k of `a[row][k] * b[k][column]`.

    Args:
        use: the arithmetic.
        shape: rows, and vectors of columns.
        a: rows, elements adjacent along k.
        b: a line for each k, columns adjacent.
        steps: how many k.
        start: what sums begin with, row by row; None for zeros.
        pairs: the dot-product instruction, if elements are pairs in VNNI layout.
        load: loads vectors of columns; None for plain loads.

    Returns:
        The sums, vectors of columns for each row.
    """
    rows, vectors = shape
    # With an odd number of steps, code for the last one takes longer to compile than it gains.
    k_unroll = 2 if isinstance(steps, int) and steps % 2 == 0 else 1
    tile = RegisterTile(rows, vectors, use.vector, use.fma, pairs, k_unroll, True, load=load)
    no_masks: list[ir.Value | None] = [None] * vectors
    sums = tile_sums(use.emit, tile, a, b, steps, no_masks, odd=False, begin=start)
    return [sums[row * vectors : (row + 1) * vectors] for row in range(rows)]


@dataclass(frozen=True)
class Matrix:
    """One head of an operand.

    Attributes:
        use: the arithmetic of the type that it is widened to.
        base: the flat buffer.
        offset: of its first element.
        row: stride from one query or key to the next.
        column: stride along it.
        widen: the conversion, or None.
    """

    use: Arithmetic
    base: ir.Value
    offset: Index
    row: Index
    column: Index
    widen: str | None

    def place(self, row: Index, column: Index) -> Index:
        """Return the place of an element."""
        emit = self.use.emit
        along = emit.add(emit.mul(row, self.row), emit.mul(column, self.column))
        return emit.add(self.offset, along)

    def load(self, at: Index, mask: ir.Value | None = None) -> ir.Value:
        """Load adjacent elements."""
        type_ = ir.VectorType.get([self.use.lanes], self.base.type.element_type)
        emit = self.use.emit
        value = emit.vector_load(self.base, [at], type_, mask)
        return value if self.widen is None else emit.op(self.widen, [value], self.use.vector)

    def one(self, at: Index) -> ir.Value:
        """Load one element."""
        emit, value = self.use.emit, self.use.emit.load(self.base, [at])
        return value if self.widen is None else emit.op(self.widen, [value], self.element)

    @property
    def element(self) -> ir.Type:
        """The type that it is widened to."""
        return self.use.vector.element_type


@dataclass(frozen=True)
class Rows:
    """A range of rows to copy.

    Attributes:
        first: the first row.
        count: the number of rows.
        last: the last row that exists, which is copied for those past it; None if all exist.
    """

    first: Index
    count: Index
    last: Index | None

    @contextmanager
    def each(self, emit: Emitter, stride: Index) -> Iterator[tuple[Index, Index]]:
        """Write a loop over them; yields the row, and its target at that stride."""
        with emit.loop(0, self.count) as row:
            source = emit.add(self.first, row.counter)
            source = source if self.last is None else emit.min(source, self.last)
            yield source, emit.mul(row.counter, stride)


def copy_rows(
    x: Matrix, rows: Rows, columns: Index, to: ir.Value, stride: Index, factor: ir.Value
) -> None:
    """Copy rows times a factor; up to a vector past each is written.

    Args:
        x: the operand.
        rows: the range of rows.
        columns: elements of each.
        to: the target.
        stride: from one row to the next in the target.
        factor: a vector.
    """
    use = x.use
    emit = use.emit
    with rows.each(emit, stride) as (source, target):
        if x.column == 1:
            start = x.place(source, 0)

            def write(at: Index, mask: ir.Value | None) -> None:
                value = x.load(emit.add(start, at), mask)
                value = emit.op("arith.mulf", [value, factor], use.vector)
                emit.vector_store(value, to, [emit.add(target, at)])

            use.each_vector(columns, write)
        else:
            scale = emit.extract(factor, 0)
            with emit.loop(0, columns) as column:
                value = x.one(x.place(source, column.counter))
                value = emit.op("arith.mulf", [value, scale], x.element)
                emit.store(value, to, [emit.add(target, column.counter)])


def pack_columns(x: Matrix, rows: Index, columns: Index, to: ir.Value, width: int) -> None:
    """Copy values to panels: for each row, `width` columns.

    Columns past the last are finite if the last one is.
    """
    use = x.use
    emit = use.emit
    if x.column != 1:
        _pack_strided(x, rows, columns, to, width)
        return
    whole = isinstance(columns, int) and columns % width == 0
    with emit.loop(0, columns, width) as panel:
        base = emit.mul(panel.counter, rows)
        starts = range(0, width, use.lanes)
        left = emit.sub(columns, panel.counter)
        with emit.loop(0, rows) as row:
            target = emit.add(base, emit.mul(row.counter, width))
            for start in starts:
                at = x.place(row.counter, emit.add(panel.counter, start))
                mask = None if whole else emit.mask(emit.sub(left, start), use.lanes)
                emit.vector_store(x.load(at, mask), to, [emit.add(target, start)])


def _pack_strided(x: Matrix, rows: Index, columns: Index, to: ir.Value, width: int) -> None:
    """Copy strided values one by one."""
    emit = x.use.emit
    last = emit.sub(columns, 1)
    with emit.loop(0, columns, width) as panel:
        base = emit.mul(panel.counter, rows)
        with emit.loop(0, rows) as row, emit.loop(0, width) as part:
            column = emit.min(emit.add(panel.counter, part.counter), last)
            line = emit.add(base, emit.mul(row.counter, width))
            value = x.one(x.place(row.counter, column))
            emit.store(value, to, [emit.add(line, part.counter)])


def pack_rows(
    x: Matrix, rows: Index, columns: Index, to: ir.Value, width: int, factor: ir.Value | None
) -> None:
    """Copy keys to panels, times a factor: for each column, `width` keys.

    Keys past the last are undefined. Up to a vector's number of lines past a panel is written,
    before the next panel is.
    """
    emit = x.use.emit
    with emit.loop(0, rows, width) as panel:
        base = emit.mul(panel.counter, columns)
        if x.column == 1:
            _transposed(x, panel.counter, rows, columns, (to, base), width, factor)
        elif x.row == 1:
            left = emit.sub(rows, panel.counter)
            with emit.loop(0, columns) as column:
                target = emit.add(base, emit.mul(column.counter, width))
                for start in range(0, width, x.use.lanes):
                    at = x.place(emit.add(panel.counter, start), column.counter)
                    value = x.load(at, emit.mask(emit.sub(left, start), x.use.lanes))
                    value = _times(x.use, value, factor)
                    emit.vector_store(value, to, [emit.add(target, start)])
        else:
            last = emit.sub(rows, 1)
            with emit.loop(0, width) as part, emit.loop(0, columns) as column:
                key = emit.min(emit.add(panel.counter, part.counter), last)
                line = emit.add(base, emit.mul(column.counter, width))
                value = x.one(x.place(key, column.counter))
                if factor is not None:
                    scale = emit.extract(factor, 0)
                    value = emit.op("arith.mulf", [value, scale], x.element)
                emit.store(value, to, [emit.add(line, part.counter)])


def _times(use: Arithmetic, value: ir.Value, factor: ir.Value | None) -> ir.Value:
    return value if factor is None else use.emit.op("arith.mulf", [value, factor], use.vector)


def _transposed(
    x: Matrix, first: Index, rows: Index, columns: Index, to: tuple[ir.Value, Index], width: int,
    factor: ir.Value | None,
) -> None:  # fmt: skip
    """Copy a panel of keys by register transposes."""
    use = x.use
    emit, lanes = use.emit, use.lanes
    last = emit.sub(rows, 1)
    with emit.loop(0, emit.min(width, emit.sub(rows, first)), lanes) as part:
        # Keys past the last one repeat it.
        keys = [emit.min(emit.add(emit.add(first, part.counter), i), last) for i in range(lanes)]
        starts = [x.place(key, 0) for key in keys]
        target = emit.add(to[1], part.counter)
        with emit.loop(0, columns, lanes) as column:
            mask = use.tail(columns, column.counter)
            loaded = [x.load(emit.add(start, column.counter), mask) for start in starts]
            vectors = [_times(use, value, factor) for value in loaded]
            for i, value in enumerate(transpose_tile(emit, vectors)):
                line = emit.mul(emit.add(column.counter, i), width)
                emit.vector_store(value, to[0], [emit.add(target, line)])
