"""Random numbers: tensors that follow from a key, a seed and a stream."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import InferError, InferTypeError
from relax_mlir.dialects.relax.ops.base import Param, declare
from relax_mlir.dialects.relax.ops.create import dtype_of
from relax_mlir.dialects.relax.ops.elementwise import expect_kind
from relax_mlir.dialects.symbolic.prover import can_prove_different


def _check_key(key: ir.Type) -> None:
    if T.tensor_dtype(key) not in ("", "uint64"):
        raise InferTypeError(f"key must be of dtype uint64, got {T.tensor_dtype(key)}")
    dims = T.tensor_dims(key)
    if T.tensor_ndim(key) not in (-1, 1) or (dims and can_prove_different(dims[0], 2)):
        raise InferError("key must have shape (2,): a seed and a stream")


def _of_shape(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    key, shape = types
    _check_key(key)
    dtype = dtype_of(attrs, "float32")
    if "float" not in dtype:
        raise InferTypeError(f"random numbers have a floating-point dtype, got {dtype}")
    return T.tensor_type(T.shape_dims(shape), dtype, T.shape_ndim(shape))


def _multinomial(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    key, prob = types
    _check_key(key)
    expect_kind(prob, "floating-point", "prob")
    dtype = dtype_of(attrs, "int64")
    if T.tensor_ndim(prob) not in (-1, 2):
        raise InferError(f"prob must have 2 dimensions, got {T.tensor_ndim(prob)}")
    dims = T.tensor_dims(prob)
    if dims is None:
        return T.tensor_type(None, dtype, 2)
    return T.tensor_type([dims[0], attrs["num_samples"]], dtype)


_KEY, _SHAPE = Param("key", "tensor"), Param("shape", "shape")
_DTYPE = Param("dtype", "dtype", "float32")

declare(
    "random_uniform",
    "Random numbers from low to high, high excluded but for rounding; the same for the same key.",
    [_KEY, _SHAPE, Param("low", "float", 0.0), Param("high", "float", 1.0), _DTYPE],
    _of_shape,
)
declare(
    "random_normal",
    "Random numbers of the normal distribution; the same for the same key.",
    [_KEY, _SHAPE, Param("mean", "float", 0.0), Param("scale", "float", 1.0), _DTYPE],
    _of_shape,
)
declare(
    "random_multinomial",
    "Samples of indices by the probabilities of each row, with replacement.",
    [_KEY, Param("prob", "tensor"), Param("num_samples", "dim"), Param("dtype", "dtype", "int64")],
    _multinomial,
)
