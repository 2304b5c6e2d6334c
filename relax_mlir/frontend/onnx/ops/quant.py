"""Quantization: QuantizeLinear, DequantizeLinear, and products of integers."""

from typing import Any

import numpy as np

from relax_mlir.frontend.onnx.ops.nn import convolved
from relax_mlir.frontend.onnx.weights import dtype_name
from relax_mlir.frontend.registry import converts
from relax_mlir.frontend.values import Value, materialize, of_array, of_expr
from relax_mlir.relax import op
from relax_mlir.relax.expr import const


@converts("com.microsoft", "QuantizeLinear")
@converts("onnx", "QuantizeLinear", since=10)
def quantize_linear(node: Any) -> Any:
    """Divide by the scale, round to even, add the zero point and saturate."""
    to = node.attrs.get("output_dtype", 0)
    dtype = node.dtype(2) if node.has(2) else dtype_name(to, "QuantizeLinear") if to else "uint8"
    return quantized(node, node.value(0), 1, dtype)


# Integers that Relax has: what quantizes to them, or from them, is a kernel.
_NATIVE = ("int8", "uint8", "int16", "uint16", "int32")


def _native_axis(node: Any, value: Value, index: int, dtype: str) -> int | None:
    """Return the axis of scales at an input, None where numpy has to compute with them."""
    dims = node.value(index).dims
    if dtype not in _NATIVE or node.attrs.get("block_size") or dims is None or value.ndim < 0:
        return None
    if all(dim == 1 for dim in dims):
        return 0
    return node.normalized(node.attrs.get("axis", 1), value.ndim) if len(dims) == 1 else None


def quantized(node: Any, value: Value, index: int, dtype: str) -> Any:
    """Return a value quantized by the scale and the zero point at inputs of a node."""
    x, scale = materialize(value), node.x(index)
    zero = node.x(index + 1) if node.has(index + 1) else None
    axis = _native_axis(node, value, index, dtype)
    if axis is not None:
        x = x if "float" in value.dtype else op.astype(x, "float32")
        return op.quantize(x, scale, const(0, dtype) if zero is None else zero, axis, dtype)
    return node.runtime(
        "quantize", [x, scale, zero],
        [(dtype, value.dims if value.dims is not None else value.ndim)],
        axis=node.attrs.get("axis", 1), block=node.attrs.get("block_size", 0), to=dtype,
        saturate=bool(node.attrs.get("saturate", 1)),
    )  # fmt: skip


@converts("com.microsoft", "DequantizeLinear")
@converts("onnx", "DequantizeLinear", since=10)
def dequantize_linear(node: Any) -> Any:
    """Subtract the zero point and multiply by the scale."""
    value, scale = node.value(0), node.x(1)
    zero = node.x(2) if node.has(2) else None
    axis = _native_axis(node, value, 1, value.dtype)
    if axis is not None:
        zero = const(0, value.dtype) if zero is None else zero
        return op.dequantize(node.x(0), scale, zero, axis, node.dtype(1))
    return node.runtime(
        "dequantize", [node.x(0), scale, zero],
        [(node.dtype(1), value.dims if value.dims is not None else value.ndim)],
        axis=node.attrs.get("axis", 1), block=node.attrs.get("block_size", 0), of=value.dtype,
    )  # fmt: skip


def _centred(node: Any, index: int, zero: int, rows: bool = False) -> Any:
    """Return an integer operand less its zero point, as `int32`; that of rows is a column."""
    x = op.astype(node.x(index), "int32")
    if not node.has(zero):
        return x
    offset = op.astype(node.x(zero), "int32")
    if rows and node.ndim(zero) == 1 and node.dims(zero)[0].value != 1:
        offset = op.expand_dims(offset, -1)
    return op.subtract(x, offset)


@converts("onnx", "MatMulInteger", since=10)
def matmul_integer(node: Any) -> Any:
    """Multiply integers less their zero points, in `int32`."""
    return op.matmul(_centred(node, 0, 2, rows=True), _centred(node, 1, 3))


@converts("onnx", "QLinearMatMul", since=10)
def qlinear_matmul(node: Any) -> Any:
    """Multiply quantized matrices, and quantize the product."""
    a, b = (
        op.astype(materialize(node.apply("DequantizeLinear", *node.inputs[i : i + 3], axis=axis)),
                  "float32")
        for i, axis in ((0, -2), (3, -1))
    )  # fmt: skip
    product = of_expr(node.emit(op.matmul(a, b)))
    return quantized(node, product, 6, node.dtype(7))


def _kernel_offset(node: Any, index: int) -> Any:
    offset = op.astype(node.x(index), "int32")
    if node.ndim(index) == 1 and node.dims(index)[0].value != 1:
        return op.reshape(offset, (-1, *[1] * (node.ndim(1) - 1)))
    return op.reshape(offset, ())


@converts("onnx", "ConvInteger", since=10)
def conv_integer(node: Any) -> Any:
    """Convolve integers less their zero points, in `int32`."""
    x = op.astype(node.x(0), "int32")
    x = op.subtract(x, op.reshape(op.astype(node.x(2), "int32"), ())) if node.has(2) else x
    w = op.astype(node.x(1), "int32")
    w = node.emit(op.subtract(w, _kernel_offset(node, 3)) if node.has(3) else w)
    return convolved(node, x, w, node.ndim(1) - 2)


@converts("onnx", "DynamicQuantizeLinear", since=11)
def dynamically_quantized(node: Any) -> list[Value]:
    """Return a tensor as `uint8`, with its scale and zero point; its range has 0 in it."""
    x, zero = node.x(0), const(0.0, "float32")
    low = op.minimum(op.min(x), zero)
    high = op.maximum(op.max(x), zero)
    scale = node.emit(op.divide(op.subtract(high, low), const(255.0, "float32")))
    point = op.clip(op.round(op.divide(op.negative(low), scale)), 0, 255)
    point = of_expr(node.emit(op.astype(point, "uint8")))
    return [node.apply("QuantizeLinear", node.value(0), of_expr(scale), point), of_expr(scale),
            point]  # fmt: skip


@converts("onnx", "QLinearConv", since=10)
def qlinear_conv(node: Any) -> Any:
    """Convolve integers less their zero points, and quantize the result."""
    rank = node.ndim(3) - 2
    column = (-1, *[1] * rank)
    x = op.subtract(op.astype(node.x(0), "int32"), op.astype(node.x(2), "int32"))
    offset = op.reshape(op.astype(node.x(5), "int32"), (-1, *[1] * (rank + 1)))
    w = node.emit(op.subtract(op.astype(node.x(3), "int32"), offset))
    y = convolved(node, x, w, rank)
    y = op.add(y, op.reshape(node.x(8), column)) if node.has(8) else y
    scale = op.divide(op.multiply(node.x(1), node.x(4)), node.x(6))
    y = op.multiply(op.astype(y, "float32"), op.reshape(scale, column))
    one = of_array(np.array(1, "float32"))
    return node.apply("QuantizeLinear", of_expr(node.emit(y)), one, node.value(7))


@converts("onnx", "Einsum", since=12)
def einsum(node: Any) -> Any:
    """Sum products of elements by index letters."""
    text = node.attrs["equation"].replace(" ", "")
    return op.einsum([node.x(i) for i in range(len(node.inputs))], text)


@converts("onnx", "Det", since=11)
def det(node: Any) -> Any:
    """Return the determinants of matrices: products of elements where they have few rows."""
    x, rows = node.x(), node.dims()[-1].value
    if rows not in (1, 2, 3):
        return node.runtime("det", [x], [(node.dtype(), list(node.dims()[:-2]))])

    def at(i: int, j: int) -> Any:
        rank = node.ndim()
        part = op.strided_slice(x, [rank - 2, rank - 1], [i, j], [i + 1, j + 1])
        return op.squeeze(part, [rank - 2, rank - 1])

    def minor(i: int, j: int) -> Any:
        return op.subtract(op.multiply(at(1, i), at(2, j)), op.multiply(at(1, j), at(2, i)))

    if rows == 1:
        return at(0, 0)
    if rows == 2:
        return op.subtract(op.multiply(at(0, 0), at(1, 1)), op.multiply(at(0, 1), at(1, 0)))
    parts = [op.multiply(at(0, i), minor((i + 1) % 3, (i + 2) % 3)) for i in range(3)]
    return op.add(op.add(parts[0], parts[1]), parts[2])
