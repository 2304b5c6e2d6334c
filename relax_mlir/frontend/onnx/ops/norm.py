"""Softmax and normalizations."""

import functools
from typing import Any

import numpy as np

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.frontend.onnx.ops.elementwise import scalar
from relax_mlir.frontend.registry import converts
from relax_mlir.frontend.values import of_expr, same_dims
from relax_mlir.relax import op
from relax_mlir.relax.expr import ShapeExpr, const

_WIDEST_LRN = 1024


def _hardmax(x: Any, axis: int) -> Any:
    """Return 1 at the first maximum along an axis, 0 elsewhere."""
    type_ = of_expr(x)
    dims = type_.dims or ()
    places = op.arange(dims[axis], None, 1, "int64")
    shape = [dims[axis] if i == axis else 1 for i in range(len(dims))]
    first = op.astype(op.argmax(x, axis, True), "int64")
    return op.astype(op.equal(op.reshape(places, ShapeExpr(shape)), first), type_.dtype)


_OF_AXIS = {"Softmax": op.softmax, "LogSoftmax": op.log_softmax, "Hardmax": _hardmax}


def _softmax(node: Any) -> Any:
    node.dims()
    return _OF_AXIS[node.op_type](node.x(), node.axis())


converts("onnx", *_OF_AXIS, since=13)(_softmax)


def _flat_softmax(node: Any) -> Any:
    """Return softmax of a matrix: before opset 13 the axes from `axis` on were one."""
    axis, dims = node.axis(), node.dims()
    compute = _OF_AXIS[node.op_type]
    if axis == len(dims) - 1:
        return compute(node.x(), axis)
    rows, columns = SymExpr.of(1), SymExpr.of(1)
    for i, dim in enumerate(dims):
        rows, columns = (rows * dim, columns) if i < axis else (rows, columns * dim)
    flat = node.emit(op.reshape(node.x(), ShapeExpr([rows, columns])))
    return op.reshape(compute(flat, 1), ShapeExpr(dims))


converts("onnx", *_OF_AXIS)(_flat_softmax)


@converts("onnx", "BatchNormalization")
def batch_normalization(node: Any) -> Any:
    """Normalize channels by given statistics, or by those of the batch."""
    x, scale, bias, mean, variance = (node.x(i) for i in range(5))
    epsilon, rank = node.attrs["epsilon"], node.ndim()
    shape = (-1, *[1] * (rank - 2))
    if not node.attrs.get("training_mode", 0):
        # The arithmetic of wider statistics, rounded at the end.
        both = op.batch_norm(x, scale, bias, mean, variance, 1, epsilon, training=False)
        if len({node.dtype(i) for i in range(5)}) == 1:
            return node.emit(both)[0]
        wide = node.dtype(3)
        factor = op.divide(
            op.astype(scale, wide), op.sqrt(op.add(variance, const(np.asarray(epsilon), wide)))
        )
        y = op.multiply(
            op.subtract(op.astype(x, wide), op.reshape(mean, shape)), op.reshape(factor, shape)
        )
        return op.astype(op.add(y, op.astype(op.reshape(bias, shape), wide)), node.dtype())
    dtype, momentum = node.dtype(), node.attrs["momentum"]
    axes = [i for i in range(rank) if i != 1]
    batch_mean = node.emit(op.mean(x, axes))
    batch_variance = node.emit(op.variance(x, axes))
    factor = op.divide(scale, op.sqrt(op.add(batch_variance, const(np.asarray(epsilon), dtype))))
    y = op.multiply(op.subtract(x, op.reshape(batch_mean, shape)), op.reshape(factor, shape))
    y = op.add(y, op.reshape(bias, shape))
    new, old = const(np.asarray(1 - momentum), dtype), const(np.asarray(momentum), dtype)
    return [
        y,
        op.add(op.multiply(mean, old), op.multiply(batch_mean, new)),
        op.add(op.multiply(variance, old), op.multiply(batch_variance, new)),
    ]


def standardized(node: Any, x: Any, axes: list[int], epsilon: float, dtype: str) -> Any:
    """Return (x - mean) / sqrt(variance + epsilon), with the mean and the inverse deviation."""
    mean = node.emit(op.mean(x, axes, True))
    centred = node.emit(op.subtract(x, mean))
    variance = op.mean(op.multiply(centred, centred), axes, True)
    inverse = node.emit(
        op.divide(const(1, dtype), op.sqrt(op.add(variance, const(np.asarray(epsilon), dtype))))
    )
    return op.multiply(centred, inverse), mean, inverse


@converts("onnx", "InstanceNormalization")
def instance_normalization(node: Any) -> Any:
    """Normalize each channel of each image."""
    rank, dtype = node.ndim(), node.dtype()
    y, _, _ = standardized(node, node.x(), list(range(2, rank)), node.attrs["epsilon"], dtype)
    shape = (-1, *[1] * (rank - 2))
    return op.add(op.multiply(y, op.reshape(node.x(1), shape)), op.reshape(node.x(2), shape))


@converts("onnx", "GroupNormalization", since=18)
def group_normalization(node: Any) -> Any:
    """Normalize groups of channels; scale and bias are of channels, before opset 21 of groups."""
    dims, groups, dtype = list(node.dims()), node.attrs["num_groups"], node.dtype()
    grouped = [dims[0], groups, dims[1] // groups, *dims[2:]]
    x = op.reshape(node.x(), ShapeExpr(grouped))
    axes = list(range(2, len(grouped)))
    y, _, _ = standardized(node, x, axes, node.attrs["epsilon"], dtype)
    if node.version < 21:
        shape = (1, groups, *[1] * (len(grouped) - 2))
        y = op.add(op.multiply(y, op.reshape(node.x(1), shape)), op.reshape(node.x(2), shape))
        return op.reshape(y, ShapeExpr(dims))
    shape = (-1, *[1] * (len(dims) - 2))
    y = op.reshape(y, ShapeExpr(dims))
    return op.add(op.multiply(y, op.reshape(node.x(1), shape)), op.reshape(node.x(2), shape))


@converts("onnx", "LayerNormalization")
def layer_normalization(node: Any) -> Any:
    """Normalize the axes from one on."""
    axes = list(range(node.axis(), node.ndim()))
    epsilon, dtype = node.attrs["epsilon"], node.dtype()
    if not node.wants(1) and not node.wants(2) and node.has(2):
        inner = node.dims()[axes[0] :]
        if same_dims(node.dims(1), inner) and same_dims(node.dims(2), inner):
            return op.layer_norm(node.x(), node.x(1), node.x(2), axes, epsilon)
    stash = "float32" if dtype in ("float16", "bfloat16") else dtype
    x = op.astype(node.x(), stash) if stash != dtype else node.x()
    y, mean, inverse = standardized(node, x, axes, epsilon, stash)
    y = op.astype(y, dtype) if stash != dtype else y
    y = op.multiply(y, node.x(1))
    y = op.add(y, node.x(2)) if node.has(2) else y
    return [y, mean, inverse]


@converts("onnx", "RMSNormalization")
def rms_normalization(node: Any) -> Any:
    """Divide by the root of the mean square of the axes from one on."""
    axes = list(range(node.axis(), node.ndim()))
    epsilon, dtype = node.attrs["epsilon"], node.dtype()
    if same_dims(node.dims(1), node.dims()[axes[0] :]):
        return op.rms_norm(node.x(), node.x(1), axes, epsilon)
    x = node.x()
    square = op.mean(op.multiply(x, x), axes, True)
    root = op.sqrt(op.add(square, const(np.asarray(epsilon), dtype)))
    return op.multiply(op.divide(x, root), node.x(1))


@converts("onnx", "MeanVarianceNormalization")
def mean_variance_normalization(node: Any) -> Any:
    """Normalize axes."""
    axes = list(node.attrs.get("axes") or [0, 2, 3])
    y, _, _ = standardized(node, node.x(), axes, 1e-9, node.dtype())
    return y


@converts("onnx", "LpNormalization")
def lp_normalization(node: Any) -> Any:
    """Divide by the 1-norm or 2-norm along an axis; zeros where that is zero, as onnxruntime."""
    x, axis = node.x(), node.axis()
    if node.attrs["p"] == 1:
        size = node.emit(op.sum(op.abs(x), axis, True))
    else:
        size = node.emit(op.sqrt(op.sum(op.multiply(x, x), axis, True)))
    none = op.equal(size, scalar(node, 0))
    return op.divide(x, op.where(none, scalar(node, np.inf), size))


@converts("onnx", "LRN")
def lrn(node: Any) -> Any:
    """Normalize each element by its neighbours in other channels."""
    size, dtype = node.attrs["size"], node.dtype()
    x, rank = node.x(), node.ndim()
    dims = node.dims()
    before, after = (size - 1) // 2, size // 2
    channels = dims[1].value
    if channels is not None:
        # Further neighbours are not there.
        before, after = min(before, channels), min(after, channels)
    elif size > _WIDEST_LRN:
        raise node.fail(f"a window of {size} channels needs a known number of them")
    width = [0, 0, before, after, *[0] * (2 * (rank - 2))]
    padded = node.emit(op.pad(op.multiply(x, x), width))
    count = before + after + 1
    parts = [op.strided_slice(padded, [1], [i], [dims[1] + i]) for i in range(count)]
    total = functools.reduce(op.add, parts)
    factor = const(np.asarray(node.attrs["alpha"] / size), dtype)
    base = op.add(const(np.asarray(node.attrs["bias"]), dtype), op.multiply(factor, total))
    return op.divide(x, op.power(base, const(np.asarray(node.attrs["beta"]), dtype)))


def _skip(node: Any, offset: int) -> tuple[Any, Any]:
    total = op.add(node.x(0), node.x(1))
    total = node.emit(op.add(total, node.x(offset)) if node.has(offset) else total)
    return total, of_expr(total)


@converts("com.microsoft", "SkipLayerNormalization")
def skip_layer_normalization(node: Any) -> Any:
    """Normalize the sum of two tensors and a bias."""
    total, value = _skip(node, 4)
    shift = node.x(3) if node.has(3) else op.zeros_like(node.x(2))
    y = op.layer_norm(total, node.x(2), shift, [-1], node.attrs.get("epsilon", 1e-12))
    return [y, None, None, value]


@converts("com.microsoft", "SkipSimplifiedLayerNormalization")
def skip_rms_normalization(node: Any) -> Any:
    """Normalize the sum of two tensors by its root mean square."""
    total, value = _skip(node, 3)
    return [
        op.rms_norm(total, node.x(2), [-1], node.attrs.get("epsilon", 1e-12)),
        None,
        None,
        value,
    ]


@converts("onnx", "SimplifiedLayerNormalization")
def simplified_layer_normalization(node: Any) -> Any:
    """Divide by the root mean square; exported before the operator set had RMSNormalization."""
    return op.rms_norm(node.x(), node.x(1), [-1], node.attrs.get("epsilon", 1e-5))
