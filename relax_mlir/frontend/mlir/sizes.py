"""Computations of known integers, done at import: shapes that programs compute stay symbolic."""

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.frontend.mlir.types import dtype_of, shape_of
from relax_mlir.frontend.values import Value, of_ints

# Larger arrays are weights: the compiler folds those.
MAX_ELEMENTS = 1024
_INTEGERS = ("int64", "int32", "bool")

Compute = Callable[..., Any]
FOLDS: dict[str, Compute] = {}


def fold(m: Any) -> Value | None:
    """Return the result of an operation on known integers, None where they are not."""
    compute = FOLDS.get(m.op.name)
    if compute is None or len(m.op.results) != 1 or _dtype(m) not in _INTEGERS:
        return None
    operands = [m.value(index) for index in range(len(m.op.operands))]
    if any(
        each.data is None or each.data.size > MAX_ELEMENTS or each.dtype not in _INTEGERS
        for each in operands
    ):
        return None
    result = compute(m, *(each.data for each in operands))
    return None if result is None else _value(result, _dtype(m))


def _dtype(m: Any) -> str:
    type_ = m.op.results[0].type
    return dtype_of(type_) if shape_of(type_) is not None else ""


def _value(data: Any, dtype: str) -> Value:
    data = np.asarray(data)
    if data.dtype != object:
        return Value(dtype, data=data.astype(dtype))
    flat = of_ints([*data.reshape(-1)], dtype)
    assert flat.data is not None, "integers are known"
    return Value(dtype, data=flat.data.reshape(data.shape))


def _folds(*names: str) -> Callable[[Compute], Compute]:
    def register(compute: Compute) -> Compute:
        FOLDS.update(dict.fromkeys(names, compute))
        return compute

    return register


def _each(compute: Callable[[Any, Any], Any]) -> Compute:
    """Return a fold that combines numbers pairwise."""

    def folded(m: Any, left: Any, right: Any) -> Any:
        return np.frompyfunc(compute, 2, 1)(left, right)

    return folded


def _is_symbolic(*arrays: Any) -> bool:
    return any(
        isinstance(each, SymExpr) and each.value is None
        for array in arrays
        if array.dtype == object
        for each in array.reshape(-1)
    )


def _quotient(left: Any, right: Any) -> Any:
    """Divide towards zero; symbolic divisors are not negative."""
    if _symbolic(left, right):
        left, right = SymExpr.of(left), SymExpr.of(right)
        if right.value is not None and right.value < 0:
            return -_quotient(left, -right)
        if _is_natural(left):
            return left // right
        return left.max(0) // right - (-left).max(0) // right
    if not right:
        return 0
    size = abs(int(left)) // abs(int(right))
    return size if (left < 0) == (right < 0) else -size


def _remainder(left: Any, right: Any) -> Any:
    if _symbolic(left, right) and _is_natural(left) and _is_natural(right):
        return left % right
    return left - _quotient(left, right) * right


def _is_natural(number: Any) -> bool:
    bound = SymExpr.of(number).lower_bound()
    return bound is not None and bound >= 0


def _maximum(left: Any, right: Any) -> Any:
    return SymExpr.of(left).max(right) if _symbolic(left, right) else max(left, right)


def _minimum(left: Any, right: Any) -> Any:
    return SymExpr.of(left).min(right) if _symbolic(left, right) else min(left, right)


def _symbolic(*numbers: Any) -> bool:
    return any(isinstance(each, SymExpr) for each in numbers)


_BINARY: tuple[tuple[Callable[[Any, Any], Any], tuple[str, ...]], ...] = (
    (lambda a, b: a + b, ("stablehlo.add", "arith.addi")),
    (lambda a, b: a - b, ("stablehlo.subtract", "arith.subi")),
    (lambda a, b: a * b, ("stablehlo.multiply", "arith.muli")),
    (_quotient, ("stablehlo.divide", "arith.divsi", "arith.divui")),
    (lambda a, b: a // b, ("arith.floordivsi",)),
    (lambda a, b: -(-a // b), ("arith.ceildivsi", "arith.ceildivui")),
    (_remainder, ("stablehlo.remainder", "arith.remsi", "arith.remui")),
    (_maximum, ("stablehlo.maximum", "arith.maxsi", "arith.maxui")),
    (_minimum, ("stablehlo.minimum", "arith.minsi", "arith.minui")),
)
for _compute, _names in _BINARY:
    FOLDS.update(dict.fromkeys(_names, _each(_compute)))

_PREDICATES: dict[str, Callable[[Any, Any], Any]] = {
    "EQ": lambda a, b: a == b, "NE": lambda a, b: a != b, "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b, "GT": lambda a, b: a > b, "GE": lambda a, b: a >= b,
}  # fmt: skip
# In the order of arith's enumeration.
_ARITH_PREDICATES = ("EQ", "NE", "LT", "LE", "GT", "GE", "LT", "LE", "GT", "GE")


def _compare(name: str, left: Any, right: Any) -> Any:
    return None if _is_symbolic(left, right) else _PREDICATES[name](left, right)


@_folds("stablehlo.compare")
def _stablehlo_compare(m: Any, left: Any, right: Any) -> Any:
    from relax_mlir.frontend.mlir.reading import stablehlo

    direction = stablehlo().ComparisonDirectionAttr(m.op.attributes["comparison_direction"])
    return _compare(direction.value, left, right)


@_folds("arith.cmpi")
def _cmpi(m: Any, left: Any, right: Any) -> Any:
    return _compare(_ARITH_PREDICATES[m.attr("predicate")], left, right)


@_folds("stablehlo.select", "arith.select")
def _select(m: Any, condition: Any, left: Any, right: Any) -> Any:
    return None if _is_symbolic(condition) else np.where(condition.astype(bool), left, right)


@_folds("stablehlo.and", "arith.andi")
def _and(m: Any, left: Any, right: Any) -> Any:
    return None if _is_symbolic(left, right) else np.bitwise_and(left, right)


@_folds("stablehlo.or", "arith.ori")
def _or(m: Any, left: Any, right: Any) -> Any:
    return None if _is_symbolic(left, right) else np.bitwise_or(left, right)


@_folds("stablehlo.not")
def _not(m: Any, x: Any) -> Any:
    return None if _is_symbolic(x) else np.logical_not(x) if x.dtype == bool else np.invert(x)


@_folds("stablehlo.negate")
def _negate(m: Any, x: Any) -> Any:
    return -x


@_folds("stablehlo.convert", "arith.index_cast", "arith.index_castui", "arith.extsi",
        "arith.trunci", "arith.extui")  # fmt: skip
def _convert(m: Any, x: Any) -> Any:
    return None if _dtype(m) == "bool" or (x.dtype == bool and _is_symbolic(x)) else x


@_folds("stablehlo.reshape", "tensor.expand_shape", "tensor.collapse_shape", "tensor.cast")
def _reshape(m: Any, x: Any, *_: Any) -> Any:
    shape = m.shape()
    return (
        x.reshape([-1 if dim is None else dim for dim in shape]) if shape.count(None) < 2 else None
    )


@_folds("stablehlo.concatenate")
def _concatenate(m: Any, *arrays: Any) -> Any:
    return np.concatenate(arrays, m.attr("dimension"))


@_folds("tensor.from_elements")
def _from_elements(m: Any, *numbers: Any) -> Any:
    made = np.empty(len(numbers), dtype=object)
    made[:] = [each.reshape(-1)[0] for each in numbers]
    return made.reshape(m.shape())


@_folds("tensor.extract")
def _extract(m: Any, x: Any, *places: Any) -> Any:
    return None if _is_symbolic(*places) else x[tuple(int(each) for each in places)]


@_folds("stablehlo.slice")
def _slice(m: Any, x: Any) -> Any:
    bounds = zip(m.attr("start_indices"), m.attr("limit_indices"), m.attr("strides"), strict=True)
    return x[tuple(slice(*each) for each in bounds)]


@_folds("stablehlo.broadcast_in_dim")
def _broadcast(m: Any, x: Any) -> Any:
    shape, places = m.shape(), m.attr("broadcast_dimensions")
    if None in shape or np.prod(shape) > MAX_ELEMENTS:
        return None
    wide = [1] * len(shape)
    for axis, place in enumerate(places):
        wide[place] = x.shape[axis]
    return np.broadcast_to(x.reshape(wide), shape)
