"""Python expressions that emit `arith` and `math` operations on floats and vectors of floats."""

import struct
from collections.abc import Callable, Sequence

from relax_mlir.dialects.bindings import ir

# arith.cmpf predicates; all ordered, so false when either side is NaN, but for the last.
_OEQ, _OGT, _OLT, _UNE = 1, 2, 4, 13
# And of arith.cmpi.
_EQUAL, _UNSIGNED_GREATER = 0, 8
# Intrinsics of AVX-512 and of how many lanes: `a * 2**floor(b)`, what is left of a fraction, and
# 1 / a to 14 bits.
_REGISTERS = {"f32": ("ps", 16), "f64": ("pd", 8)}
_LANES_OF_AVX2 = 8
_SCALING, _FRACTION = "llvm.x86.avx512.mask.scalef", "llvm.x86.avx512.mask.reduce"
_INVERSE, _GREATEST = "llvm.x86.avx512.rcp14", "llvm.x86.avx512.max"
# The one of two that is nearer to zero, with the sign of the first or none; lanes of one or two
# registers by number.
_RANGE = "llvm.x86.avx512.mask.range"
_TABLES = {
    ("f32", 1): "llvm.x86.avx512.permvar.sf.512",
    ("f32", 2): "llvm.x86.avx512.vpermi2var.ps.512",
    ("f64", 1): "llvm.x86.avx512.permvar.df.512",
    ("f64", 2): "llvm.x86.avx512.vpermi2var.pd.512",
}
# What a condition goes through that seldom holds.
EXPECT = "llvm.intr.expect"
_AS_CPU_ROUNDS, _TO_FLOOR, _NEARER_TO_ZERO, _WITHOUT_SIGN = 4, 9, 2, 8


class Lanes:
    """A value of f32, or a vector of them, or integers or truth values of the same shape.

    Operators build operations at the current insertion point and location.
    """

    __slots__ = ("_avx512", "_fma", "value")

    def __init__(self, value: ir.Value, *, fma: bool = True, avx512: bool = False) -> None:
        self.value: ir.Value = value
        self._fma, self._avx512 = fma, avx512

    def like(self, number: float | int) -> "Lanes":
        """Return a constant of this value's type."""
        type_ = self.value.type
        element = type_.element_type if isinstance(type_, ir.VectorType) else type_
        make = ir.IntegerAttr.get if isinstance(element, ir.IntegerType) else ir.FloatAttr.get
        attr = make(element, number)
        if isinstance(type_, ir.VectorType):
            attr = ir.DenseElementsAttr.get_splat(type_, attr)
        made = ir.Operation.create("arith.constant", results=[type_], attributes={"value": attr})
        return self.wrapped(made.results[0])

    def __add__(self, other: "Operand") -> "Lanes":
        return self._binary("add", other)

    def __radd__(self, other: float) -> "Lanes":
        return self.like(other) + self

    def __sub__(self, other: "Operand") -> "Lanes":
        return self._binary("sub", other)

    def __rsub__(self, other: float) -> "Lanes":
        return self.like(other) - self

    def __mul__(self, other: "Operand") -> "Lanes":
        return self._binary("mul", other)

    def __rtruediv__(self, other: float) -> "Lanes":
        return self.like(other) / self

    def __truediv__(self, other: "Operand") -> "Lanes":
        return self._binary("div", other)

    def __and__(self, mask: "Operand") -> "Lanes":
        return self._emit("arith.andi", self._operand(mask))

    def __or__(self, other: "Operand") -> "Lanes":
        return self._emit("arith.ori", self._operand(other))

    def __xor__(self, other: "Operand") -> "Lanes":
        return self._emit("arith.xori", self._operand(other))

    def __lshift__(self, count: "Operand") -> "Lanes":
        return self._emit("arith.shli", self._operand(count))

    def __rshift__(self, count: "Operand") -> "Lanes":
        return self._emit("arith.shrsi", self._operand(count))

    def without_sign_shifted(self, count: int) -> "Lanes":
        """Return an integer's bits moved to the right, zeros moving in."""
        return self._emit("arith.shrui", self.like(count))

    def __lt__(self, other: "Operand") -> "Lanes":
        return self._compare(_OLT, other)

    def __gt__(self, other: "Operand") -> "Lanes":
        return self._compare(_OGT, other)

    def same(self, other: "Operand") -> "Lanes":
        """Return whether both are equal numbers; a NaN is equal to nothing."""
        return self._compare(_OEQ, other)

    def differs(self, other: "Operand") -> "Lanes":
        """Return whether the numbers are not equal, as a NaN is to all."""
        return self._compare(_UNE, other)

    def times_plus(self, factor: "Operand", term: "Operand") -> "Lanes":
        """Return `self * factor + term`, rounded once where the target can."""
        factor, term = self._operand(factor), self._operand(term)
        if not self._fma:
            return self * factor + term
        return self._emit("math.fma", factor, term)

    def quotient(self, divisor: "Lanes", *, near: bool = False) -> "Lanes":
        """Return this divided by a normal number, within one unit in the last place, half if near.

        An estimate of the CPU's, put right by what it leaves of the dividend, is quicker than its
        division, but has no answer for infinite and subnormal divisors.
        """
        if not divisor.can_scale() or _width(divisor.value.type) != 32:
            return self / divisor
        inverse = divisor._by_registers(_INVERSE)
        if near:
            wrong = (inverse * -1.0).times_plus(divisor, 1.0)
            inverse = wrong.times_plus(inverse, inverse)
        first = self * inverse
        left = (first * -1.0).times_plus(divisor, self)
        return left.times_plus(inverse, first)

    def over(self, divisor: "Lanes") -> "Lanes":
        """Return this, whatever it is, divided by a normal number; within 1.5 units.

        The divisor's inverse is an estimate of the CPU's, put right, where that has one.
        """
        if not divisor.can_scale() or _width(divisor.value.type) != 32:
            return self / divisor
        inverse = divisor._by_registers(_INVERSE)
        wrong = (inverse * -1.0).times_plus(divisor, 1.0)
        return self * wrong.times_plus(inverse, inverse)

    def element_bits(self) -> int:
        """Return the bits of an element."""
        return _width(self.value.type)

    def rounds_once(self) -> bool:
        """Whether `times_plus` rounds once."""
        return self._fma

    def can_scale(self) -> bool:
        """Whether the CPU multiplies this by powers of two in one instruction."""
        type_ = self.value.type
        if not self._avx512 or not isinstance(type_, ir.VectorType):
            return False
        known = _REGISTERS.get(str(type_.element_type))
        return known is not None and type_.rank == 1 and type_.shape[0] % known[1] == 0

    def is_vector(self) -> bool:
        """Whether this is a vector of one dimension."""
        type_ = self.value.type
        return isinstance(type_, ir.VectorType) and type_.rank == 1

    def scaled(self, power: "Lanes") -> "Lanes":
        """Return `self * 2**floor(power)`, where `can_scale`."""
        return self._by_registers(_SCALING, power)

    def above_floor(self) -> "Lanes":
        """Return what is left over the next integer below, 0 of infinity, where `can_scale`."""
        return self._by_registers(_FRACTION, _TO_FLOOR)

    def limited(self, bound: float) -> "Lanes":
        """Return this, no further from zero than a bound, and that for NaN, where `can_scale`."""
        return self._by_registers(_RANGE, self.like(bound), _NEARER_TO_ZERO)

    def limited_magnitude(self, bound: float) -> "Lanes":
        """Return the absolute value up to a bound, and that for NaN, where `can_scale`."""
        return self._by_registers(_RANGE, self.like(bound), _NEARER_TO_ZERO | _WITHOUT_SIGN)

    def at_least(self, bound: float) -> "Lanes":
        """Return the greater of a bound and this, which may be NaN, where `can_scale`."""
        suffix, lanes = _REGISTERS[str(self.value.type.element_type)]
        rounds = self._number(ir.IntegerType.get_signless(32), _AS_CPU_ROUNDS)
        least, name = self.like(bound).value, f"{_GREATEST}.{suffix}.512"
        return self._joined(
            lanes,
            lambda at: _intrinsic(
                name, [_slice(least, at, lanes), _slice(self.value, at, lanes), rounds]
            ),
        )

    def picked(self, table: Sequence[float], like: "Lanes") -> "Lanes":
        """Return what a table of one or two registers' lanes has at the low bits of this integer.

        Args:
            table: the numbers.
            like: floats of the same number, for which `can_scale` holds.
        """
        type_ = like.value.type
        _, lanes = _REGISTERS[str(type_.element_type)]
        register = ir.VectorType.get([lanes], type_.element_type)
        parts = [
            like._numbers_of(register, table[i : i + lanes]) for i in range(0, len(table), lanes)
        ]
        name = _TABLES[str(type_.element_type), len(parts)]
        return like._joined(
            lanes,
            lambda at: _intrinsic(name, [parts[0], _slice(self.value, at, lanes), *parts[1:]]),
        )

    def _by_registers(self, name: str, *by: "Lanes | int") -> "Lanes":
        """Apply an intrinsic to each register of a vector, with what it takes besides."""
        suffix, lanes = _REGISTERS[str(self.value.type.element_type)]
        i32 = ir.IntegerType.get_signless(32)
        mask = self._number(ir.IntegerType.get_signless(lanes), -1)
        rest = [self._number(i32, _AS_CPU_ROUNDS)] if by else []
        fixed = [self._number(i32, each) if isinstance(each, int) else each.value for each in by]

        def made(at: int) -> ir.Value:
            one = _slice(self.value, at, lanes)
            given = [_slice(each, at, lanes) for each in fixed]
            return _intrinsic(f"{name}.{suffix}.512", [one, *given, one, mask, *rest])

        return self._joined(lanes, made)

    def _joined(self, lanes: int, made: Callable[[int], ir.Value]) -> "Lanes":
        """Return a vector like this of what is made for each register, from its first lane."""
        if self.value.type.shape[0] == lanes:
            return self.wrapped(made(0))
        total = self.value
        for start in range(0, self.value.type.shape[0], lanes):
            total = _with_slice(made(start), total, start)
        return self.wrapped(total)

    def _numbers_of(self, type_: ir.Type, numbers: Sequence[float]) -> ir.Value:
        attrs = [ir.FloatAttr.get(type_.element_type, number) for number in numbers]
        value = ir.DenseElementsAttr.get(attrs, type_)
        return ir.Operation.create(
            "arith.constant", results=[type_], attributes={"value": value}
        ).results[0]

    def first(self, lanes: int) -> "Lanes":
        """Return the first lanes of a vector."""
        return self.wrapped(_slice(self.value, 0, lanes))

    def rotated(self, lanes: int) -> "Lanes":
        """Return a vector whose first lanes have moved behind the others."""
        count = self.value.type.shape[0]
        order = ir.DenseI64ArrayAttr.get([*range(lanes, count), *range(lanes)])
        return self._emit("vector.shuffle", self, mask=order)

    def ending(self, part: "Lanes") -> "Lanes":
        """Return a vector with other last lanes."""
        start = self.value.type.shape[0] - part.value.type.shape[0]
        return self.wrapped(_with_slice(part.value, self.value, start))

    def any(self) -> ir.Value:
        """Return whether a truth value holds in any lane, as an i1."""
        if not isinstance(self.value.type, ir.VectorType):
            return self.value
        kind = ir.Attribute.parse("#vector.kind<or>")
        return self._emit("vector.reduction", type_=self.value.type.element_type, kind=kind).value

    def any_above(self, number: float) -> ir.Value:
        """Return whether any of f32's bits are above those of a number, as unsigned integers.

        So are those of numbers further from zero on its side, of NaN, and of all negative numbers
        where it is positive. It is quicker than to compare each register. Of a vector of one
        dimension.
        """
        count = self.value.type.shape[0]
        lanes = _REGISTERS["f32"][1] if self._avx512 else _LANES_OF_AVX2
        lanes = lanes if count % lanes == 0 else count
        most = self.first(lanes)
        for start in range(lanes, count, lanes):
            most = most.by("arith.maxui", self.wrapped(_slice(self.value, start, lanes)))
        (bits,) = struct.unpack("i", struct.pack("f", number))
        return most._compare(_UNSIGNED_GREATER, bits, "arith.cmpi").any()

    def polynomial(self, coefficients: tuple[float, ...]) -> "Lanes":
        """Return the polynomial at this value; coefficients from the constant term up."""
        total = self.like(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = total.times_plus(self, coefficient)
        return total

    def select(self, if_true: "Lanes", if_false: "Operand") -> "Lanes":
        """Return one or the other, lane by lane; `self` is a truth value."""
        return self._emit(
            "arith.select", if_true, if_true._operand(if_false), type_=if_true.value.type
        )

    def magnitude(self) -> "Lanes":
        """Return the absolute value."""
        return self._emit("math.absf")

    def math(self, name: str) -> "Lanes":
        """Return a function of the math dialect, as yet not expanded."""
        return self._emit(f"math.{name}")

    def by(self, name: str, other: "Lanes") -> "Lanes":
        """Return an operation on this and another value, as yet not expanded."""
        return self._emit(name, other)

    def with_sign_of(self, other: "Lanes") -> "Lanes":
        """Return this magnitude with another value's sign."""
        return self._emit("math.copysign", other)

    def bits(self) -> "Lanes":
        """Return a float's bits as an integer of its width."""
        return self._emit("arith.bitcast", type_=_as(self.value.type, _integer(self.value.type)))

    def from_bits(self) -> "Lanes":
        """Return the float with these bits."""
        return self._emit("arith.bitcast", type_=_as(self.value.type, _float(self.value.type)))

    def to_float(self) -> "Lanes":
        """Return the signed integer as a float of its width."""
        return self._emit("arith.sitofp", type_=_as(self.value.type, _float(self.value.type)))

    def converted(self, name: str, element: ir.Type) -> "Lanes":
        """Return what a conversion of the arith dialect makes of this."""
        return self._emit(name, type_=_as(self.value.type, element))

    def wrapped(self, value: ir.Value) -> "Lanes":
        """Return another value, on the same machine."""
        return Lanes(value, fma=self._fma, avx512=self._avx512)

    def _operand(self, other: "Operand") -> "Lanes":
        return other if isinstance(other, Lanes) else self.like(other)

    def _emit(
        self, name: str, *others: "Lanes", type_: ir.Type | None = None, **attributes: ir.Attribute
    ) -> "Lanes":
        made = ir.Operation.create(
            name,
            results=[type_ or self.value.type],
            operands=[self.value, *(other.value for other in others)],
            attributes=attributes,
        )
        return self.wrapped(made.results[0])

    def _number(self, type_: ir.Type, number: int) -> ir.Value:
        value = ir.IntegerAttr.get(type_, number)
        return ir.Operation.create(
            "arith.constant", results=[type_], attributes={"value": value}
        ).results[0]

    def _binary(self, name: str, other: "Operand") -> "Lanes":
        type_ = self.value.type
        element = type_.element_type if isinstance(type_, ir.VectorType) else type_
        suffix = "i" if isinstance(element, ir.IntegerType) else "f"
        return self._emit(f"arith.{name}{suffix}", self._operand(other))

    def equals(self, other: "Operand") -> "Lanes":
        """Return whether two integers are the same."""
        return self._compare(_EQUAL, other, "arith.cmpi")

    def _compare(self, predicate: int, other: "Operand", name: str = "arith.cmpf") -> "Lanes":
        made = ir.Operation.create(
            name,
            results=[_as(self.value.type, ir.IntegerType.get_signless(1))],
            operands=[self.value, self._operand(other).value],
            attributes={
                "predicate": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)
            },
        )
        return self.wrapped(made.results[0])


Operand = Lanes | float | int


def choose(
    condition: ir.Value,
    seldom: Callable[[], Sequence[Lanes]],
    else_: Sequence[Lanes],
) -> list[Lanes]:
    """Return what is computed only where a condition holds, else other values of those types.

    branch weights say that it seldom does.
    """
    i1 = condition.type
    never = ir.Operation.create(
        "arith.constant", results=[i1], attributes={"value": ir.IntegerAttr.get(i1, 0)}
    )
    expected = ir.Operation.create(
        EXPECT, results=[i1], operands=[condition, never.results[0]]
    ).results[0]
    made = ir.Operation.create(
        "scf.if", results=[each.value.type for each in else_], operands=[expected], regions=2
    )
    for region, values in zip(made.regions, (seldom, lambda: else_), strict=True):
        with ir.InsertionPoint(region.blocks.append()):
            ir.Operation.create("scf.yield", operands=[each.value for each in values()])
    return [each.wrapped(value) for each, value in zip(else_, made.results, strict=True)]


def _width(type_: ir.Type) -> int:
    return (type_.element_type if isinstance(type_, ir.VectorType) else type_).width


def _integer(type_: ir.Type) -> ir.Type:
    return ir.IntegerType.get_signless(_width(type_))


def _float(type_: ir.Type) -> ir.Type:
    return ir.F64Type.get() if _width(type_) == 64 else ir.F32Type.get()


def _as(shape_of: ir.Type, element: ir.Type) -> ir.Type:
    if isinstance(shape_of, ir.VectorType):
        return ir.VectorType.get(shape_of.shape, element)
    return element


def _intrinsic(name: str, operands: list[ir.Value]) -> ir.Value:
    return ir.Operation.create(
        "llvm.call_intrinsic",
        results=[operands[0].type],
        operands=operands,
        attributes={
            "intrin": ir.StringAttr.get(name),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
            "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
        },
    ).results[0]


def _slice(value: ir.Value, start: int, lanes: int) -> ir.Value:
    """Return some lanes of a vector; what is none, or no longer, is returned as it is."""
    if not isinstance(value.type, ir.VectorType) or value.type.shape[0] == lanes:
        return value
    return ir.Operation.create(
        "vector.extract_strided_slice",
        results=[ir.VectorType.get([lanes], value.type.element_type)],
        operands=[value],
        attributes={"offsets": _numbers(start), "sizes": _numbers(lanes), "strides": _numbers(1)},
    ).results[0]


def _with_slice(part: ir.Value, total: ir.Value, start: int) -> ir.Value:
    return ir.Operation.create(
        "vector.insert_strided_slice",
        results=[total.type],
        operands=[part, total],
        attributes={"offsets": _numbers(start), "strides": _numbers(1)},
    ).results[0]


def _numbers(number: int) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)])
