"""Indexing: gather, scatter, selection, sorting."""

from typing import Any

import numpy as np

from relax_mlir.frontend.registry import converts
from relax_mlir.relax import op
from relax_mlir.relax.expr import ShapeExpr, TensorType, const


def wrapped(node: Any, index: int, axis: int) -> Any:
    """Return indices, negative ones counted from the end of an axis of input 0."""
    known = node.const(index)
    if known is not None and (known >= 0).all():
        return node.x(index)
    size = node.dims()[axis].value
    dtype = node.dtype(index)
    if known is not None and size is not None:
        return const(np.where(known < 0, known + size, known).astype(dtype))
    indices = node.x(index)
    length = const(size, dtype) if size is not None else op.astype(_length(node, axis), dtype)
    return op.where(op.less(indices, const(0, dtype)), op.add(indices, length), indices)


def _length(node: Any, axis: int) -> Any:
    return op.reshape(op.shape_to_tensor(ShapeExpr([node.dims()[axis]])), ())


@converts("onnx", "Gather")
def gather(node: Any) -> Any:
    """Take slices of an axis."""
    axis = node.axis()
    return op.take(node.x(0), wrapped(node, 1, axis), axis)


@converts("onnx", "GatherElements")
def gather_elements(node: Any) -> Any:
    """Take elements along an axis."""
    axis = node.axis()
    return op.gather_elements(node.x(0), wrapped(node, 1, axis), axis)


@converts("com.microsoft", "GatherND")
@converts("onnx", "GatherND")
def gather_nd(node: Any) -> Any:
    """Take slices by tuples of indices."""
    return op.gather_nd(node.x(0), op.astype(node.x(1), "int64"), node.attrs.get("batch_dims", 0))


_REDUCTIONS = {"none": "update", "add": "add", "mul": "mul", "max": "max", "min": "min"}


@converts("onnx", "Scatter", "ScatterElements")
def scatter_elements(node: Any) -> Any:
    """Write elements along an axis."""
    axis = node.axis()
    reduction = _REDUCTIONS[node.attrs.get("reduction", "none")]
    return op.scatter_elements(node.x(0), wrapped(node, 1, axis), node.x(2), axis, reduction)


@converts("onnx", "ScatterND")
def scatter_nd(node: Any) -> Any:
    """Write slices by tuples of indices."""
    reduction = _REDUCTIONS[node.attrs.get("reduction", "none")]
    return op.scatter_nd(node.x(0), node.x(1), node.x(2), reduction)


@converts("onnx", "OneHot")
def one_hot(node: Any) -> Any:
    """Return one value at an index of a new axis, another elsewhere."""
    dims: list[Any] = list(node.dims())
    axis = node.axis(extra=1)
    depth = node.ints(1) if node.value(1).dtype.startswith("int") else None
    dims.insert(axis, depth[0] if depth else None)
    args = [node.x(0), node.x(1), node.x(2)]
    return node.runtime("one_hot", args, [(node.dtype(2), dims)], axis=axis)


@converts("onnx", "NonZero")
def nonzero(node: Any) -> Any:
    """Return the indices of what is not zero: as many rows as the tensor has axes."""
    rank, made = node.value(0).ndim, op.nonzero(node.x())
    if rank < 1:
        return made
    # Operators that index with a part of it ask how many numbers an index has.
    dims = (rank, node.graph.fresh("d"))
    return node.graph.builder.match_cast(node.emit(made), TensorType(dims, "int64"))


@converts("onnx", "Compress")
def compress(node: Any) -> Any:
    """Keep the slices that a condition selects."""
    axis = node.attrs.get("axis")
    dims: list[Any] = [None] if axis is None else list(node.dims())
    if axis is not None:
        axis = node.axis()
        dims[axis] = None
    return node.runtime("compress", [node.x(0), node.x(1)], [(node.dtype(), dims)], axis=axis)


@converts("onnx", "TopK")
def top_k(node: Any) -> Any:
    """Return the largest or smallest elements along an axis, and their indices."""
    axis, largest = node.axis(), bool(node.attrs.get("largest", 1))
    k = (node.attrs["k"],) if "k" in node.attrs else node.ints(1)
    if k is None or is_float16(node):
        dims: list[Any] = list(node.dims())
        dims[axis] = k[0] if k else None
        return node.runtime(
            "top_k", [node.x(0), node.x(1)], [(node.dtype(), dims), ("int64", dims)],
            axis=axis, largest=largest,
        )  # fmt: skip
    # TVM's topk of none is all.
    both = node.emit(op.topk(node.x(), k[0] if k[0] != 0 else 1, axis, "both", largest, "int64"))
    parts = [both[0], both[1]]
    return [op.strided_slice(part, [axis], [0], [0]) for part in parts] if k[0] == 0 else parts


def is_float16(node: Any) -> bool:
    """Whether the input is of half precision."""
    return node.dtype() == "float16"


@converts("onnx", "Unique")
def unique(node: Any) -> Any:
    """Return the distinct elements or slices, and where they are."""
    axis = node.attrs.get("axis")
    dims: list[Any] = [None] if axis is None else list(node.dims())
    if axis is not None:
        axis = node.axis()
        dims[axis] = None
    many = ("int64", 1)
    return node.runtime(
        "unique", [node.x()], [(node.dtype(), dims), many, many, many], axis=axis,
        sorted=bool(node.attrs["sorted"]),
    )  # fmt: skip


@converts("onnx", "CumSum")
def cumsum(node: Any) -> Any:
    """Sum along an axis, up to each element."""
    axis = node.const(1)
    exclusive, backwards = bool(node.attrs["exclusive"]), bool(node.attrs["reverse"])
    if axis is None:
        value = node.value(0)
        return node.runtime(
            "cumsum", [node.x(), node.x(1)], [(node.dtype(), value.dims or value.ndim)],
            exclusive=exclusive, reverse=backwards,
        )  # fmt: skip
    at = node.normalized(int(axis.reshape(-1)[0]), node.ndim())
    x = op.flip(node.x(), at) if backwards else node.x()
    y = op.cumsum(x, at, node.dtype(), exclusive)
    return op.flip(y, at) if backwards else y


@converts("onnx", "CumProd")
def cumprod(node: Any) -> Any:
    """Multiply along an axis, up to each element."""
    value = node.value(0)
    return node.runtime(
        "cumprod", [node.x(), node.x(1)], [(node.dtype(), value.dims or value.ndim)],
        exclusive=bool(node.attrs["exclusive"]), reverse=bool(node.attrs["reverse"]),
    )  # fmt: skip


@converts("onnx", "ReverseSequence")
def reverse_sequence(node: Any) -> Any:
    """Reverse the beginning of each sequence."""
    return node.runtime(
        "reverse_sequence", [node.x(0), node.x(1)], [(node.dtype(), node.dims())],
        batch_axis=node.attrs["batch_axis"], time_axis=node.attrs["time_axis"],
    )  # fmt: skip


@converts("onnx", "TensorScatter")
def tensor_scatter(node: Any) -> Any:
    """Write an update at a position of each batch, as a cache of keys takes it."""
    args = [node.x(0), node.x(1), node.x(2) if node.has(2) else None]
    return node.runtime(
        "tensor_scatter", args, [(node.dtype(), node.dims())], axis=node.attrs["axis"],
        mode=node.attrs["mode"],
    )  # fmt: skip
