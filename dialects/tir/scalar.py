"""Scalars of a prim func under construction: an SSA value with its dtype and Python's operators.

MLIR's arith dialect knows no unsigned integers; the dtype kept here chooses the operation. A scalar
made of block iterators also carries its affine expression, from which accesses are declared.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any, Union

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.relax import types as T

arith: ModuleType = submodule("dialects.arith")
math: ModuleType = submodule("dialects.math")

ScalarLike = Union["Scalar", bool, int, float]
INDEX = "index"


class DtypeError(ValueError):
    """Operands whose dtypes do not go together."""


def is_float(dtype: str) -> bool:
    """Whether the dtype is floating-point."""
    return "float" in dtype


def is_unsigned(dtype: str) -> bool:
    """Whether the dtype is an unsigned integer (bool counts)."""
    return dtype.startswith("uint") or dtype == "bool"


def scalar_type(dtype: str) -> ir.Type:
    """Return the signless MLIR type that holds a scalar of the dtype; bool is `i1`."""
    if dtype == INDEX:
        return ir.IndexType.get()
    if is_float(dtype):
        return T.element_type(dtype)
    if dtype == "bool":
        return ir.IntegerType.get_signless(1)
    return ir.IntegerType.get_signless(8 * T.dtype_size(dtype))


class Scalar:
    """A value with a dtype, or `"index"` for loop variables and sizes."""

    __slots__ = ("affine", "dtype", "value")

    value: ir.Value
    dtype: str
    affine: ir.AffineExpr | None

    def __init__(self, value: ir.Value, dtype: str, affine: ir.AffineExpr | None = None) -> None:
        self.value, self.dtype, self.affine = value, dtype, affine

    def __add__(self, other: ScalarLike) -> "Scalar":
        return binary("add", self, other)

    def __sub__(self, other: ScalarLike) -> "Scalar":
        return binary("sub", self, other)

    def __mul__(self, other: ScalarLike) -> "Scalar":
        return binary("mul", self, other)

    def __truediv__(self, other: ScalarLike) -> "Scalar":
        return binary("div", self, other)

    def __floordiv__(self, other: ScalarLike) -> "Scalar":
        return binary("floordiv", self, other)

    def __mod__(self, other: ScalarLike) -> "Scalar":
        return binary("mod", self, other)

    def __radd__(self, other: ScalarLike) -> "Scalar":
        return binary("add", other, self)

    def __rsub__(self, other: ScalarLike) -> "Scalar":
        return binary("sub", other, self)

    def __rmul__(self, other: ScalarLike) -> "Scalar":
        return binary("mul", other, self)

    def __rtruediv__(self, other: ScalarLike) -> "Scalar":
        return binary("div", other, self)

    def __rfloordiv__(self, other: ScalarLike) -> "Scalar":
        return binary("floordiv", other, self)

    def __rmod__(self, other: ScalarLike) -> "Scalar":
        return binary("mod", other, self)

    def __neg__(self) -> "Scalar":
        return binary("sub", 0, self) if not is_float(self.dtype) else unary("neg", self)

    def __lt__(self, other: ScalarLike) -> "Scalar":
        return compare("lt", self, other)

    def __le__(self, other: ScalarLike) -> "Scalar":
        return compare("le", self, other)

    def __gt__(self, other: ScalarLike) -> "Scalar":
        return compare("gt", self, other)

    def __ge__(self, other: ScalarLike) -> "Scalar":
        return compare("ge", self, other)

    def __eq__(self, other: Any) -> "Scalar":
        return compare("eq", self, other)

    def __ne__(self, other: Any) -> "Scalar":
        return compare("ne", self, other)


def const(value: bool | int | float, dtype: str) -> Scalar:
    """Return a constant of a dtype.

    Raises:
        DtypeError: an integer dtype does not have the number.
    """
    type_ = scalar_type(dtype)
    if not is_float(dtype):
        _check_integer(value, dtype)
    if is_float(dtype):
        try:
            attribute = ir.FloatAttr.get(type_, float(value))
        except OverflowError:
            raise DtypeError(f"the integer is too large for {dtype}") from None
    else:
        bits = 64 if dtype == INDEX else type_.width
        wrapped = int(value) & ((1 << bits) - 1)
        signed = wrapped - (1 << bits) if bits > 1 and wrapped >> (bits - 1) else wrapped
        attribute = ir.IntegerAttr.get(type_, signed if bits > 1 else bool(value))
    affine = ir.AffineConstantExpr.get(int(value)) if dtype == INDEX else None
    return Scalar(arith.ConstantOp(type_, attribute).result, dtype, affine)


def _check_integer(value: bool | int | float, dtype: str) -> None:
    if isinstance(value, float) and not value.is_integer():
        raise DtypeError(f"{value} is not of dtype {dtype}; cast the other operand")
    bits = 64 if dtype == INDEX else scalar_type(dtype).width
    low, high = (0, 1 << bits) if is_unsigned(dtype) else (-1 << (bits - 1), 1 << (bits - 1))
    if not low <= value < high:
        raise DtypeError(f"{value} does not fit {dtype}")


def unify(lhs: ScalarLike, rhs: ScalarLike) -> tuple[Scalar, Scalar]:
    """Return both operands in one dtype; Python numbers take the other's, indices meet integers.

    Raises:
        DtypeError: two scalars of different dtypes.
    """
    if not isinstance(lhs, Scalar):
        if not isinstance(rhs, Scalar):
            raise DtypeError("at least one operand must be a scalar of the program")
        return const(lhs, rhs.dtype), rhs
    if not isinstance(rhs, Scalar):
        return lhs, const(rhs, lhs.dtype)
    if lhs.dtype == rhs.dtype:
        return lhs, rhs
    if lhs.dtype == INDEX and not is_float(rhs.dtype):
        return cast(lhs, rhs.dtype), rhs
    if rhs.dtype == INDEX and not is_float(lhs.dtype):
        return lhs, cast(rhs, lhs.dtype)
    raise DtypeError(f"operand dtypes must match, got {lhs.dtype} and {rhs.dtype}; cast one")


def promoted(a: str, b: str) -> str:
    """Return the dtype that operands of two dtypes are converted to, TVM's rules.

    Integers become the other's float, the narrower becomes the wider, and of a signed and an
    unsigned integer both become signed.

    Raises:
        DtypeError: float16 and bfloat16, neither of which holds the other.
    """
    if a == b:
        return a
    if is_float(a) != is_float(b):
        return a if is_float(a) else b
    widths = [1 if each == "bool" else 8 * T.dtype_size(each) for each in (a, b)]
    if is_float(a) and widths[0] == widths[1]:
        raise DtypeError(f"neither of {a} and {b} holds the other; cast one of them")
    if is_float(a) or (is_unsigned(a) and is_unsigned(b)):
        return a if widths[0] > widths[1] else b
    return f"int{max(widths)}"


def _pick(dtype: str, by_kind: dict[str, Callable[..., ir.Value]], what: str) -> Callable:
    kind = "f" if is_float(dtype) else "u" if is_unsigned(dtype) else "s"
    if kind not in by_kind:
        raise DtypeError(f"'{what}' is not defined for {dtype}")
    return by_kind[kind]


def _same(function: Callable[..., ir.Value]) -> dict[str, Callable[..., ir.Value]]:
    return {"s": function, "u": function}


_BINARY = {
    "add": {"f": arith.addf, **_same(arith.addi)},
    "sub": {"f": arith.subf, **_same(arith.subi)},
    "mul": {"f": arith.mulf, **_same(arith.muli)},
    "div": {"f": arith.divf, "s": arith.divsi, "u": arith.divui},
    "floordiv": {"s": arith.floordivsi, "u": arith.divui},
    "truncmod": {"f": arith.remf, "s": arith.remsi, "u": arith.remui},
    "max": {"f": arith.maximumf, "s": arith.maxsi, "u": arith.maxui},
    "min": {"f": arith.minimumf, "s": arith.minsi, "u": arith.minui},
    "and": _same(arith.andi),
    "or": _same(arith.ori),
    "xor": _same(arith.xori),
    "shl": _same(arith.shli),
    "shr": {"s": arith.shrsi, "u": arith.shrui},
    # An integer power needs a loop, and a decision about negative exponents: no operation here.
    "pow": {"f": math.powf},
    "atan2": {"f": math.atan2},
    "copysign": {"f": math.copysign},
}


def affine_sum(a: ir.AffineExpr, b: ir.AffineExpr) -> ir.AffineExpr:
    """Return a sum that stays the same when MLIR prints and reads it: none is in another one."""
    inner = b.maybe_downcast()
    if isinstance(inner, ir.AffineAddExpr):
        return affine_sum(affine_sum(a, inner.lhs), inner.rhs)
    return a + b


_AFFINE = {
    "add": affine_sum,
    "sub": lambda a, b: affine_sum(a, b * -1),
    "floordiv": ir.AffineExpr.get_floor_div,
    "mod": ir.AffineExpr.get_mod,
}


def _is_constant(expr: ir.AffineExpr) -> bool:
    return isinstance(expr.maybe_downcast(), ir.AffineConstantExpr)


def _combine(kind: str, a: ir.AffineExpr | None, b: ir.AffineExpr | None) -> ir.AffineExpr | None:
    if a is None or b is None:
        return None
    if kind == "mul":
        return a * b if _is_constant(a) or _is_constant(b) else None
    if kind in ("floordiv", "mod") and not (_is_constant(b) and b.maybe_downcast().value > 0):
        return None
    return _AFFINE[kind](a, b) if kind in _AFFINE else None


def binary(kind: str, lhs: ScalarLike, rhs: ScalarLike) -> Scalar:
    """Apply a binary operation of the table; `mod` is the remainder of `floordiv`.

    Raises:
        DtypeError: the dtypes differ or have no such operation.
    """
    a, b = unify(lhs, rhs)
    affine = _combine(kind, a.affine, b.affine)
    if kind in _DIVISIONS and not is_float(a.dtype):
        return Scalar(_divide(kind, a, b, rhs).value, a.dtype, affine)
    if kind in ("shl", "shr") and not is_float(a.dtype):
        return _shift(kind, a, b)
    if kind == "floordiv":
        return unary("floor", binary("div", a, b))
    if kind == "mod":
        return binary("sub", a, binary("mul", binary("floordiv", a, b), b))
    operation = _pick(a.dtype, _BINARY[kind], kind)
    return Scalar(operation(a.value, b.value), a.dtype, affine)


def _shift(kind: str, a: Scalar, b: Scalar) -> Scalar:
    """Shift by any amount: what is not below the width shifts everything out."""
    width = 64 if a.dtype == INDEX else scalar_type(a.dtype).width
    known = _known(b.value)
    if known is not None and 0 <= known < width:
        return Scalar(_pick(a.dtype, _BINARY[kind], kind)(a.value, b.value), a.dtype)
    last = const(width - 1, a.dtype)
    amount = arith.minui(b.value, last.value)
    shifted = Scalar(_pick(a.dtype, _BINARY[kind], kind)(a.value, amount), a.dtype)
    if kind == "shr" and not is_unsigned(a.dtype):
        return shifted
    return select(
        Scalar(arith.cmpi(_PREDICATES["le"] + 4, b.value, last.value), "bool"), shifted, 0
    )


def _known(value: ir.Value) -> int | None:
    """Return the number that an integer constant is, None for what is none."""
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != "arith.constant":
        return None
    return ir.IntegerAttr(value.owner.operation.attributes["value"]).value


_DIVISIONS = ("div", "floordiv", "mod", "truncmod")


def _divide(kind: str, a: Scalar, b: Scalar, given: ScalarLike) -> Scalar:
    """Divide integers so that no operands end the process, as the processor's instruction does.

    What divides by zero is 0, and the lowest number by -1 wraps around to itself: numpy's answers.
    """
    if isinstance(given, int) and given not in (0, -1):
        return _quotient(kind, a, b)
    zero = compare("eq", b, 0)
    trivial = zero
    if not is_unsigned(a.dtype):
        minus_one = compare("eq", b, -1)
        trivial = Scalar(arith.ori(zero.value, minus_one.value), "bool")
    result = _quotient(kind, a, select(trivial, 1, b))
    if not is_unsigned(a.dtype) and kind in ("div", "floordiv"):
        result = select(minus_one, binary("sub", 0, a), result)
    # A remainder of 1 is that of -1 and the one wanted for 0.
    return select(zero, 0, result) if kind in ("div", "floordiv") else result


def _quotient(kind: str, a: Scalar, b: Scalar) -> Scalar:
    if kind == "mod" and not is_unsigned(a.dtype):
        return binary("sub", a, binary("mul", _quotient("floordiv", a, b), b))
    operation = _pick(a.dtype, _BINARY["truncmod" if kind == "mod" else kind], kind)
    return Scalar(operation(a.value, b.value), a.dtype)


def low_bits(value: Scalar) -> Scalar:
    """Return what the low four bits of an `int8` or a `uint8` are as an `int4` or a `uint4`."""
    kept = arith.trunci(ir.IntegerType.get_signless(4), value.value)
    extend = arith.extui if is_unsigned(value.dtype) else arith.extsi
    return Scalar(extend(value.value.type, kept), value.dtype)


# Functions of the dialect `math` that have the same name here.
MATH_NAMES = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "erf", "sin", "cos",
    "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "floor",
    "ceil", "trunc",
)  # fmt: skip
_FLOAT_UNARY = {
    "neg": arith.negf, "round": math.roundeven, "abs": math.absf,
    **{name: getattr(math, name) for name in MATH_NAMES},
}  # fmt: skip
_INTEGER_UNARY = {"clz": math.ctlz, "ctz": math.cttz, "popcount": math.ctpop}
UNARY_NAMES = (*_FLOAT_UNARY, *_INTEGER_UNARY, "sigmoid")
BINARY_NAMES = (*_BINARY, "mod")


def unary(kind: str, operand: Scalar) -> Scalar:
    """Apply a unary function of the table.

    Raises:
        DtypeError: the dtype has no such function.
    """
    if kind == "sigmoid" and operand.dtype == "float32":
        # `expand-math` knows it in this form, of which small results keep their digits too.
        return binary("div", 1, binary("add", 1, unary("exp", unary("neg", operand))))
    if kind == "sigmoid" and is_float(operand.dtype):
        # With the exponent always negative nothing overflows, and small results keep their digits.
        power = unary("exp", unary("neg", unary("abs", operand)))
        numerator = select(compare("lt", operand, 0), power, 1)
        return binary("div", numerator, binary("add", 1, power))
    if kind == "abs" and not is_float(operand.dtype):
        if is_unsigned(operand.dtype):
            return operand
        return Scalar(math.absi(operand.value), operand.dtype)
    if kind in _INTEGER_UNARY:
        if is_float(operand.dtype) or operand.dtype == "bool":
            raise DtypeError(f"'{kind}' needs an integer operand, got {operand.dtype}")
        counted = cast(operand, "int64") if operand.dtype == INDEX else operand
        return Scalar(_INTEGER_UNARY[kind](counted.value), counted.dtype)
    if not is_float(operand.dtype):
        raise DtypeError(f"'{kind}' needs a floating-point operand, got {operand.dtype}")
    return Scalar(_FLOAT_UNARY[kind](operand.value), operand.dtype)


_PREDICATES = {"eq": 0, "ne": 1, "lt": 2, "le": 3, "gt": 4, "ge": 5}
# Ordered comparisons, but "not equal" is true for NaN as in IEEE 754 and numpy.
_FLOAT_PREDICATES = {"eq": 1, "gt": 2, "ge": 3, "lt": 4, "le": 5, "ne": 13}


def compare(kind: str, lhs: ScalarLike, rhs: ScalarLike) -> Scalar:
    """Compare two scalars; the result is a bool."""
    a, b = unify(lhs, rhs)
    if is_float(a.dtype):
        value = arith.cmpf(_FLOAT_PREDICATES[kind], a.value, b.value)
    else:
        predicate = _PREDICATES[kind]
        unsigned = 4 if is_unsigned(a.dtype) and kind not in ("eq", "ne") else 0
        value = arith.cmpi(predicate + unsigned, a.value, b.value)
    return Scalar(value, "bool")


def select(condition: Scalar, lhs: ScalarLike, rhs: ScalarLike) -> Scalar:
    """Return `lhs` where the condition holds (is not 0), else `rhs`; both are evaluated."""
    if condition.dtype != "bool":
        condition = compare("ne", condition, 0)
    a, b = unify(lhs, rhs)
    return Scalar(arith.select(condition.value, a.value, b.value), a.dtype)


def cast(operand: ScalarLike, dtype: str) -> Scalar:
    """Convert to another dtype: towards zero from float to integer, modulo 2^n between integers."""
    if not isinstance(operand, Scalar):
        return const(operand, dtype)
    source, target = operand.dtype, scalar_type(dtype)
    if source == dtype:
        return operand
    value = operand.value
    if (is_float(dtype) or dtype == "int64") and source in (INDEX, "int32", "int64"):
        # As the script reads: `T.Cast("float32", 4)` is a number.
        number = _integer_of(value)
        if number is not None:
            return Scalar(const(number, dtype).value, dtype, operand.affine)
    if INDEX in (source, dtype):
        if source == INDEX and dtype == "bool":
            return compare("ne", operand, 0)
        if is_float(source) or is_float(dtype):
            return cast(cast(operand, "int64"), dtype)
        convert = arith.index_castui if is_unsigned(source) else arith.index_cast
        return Scalar(convert(target, value), dtype, operand.affine)
    if dtype == "bool":
        return compare("ne", operand, 0)
    if is_float(source) and is_float(dtype):
        return Scalar(_resize_float(value, source, dtype, target), dtype)
    if is_float(source):
        convert = arith.fptoui if is_unsigned(dtype) else arith.fptosi
        return Scalar(convert(target, value), dtype)
    if is_float(dtype):
        convert = arith.uitofp if is_unsigned(source) else arith.sitofp
        return Scalar(convert(target, value), dtype)
    widths = (scalar_type(source).width, target.width)
    if widths[0] == widths[1]:
        return Scalar(value, dtype)
    if widths[0] > widths[1]:
        return Scalar(arith.trunci(target, value), dtype)
    extend = arith.extui if is_unsigned(source) else arith.extsi
    return Scalar(extend(target, value), dtype)


def _integer_of(value: ir.Value) -> int | None:
    """Return the integer that a value is known to be."""
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != "arith.constant":
        return None
    return ir.IntegerAttr(value.owner.operation.attributes["value"]).value


def reinterpret(operand: Scalar, dtype: str) -> Scalar:
    """Return the bits of a scalar as one of another dtype of the same width.

    Raises:
        DtypeError: the widths differ, or one of them is a bool's or an index's.
    """
    source = operand.dtype
    if source == dtype:
        return operand
    plain = all(each not in ("bool", INDEX) for each in (source, dtype))
    if not plain or T.dtype_size(source) != T.dtype_size(dtype):
        raise DtypeError(f"the bits of {source} are not those of {dtype}")
    if not is_float(source) and not is_float(dtype):
        return Scalar(operand.value, dtype)
    return Scalar(arith.bitcast(scalar_type(dtype), operand.value), dtype)


def multiply_add(a: Scalar, b: Scalar, c: Scalar) -> Scalar:
    """Return `a * b + c`, rounded once.

    Raises:
        DtypeError: the dtypes differ, or are not floating-point.
    """
    a, b = unify(a, b)
    a, c = unify(a, c)
    if not is_float(a.dtype):
        raise DtypeError(f"'fma' needs floating-point operands, got {a.dtype}")
    return Scalar(math.fma(a.value, b.value, c.value), a.dtype)


def multiply_extended(lhs: Scalar, rhs: Scalar) -> tuple[Scalar, Scalar]:
    """Return the low and the high half of a signed product, `arith.mulsi_extended`.

    Raises:
        DtypeError: the factors are floats or of different dtypes.
    """
    a, b = unify(lhs, rhs)
    if is_float(a.dtype):
        raise DtypeError(f"the halves of a product are integers, got {a.dtype}")
    low, high = arith.MulSIExtendedOp(a.value, b.value).results
    return Scalar(low, a.dtype), Scalar(high, a.dtype)


def _resize_float(value: ir.Value, source: str, dtype: str, target: ir.Type) -> ir.Value:
    if T.dtype_size(source) < T.dtype_size(dtype):
        return arith.extf(target, value)
    if T.dtype_size(source) > T.dtype_size(dtype):
        return arith.truncf(target, value)
    # float16 and bfloat16 have one size and neither holds the other.
    return arith.truncf(target, arith.extf(ir.F32Type.get(), value))
