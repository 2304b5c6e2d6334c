"""Fused operations of onnxruntime, domain `com.microsoft`, as the operations that were fused."""

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.frontend.onnx.ops.attention import self_attention
from relax_mlir.frontend.onnx.ops.quant import dynamically_quantized
from relax_mlir.frontend.registry import converts
from relax_mlir.frontend.values import Value, materialize, of_array, of_expr
from relax_mlir.relax import op
from relax_mlir.relax.expr import ShapeExpr, const

_MS = "com.microsoft"


def _attrs(node: Any, *names: str) -> dict[str, Any]:
    """Return those of some attributes that are set."""
    return {name: node.attrs[name] for name in names if name in node.attrs}


def _value(node: Any, index: int) -> Value | None:
    return node.value(index) if node.has(index) else None


# Products and convolutions


@converts(_MS, "FusedMatMul", "TransposeMatMul")
def fused_matmul(node: Any) -> Any:
    """Multiply stacks of matrices, each perhaps transposed, and scale."""
    x, y = (
        _transposed(node, i, bool(node.attrs.get(f"trans{name}")),
                    bool(node.attrs.get(f"transBatch{name}")))
        for i, name in enumerate("AB")
    )  # fmt: skip
    alpha = node.attrs.get("alpha", 1.0)
    product = op.matmul(x, y)
    return product if alpha == 1 else op.multiply(product, const(np.asarray(alpha), node.dtype()))


def _transposed(node: Any, index: int, swaps: bool, moves_batch: bool) -> Any:
    rank = node.ndim(index)
    axes = list(range(rank))
    if moves_batch:
        axes = [*axes[1:-1], 0, axes[-1]]
    if swaps:
        axes[-2:] = axes[:-3:-1]
    return op.permute_dims(node.x(index), axes) if axes != sorted(axes) else node.x(index)


_ACTIVATIONS = {
    "LeakyRelu": ("alpha",), "HardSigmoid": ("alpha", "beta"), "Elu": ("alpha",), "Relu": (),
    "Tanh": (), "Sigmoid": (), "Softplus": (), "Softsign": (), "HardSwish": (),
}  # fmt: skip


def _activated(node: Any, x: Value, params: Any) -> Value:
    """Return an activation as an attribute names it."""
    name = node.attrs.get("activation", "")
    params = list(params or [])
    if not name:
        return x
    if name == "Clip":
        limits = [of_array(np.array(each, x.dtype)) for each in params]
        return node.apply("Clip", x, *limits)
    if name not in _ACTIVATIONS:
        raise node.fail(f"activation {name} is not supported")
    return node.apply(name, x, **dict(zip(_ACTIVATIONS[name], params, strict=False)))


_WINDOW = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")


@converts(_MS, "FusedConv")
def fused_conv(node: Any) -> Any:
    """Convolve, add a tensor, and apply an activation."""
    y = node.apply("Conv", *(_value(node, i) for i in range(3)), **_attrs(node, *_WINDOW))
    y = node.apply("Add", y, node.value(3)) if node.has(3) else y
    return _activated(node, y, node.attrs.get("activation_params"))


@converts(_MS, "FusedGemm")
def fused_gemm(node: Any) -> Any:
    """Multiply matrices, add a bias, and apply an activation."""
    names = ("alpha", "beta", "transA", "transB")
    y = node.apply("Gemm", *(_value(node, i) for i in range(3)), **_attrs(node, *names))
    return _activated(node, y, [
        node.attrs[f"activation_{name}"] for name in ("alpha", "beta")
        if f"activation_{name}" in node.attrs
    ])  # fmt: skip


@converts(_MS, "BiasGelu")
def bias_gelu(node: Any) -> Any:
    """Return gelu of the sum with a bias."""
    return op.gelu(op.add(node.x(0), node.x(1)))


@converts(_MS, "EmbedLayerNormalization")
def embed_layer_normalization(node: Any) -> Any:
    """Return the normalized sum of embeddings of words, positions and segments."""
    places = node.x(8) if node.has(8) else None
    return _embedded(
        node, lambda i, rows: op.take(node.x(i), rows, 0), places, node.x(5), node.x(6)
    )


@converts(_MS, "QEmbedLayerNormalization")
def quantized_embed_layer_normalization(node: Any) -> Any:
    """Return the same of quantized tables and weights; scales are at inputs from 8 on."""

    def floats(value: Value, index: int) -> Any:
        scale, zero = _value(node, index + 6), _value(node, index + 11)
        return materialize(node.apply("DequantizeLinear", value, scale, zero))

    def rows(index: int, places: Any) -> Any:
        return floats(of_expr(node.emit(op.take(node.x(index), places, 0))), index)

    return _embedded(node, rows, None, *(floats(node.value(i), i) for i in (5, 6)))


def _embedded(
    node: Any, rows: Callable[[int, Any], Any], places: Any, gamma: Any, beta: Any
) -> list[Any]:
    _, length = node.dims()
    if places is None:
        places = op.expand_dims(op.arange(0, length, 1, "int32"), 0)
    total = op.add(rows(2, node.x(0)), rows(3, places))
    if node.has(1) and node.has(4):
        total = op.add(total, rows(4, node.x(1)))
    total = node.emit(total)
    y = op.layer_norm(total, gamma, beta, [-1], node.attrs.get("epsilon", 1e-12))
    counts = op.sum(node.x(7), 1) if node.has(7) else op.zeros(ShapeExpr(node.dims()[:1]), "int32")
    return [y, counts, total]


# Quantized


def _dequantized(node: Any, index: int) -> Value:
    """Return a tensor of integers, whose scale and zero point follow it, as floats."""
    return node.apply("DequantizeLinear", *(_value(node, index + i) for i in range(3)), axis=0)


def _quantized(node: Any, value: Value, index: int) -> Value:
    return node.apply("QuantizeLinear", value, *(_value(node, index + i) for i in range(2)))


@converts(_MS, "QLinearAdd", "QLinearMul")
def qlinear_binary(node: Any) -> Any:
    """Compute with two tensors as floats, and quantize the result."""
    name = node.op_type.removeprefix("QLinear")
    return _quantized(node, node.apply(name, _dequantized(node, 0), _dequantized(node, 3)), 6)


@converts(_MS, "QLinearSigmoid", "QLinearLeakyRelu")
def qlinear_unary(node: Any) -> Any:
    """Compute with a tensor as floats, and quantize the result."""
    name = node.op_type.removeprefix("QLinear")
    return _quantized(node, node.apply(name, _dequantized(node, 0), **_attrs(node, "alpha")), 3)


@converts(_MS, "QLinearSoftmax")
def qlinear_softmax(node: Any) -> Any:
    """Return the quantized softmax; before opset 13 of all axes from one on."""
    x, axis = _dequantized(node, 0), node.normalized(node.attrs.get("axis", -1), node.ndim())
    if node.attrs.get("opset", 13) >= 13:
        return _quantized(node, node.apply("Softmax", x, axis=axis), 3)
    flat = node.apply("Softmax", node.apply("Flatten", x, axis=axis), axis=1)
    return _quantized(
        node, of_expr(node.emit(op.reshape(materialize(flat), ShapeExpr(node.dims())))), 3
    )


@converts(_MS, "QLinearAveragePool", "QLinearGlobalAveragePool")
def qlinear_pool(node: Any) -> Any:
    """Return quantized means of windows, or of all of each channel."""
    x, rank = _dequantized(node, 0), node.ndim()
    last = bool(node.attrs.get("channels_last"))
    x = node.apply("Transpose", x, perm=[0, rank - 1, *range(1, rank - 1)]) if last else x
    names = (*_WINDOW, "ceil_mode", "count_include_pad")
    y = node.apply(node.op_type.removeprefix("QLinear"), x, **_attrs(node, *names))
    y = node.apply("Transpose", y, perm=[0, *range(2, rank), 1]) if last else y
    return _quantized(node, y, 3)


@converts(_MS, "QLinearReduceMean")
def qlinear_reduce_mean(node: Any) -> Any:
    """Return the quantized mean along axes."""
    axes = of_array(np.array(node.attrs.get("axes") or range(node.ndim()), "int64"))
    mean = node.apply("ReduceMean", _dequantized(node, 0), axes, **_attrs(node, "keepdims"))
    return _quantized(node, mean, 3)


@converts(_MS, "QLinearConcat")
def qlinear_concat(node: Any) -> Any:
    """Join tensors, each of a scale of its own, along an axis."""
    tensors = [_dequantized(node, i) for i in range(2, len(node.inputs), 3)]
    return _quantized(node, node.apply("Concat", *tensors, axis=node.attrs["axis"]), 0)


@converts(_MS, "QLinearWhere")
def qlinear_where(node: Any) -> Any:
    """Select elements of two tensors, each of a scale of its own."""
    branches = _dequantized(node, 1), _dequantized(node, 4)
    return _quantized(node, node.apply("Where", node.value(0), *branches), 7)


@converts(_MS, "QGemm")
def qgemm(node: Any) -> Any:
    """Multiply quantized matrices and add a bias of integers; quantize where a scale says so."""
    x, w, alpha = _dequantized(node, 0), _dequantized_columns(node), node.attrs.get("alpha", 1.0)
    y = node.apply("Gemm", x, w, alpha=alpha, **_attrs(node, "transA"))
    if node.has(6):
        scale = op.multiply(op.multiply(node.x(1), node.x(4)), const(alpha, "float32"))
        bias = op.multiply(op.astype(node.x(6), "float32"), scale)
        y = of_expr(node.emit(op.add(materialize(y), bias)))
    return _quantized(node, y, 7) if node.has(7) else y


def _dequantized_columns(node: Any) -> Value:
    """Return the second matrix as (inner, columns) of floats, a scale perhaps for each column."""
    axis = 0 if node.attrs.get("transB") else 1
    w = node.apply("DequantizeLinear", *(_value(node, i) for i in (3, 4, 5)), axis=axis)
    return w if axis else node.apply("Transpose", w, perm=[1, 0])


@converts(_MS, "MatMulIntegerToFloat")
def matmul_integer_to_float(node: Any) -> Any:
    """Multiply integers less their zero points, and scale the product."""
    inputs = [node.inputs[0], node.inputs[1], *(_value(node, i) for i in (4, 5))]
    return _scaled(node, inputs, op.multiply(node.x(2), node.x(3)), 6)


@converts(_MS, "DynamicQuantizeMatMul")
def dynamic_quantize_matmul(node: Any) -> Any:
    """Quantize a matrix by its range, multiply by one of integers, and scale the product."""
    x, scale, zero = dynamically_quantized(node)
    inputs = [x, node.inputs[1], zero, _value(node, 3)]
    return _scaled(node, inputs, op.multiply(materialize(scale), node.x(2)), 4)


def _scaled(node: Any, inputs: list[Any], scale: Any, bias: int) -> Any:
    product = node.apply("MatMulInteger", *inputs)
    y = op.multiply(op.astype(materialize(product), "float32"), scale)
    return op.add(y, node.x(bias)) if node.has(bias) else y


@converts(_MS, "QAttention")
def qattention(node: Any) -> Any:
    """Return `Attention` of a quantized tensor by quantized weights."""
    x = node.apply("DequantizeLinear", *(_value(node, i) for i in (0, 3, 6)))
    w = node.apply("DequantizeLinear", *(_value(node, i) for i in (1, 4, 7)), axis=1)
    return self_attention(node, materialize(x), materialize(w), node.x(2), 5, 8)


def _unpacked(node: Any, x: Any, bits: int) -> Any:
    """Return bytes of several integers each, the first in the lowest bits, as one integer each."""
    dims: Any = of_expr(x).dims
    each = 8 // bits
    mask = const(2**bits - 1, "uint8")
    parts = [op.bitwise_and(op.right_shift(x, const(bits * i, "uint8")), mask) for i in range(each)]
    made = op.stack(parts, -1) if each > 1 else x
    return op.reshape(made, ShapeExpr([*dims[:-1], dims[-1] * each]))


@converts(_MS, "MatMulNBits")
def matmul_nbits(node: Any) -> Any:
    """Multiply by a matrix of integers of 2, 4 or 8 bits, scaled by blocks of its rows.

    Raises:
        ModelError: it is of another number of bits.
    """
    attrs = node.attrs
    bits, block, inner, rows = (attrs.get(n, 4) for n in ("bits", "block_size", "K", "N"))
    if bits not in (2, 4, 8):
        raise node.fail(f"{bits} bits are not supported")
    blocks, dtype = -(-inner // block), node.dtype()
    packed = op.reshape(node.x(1), ShapeExpr([rows, blocks * block * bits // 8]))
    weight = op.astype(_unpacked(node, node.emit(packed), bits), dtype)
    per_block = ShapeExpr([rows, blocks, 1])
    zero: Any = const(float(2 ** (bits - 1)), dtype)
    if node.has(3):
        zero = node.x(3)
        if node.dtype(3) == "uint8":
            width = -(-blocks * bits // 8)
            zero = op.reshape(zero, ShapeExpr([rows, width]))
            zero = op.strided_slice(_unpacked(node, node.emit(zero), bits), [1], [0], [blocks])
        zero = op.reshape(op.astype(zero, dtype), per_block)
    scales = op.reshape(node.x(2), per_block)
    if node.has(4):  # the block of each element, in any order
        places = op.strided_slice(node.x(4), [0], [0], [inner])
        weight = op.strided_slice(weight, [1], [0], [inner])
        scales, zero = (
            op.take(op.squeeze(each, [2]), places, 1) if each is scales or node.has(3) else each
            for each in (scales, zero)
        )
        weight = op.multiply(op.subtract(weight, zero), scales)
    else:
        centred = op.subtract(op.reshape(weight, ShapeExpr([rows, blocks, block])), zero)
        weight = op.reshape(op.multiply(centred, scales), ShapeExpr([rows, blocks * block]))
        if blocks * block != inner:
            weight = op.strided_slice(weight, [1], [0], [inner])
    y = op.matmul(node.x(0), op.permute_dims(weight, [1, 0]))
    return op.add(y, node.x(5)) if node.has(5) else y
