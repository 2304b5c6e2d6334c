"""Reductions along axes."""

from collections.abc import Callable
from typing import Any

from relax_mlir.frontend.registry import converts
from relax_mlir.relax import op
from relax_mlir.relax.expr import ShapeExpr


def _log_sum_exp(x: Any, axes: Any, keep: bool) -> Any:
    top = op.max(x, axes, True)
    finite = op.where(op.isinf(top), op.zeros_like(top), top)
    total = op.log(op.sum(op.exp(op.subtract(x, finite)), axes, keep))
    return op.add(total, finite if keep else op.max(finite, axes, False))


REDUCTIONS: dict[str, Callable[[Any, Any, bool], Any]] = {
    "ReduceSum": op.sum,
    "ReduceMean": op.mean,
    "ReduceMax": op.max,
    "ReduceMin": op.min,
    "ReduceProd": op.prod,
    "ReduceL1": lambda x, axes, keep: op.sum(op.abs(x), axes, keep),
    "ReduceL2": lambda x, axes, keep: op.sqrt(op.sum(op.multiply(x, x), axes, keep)),
    "ReduceSumSquare": lambda x, axes, keep: op.sum(op.multiply(x, x), axes, keep),
    "ReduceLogSum": lambda x, axes, keep: op.log(op.sum(x, axes, keep)),
    "ReduceLogSumExp": _log_sum_exp,
}

# Of integers, they are computed in floats, and what is behind the point is dropped.
_OF_FLOATS = ("ReduceMean", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp")


def _reduce(node: Any) -> Any:
    keep = bool(node.attrs["keepdims"])
    axes: Any = node.attrs.get("axes")
    if node.has(1):
        axes = node.ints(1)
        if axes is None:
            return _reduce_at_run_time(node, keep)
    if not axes:
        if node.attrs.get("noop_with_empty_axes"):
            axes = []
        else:
            axes = list(range(node.ndim())) if node.value(0).ndim >= 0 else None
    x = node.x()
    if axes == []:
        return _elementwise(node, x)
    return _through(node, x, list(axes) if axes is not None else None, keep)


def _through(node: Any, x: Any, axes: Any, keep: bool) -> Any:
    compute, dtype = REDUCTIONS[node.op_type], node.dtype()
    wide = "int32" if dtype == "bool" else "float64" if node.op_type in _OF_FLOATS else dtype
    if wide == dtype or dtype.startswith(("float", "bfloat")):
        return compute(x, axes, keep)
    return op.astype(compute(op.astype(x, wide), axes, keep), dtype)


_IDENTITIES: dict[str, Callable[[Any], Any]] = {
    "ReduceL1": op.abs,
    "ReduceL2": op.abs,
    "ReduceSumSquare": lambda x: op.multiply(x, x),
    "ReduceLogSum": op.log,
}


def _elementwise(node: Any, x: Any) -> Any:
    """Return what a reduction over no axis gives."""
    compute = _IDENTITIES.get(node.op_type)
    return node.value(0) if compute is None else compute(x)


def _reduce_at_run_time(node: Any, keep: bool) -> Any:
    count = node.value(1).dims
    length = None if not count else count[0].value
    rank: Any = node.ndim()
    if not keep:
        # No axes are all of them, unless the attribute says none.
        rank = None if length is None else rank - length
        if length == 0:
            rank = node.ndim() if node.attrs.get("noop_with_empty_axes") else 0
    return node.runtime(
        "reduce", [node.x(), node.x(1)], [(node.dtype(), rank)], kind=node.op_type, keepdims=keep,
        noop_with_empty_axes=bool(node.attrs.get("noop_with_empty_axes", 0)),
    )  # fmt: skip


for _name in REDUCTIONS:
    converts("onnx", _name)(_reduce)


def _arg(node: Any) -> Any:
    axis, keep = node.axis(), bool(node.attrs["keepdims"])
    find = op.argmax if node.op_type == "ArgMax" else op.argmin
    if not node.attrs.get("select_last_index", 0):
        return op.astype(find(node.x(), axis, keep), "int64")
    last = op.shape_to_tensor(ShapeExpr([node.dims()[axis] - 1]))
    result = op.astype(find(op.flip(node.x(), axis), axis, keep), "int64")
    return op.subtract(op.reshape(last, ()), result)


converts("onnx", "ArgMax", "ArgMin")(_arg)
