"""Register tiles of attention: rows times vectors of sums over a run of products."""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_llvm.math.lane_math import Lanes
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import DotProduct
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# 2 ** r - 1 in r, for |r| <= 1/2; a minimax fit made for this file, 1.4 ulp off at most.
_POWER = (
    1.0, 0.6931470036506653, 0.24022242426872253, 0.05550733581185341, 0.009671512991189957,
    0.001326472731307149,
)  # fmt: skip
# Adding 1.5 * 2**23 rounds to an integer; with 127 more its low bits are a power's exponent.
_ROUNDER = 12582912.0 + 127.0
# Below this a power is no normal number, and nothing beside the largest one, which is 1.
_LEAST = -126.0
# The same for |r| <= 1/64 and 32 parts of an octave: 2.7 ulp off at most. A part is added to the
# bits of its place in a table, less what moving it to the exponent leaves below that.
_SMALL_POWER = (1.0, 0.6931573432671668, 0.24022474572963)
_PARTS = tuple(
    struct.unpack("f", struct.pack("I", struct.unpack("I", struct.pack("f", x))[0] - (i << 18)))[0]
    for i, x in enumerate(2.0 ** (part / 32) for part in range(32))
)
_ROUNDER_TO_PARTS = 1.5 * 2.0**18
# Powers of two are lessened by this, which is nothing beside 1: none is subnormal then.
_NOTHING = -100.0
# A line of up to so many vectors is written without a loop.
_SHORT = 4


@dataclass(frozen=True)
class Lines:
    """Where a matrix begins in a flat buffer, and how far apart its lines are.

    Attributes:
        base: the buffer.
        offset: of the first line.
        stride: from one line to the next.
        last: where the last line is that is there, read for those after it; None where all are.
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
        fma: whether the target multiplies and adds in one instruction.
        tables: whether it picks lanes of a table in registers.
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
        """Whether elements are f32; powers are then those of two, else those of e."""
        return isinstance(self.vector.element_type, ir.F32Type)

    def multiply_add(self, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
        """Return x * y + z."""
        if self.fma:
            return self.emit.fused(x, y, z)
        return self.add(self.emit.op("arith.mulf", [x, y], self.vector), z)

    def add_product(
        self, x: ir.Value, y: ir.Value, z: ir.Value, pairs: DotProduct | None
    ) -> ir.Value:
        """Return x * y + z, or with pairs the products of their numbers and z added up."""
        if pairs is None:
            return self.multiply_add(x, y, z)
        return pairs.multiply_add(self.emit, x, y, z)

    def add(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """Return x + y."""
        return self.emit.op("arith.addf", [x, y], x.type)

    def larger(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """Return the larger, y where x is NaN: a NaN shows in the sum of powers."""
        return self.emit.op("arith.select", [self._above(x, y), x, y], x.type)

    def power(self, x: ir.Value) -> ir.Value:
        """Return the power of numbers that are at most 0, or NaN; 0 for minus infinity."""
        if not self.is_single:
            return self.emit.op("math.exp", [x], x.type)
        y = Lanes(x, fma=self.fma, avx512=self.tables)
        if self.tables:
            # Few of these operations go where multiply-adds do; a comparison would.
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
        return (y < _LEAST).select(y.like(0.0), result).value

    def near_power(self, x: ir.Value) -> ir.Value:
        """Return the power of two of numbers of f32 that are far from those without one."""
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
        """Return the mask of a line's vector, None where no line has a part of one."""
        if isinstance(columns, int) and columns % self.lanes == 0:
            return None
        return self.emit.mask(self.emit.sub(columns, at), self.lanes)

    def each_vector(
        self, columns: Index, write: Callable[[Index, ir.Value | None], None]
    ) -> None:  # fmt: skip
        """Write what is done with each vector of a line, given where it is and its mask."""
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
        pairs: what multiplies elements that are pairs; None where they are numbers.
        change: what becomes of vectors of columns before; None for nothing.

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
