"""Programs quantized by pt2e, by `torchao`: integers between `quantize` and `dequantize`.

Semantics: `torch.ao.quantization.fx._decomposed`, with which the products are of floats.
"""

from typing import Any

from relax_mlir.frontend.torch.dtypes import dtype_name
from relax_mlir.frontend.torch.importer import Importer
from relax_mlir.frontend.torch.ops.table import converts
from relax_mlir.relax import op

_NAMESPACE = "quantized_decomposed"


def _named(*names: str) -> list[str]:
    return [f"{_NAMESPACE}.{name}" for name in names]


def _scalar(m: Importer, x: Any, dtype: str) -> Any:
    """Return a number, or a tensor of one, as a scalar tensor."""
    made: Any = m.cast(x, dtype)
    return op.reshape(made, ()) if made.ty.ndim else made


def _column(m: Importer, x: Any, rank: int, axis: int, dtype: str) -> Any:
    shape = [-1 if place == axis % rank else 1 for place in range(rank)]
    return op.reshape(m.cast(x, dtype), shape)


def _rounded(m: Importer, x: Any, scale: Any, zero: Any, low: Any, high: Any, dtype: Any) -> Any:
    """Return what is nearest in integers: halves go to even ones."""
    inverse = m.cast(op.divide(m.cast(1.0, "float64"), scale), "float32")
    made = op.add(op.round(op.multiply(m.cast(x, "float32"), inverse)), zero)
    made = op.minimum(op.maximum(made, _scalar(m, low, "float32")), _scalar(m, high, "float32"))
    return op.astype(made, dtype_name(dtype))


@converts(*_named(*(f"quantize_per_tensor.{each}" for each in ("default", "tensor", "tensor2"))))
def _quantize(m: Importer, x: Any, scale: Any, zero: Any, low: Any, high: Any, dtype: Any) -> Any:
    scale, zero = _scalar(m, scale, "float64"), _scalar(m, zero, "float32")
    return _rounded(m, x, scale, zero, low, high, dtype)


@converts(*_named(*(f"dequantize_per_tensor.{each}" for each in ("default", "tensor", "tensor2"))))
def _dequantize(m: Importer, x: Any, scale: Any, zero: Any, *_: Any, **__: Any) -> Any:
    scale, zero = _scalar(m, scale, "float32"), _scalar(m, zero, x.ty.dtype)
    return op.dequantize(x, scale, zero, out_dtype=m.dtype)


@converts(*_named("quantize_per_channel.default"))
def _quantize_channels(
    m: Importer, x: Any, scales: Any, zeros: Any, axis: int, low: int, high: int, dtype: Any
) -> Any:
    rank = x.ty.ndim
    scales = _column(m, scales, rank, axis, "float64")
    return _rounded(m, x, scales, _column(m, zeros, rank, axis, "float32"), low, high, dtype)


@converts(*_named("dequantize_per_channel.default"))
def _dequantize_channels(
    m: Importer, x: Any, scales: Any, zeros: Any, axis: int, *_: Any, **__: Any
) -> Any:
    zeros = m.cast(0, x.ty.dtype) if zeros is None else m.cast(zeros, x.ty.dtype)
    return op.dequantize(x, m.cast(scales, "float32"), zeros, axis, out_dtype=m.dtype)


def _range(m: Importer, x: Any) -> tuple[Any, Any]:
    """Return the least and the greatest element, with zero between them."""
    x, zero = m.cast(x, "float32"), m.cast(0.0, "float32")
    return op.minimum(op.min(x), zero), op.maximum(op.max(x), zero)


def _parameters(m: Importer, scale: Any, zero: Any) -> list[Any]:
    return [op.reshape(m.cast(scale, "float64"), (1,)), op.reshape(m.cast(zero, "int64"), (1,))]


@converts(*_named("choose_qparams.tensor"))
def _choose(m: Importer, x: Any, low: int, high: int, eps: float, dtype: Any) -> list[Any]:
    least, greatest = _range(m, x)
    scale = op.divide(op.subtract(greatest, least), m.cast(float(high - low), "float32"))
    scale = m.emit(op.maximum(scale, m.cast(eps, "float32")))
    zero = op.subtract(m.cast(float(low), "float32"), op.round(op.divide(least, scale)))
    return _parameters(m, scale, op.clip(zero, low, high))


@converts(*_named("choose_qparams_symmetric.tensor"))
def _choose_symmetric(
    m: Importer, x: Any, low: int, high: int, eps: float, dtype: Any
) -> list[Any]:
    least, greatest = _range(m, x)
    size = op.maximum(op.negative(least), greatest)
    scale = op.divide(size, m.cast(float(high - low) / 2, "float32"))
    scale = m.emit(op.maximum(scale, m.cast(eps, "float32")))
    return _parameters(m, scale, m.cast(128 if dtype_name(dtype) == "uint8" else 0, "int64"))
