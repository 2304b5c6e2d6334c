"""Python expressions that emit `arith` and `math` operations on floats and vectors of floats."""

from relax_mlir.dialects.bindings import ir

# arith.cmpf predicates; all ordered, so false when either side is NaN.
_OEQ, _OGT, _OLT = 1, 2, 4


class Lanes:
    """A value of f32, or a vector of them, or integers or truth values of the same shape.

    Operators build operations at the current insertion point and location.
    """

    __slots__ = ("_fma", "value")

    def __init__(self, value: ir.Value, *, fma: bool = True) -> None:
        self.value = value
        self._fma = fma

    def like(self, number: float | int) -> "Lanes":
        """Return a constant of this value's type."""
        type_ = self.value.type
        element = type_.element_type if isinstance(type_, ir.VectorType) else type_
        make = ir.IntegerAttr.get if isinstance(element, ir.IntegerType) else ir.FloatAttr.get
        attr = make(element, number)
        if isinstance(type_, ir.VectorType):
            attr = ir.DenseElementsAttr.get_splat(type_, attr)
        made = ir.Operation.create("arith.constant", results=[type_], attributes={"value": attr})
        return self._wrap(made.results[0])

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

    def __truediv__(self, other: "Operand") -> "Lanes":
        return self._binary("div", other)

    def __and__(self, mask: int) -> "Lanes":
        return self._emit("arith.andi", self.like(mask))

    def __lshift__(self, count: int) -> "Lanes":
        return self._emit("arith.shli", self.like(count))

    def __rshift__(self, count: int) -> "Lanes":
        return self._emit("arith.shrsi", self.like(count))

    def __lt__(self, other: "Operand") -> "Lanes":
        return self._compare(_OLT, other)

    def __gt__(self, other: "Operand") -> "Lanes":
        return self._compare(_OGT, other)

    def same(self, other: "Operand") -> "Lanes":
        """Return whether both are equal numbers; a NaN is equal to nothing."""
        return self._compare(_OEQ, other)

    def times_plus(self, factor: "Operand", term: "Operand") -> "Lanes":
        """Return `self * factor + term`, rounded once where the target can."""
        factor, term = self._operand(factor), self._operand(term)
        if not self._fma:
            return self * factor + term
        return self._emit("math.fma", factor, term)

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

    def with_sign_of(self, other: "Lanes") -> "Lanes":
        """Return this magnitude with another value's sign."""
        return self._emit("math.copysign", other)

    def bits(self) -> "Lanes":
        """Return the f32's bits as i32."""
        return self._emit(
            "arith.bitcast", type_=_as(self.value.type, ir.IntegerType.get_signless(32))
        )

    def from_bits(self) -> "Lanes":
        """Return the f32 with these bits."""
        return self._emit("arith.bitcast", type_=_as(self.value.type, ir.F32Type.get()))

    def to_float(self) -> "Lanes":
        """Return the signed integer as f32."""
        return self._emit("arith.sitofp", type_=_as(self.value.type, ir.F32Type.get()))

    def _wrap(self, value: ir.Value) -> "Lanes":
        return Lanes(value, fma=self._fma)

    def _operand(self, other: "Operand") -> "Lanes":
        return other if isinstance(other, Lanes) else self.like(other)

    def _emit(self, name: str, *others: "Lanes", type_: ir.Type | None = None) -> "Lanes":
        operands = [self.value, *(other.value for other in others)]
        made = ir.Operation.create(name, results=[type_ or self.value.type], operands=operands)
        return self._wrap(made.results[0])

    def _binary(self, name: str, other: "Operand") -> "Lanes":
        type_ = self.value.type
        element = type_.element_type if isinstance(type_, ir.VectorType) else type_
        suffix = "i" if isinstance(element, ir.IntegerType) else "f"
        return self._emit(f"arith.{name}{suffix}", self._operand(other))

    def _compare(self, predicate: int, other: "Operand") -> "Lanes":
        made = ir.Operation.create(
            "arith.cmpf",
            results=[_as(self.value.type, ir.IntegerType.get_signless(1))],
            operands=[self.value, self._operand(other).value],
            attributes={
                "predicate": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)
            },
        )
        return self._wrap(made.results[0])


Operand = Lanes | float | int


def _as(shape_of: ir.Type, element: ir.Type) -> ir.Type:
    if isinstance(shape_of, ir.VectorType):
        return ir.VectorType.get(shape_of.shape, element)
    return element
