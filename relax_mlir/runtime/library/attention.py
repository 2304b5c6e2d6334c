"""Attention, losses and queries of tensors at run time."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError
from relax_mlir.runtime.bytecode.builtins import binary_broadcast_shape_infer
from relax_mlir.runtime.library.operands import check, check_pair, widen

_Array = np.ndarray


def _heads_first(x: _Array, letters: str) -> _Array:
    """Return an operand as batch, heads, length, depth."""
    missing = [i for i, letter in enumerate("BNSH") if letter not in letters]
    return np.expand_dims(
        x.transpose([letters.index(letter) for letter in "BNSH" if letter in letters]), missing
    )


def _attention(
    query: _Array, key: _Array, value: _Array, bias: Any, mask: Any, scale: float | None,
    causal_mask: str | None, window_size: int | None, layout: str, zero_unseen: bool,
    unseen_score: float,
) -> Any:  # fmt: skip
    *layouts, result = layout.split(",") if "," in layout else [layout] * 4
    for operand, letters in zip((query, key, value), layouts, strict=True):
        check_pair(query, operand, "f")
        if operand.ndim != len(letters):
            raise ArgumentTypeError(
                f"takes tensors of {len(letters)} dimensions, got {operand.ndim}"
            )
    q, k, v = (
        _heads_first(widen(x), letters)
        for x, letters in zip((query, key, value), layouts, strict=True)
    )
    (batch, heads, rows, depth), (groups, columns) = q.shape, k.shape[1:3]
    if (
        k.shape != (batch, groups, columns, depth)
        or v.shape[:3] != k.shape[:3]
        or (heads % groups if groups else heads)
    ):
        raise ShapeMismatchError(
            f"query, key and value have shapes {query.shape}, {key.shape} and {value.shape}"
        )
    if groups not in (0, heads):
        k, v = (np.repeat(x, heads // groups, axis=1) for x in (k, v))
    scalar = q.dtype.type
    factor = scalar(scale) if scale is not None else scalar(1) / np.sqrt(scalar(depth))
    scores = np.matmul(q, k.swapaxes(-1, -2)) * factor
    if isinstance(bias, np.ndarray):
        check_pair(query, bias)
        scores = scores + _of_scores("bias", bias, scores)
    if isinstance(mask, np.ndarray):
        check(mask, "b")
        scores = np.where(_of_scores("mask", mask, scores), scores, scalar(unseen_score))
    if causal_mask:
        row = np.arange(rows)[:, None] + (columns - rows if causal_mask == "BottomRight" else 0)
        seen = np.arange(columns) <= row
        if window_size is not None:
            seen &= row - np.arange(columns) < window_size
        scores = np.where(seen, scores, scalar(-math.inf))
    peak = scores.max(axis=-1, keepdims=True, initial=-math.inf)
    if zero_unseen:
        peak = np.where(peak == -math.inf, scalar(0), peak)
    with np.errstate(invalid="ignore"):
        exps = np.exp(scores - peak)
        total = exps.sum(axis=-1, keepdims=True)
        share = exps / (np.where(total == 0, scalar(1), total) if zero_unseen else total)
    out = np.matmul(share, v)
    missing = tuple(i for i, letter in enumerate("BNSH") if letter not in result)
    if any(out.shape[i] != 1 for i in missing):
        raise ShapeMismatchError(f"a result of shape {out.shape} has no layout {result}")
    kept = [letter for letter in "BNSH" if letter in result]
    out = out.squeeze(missing).transpose([kept.index(letter) for letter in result])
    return out.astype(query.dtype)


def _of_scores(name: str, x: _Array, scores: _Array) -> _Array:
    """Return a bias or mask as it broadcasts to scores."""
    shape = {2: lambda b, j: (b, 1, 1, j), 3: lambda b, i, j: (b, 1, i, j)}.get(x.ndim)
    x = x.reshape(shape(*x.shape)) if shape else x
    if binary_broadcast_shape_infer(scores.shape, x.shape) != scores.shape:
        raise ShapeMismatchError(f"a {name} of shape {x.shape} for {scores.shape}")
    return x


def _cross_entropy(predictions: _Array, labels: _Array) -> Any:
    check_pair(predictions, labels, "f")
    if predictions.shape != labels.shape:
        binary_broadcast_shape_infer(predictions.shape, labels.shape)
    total = -np.sum(widen(predictions) * widen(labels))
    if predictions.ndim > 1:
        total = total / total.dtype.type(predictions.shape[0])
    return np.asarray(total).astype(predictions.dtype)


def picked(
    predictions: _Array, targets: _Array, weights: Any, ignore_index: int
) -> tuple[_Array, _Array, _Array]:
    """Return predictions with classes last, the class of each target, and how much it counts."""
    check(predictions, "f")
    check(targets, "iu")
    if predictions.ndim != targets.ndim + 1:
        raise ArgumentTypeError(
            f"predictions must have one dimension more than targets, got {predictions.ndim} and "
            f"{targets.ndim}"
        )
    scores = np.moveaxis(widen(predictions), min(1, predictions.ndim - 1), -1)
    if scores.shape[:-1] != targets.shape:
        raise ShapeMismatchError(f"predictions {predictions.shape} for targets {targets.shape}")
    classes = scores.shape[-1]
    weighted = isinstance(weights, np.ndarray)
    factors = widen(weights) if weighted else np.ones(classes, scores.dtype)
    if factors.shape != (classes,):
        raise ShapeMismatchError(f"weights of shape {factors.shape} for {classes} classes")
    counted = targets != ignore_index
    wrong = counted & ((targets < 0) | (targets >= classes))
    if wrong.any():
        raise ShapeMismatchError(f"target {targets[wrong][0]} is none of {classes} classes")
    place = np.where(counted, targets, 0).astype(np.int64)
    if not classes and place.size:
        return scores, place, np.zeros(place.shape, scores.dtype)
    return scores, place, np.where(counted, factors[place], scores.dtype.type(0))


def _nll_loss(
    predictions: _Array, targets: _Array, weights: Any, reduction: str, ignore_index: int
) -> Any:
    scores, place, factor = picked(predictions, targets, weights, ignore_index)
    if not scores.shape[-1] and place.size:
        chosen = np.zeros(place.shape, scores.dtype)
    else:
        chosen = np.take_along_axis(scores, place[..., None], -1)[..., 0]
    losses = np.where(targets != ignore_index, -chosen * factor, scores.dtype.type(0))
    if reduction == "none":
        return losses.astype(predictions.dtype)
    total = losses.sum()
    if reduction == "mean":
        total = total / factor.sum()
    return np.asarray(total).astype(predictions.dtype)


# Name -> function of the operands, then the attributes in their declared order.
ATTENTION: dict[str, Callable[..., Any]] = {
    "attention": _attention,
    "cross_entropy_with_logits": _cross_entropy,
    "nll_loss": _nll_loss,
}
