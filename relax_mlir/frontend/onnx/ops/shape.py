"""Shapes, and moving elements: reshape, transpose, concatenate, split, pad, tile."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.frontend.onnx.agreement import cast_dims, common_sizes
from relax_mlir.frontend.onnx.weights import dtype_name, storage_dtype
from relax_mlir.frontend.registry import converts
from relax_mlir.frontend.values import of_array
from relax_mlir.relax import op
from relax_mlir.relax.expr import ShapeExpr, TensorType, const


@converts("onnx", "Shape")
def shape(node: Any) -> Any:
    """Return the shape of a tensor of unknown rank."""
    return node.runtime("shape", [node.x()], [("int64", 1)], **{
        "start": node.attrs.get("start", 0), "end": node.attrs.get("end"),
    })  # fmt: skip


@converts("onnx", "Size")
def size(node: Any) -> Any:
    """Return the number of elements of a tensor."""
    return op.size(node.x())


@converts("onnx", "Constant")
def constant(node: Any) -> Any:
    """Return an attribute as a tensor."""
    for name, dtype in (
        ("value_float", "float32"), ("value_floats", "float32"),
        ("value_int", "int64"), ("value_ints", "int64"),
    ):  # fmt: skip
        if name in node.attrs:
            return of_array(np.asarray(node.attrs[name], dtype))
    if "value" not in node.attrs:
        raise node.fail("only numeric constants are supported")
    return node.graph.constant(node.attrs["value"])


def known_length(node: Any, index: int) -> int | None:
    """Return how many elements a 1-D input has, None where only run time knows it."""
    dims = node.value(index).dims
    return dims[0].value if dims else None


@converts("onnx", "Reshape")
def reshape(node: Any) -> Any:
    """Give a tensor another shape: 0 keeps a dimension, -1 is what is left."""
    to, keep_zero = node.ints(1), bool(node.attrs.get("allowzero", 0))
    if to is None:
        return node.runtime(
            "reshape", [node.x(), node.x(1)], [(node.dtype(), known_length(node, 1))],
            allowzero=keep_zero,
        )  # fmt: skip
    return op.reshape(node.x(), _resolved(node, list(to), keep_zero))


def _resolved(node: Any, to: list[Any], keep_zero: bool) -> Any:
    if not keep_zero and any(isinstance(each, int) and each == 0 for each in to):
        dims = node.dims()
        to = [dims[i] if isinstance(n, int) and n == 0 else n for i, n in enumerate(to)]
    if keep_zero and 0 in to:
        return ShapeExpr([0 if each == -1 else each for each in to])
    return to


@converts("onnx", "Flatten")
def flatten(node: Any) -> Any:
    """Join the dimensions before an axis, and those from it on."""
    axis = node.axis(extra=0) if node.attrs["axis"] != node.ndim() else node.ndim()
    sizes: list[Any] = [SymExpr.of(1), SymExpr.of(1)]
    for i, dim in enumerate(node.dims()):
        sizes[i >= axis] = sizes[i >= axis] * dim
    return op.reshape(node.x(), ShapeExpr(sizes))


@converts("onnx", "Transpose")
def transpose(node: Any) -> Any:
    """Permute the axes; without `perm` reverse them."""
    return op.permute_dims(node.x(), node.attrs.get("perm"))


def axes_of(node: Any, index: int = 1) -> list[int] | None:
    """Return `axes`, an attribute before opset 13 or 18, and an input since.

    Raises:
        ModelError: only run time knows them.
    """
    if node.has(index):
        known = node.ints(index)
        if known is None:
            raise node.fail("axes that only run time knows are not supported here")
        return list(known)
    given = node.attrs.get("axes")
    return None if given is None else list(given)


@converts("onnx", "Squeeze")
def squeeze(node: Any) -> Any:
    """Drop axes of size 1.

    Without axes, those that import knows: run time refuses another that turns out to be 1, as
    operators that follow were imported for the rank.
    """
    if node.has(1) and node.ints(1) is None:
        count = known_length(node, 1)
        rank = None if count is None else node.ndim() - count
        return node.runtime("squeeze", [node.x(), node.x(1)], [(node.dtype(), rank)])
    axes = axes_of(node)
    if axes is None:
        axes = [i for i, dim in enumerate(node.dims()) if dim.value == 1]
        kept = [dim for dim in node.dims() if dim.value != 1]
        if any(dim.value is None for dim in kept):
            return node.runtime("squeeze", [node.x(), None], [(node.dtype(), kept)])
    return op.squeeze(node.x(), axis=axes) if axes else node.value(0)


@converts("onnx", "Unsqueeze")
def unsqueeze(node: Any) -> Any:
    """Insert axes of size 1."""
    if node.has(1) and node.ints(1) is None:
        count = known_length(node, 1)
        rank = None if count is None else node.ndim() + count
        return node.runtime("unsqueeze", [node.x(), node.x(1)], [(node.dtype(), rank)])
    axes = axes_of(node)
    if not axes:
        return node.value(0)
    rank = node.ndim() + len(axes)
    return op.expand_dims(node.x(), sorted(node.normalized(axis, rank) for axis in axes))


@converts("com.microsoft", "ExpandDims")
def expand_dims(node: Any) -> Any:
    """Insert an axis of size 1 at a place that is an input."""
    axis = node.ints(1)
    if axis is None:
        args = [node.x(), op.reshape(op.astype(node.x(1), "int64"), (1,))]
        return node.runtime("unsqueeze", args, [(node.dtype(), node.ndim() + 1)])
    return op.expand_dims(node.x(), node.normalized(axis[0], node.ndim() + 1))


@converts("onnx", "Concat")
def concat(node: Any) -> Any:
    """Join tensors along an axis."""
    tensors = [node.x(i) for i in range(len(node.inputs))]
    return op.concat(tensors, axis=node.axis()) if len(tensors) > 1 else node.value(0)


@converts("onnx", "Expand")
def expand(node: Any) -> Any:
    """Broadcast a tensor with a shape."""
    to = node.ints(1)
    if to is None:
        length = known_length(node, 1)
        rank = None if length is None else max(node.ndim(), length)
        return node.runtime("expand", [node.x(), node.x(1)], [(node.dtype(), rank)])
    dims = list(node.dims())
    target = [SymExpr.of(each) for each in to]
    rank = max(len(dims), len(target))
    dims = [SymExpr.of(1)] * (rank - len(dims)) + dims
    target = [SymExpr.of(1)] * (rank - len(target)) + target
    same, whole = common_sizes(dims, target)
    if whole == target:
        dims = same
        cast_dims(node, 0, dims[rank - node.ndim() :])
    if any(
        a.value is None and b.value is None and a != b for a, b in zip(dims, target, strict=True)
    ):
        ones = op.ones(ShapeExpr(target), node.dtype() if node.dtype() != "bool" else "int32")
        return _broadcast_with(node, ones)
    sizes = [a if b.value == 1 or (b.value is None and a.value not in (None, 1)) else b
             for a, b in zip(dims, target, strict=True)]  # fmt: skip
    return op.broadcast_to(node.x(), sizes)


def _broadcast_with(node: Any, ones: Any) -> Any:
    if node.dtype() == "bool":
        return op.astype(op.multiply(op.astype(node.x(), "int32"), ones), "bool")
    return op.multiply(node.x(), ones)


@converts("onnx", "ConstantOfShape")
def constant_of_shape(node: Any) -> Any:
    """Return a tensor that is one number everywhere."""
    given = node.attrs.get("value")
    fill = node.graph.constant(given) if given is not None else of_array(np.zeros(1, "float32"))
    assert fill.data is not None, "an attribute has its elements"
    value = fill.data.reshape(-1)[0]
    sizes = node.ints(0)
    if sizes is None:
        return node.runtime(
            "full", [node.x()], [(fill.dtype, known_length(node, 0))], value=value.item(),
            dtype=fill.dtype,
        )  # fmt: skip
    if all(isinstance(each, int) for each in sizes) and np.prod(sizes, dtype="float64") <= 1024:
        return of_array(np.full(sizes, value))
    return op.full(ShapeExpr(sizes), const(value, fill.dtype), fill.dtype)


@converts("onnx", "Tile")
def tile(node: Any) -> Any:
    """Repeat a tensor along each axis."""
    repeats = node.ints(1)
    if repeats is None:
        return node.runtime("tile", [node.x(), node.x(1)], [(node.dtype(), node.ndim())])
    if all(isinstance(each, int) for each in repeats):
        return op.tile(node.x(), list(repeats))
    # Repeats that run time knows are axes of their own.
    dims = node.dims()
    x = node.emit(op.reshape(node.x(), [size for dim in dims for size in (1, dim)]))
    wide = [size for pair in zip(repeats, dims, strict=True) for size in pair]
    x = node.emit(op.broadcast_to(x, wide))
    return op.reshape(x, [each * dim for each, dim in zip(repeats, dims, strict=True)])


@converts("onnx", "Split")
def split(node: Any) -> Any:
    """Cut a tensor along an axis, into equal parts or parts of given sizes."""
    axis, count = node.axis(), len(node.proto.output)
    sizes: Any = node.attrs.get("split")
    if node.has(1):
        sizes = node.ints(1)
        if sizes is None:
            dims: list[Any] = list(node.dims())
            dims[axis] = None
            outputs = [(node.dtype(), dims)] * count
            return node.runtime("split", [node.x(), node.x(1)], outputs, axis=axis)
    if count == 1:
        return node.value(0)
    if sizes is None:
        total = node.dims()[axis]
        part = (total + (count - 1)) // count
        sizes = [*[part] * (count - 1), total - part * (count - 1)]
    return parts(node, axis, sizes)


def parts(node: Any, axis: int, sizes: Sequence[Any]) -> list[Any]:
    """Return input 0 in parts of given sizes, which run time checks where it has to.

    Raises:
        ModelError: a size is negative.
    """
    if any(isinstance(each, int) and each < 0 for each in sizes):
        raise node.fail(f"parts of sizes {list(sizes)}")
    ends = list(itertools.accumulate(map(SymExpr.of, sizes)))
    dims, x = list(node.dims()), node.x()
    if dims[axis] != ends[-1]:
        dims[axis] = ends[-1]
        x = node.graph.builder.match_cast(x, TensorType(dims, storage_dtype(node.dtype())))
    starts = [SymExpr.of(0), *ends]
    return [
        op.strided_slice(x, [axis], [start], [end])
        for start, end in zip(starts, ends, strict=False)
    ]


@converts("onnx", "Slice")
def slice_attributes(node: Any) -> Any:
    """Cut a range of each axis, by attributes."""
    starts, ends = node.attrs["starts"], node.attrs["ends"]
    axes = node.attrs.get("axes") or range(len(starts))
    return op.strided_slice(node.x(), list(axes), list(starts), list(ends))


@converts("onnx", "Slice", since=10)
def slice_inputs(node: Any) -> Any:
    """Cut a range of each axis, by inputs."""
    given = [node.ints(i) if node.has(i) else () for i in range(1, 5)]
    given += [()] * (4 - len(given))
    starts, ends, axes, steps = given
    steps_known = steps is not None and all(isinstance(each, int) for each in steps)
    if starts is None or ends is None or axes is None or not steps_known:
        return _slice_at_run_time(node, axes)
    axes = [node.normalized(axis, node.ndim()) for axis in axes or range(len(starts))]
    steps = list(steps or [1] * len(starts))
    # Backwards, what begins before the first element begins at it, unlike Python's slices
    # (https://onnx.ai/onnx/operators/onnx__Slice.html).
    starts = [
        (-node.dims()[axis]).max(start) if step < 0 and isinstance(start, int) and start < 0
        else start for start, axis, step in zip(starts, axes, steps, strict=True)
    ]  # fmt: skip
    return op.strided_slice(node.x(), axes, starts, list(ends), steps)


def _slice_at_run_time(node: Any, axes: Any) -> Any:
    args = [node.x(i) if node.has(i) else None for i in range(5)]
    rank = node.ndim()
    dims: list[Any] = [None] * rank
    if axes:
        touched = {node.normalized(axis, rank) for axis in axes}
        dims = [None if i in touched else dim for i, dim in enumerate(node.dims())]
    return node.runtime("slice", args, [(node.dtype(), dims)])


@converts("onnx", "Pad")
def pad_attributes(node: Any) -> Any:
    """Extend a tensor, by attributes."""
    return _pad(node, list(node.attrs["pads"]), node.attrs["value"])


@converts("onnx", "Pad", since=11)
def pad_inputs(node: Any) -> Any:
    """Extend a tensor, by inputs."""
    rank, pads = node.ndim(), node.ints(1)
    axes = node.ints(3) if node.has(3) else tuple(range(rank))
    value = node.const(2) if node.has(2) else np.zeros(())
    mode = node.attrs["mode"]
    if (
        pads is None
        or axes is None
        or value is None
        or mode == "wrap"
        or not all(isinstance(each, int) and each >= 0 for each in pads)
    ):
        args = [node.x(i) if node.has(i) else None for i in range(4)]
        return node.runtime("pad", args, [(node.dtype(), rank)], mode=mode)
    full = [0] * (2 * rank)
    for i, axis in enumerate(axes):
        axis = node.normalized(axis, rank)
        full[axis], full[rank + axis] = pads[i], pads[len(axes) + i]
    return _pad(node, full, value.reshape(-1)[0].item() if value.size else 0)


def _pad(node: Any, pads: list[int], value: float) -> Any:
    rank = len(pads) // 2
    width = [each for i in range(rank) for each in (pads[i], pads[rank + i])]
    mode = str(node.attrs["mode"])
    mode = "replicate" if mode == "edge" else mode
    return op.pad(node.x(), width, mode, value)


@converts("onnx", "Range")
def range_(node: Any) -> Any:
    """Count from a start to below a limit."""
    dtype = node.dtype()
    given = [node.ints(i) if "int" in dtype else node.const(i) for i in range(3)]
    if any(each is None for each in given):
        return node.runtime("range", [node.x(i) for i in range(3)], [(dtype, 1)])
    start, limit, step = (each[0] if isinstance(each, tuple) else each.item() for each in given)
    return op.arange(start, limit, step, dtype)


@converts("onnx", "EyeLike")
def eye_like(node: Any) -> Any:
    """Return ones on a diagonal of a matrix of the shape of another."""
    to = node.attrs.get("dtype")
    rows, columns = node.dims()
    dtype = node.dtype() if to is None else dtype_name(to, "EyeLike")
    return op.eye(rows, columns, node.attrs["k"], dtype)


@converts("com.microsoft", "Trilu")
@converts("onnx", "Trilu")
def trilu(node: Any) -> Any:
    """Keep the upper or the lower triangle of matrices."""
    k = node.ints(1) if node.has(1) else (0,)
    if k is None:
        value = node.value(0)
        shape = (node.dtype(), value.dims or value.ndim)
        return node.runtime(
            "trilu", [node.x(), node.x(1)], [shape], upper=bool(node.attrs.get("upper", 1))
        )
    return (op.triu if node.attrs.get("upper", 1) else op.tril)(node.x(), k[0])


@converts("onnx", "DepthToSpace")
def depth_to_space(node: Any) -> Any:
    """Move channels into blocks of the image."""
    n, c, h, w = node.dims()
    block = node.attrs["blocksize"]
    rest = c // (block * block)
    if node.attrs.get("mode", "DCR") == "DCR":
        sizes, order = [n, block, block, rest, h, w], [0, 3, 4, 1, 5, 2]
    else:
        sizes, order = [n, rest, block, block, h, w], [0, 1, 4, 2, 5, 3]
    moved = op.permute_dims(op.reshape(node.x(), ShapeExpr(sizes)), order)
    return op.reshape(moved, ShapeExpr([n, rest, h * block, w * block]))


@converts("onnx", "SpaceToDepth")
def space_to_depth(node: Any) -> Any:
    """Move blocks of the image into channels."""
    n, c, h, w = node.dims()
    block = node.attrs["blocksize"]
    rows, columns = h // block, w // block
    split = op.reshape(node.x(), ShapeExpr([n, c, rows, block, columns, block]))
    moved = op.permute_dims(split, [0, 3, 5, 1, 2, 4])
    return op.reshape(moved, ShapeExpr([n, c * (block * block), rows, columns]))


@converts("onnx", "CenterCropPad")
def center_crop_pad(node: Any) -> Any:
    """Cut or extend axes to given sizes, the middle staying in the middle."""
    rank = node.ndim()
    axes = [node.normalized(a, rank) for a in node.attrs.get("axes") or range(rank)]
    dims: list[Any] = list(node.dims())
    to = node.ints(1)
    for i, axis in enumerate(axes):
        dims[axis] = None if to is None else to[i]
    return node.runtime("center_crop_pad", [node.x(), node.x(1)], [(node.dtype(), dims)], axes=axes)
