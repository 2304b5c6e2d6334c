"""Loss functions of training."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import InferError, broadcast, join_dtypes
from relax_mlir.dialects.relax.ops.base import Param, declare
from relax_mlir.dialects.relax.ops.elementwise import expect_kind
from relax_mlir.dialects.symbolic.prover import can_prove_different

REDUCTIONS = ("none", "mean", "sum")


def _cross_entropy(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    for name, type_ in zip(("predictions", "labels"), types, strict=True):
        expect_kind(type_, "floating-point", name)
    ranks = {T.tensor_ndim(type_) for type_ in types} - {-1}
    if len(ranks) > 1:
        raise InferError(f"predictions and labels must have one rank, got {sorted(ranks)}")
    dims = [T.tensor_dims(type_) for type_ in types]
    if None not in dims and dims[0] != dims[1]:
        broadcast(types[0], types[1])
    return T.tensor_type([], join_dtypes(types))


def _nll_loss(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    predictions, targets, weights = types
    expect_kind(predictions, "floating-point", "predictions")
    expect_kind(targets, "integer", "targets")
    dtype = join_dtypes([predictions, *([] if weights is None else [weights])])
    if weights is not None and T.tensor_ndim(weights) not in (-1, 1):
        raise InferError(f"weights must have 1 dimension, got {T.tensor_ndim(weights)}")
    ranks = T.tensor_ndim(predictions), T.tensor_ndim(targets)
    if 0 in ranks[:1] or (-1 not in ranks and ranks[0] != ranks[1] + 1):
        raise InferError(
            f"predictions must have one dimension more than targets, got {ranks[0]} and {ranks[1]}"
        )
    result, wanted = T.tensor_dims(targets), T.tensor_dims(predictions)
    by_class = None if weights is None else T.tensor_dims(weights)
    if wanted is not None and by_class is not None:
        classes = wanted[0 if len(wanted) == 1 else 1]
        if can_prove_different(by_class[0], classes):
            raise InferError(f"there are {by_class[0]} weights for {classes} classes")
    if result is not None and wanted is not None:
        classes = 0 if len(wanted) == 1 else 1
        rest = [dim for axis, dim in enumerate(wanted) if axis != classes]
        for a, b in zip(rest, result, strict=True):
            if can_prove_different(a, b):
                raise InferError(f"predictions and targets have {a} and {b} elements along an axis")
    if attrs["reduction"] not in REDUCTIONS:
        allowed = ", ".join(REDUCTIONS)
        raise InferError(f"reduction must be one of {allowed}, got {attrs['reduction']}")
    if attrs["reduction"] != "none":
        return T.tensor_type([], dtype)
    return T.tensor_type(result, dtype, T.tensor_ndim(targets))


declare(
    "cross_entropy_with_logits",
    "Minus the sum of predictions times labels, by the size of the batch where there is one.",
    [Param("predictions", "tensor"), Param("labels", "tensor")],
    _cross_entropy,
)
declare(
    "nll_loss",
    "Minus the weighted prediction of the target's class; classes are the second dimension.",
    [
        Param("predictions", "tensor"),
        Param("targets", "tensor", numbers="int64"),
        Param("weights", "tensor", None),
        Param("reduction", "str", "mean"),
        Param("ignore_index", "int", -100),
    ],
    _nll_loss,
)
