"""Convolution, pooling, and products of matrices."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.frontend.registry import converts
from relax_mlir.frontend.values import Value, materialize, number, of_expr, of_ints
from relax_mlir.relax import op
from relax_mlir.relax.expr import ShapeExpr, const

CONV = {1: op.conv1d, 2: op.conv2d, 3: op.conv3d}
_TRANSPOSED = {1: op.conv1d_transpose, 2: op.conv2d_transpose, 3: op.conv3d_transpose}


def dim_int(node: Any, index: int, axis: int) -> int:
    """Return a dimension that has to be known at import.

    Raises:
        ModelError: it is not.
    """
    value = node.dims(index)[axis].value
    if value is None:
        raise node.fail(f"dimension {axis} of input {index} has to be known at import")
    return value


def _kernel_shape(node: Any, weight: Value) -> list[Any]:
    """Return the spatial sizes of a kernel, by attribute or weight.

    Raises:
        ModelError: the weight's dimensions have no names.
    """
    sizes = node.attrs.get("kernel_shape") or [number(dim) for dim in (weight.dims or ())[2:]]
    if not sizes:
        raise node.fail("padding by auto_pad needs a kernel whose sizes have names")
    return sizes


def window(
    node: Any, rank: int, sizes: Callable[[], Sequence[Any]]
) -> tuple[list[int], list[Any], list[int]]:
    """Return strides, paddings (all begins, then all ends) and dilations of a window.

    Paddings by `auto_pad` are expressions where a size is not known. The window's own sizes are
    asked for where the padding depends on them.
    """
    strides = list(node.attrs.get("strides") or [1] * rank)
    dilations = list(node.attrs.get("dilations") or [1] * rank)
    auto = node.attrs.get("auto_pad", "NOTSET")
    if auto in ("NOTSET", "VALID"):
        pads = (
            list(node.attrs.get("pads") or [0] * (2 * rank)) if auto == "NOTSET" else [0] * 2 * rank
        )
        return strides, pads, dilations
    begins, ends, kernel = [], [], sizes()
    for i in range(rank):
        size = node.dims()[2 + i]
        reach = (kernel[i] - 1) * dilations[i] + 1
        total = ((size + strides[i] - 1) // strides[i] - 1) * strides[i] + reach - size
        # Whole strides: every size that the stride divides needs the same padding.
        total = SymExpr.of(reach - 1) if strides[i] == 1 else total.max(0)
        half = number(total // 2 if auto == "SAME_UPPER" else total - total // 2)
        begins.append(half)
        ends.append(number(total - half))
    return strides, begins + ends, dilations


@converts("onnx", "Conv")
def conv(node: Any) -> Any:
    """Convolve in one to three dimensions."""
    rank = node.ndim(1) - 2
    return with_bias(node, convolved(node, node.x(0), node.x(1), rank), 2, rank)


def convolved(node: Any, x: Any, weight: Any, rank: int) -> Any:
    """Return a convolution with what the attributes of a node say.

    Raises:
        ModelError: it is of more than three dimensions.
    """
    convolve = CONV.get(rank)
    if convolve is None:
        raise node.fail(f"convolution in {rank} dimensions is not supported")
    strides, pads, dilations = window(node, rank, lambda: _kernel_shape(node, of_expr(weight)))
    x, pads = _padded(node, x, pads, 0)
    return convolve(x, weight, strides=strides, padding=pads, dilation=dilations,
                    groups=node.attrs.get("group", 1))  # fmt: skip


def _padded(node: Any, x: Any, pads: Sequence[Any], fill: float) -> tuple[Any, list[int]]:
    """Return a tensor and its paddings; those that only run time knows are elements of it."""
    if all(isinstance(each, int) for each in pads):
        return x, list(pads)
    rank, value = len(pads) // 2, of_expr(x)
    widths = of_ints([0, 0, *pads[:rank], 0, 0, *pads[rank:]])
    dims = [*node.dims()[:2], *(
        dim + low + high
        for dim, low, high in zip(node.dims()[2:], pads[:rank], pads[rank:], strict=True)
    )]  # fmt: skip
    made = node.runtime(
        "pad", [x, materialize(widths), const(np.asarray(fill), value.dtype), None],
        [(value.dtype, dims)], mode="constant",
    )  # fmt: skip
    return made.expr, [0] * len(pads)


def _known(node: Any, pads: list[Any]) -> list[int]:
    """Return paddings.

    Raises:
        ModelError: only run time knows them.
    """
    if not all(isinstance(each, int) for each in pads):
        raise node.fail("auto_pad with strides needs sizes that are known at import here")
    return pads


def with_bias(node: Any, y: Any, index: int, rank: int) -> Any:
    """Add a bias of channels where one is given."""
    if not node.has(index):
        return y
    return op.add(y, op.reshape(node.x(index), (-1, *[1] * rank)))


@converts("onnx", "ConvTranspose")
def conv_transpose(node: Any) -> Any:
    """Convolve transposed, in one to three dimensions."""
    rank = node.ndim(1) - 2
    convolve = _TRANSPOSED.get(rank)
    if convolve is None:
        raise node.fail(f"convolution in {rank} dimensions is not supported")
    strides = list(node.attrs.get("strides") or [1] * rank)
    dilations = list(node.attrs.get("dilations") or [1] * rank)
    extra = list(node.attrs.get("output_padding") or [0] * rank)
    pads = list(node.attrs.get("pads") or [0] * (2 * rank))
    shape, auto = node.attrs.get("output_shape"), node.attrs.get("auto_pad", "NOTSET")
    if shape or auto in ("SAME_UPPER", "SAME_LOWER"):
        kernel = node.attrs.get("kernel_shape") or [dim_int(node, 1, 2 + i) for i in range(rank)]
        shape = list(shape or [dim_int(node, 0, 2 + i) * strides[i] for i in range(rank)])[-rank:]
        for i in range(rank):
            reach = (kernel[i] - 1) * dilations[i] + 1
            total = strides[i] * (dim_int(node, 0, 2 + i) - 1) + extra[i] + reach - shape[i]
            if total < 0:
                extra[i], total = extra[i] - total, 0
            half = total // 2 if auto == "SAME_UPPER" else total - total // 2
            pads[i], pads[rank + i] = half, total - half
    y = convolve(node.x(0), node.x(1), strides=strides, padding=pads, dilation=dilations,
                 output_padding=extra, groups=node.attrs["group"])  # fmt: skip
    return with_bias(node, y, 2, rank)


@converts("onnx", "MatMul")
def matmul(node: Any) -> Any:
    """Multiply matrices as numpy's `matmul` does."""
    return op.matmul(node.x(0), node.x(1))


@converts("onnx", "Gemm")
def gemm(node: Any) -> Any:
    """Return alpha A B + beta C, each of A and B perhaps transposed."""
    a, b = node.x(0), node.x(1)
    a = op.permute_dims(a, [1, 0]) if node.attrs["transA"] else a
    b = op.permute_dims(b, [1, 0]) if node.attrs["transB"] else b
    y = _scaled(op.matmul(a, b), node.attrs["alpha"], node.dtype())
    return op.add(y, _scaled(node.x(2), node.attrs["beta"], node.dtype())) if node.has(2) else y


def _scaled(x: Any, factor: float, dtype: str) -> Any:
    return x if factor == 1 else op.multiply(x, const(np.asarray(factor), dtype))


@converts("onnx", "GlobalAveragePool")
def global_average_pool(node: Any) -> Any:
    """Return the mean of each channel."""
    return op.mean(node.x(), axis=list(range(2, node.ndim())), keepdims=True)


@converts("onnx", "GlobalLpPool", since=2)
def global_lp_pool(node: Any) -> Any:
    """Return the p-norm of each channel."""
    p, dtype = node.attrs["p"], node.dtype()
    powers = op.power(op.abs(node.x()), const(np.asarray(p), dtype))
    total = op.sum(powers, axis=list(range(2, node.ndim())), keepdims=True)
    return op.power(total, const(np.asarray(1 / p), dtype))


@converts("onnx", "GlobalMaxPool")
def global_max_pool(node: Any) -> Any:
    """Return the maximum of each channel."""
    return op.max(node.x(), axis=list(range(2, node.ndim())), keepdims=True)


_AVERAGE = {1: op.avg_pool1d, 2: op.avg_pool2d, 3: op.avg_pool3d}
_MAX = {1: op.max_pool1d, 2: op.max_pool2d, 3: op.max_pool3d}


@converts("onnx", "AveragePool")
def average_pool(node: Any) -> Any:
    """Return the mean of each window."""
    kernel = list(node.attrs["kernel_shape"])
    strides, pads, dilations = window(node, len(kernel), lambda: kernel)
    pool = _AVERAGE.get(len(kernel))
    if pool is None:
        raise node.fail(f"pooling in {len(kernel)} dimensions is not supported")
    x, known = _padded(node, node.x(), pads, 0)
    counts_padding = bool(node.attrs.get("count_include_pad", 0))
    # Paddings of auto_pad leave no rest that ceil_mode would round up.
    ceil = bool(node.attrs.get("ceil_mode", 0)) and x is node.x()
    y = pool(x, kernel, strides=strides, padding=known, dilation=dilations, ceil_mode=ceil,
             count_include_pad=counts_padding)  # fmt: skip
    if x is node.x():
        return trimmed(node, y, strides, pads)
    if counts_padding:
        return y
    ones, _ = _padded(node, op.ones(ShapeExpr(node.dims()), node.dtype()), pads, 0)
    return op.divide(y, pool(ones, kernel, strides=strides, dilation=dilations))


@converts("onnx", "MaxPool")
def max_pool(node: Any) -> Any:
    """Return the maximum of each window, and where it was."""
    kernel = list(node.attrs["kernel_shape"])
    strides, pads, dilations = window(node, len(kernel), lambda: kernel)
    pool = _MAX.get(len(kernel))
    if pool is None:
        raise node.fail(f"pooling in {len(kernel)} dimensions is not supported")
    lowest = np.iinfo(node.dtype()).min if "int" in node.dtype() else -np.inf
    x, pads = _padded(node, node.x(), _known(node, pads) if node.wants(1) else pads, lowest)
    ceil = bool(node.attrs.get("ceil_mode", 0)) and x is node.x()
    y = node.emit(pool(x, kernel, strides=strides, padding=pads, dilation=dilations,
                       ceil_mode=ceil))  # fmt: skip
    y = trimmed(node, y, strides, pads) if ceil else y
    if not node.wants(1):
        return y
    value = of_expr(y)
    where = node.runtime(
        "max_pool_indices", [node.x(), y], [("int64", value.dims or value.ndim)], kernel=kernel,
        strides=strides, pads=pads, dilations=dilations,
        column_major=bool(node.attrs.get("storage_order", 0)),
    )  # fmt: skip
    return [value, where]


def trimmed(node: Any, y: Any, strides: Sequence[int], pads: Sequence[int]) -> Any:
    """Return what is pooled with `ceil_mode` without windows that start in the padding."""
    if not node.attrs.get("ceil_mode", 0):
        return y
    y = node.emit(y)
    dims = of_expr(y).dims or ()
    for i, stride in enumerate(strides):
        most = (node.dims()[2 + i] + pads[i] + stride - 1) // stride
        count = dims[2 + i].min(most)
        if count != dims[2 + i]:
            y = node.emit(op.strided_slice(y, [2 + i], [0], [count]))
    return y


@converts("onnx", "LpPool")
def lp_pool(node: Any) -> Any:
    """Return the p-norm of each window."""
    kernel = list(node.attrs["kernel_shape"])
    strides, pads, dilations = window(node, len(kernel), lambda: kernel)
    pool, p, dtype = _AVERAGE.get(len(kernel)), node.attrs["p"], node.dtype()
    if pool is None:
        raise node.fail(f"pooling in {len(kernel)} dimensions is not supported")
    powers = node.emit(op.power(op.abs(node.x()), const(np.asarray(p), dtype)))
    padded, pads = _padded(node, powers, pads, 0)
    # All windows are whole: a mean divides by fewer where `ceil_mode` lets one reach past the end.
    begins, ends = pads[: len(kernel)], pads[len(kernel) :]
    if node.attrs.get("ceil_mode", 0) and padded is powers:
        ends = [pad + stride - 1 for pad, stride in zip(ends, strides, strict=True)]
    mean = pool(
        padded, kernel, strides=strides, padding=[*begins, *ends], dilation=dilations,
        count_include_pad=True,
    )  # fmt: skip
    total = op.multiply(mean, const(np.asarray(np.prod(kernel)), dtype))
    total = trimmed(node, total, strides, pads) if padded is powers else total
    return op.power(total, const(np.asarray(1 / p), dtype))
