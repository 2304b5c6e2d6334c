"""Choosing tokens by their probabilities: top-p, top-k, and multinomial sampling."""

from typing import Any

import numpy as np

from relax_mlir.frontend.nn import op
from relax_mlir.frontend.nn.tensor import Tensor, wrap_nested
from relax_mlir.relax import op as _op
from relax_mlir.relax.expr import const


def _rows(probabilities: Tensor, uniform: Tensor, sample_indices: Tensor | None) -> Any:
    """Return for each sample which row of the probabilities it is drawn from."""
    if sample_indices is not None:
        return _op.reshape(sample_indices._expr, (-1,))
    if probabilities.shape[0] != uniform.shape[0]:
        raise ValueError("without sample_indices there is one sample for each row")
    return _op.arange(0, uniform.shape[0], 1, dtype="int64")


def _count(condition: Any) -> Any:
    """Return how many elements of each row a condition holds for, (rows, 1)."""
    return _op.sum(_op.astype(condition, "int64"), axis=1, keepdims=True)


def _last(count: Any, width: Any) -> Any:
    return _op.minimum(count, _op.astype(_number(width), "int64"))


def _number(width: Any) -> Any:
    if isinstance(width, int):
        return const(width - 1, "int64")
    return _op.reshape(_op.shape_to_tensor([width - 1]), (1,))


def multinomial_from_uniform(
    prob: Tensor, uniform_sample: Tensor, sample_indices: Tensor | None = None,
    dtype: str = "int64", name: str = "multinomial_from_uniform",
) -> Tensor:  # fmt: skip
    """Return an index for each uniform number, by the probabilities of a row.

    Args:
        prob: (rows, classes).
        uniform_sample: numbers from 0 to 1, (samples, 1).
        sample_indices: the row of each sample, (samples, 1); row i for sample i if left out.
        dtype: of the indices.
        name: of the result.

    Returns:
        The first classes up to which the probabilities sum up to more than the numbers,
        (samples, 1).
    """
    rows = _rows(prob, uniform_sample, sample_indices)
    sums = _op.take(_op.cumsum(prob._expr, axis=1), rows, axis=0)
    place = _count(_op.less_equal(sums, uniform_sample._expr))
    return wrap_nested(_op.astype(_last(place, prob.shape[1]), dtype), name)


def _cutoff(sums: Any, top_p: Tensor, top_k: Tensor, width: Any) -> Any:
    """Return where the last class is that is kept, of those in falling order, (rows, 1)."""
    ranks = _op.reshape(_op.arange(1, width + 1, 1, dtype="int64"), (1, width))
    below = _op.less(ranks, _op.astype(top_k._expr, "int64"))
    return _last(_count(_op.logical_and(_op.less(sums, top_p._expr), below)), width)


def sample_top_p_top_k_from_sorted_prob(
    sorted_prob: Tensor, sorted_index: Tensor, top_p: Tensor, top_k: Tensor,
    uniform_sample: Tensor, sample_indices: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return an index for each uniform number, among the classes that top-p and top-k leave.

    Args:
        sorted_prob: probabilities in falling order, (rows, classes).
        sorted_index: which classes they are of, (rows, classes).
        top_p: up to which sum classes are kept, (rows, 1).
        top_k: how many are kept at most, (rows, 1).
        uniform_sample: numbers from 0 to 1, (samples, 1).
        sample_indices: the row of each sample, (samples, 1); row i for sample i if left out.

    Returns:
        Classes, (samples, 1).
    """
    width = sorted_prob.shape[1]
    rows = _rows(sorted_prob, uniform_sample, sample_indices)
    sums = _op.cumsum(sorted_prob._expr, axis=1)
    kept = _op.gather_elements(sums, _cutoff(sums, top_p, top_k, width), axis=1)
    shares = _op.take(_op.divide(sums, kept), rows, axis=0)
    place = _last(_count(_op.less_equal(shares, uniform_sample._expr)), width)
    classes = _op.take(sorted_index._expr, rows, axis=0)
    return wrap_nested(_op.gather_elements(classes, place, axis=1), "sample_top_p_top_k")


def renormalize_top_p_top_k_prob(
    prob: Tensor, sorted_prob: Tensor, top_p: Tensor, top_k: Tensor
) -> Tensor:
    """Return probabilities of which those that top-p and top-k leave sum up to 1, others are 0.

    Args:
        prob: (rows, classes).
        sorted_prob: the same in falling order.
        top_p: up to which sum classes are kept, (rows, 1).
        top_k: how many are kept at most, (rows, 1).
    """
    sums = _op.cumsum(sorted_prob._expr, axis=1)
    place = _cutoff(sums, top_p, top_k, sorted_prob.shape[1])
    least = _op.gather_elements(sorted_prob._expr, place, axis=1)
    zero = const(np.zeros(()), prob.dtype)
    left = wrap_nested(
        _op.where(_op.greater_equal(prob._expr, least), prob._expr, zero), "filtered"
    )
    return left / op.sum(left, axis=1, keepdims=True)
