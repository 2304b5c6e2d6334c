"""Elementwise operations."""

from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError
from relax_mlir.frontend.mlir.reading import stablehlo
from relax_mlir.frontend.registry import converts
from relax_mlir.relax import op
from relax_mlir.relax.expr import const

_UNARY = {
    "abs": op.abs, "ceil": op.ceil, "cosine": op.cos, "exponential": op.exp,
    "exponential_minus_one": op.expm1, "floor": op.floor, "is_finite": op.isfinite, "log": op.log,
    "log_plus_one": op.log1p, "logistic": op.sigmoid, "negate": op.negative,
    "round_nearest_even": op.round, "rsqrt": op.rsqrt, "sign": op.sign, "sine": op.sin,
    "sqrt": op.sqrt, "tan": op.tan, "tanh": op.tanh,
}  # fmt: skip
_CHLO_UNARY = {
    "acos": op.acos, "acosh": op.acosh, "asin": op.asin, "asinh": op.asinh, "atan": op.atan,
    "atanh": op.atanh, "cosh": op.cosh, "sinh": op.sinh, "tan": op.tan, "erf": op.erf,
    "is_inf": op.isinf, "square": op.square,
}  # fmt: skip
_BINARY = {
    "atan2": op.atan2, "divide": op.divide, "power": op.power, "remainder": op.mod,
    "shift_left": op.left_shift, "shift_right_arithmetic": op.right_shift,
    "subtract": op.subtract,
}  # fmt: skip
# What these are for bools, and for other dtypes.
_BY_KIND = {
    "add": (op.logical_or, op.add), "multiply": (op.logical_and, op.multiply),
    "maximum": (op.logical_or, op.maximum), "minimum": (op.logical_and, op.minimum),
    "and": (op.logical_and, op.bitwise_and), "or": (op.logical_or, op.bitwise_or),
    "xor": (op.logical_xor, op.bitwise_xor),
}  # fmt: skip
_COMPARISONS = {
    "EQ": op.equal, "NE": op.not_equal, "LT": op.less, "LE": op.less_equal, "GT": op.greater,
    "GE": op.greater_equal,
}  # fmt: skip

Function = Callable[..., Any]


def operands(m: Any) -> list[Any]:
    """Return the operands of an elementwise operation.

    What was repeated along dimensions that another operand has anyway is given as it was before:
    Relax repeats it inside of the kernel.
    """
    narrow = [m.narrow(index) for index in range(len(m.op.operands))]
    if all(each is not None for each in narrow):
        return m.xs()
    return [m.x(index) if each is None else each for index, each in enumerate(narrow)]


def _elementwise(function: Function) -> Function:
    return lambda m: function(*operands(m))


for _name, _function in {**_UNARY, **_BINARY}.items():
    converts("stablehlo", _name)(_elementwise(_function))
for _name, _function in _CHLO_UNARY.items():
    converts("chlo", _name)(_elementwise(_function))
converts("stablehlo", "tan")(_elementwise(op.tan))


def _by_kind(of_bools: Function, others: Function) -> Function:
    return lambda m: (of_bools if m.dtype() == "bool" else others)(*operands(m))


for _name, _pair in _BY_KIND.items():
    converts("stablehlo", _name)(_by_kind(*_pair))


@converts("stablehlo", "not")
def _not(m: Any) -> Any:
    return (op.logical_not if m.dtype() == "bool" else op.bitwise_not)(m.x(0))


@converts("stablehlo", "shift_right_logical")
def _shift_right(m: Any) -> Any:
    unsigned = f"u{m.dtype().removeprefix('u')}"
    return m.cast(op.right_shift(*(m.cast(x, unsigned) for x in operands(m))), m.dtype())


@converts("stablehlo", "round_nearest_afz")
def _round_away(m: Any) -> Any:
    x = m.x(0)
    whole = m.emit(op.trunc(x))
    is_far = op.greater_equal(op.abs(op.subtract(x, whole)), const(0.5, m.dtype()))
    return op.where(is_far, op.add(whole, op.sign(x)), whole)


@converts("stablehlo", "compare")
def _compare(m: Any) -> Any:
    bindings = stablehlo()
    if "compare_type" in m.op.attributes:
        kind = bindings.ComparisonTypeAttr(m.op.attributes["compare_type"]).value
        if kind == "TOTALORDER":
            raise ExprError("there is no total order of floats")
    direction = bindings.ComparisonDirectionAttr(m.op.attributes["comparison_direction"]).value
    left, right = operands(m)
    if left.ty.dtype == "bool":
        left, right = m.cast(left, "int8"), m.cast(right, "int8")
    return _COMPARISONS[direction](left, right)


@converts("stablehlo", "select")
@converts("chlo", "broadcast_select")
def _select(m: Any) -> Any:
    return op.where(*operands(m))


@converts("stablehlo", "clamp")
def _clamp(m: Any) -> Any:
    low, x, high = operands(m)
    return op.minimum(op.maximum(x, low), high)


@converts("stablehlo", "convert")
def _convert(m: Any) -> Any:
    return m.cast(m.x(0), m.dtype())


@converts("stablehlo", "optimization_barrier")
def _barrier(m: Any) -> Any:
    return [m.value(index) for index in range(len(m.op.operands))]


_BROADCAST = {
    "add": op.add, "atan2": op.atan2, "divide": op.divide, "maximum": op.maximum,
    "minimum": op.minimum, "multiply": op.multiply, "power": op.power, "subtract": op.subtract,
    "remainder": op.mod, "and": op.bitwise_and, "or": op.bitwise_or, "xor": op.bitwise_xor,
}  # fmt: skip


def _broadcasting(function: Function) -> Function:
    def convert(m: Any) -> Any:
        places = m.attr("broadcast_dimensions")
        return function(*(_aligned(x, m, places) for x in m.xs()))

    return convert


def _aligned(x: Any, m: Any, places: list[int] | None) -> Any:
    """Return an operand with its dimensions where the result has them."""
    rank = len(m.shape())
    if places is None or x.ty.ndim in (0, rank):
        return x
    wide = [SymExpr.const(1)] * rank
    for axis, place in enumerate(places):
        wide[place] = x.ty.dims[axis]
    return op.reshape(x, wide)


for _name, _function in _BROADCAST.items():
    converts("chlo", f"broadcast_{_name}")(_broadcasting(_function))


@converts("chlo", "broadcast_compare")
def _broadcast_compare(m: Any) -> Any:
    text = str(m.op.attributes["comparison_direction"])
    direction = next(name for name in _COMPARISONS if f" {name}" in text)
    return _broadcasting(_COMPARISONS[direction])(m)


@converts("chlo", "top_k")
def _top_k(m: Any) -> Any:
    both = m.emit(op.topk(m.x(0), k=m.attr("k"), axis=-1, dtype=m.dtype(1)))
    return [both[0], both[1]]
