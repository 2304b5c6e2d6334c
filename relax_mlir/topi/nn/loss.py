"""Losses."""

from typing import Any

from relax_mlir.errors import ExprError
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar import reduction as te
from relax_mlir.tir.scalar.arithmetic import binary
from relax_mlir.tir.scalar.conversion import cast, const
from relax_mlir.tir.scalar.dtypes import SIZE
from relax_mlir.tir.scalar.nodes import Select
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.topi.index import integer_indices
from relax_mlir.topi.support import same, tensor


def nll_loss(
    predictions: Tensor, targets: Tensor, weights: Tensor, reduction: str, ignore_index: int
) -> Tensor:
    """Return the negative log-likelihood of classes.

    Args:
        predictions: (N, C, d1, ...) logarithms of probabilities; without N and d1 for one place.
        targets: (N, d1, ...) integers; one that is no class counts as none, as `ignore_index`.
        weights: (C,) how much each class counts.
        reduction: `none`, `sum` or `mean`, which divides by the weights of what counts.
        ignore_index: a class that does not count.

    Raises:
        ExprError: the shapes do not fit, or there is no such reduction.
        ExprTypeError: the targets are no integers.
    """
    if reduction not in ("none", "sum", "mean"):
        raise ExprError(f"topi.nn.nll_loss: reduction is none, sum or mean, got '{reduction}'")
    classes = integer_indices(targets, "nn.nll_loss")
    ndim = tensor(predictions, "nn.nll_loss").ndim
    places = predictions.shape if ndim == 1 else (predictions.shape[0], *predictions.shape[2:])
    places = () if ndim == 1 else places
    depth = predictions.shape[0 if ndim == 1 else 1] if ndim else 0
    if ndim == 0 or classes.ndim != len(places) or not all(map(same, places, classes.shape)):
        raise ExprError(f"topi.nn.nll_loss: {targets} does not fit {predictions}")
    if weights.ndim != 1 or not same(weights.shape[0], depth):
        raise ExprError(f"topi.nn.nll_loss: {weights} is no vector of {depth} weights")

    def counts(i: Any) -> tuple[PrimExpr, PrimExpr]:
        """Return the class of a place, inside of the tensor whatever it is, and its weight."""
        given = cast(classes[i], SIZE)
        own = binary("max", binary("min", given, depth - 1), 0)
        known = binary("and", given == own, given != ignore_index)
        return own, Select(known, weights[own], const(0, weights.dtype))

    def loss(*i: Any) -> PrimExpr:
        own, weight = counts(i)
        place = (own,) if ndim == 1 else (i[0], own, *i[1:])
        # What does not count adds nothing, whatever is predicted there.
        value = predictions[place] * cast(weight, predictions.dtype)
        return Select(weight == 0, const(0, predictions.dtype), const(0, predictions.dtype) - value)

    losses = compute(places, loss, name="T_nll_loss")
    if reduction == "none":
        return losses
    weighted = compute(places, lambda *i: counts(i)[1], name="T_nll_weight")

    def total(of: Tensor, name: str) -> Tensor:
        over = [te.reduce_axis((0, dim), f"k{i}") for i, dim in enumerate(places)]
        return compute((), lambda: te.sum(of[tuple(over)], axis=over), name=name)

    summed = total(losses, "T_nll_sum") if places else losses
    if reduction == "sum":
        return summed
    whole = total(weighted, "T_nll_total") if places else weighted
    return compute((), lambda: summed[()] / cast(whole[()], predictions.dtype), name="T_nll_mean")
