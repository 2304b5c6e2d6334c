"""Register tiles of attention, and the arithmetic of their scores."""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_llvm.math.lane_math import Lanes
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import DotProduct
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.fma import multiply_add
from relax_mlir.lowering.tir_to_vector.index_emit import Index

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
class Lines:
    """Rows of a matrix in a flat buffer.

    Attributes:
        base: the buffer.
        offset: of the first row.
        stride: from one row to the next.
        last: the offset of the last row, which is read for rows past it; None if all are there.
    """

    base: ir.Value
    offset: Index
    stride: Index
    last: Index | None = None


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
        return self.emit.op("arith.select", [self._above(x, y), x, y], x.type)

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

    def _above(self, x: ir.Value, y: ir.Value) -> ir.Value:
        i1 = self.emit.bool_type
        vector = isinstance(x.type, ir.VectorType)
        type_ = ir.VectorType.get(x.type.shape, i1) if vector else i1
        greater = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 2)
        return self.emit.op("arith.cmpf", [x, y], type_, predicate=greater)


def sum_products(
    use: Arithmetic, shape: tuple[int, int], a: Lines, b: Lines, steps: Index,
    start: Sequence[ir.Value] | None = None, pairs: DotProduct | None = None,
    change: Callable[[ir.Value], ir.Value] | None = None,
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
        change: applied to vectors of columns first; None for none.

    Returns:
        The sums, vectors of columns for each row.
    """
    emit = use.emit
    rows, vectors = shape
    start = start or [emit.constant(use.vector, 0)] * (rows * vectors)
    lines = [emit.mul(row, a.stride) for row in range(rows)]
    if a.last is not None:
        left = emit.sub(a.last, a.offset)
        lines = [emit.min(line, left) for line in lines]
    with emit.loop(0, steps, 1, start) as loop:
        at = emit.add(b.offset, emit.mul(loop.counter, b.stride))
        columns = [use.load(b.base, emit.add(at, h * use.lanes)) for h in range(vectors)]
        if change is not None:
            columns = [change(column) for column in columns]
        if pairs is not None:
            columns = [pairs.parts(emit, column) for column in columns]
        along = emit.add(a.offset, loop.counter)
        sums = []
        for row, line in enumerate(lines):
            value = use.splat(emit.load(a.base, [emit.add(along, line)]))
            value = value if pairs is None else pairs.parts(emit, value)
            for h, column in enumerate(columns):
                total = loop.carried[row * vectors + h]
                sums.append(use.add_product(value, column, total, pairs))
        loop.carry(sums)
    return [list(loop.results[row * vectors : (row + 1) * vectors]) for row in range(rows)]
