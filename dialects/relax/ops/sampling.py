"""Sampling from distributions, by random numbers that are operands."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import InferError
from relax_mlir.dialects.relax.ops.base import Param, declare
from relax_mlir.dialects.relax.ops.create import dtype_of
from relax_mlir.dialects.relax.ops.elementwise import expect_kind
from relax_mlir.dialects.relax.ops.index import check_indices
from relax_mlir.dialects.symbolic.prover import can_prove_different


def _multinomial(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    prob, uniform, rows = types
    dtype = dtype_of(attrs, "int64")
    expect_kind(prob, "floating-point", "prob")
    expect_kind(uniform, "floating-point", "uniform_sample")
    check_indices(rows, "sample_indices")
    for name, type_ in zip(("prob", "uniform_sample", "sample_indices"), types, strict=True):
        if T.tensor_ndim(type_) not in (-1, 2):
            raise InferError(f"{name} must have 2 dimensions, got {T.tensor_ndim(type_)}")
    if -1 in map(T.tensor_ndim, types):
        return T.tensor_type(None, dtype)
    shapes = T.all_dims(types)
    if shapes is None:
        return T.tensor_type(None, dtype, 2)
    _, (count, one), (others, other_one) = shapes
    if can_prove_different(count, others):
        raise InferError(f"there are {count} samples for {others} indices of rows")
    for name, dim in (("uniform_sample", one), ("sample_indices", other_one)):
        if can_prove_different(dim, 1):
            raise InferError(f"{name} must have one column, got {dim}")
    return T.tensor_type([count, 1], dtype)


declare(
    "multinomial_from_uniform",
    "For each sample, the first index at which the sum of its row's probabilities exceeds it.",
    [
        Param("prob", "tensor"),
        Param("uniform_sample", "tensor"),
        Param("sample_indices", "tensor"),
        Param("dtype", "dtype", "int64"),
    ],
    _multinomial,
)
