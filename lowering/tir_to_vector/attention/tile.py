"""Register tiles of attention, and the operands that they read, also as pairs in VNNI layout.

A pair of bfloat16 is moved as one 32-bit float. Queries and keys are paired along the head
dimension, values along keys; an odd element is paired with zero.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_llvm.math.exponential import LEAST_EXPONENT, exp2_of_normal
from relax_mlir.lowering.tir_to_llvm.math.lane_math import Lanes
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import DotProduct
from relax_mlir.lowering.tir_to_vector.contraction.microkernel import RegisterTile, tile_sums
from relax_mlir.lowering.tir_to_vector.contraction.operands import PLAIN_LOAD, Loader, PanelLoad
from relax_mlir.lowering.tir_to_vector.emit import Emitter, StridedRef, multiply_add
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# 2 ** r for |r| <= 1/64 and a table of 2 ** (i / 32): an error of at most 2.7 ULP. The table has
# the bits of each power less what the shifted index adds to them.
_SMALL_POWER = (1.0, 0.6931573432671668, 0.24022474572963)
_PARTS = tuple(
    struct.unpack("f", struct.pack("I", struct.unpack("I", struct.pack("f", x))[0] - (i << 18)))[0]
    for i, x in enumerate(2.0 ** (part / 32) for part in range(32))
)
_ROUNDER_TO_PARTS = 1.5 * 2.0**18
# 2 to this power is subtracted from each result: negligible next to 1, and none is subnormal.
_NOTHING = -100.0
# The bound, as an exponent of 2. Exponentials times values from 2**-94 to 2**86 stay normal.
MAX_BOUNDED_SCORE = 32.0


@dataclass(frozen=True)
class Arithmetic:
    """Vector arithmetic of one element type.

    Attributes:
        emit: where to write.
        vector: the type of a register.
        pairs: the dot-product instruction, if operands are pairs of bfloat16 in VNNI layout.
    """

    emit: Emitter
    vector: ir.VectorType
    pairs: DotProduct | None

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
        return multiply_add(self.emit, x, y, z)

    def add_product(self, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
        """Return x * y + z of operands, or z and the sum of products of pairs."""
        if self.pairs is None:
            return self.multiply_add(x, y, z)
        return self.pairs.multiply_add(self.emit, x, y, z)

    def add(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """Return x + y."""
        return self.emit.op("arith.addf", [x, y], x.type)

    def sub(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """Return x - y."""
        return self.emit.op("arith.subf", [x, y], x.type)

    def mul(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """Return x * y."""
        return self.emit.op("arith.mulf", [x, y], x.type)

    def larger(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """Return the larger, or y if x is NaN: a NaN shows in the sum of exponentials."""
        return self.emit.select(self.emit.compare_floats("ogt", x, y), x, y)

    def is_less(self, value: ir.Value, limit: float) -> ir.Value:
        """Return whether a scalar is less than a number, an i1; NaN is not."""
        return self.emit.compare_floats("olt", value, self.emit.constant(value.type, limit))

    def exp(self, x: ir.Value) -> ir.Value:
        """Return the exponential of numbers that are at most 0, or NaN."""
        if not self.is_single:
            return self.emit.op("math.exp", [x], x.type)
        y, tables = self._lanes(x), self.emit.isa.tables
        if not tables:
            return exp2_of_normal((y < LEAST_EXPONENT).select(y.like(LEAST_EXPONENT), y)).value
        # A comparison would compete with FMAs for their ports.
        power, rest = self._power((y < _NOTHING).select(y.like(_NOTHING), y))
        return power.times_plus(rest, -(2.0**_NOTHING)).value

    def bounded_exp(self, x: ir.Value) -> ir.Value:
        """Return 2 to the power of f32 numbers whose result is normal."""
        y = self._lanes(x)
        if not self.emit.isa.tables:
            return exp2_of_normal(y).value
        power, rest = self._power(y)
        return (power * rest).value

    def _lanes(self, x: ir.Value) -> Lanes:
        return Lanes(x, fma=self.emit.machine.fma, avx512=self.emit.isa.tables)

    def _power(self, y: Lanes) -> tuple[Lanes, Lanes]:
        """Return 2 to the power of a number, as that of a multiple of 1/32 and of the rest."""
        shifted = y + _ROUNDER_TO_PARTS
        part = shifted.bits().picked(_PARTS, y).bits() + (shifted.bits() << 18)
        rest = y - (shifted - _ROUNDER_TO_PARTS)
        return part.from_bits(), rest.polynomial(_SMALL_POWER)

    def across(
        self, vector: ir.Value, combine: Callable[[ir.Value, ir.Value], ir.Value]
    ) -> ir.Value:
        """Combine a vector's lanes, halves first."""
        return self.emit.extract(self.emit.folded(vector, combine), 0)

    def splat(self, value: ir.Value) -> ir.Value:
        """Return a scalar in every lane."""
        return self.emit.splat(value, self.vector)

    def load(self, base: ir.Value, at: Index) -> ir.Value:
        """Load a vector of what is computed with."""
        return self.emit.vector_load(base, [at], self.vector)


def rows_of(base: ir.Value, offset: Index, stride: Index) -> StridedRef:
    """Return rows whose elements are adjacent."""
    return StridedRef(base, offset, {"m": stride, "k": 1})


def sum_products(
    use: Arithmetic, shape: tuple[int, int], a: StridedRef, b: StridedRef, steps: Index,
    start: Sequence[ir.Value] | None = None,
    load: PanelLoad = PLAIN_LOAD,
) -> list[list[ir.Value]]:  # fmt: skip
    """Write the sums over k of `a[row][k] * b[k][column]`.

    Args:
        use: the arithmetic.
        shape: rows, and vectors of columns.
        a: rows, elements adjacent along k.
        b: a line for each k, columns adjacent.
        steps: how many k.
        start: what sums begin with, row by row; None for zeros.
        load: loads vectors of columns.

    Returns:
        The sums, vectors of columns for each row.
    """
    rows, vectors = shape
    # With an odd number of steps, code for the last one takes longer to compile than it gains.
    k_unroll = 2 if isinstance(steps, int) and steps % 2 == 0 else 1
    tile = RegisterTile(
        use.emit, rows, vectors, use.vector, use.pairs, k_unroll, in_order=True, load=load
    )
    sums = tile_sums(tile, a, b, steps, odd=False, begin=start)
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
        return self.offset + (row * self.row + column * self.column)

    def rows(self, first: Index, last: Index | None) -> StridedRef:
        """Return rows from one on; those past `last`, counted from it, repeat that one."""
        strides = {"m": self.row, "k": self.column}
        return StridedRef(self.base, self.place(first, 0), strides, last)

    def loader(self, scale: ir.Value | None = None) -> Loader:
        """Return what loads elements, times a factor."""
        return Loader(self.use.emit, self.base, self.widen, self.use.vector, scale)

    def load(self, at: Index, mask: ir.Value | None = None) -> ir.Value:
        """Load adjacent elements."""
        return self.loader().vectors(at, mask)

    def one(self, at: Index) -> ir.Value:
        """Load one element."""
        return self.loader().one(at)


PAIR = 2
_FIRST = 0xFFFF  # the bits of a pair's first number


class FirstsOfPairs(PanelLoad):
    """Loads vectors of pairs with zeros as the second of each."""

    def vector(
        self, emit: Emitter, base: ir.Value, at: Index, type_: ir.VectorType, step: Index,
        column: int, mask: ir.Value | None = None,
    ) -> ir.Value:  # fmt: skip
        """Return adjacent pairs as a vector of words, as `PanelLoad.vector` does."""
        stored = ir.VectorType.get(type_.shape, base.type.element_type)
        bits = emit.op("vector.bitcast", [emit.vector_load(base, [at + column], stored)], type_)
        return emit.op("arith.andi", [bits, emit.constant(type_, _FIRST)], type_)


def narrowed_pairs(use: Arithmetic, value: ir.Value) -> ir.Value:
    """Return a vector of floats as half a vector of pairs."""
    emit, lanes = use.emit, use.lanes
    narrow = emit.op("arith.truncf", [value], ir.VectorType.get([lanes], ir.BF16Type.get()))
    return emit.op(
        "vector.bitcast", [narrow], ir.VectorType.get([lanes // PAIR], use.vector.element_type)
    )
