"""The pass `to-mixed-precision` with int8: products of numbers that are quantized at run time."""

from typing import Any

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.side_effects import functions_to_optimize
from relax_mlir.relax import op
from relax_mlir.relax.analysis.purity import computable_at_compile_time
from relax_mlir.relax.dpl import is_op, rewrite_in_place, wildcard
from relax_mlir.relax.dpl.matcher import identity
from relax_mlir.relax.expr import Function, const
from relax_mlir.transform.packing.constant_weights import is_constant

_FLOATS = ("float32", "float16", "bfloat16")
_LARGEST = 127
# So many products of two numbers of at most 127 are summed in int32.
_MAX_PRODUCTS = (2**31 - 1) // _LARGEST**2

_X, _W, _BIAS = wildcard(), wildcard(), wildcard()
_MATMUL = is_op("relax.matmul")(_X, _W)
_LINEAR = is_op("relax.linear")(_X, _W) | is_op("relax.linear")(_X, _W, _BIAS)
_CONV = [is_op(f"relax.nn.conv{rank}d")(_X, _W) for rank in (1, 2, 3)]
_PRODUCT = _MATMUL | _LINEAR | _CONV[0] | _CONV[1] | _CONV[2]


def quantize_dynamically(module: ir.Operation) -> None:
    """Compute products of float tensors with weights on int8, summed in int32.

    Both sides are symmetric: a scale is the largest magnitude of what shares it over 127. Each row
    of the left matrix and each image of a convolution has a scale, found at run time; each column
    of a weight and each output channel has one, found when constants are folded, or by the function
    of `LiftTransformParams`. Weights are constants, or parameters after the first `num_input`.
    Products of an unknown number of terms, or of more than int32 can sum, stay as they are.

    The scheme is that of "int8 dynamic activations, int8 weights" of PyTorch's torchao.
    """
    for func in functions_to_optimize(module):
        known = {identity(each) for each in computable_at_compile_time(Function.of(func, module))}

        def rewriter(expr: Any, matches: Any, known: set[Any] = known) -> Any:
            x, weight = matches[_X], matches[_W]
            if identity(weight) not in known and not is_constant(identity(weight)):
                return expr
            if any(getattr(each.ty, "dtype", "") not in _FLOATS for each in (x, weight, expr)):
                return expr
            if x.ty.ndim < 1 or weight.ty.ndim < 2 or getattr(weight.ty, "dims", None) is None:
                return expr
            if _MATMUL in matches:
                return _matmul(expr, x, weight)
            if _LINEAR in matches:
                y = _matmul(expr, x, op.permute_dims(weight))
                return y if y is expr or _BIAS not in matches else op.add(y, matches[_BIAS])
            return _convolution(expr, x, weight)

        rewrite_in_place(_PRODUCT, rewriter, module, func)


def _matmul(expr: Any, x: Any, weight: Any) -> Any:
    if not _fits(weight.ty.dims[-2:-1]):
        return expr
    x, scale = _quantized(x, [-1], keepdims=True)
    weight, by_column = _quantized(weight, [-2], keepdims=expr.args[0].ty.ndim > 1)
    y = op.matmul(x, weight, out_dtype="int32")
    return _dequantized(y, scale, by_column, expr)


def _convolution(expr: Any, x: Any, weight: Any) -> Any:
    attrs = {**expr.attrs, "out_dtype": "int32"}
    image, window = attrs["data_layout"], attrs["kernel_layout"]
    out = attrs.get("out_layout") or image
    sizes = dict(zip(window, weight.ty.dims, strict=False))
    blocked = not (image + window + out).isupper()
    # A depthwise convolution reads more than it multiplies.
    if blocked or sizes["I"] == 1 or not _fits(sizes[axis] for axis in window if axis != "O"):
        return expr
    x, scale = _quantized(x, [i for i, axis in enumerate(image) if axis != "N"], keepdims=True)
    axes = [i for i, axis in enumerate(window) if axis != "O"]
    weight, by_channel = _quantized(weight, axes, keepdims=False)
    y = getattr(op.nn, expr.op.name.rpartition(".")[2])(x, weight, **attrs)
    if out != image:
        scale = op.permute_dims(scale, [image.index(axis) for axis in out])
    by_channel = op.reshape(by_channel, [-1 if axis == "C" else 1 for axis in out])
    return _dequantized(y, scale, by_channel, expr)


def _fits(dims: Any) -> bool:
    """Whether int32 holds the sum of so many products."""
    sizes = [dim.value for dim in dims]
    return None not in sizes and 0 < np.prod(sizes, dtype=object) <= _MAX_PRODUCTS


def _quantized(x: Any, axes: list[int], keepdims: bool) -> tuple[Any, Any]:
    """Return a tensor as int8, and the scales; numbers along `axes` share one."""
    x = x if x.ty.dtype == "float32" else op.astype(x, "float32")
    size = op.max(op.abs(x), axis=axes, keepdims=True)
    # A row of zeros is divided by something else than 0.
    tiny = const(np.finfo("float32").tiny, "float32")
    scale = op.maximum(op.multiply(size, const(1 / _LARGEST, "float32")), tiny)
    quantized = op.astype(op.round(op.divide(x, scale)), "int8")
    return quantized, scale if keepdims else op.squeeze(scale, axes)


def _dequantized(y: Any, of_rows: Any, of_columns: Any, like: Any) -> Any:
    y = op.multiply(op.multiply(op.astype(y, "float32"), of_rows), of_columns)
    return y if like.ty.dtype == "float32" else op.astype(y, like.ty.dtype)
