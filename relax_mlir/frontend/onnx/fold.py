"""Computations of known integers, done at import: shapes that models compute stay symbolic."""

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.frontend.onnx.weights import dtype_name
from relax_mlir.frontend.values import Value, number, of_ints

# Larger arrays are weights: the compiler folds those.
MAX_ELEMENTS = 1024

_INTEGERS = frozenset(("int64", "int32", "bool"))


def fold(node: Any) -> Value | None:
    """Return the result of a node whose inputs are known integers, None where they are not."""
    compute = FOLDS.get(node.op_type)
    if compute is None or node.output_count != 1:
        return None
    if node.op_type in ("Shape", "Size"):
        return compute(node)
    for value in node.inputs:
        if value is None:
            continue
        if not isinstance(value, Value) or value.data is None or value.data.size > MAX_ELEMENTS:
            return None
        if value.dtype not in _INTEGERS:
            return None
    return compute(node)


def _shape(node: Any) -> Value | None:
    if node.value(0).ndim < 0:
        return None
    dims = node.dims()[slice(node.attrs.get("start", 0), node.attrs.get("end"))]
    return of_ints(list(dims))


def _size(node: Any) -> Value | None:
    if node.value(0).ndim < 0:
        return None
    total: Any = SymExpr.of(1)
    for dim in node.dims():
        total = total * dim
    return of_ints(total)


def _value(array: Any, dtype: str) -> Value:
    """Return a value; objects that are all numbers become an array of them."""
    array = np.asarray(array)
    if array.dtype == object:
        numbers = [number(each) for each in array.reshape(-1)]
        if all(isinstance(each, int) for each in numbers):
            return Value(dtype, data=np.array(numbers, dtype).reshape(array.shape))
        made = np.empty(len(numbers), dtype=object)
        made[:] = numbers
        return Value(dtype, data=made.reshape(array.shape))
    return Value(dtype, data=array.astype(dtype, copy=False))


def _binary(compute: Callable[[Any, Any], Any]) -> Callable[[Any], Value]:
    def convert(node: Any) -> Value:
        return _value(compute(node.value(0).data, node.value(1).data), node.dtype())

    return convert


def _divide(left: Any, right: Any) -> Any:
    """Divide towards zero; sizes are not negative, so that theirs rounds down."""
    if left.dtype == object or right.dtype == object:
        return left // right
    return np.trunc(left / right) if not np.any(right == 0) else left


def _compare(compute: Callable[[Any, Any], Any]) -> Callable[[Any], Value | None]:
    def convert(node: Any) -> Value | None:
        left, right = node.value(0).data, node.value(1).data
        if left.dtype == object or right.dtype == object:
            return None
        return Value("bool", data=np.asarray(compute(left, right)))

    return convert


def _cast(node: Any) -> Value | None:
    to = dtype_name(node.attrs["to"], "Cast")
    return _value(node.value(0).data, to) if to in _INTEGERS - {"bool"} else None


def _concat(node: Any) -> Value:
    arrays = [node.value(i).data for i in range(len(node.inputs))]
    return _value(np.concatenate(arrays, node.attrs["axis"]), node.dtype())


def _gather(node: Any) -> Value | None:
    indices = node.const(1)
    if indices is None:
        return None
    return _value(np.take(node.value(0).data, indices, node.attrs["axis"]), node.dtype())


def _slice(node: Any) -> Value | None:
    given = [node.const(i) if node.has(i) else None for i in range(1, len(node.inputs))]
    if len(given) < 2 or any(node.has(i + 1) and each is None for i, each in enumerate(given)):
        return None
    starts, ends, axes, steps = (*given, None, None)[:4]
    if starts is None or ends is None:
        return None
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    index = [slice(None)] * node.ndim()
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        last = None if step < 0 and end < -(2**31) else int(end)
        index[axis] = slice(int(start), last, int(step))
    return _value(node.value(0).data[tuple(index)], node.dtype())


def _axes(node: Any) -> list[int] | None:
    if node.has(1):
        known = node.const(1)
        return None if known is None else known.reshape(-1).tolist()
    return node.attrs.get("axes")


def _squeeze(node: Any) -> Value | None:
    axes = _axes(node)
    if axes is None and (node.has(1) or node.ndim() != 1 or node.value(0).data.shape != (1,)):
        return None
    axis = None if axes is None else tuple(axes)
    return _value(np.squeeze(node.value(0).data, axis), node.dtype())


def _unsqueeze(node: Any) -> Value | None:
    axes = _axes(node)
    if axes is None:
        return None
    return _value(np.expand_dims(node.value(0).data, tuple(axes)), node.dtype())


def _where(node: Any) -> Value | None:
    condition = node.const(0)
    if condition is None:
        return None
    return _value(np.where(condition, node.value(1).data, node.value(2).data), node.dtype(1))


def _reshape(node: Any) -> Value | None:
    shape = node.const(1)
    if shape is None or node.attrs.get("allowzero") or 0 in shape:
        return None
    return _value(node.value(0).data.reshape(tuple(shape)), node.dtype())


def _product(node: Any) -> Value | None:
    if node.ndim() != 1 or node.value(0).dtype == "bool" or _axes(node) not in (None, [0]):
        return None
    if node.has(1) and node.const(1) is None:
        return None
    total = np.multiply.reduce(node.value(0).data, keepdims=bool(node.attrs["keepdims"]))
    return _value(total, node.dtype())


def _identity(node: Any) -> Value:
    return node.value(0)


FOLDS: dict[str, Callable[[Any], Value | None]] = {
    "Shape": _shape,
    "Size": _size,
    "Add": _binary(lambda a, b: a + b),
    "Sub": _binary(lambda a, b: a - b),
    "Mul": _binary(lambda a, b: a * b),
    "Div": _binary(_divide),
    "Equal": _compare(np.equal),
    "Less": _compare(np.less),
    "Greater": _compare(np.greater),
    "Cast": _cast,
    "Concat": _concat,
    "Gather": _gather,
    "Identity": _identity,
    "ReduceProd": _product,
    "Reshape": _reshape,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Where": _where,
}
