"""Boxes of object detectors at run time."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError
from relax_mlir.runtime.library.operands import check, check_pair

_Array = np.ndarray


def _overlap(box: _Array, others: _Array) -> _Array:
    """Return what a box shares with each of others, as a part of what the two cover."""
    ends = [np.minimum(x[..., :2], x[..., 2:]) for x in (box, others)]
    last = [np.maximum(x[..., :2], x[..., 2:]) for x in (box, others)]
    inner = np.maximum(np.minimum(*last) - np.maximum(*ends), 0)
    shared = inner[..., 0] * inner[..., 1]
    own = [(high - low).prod(-1) for low, high in zip(ends, last, strict=True)]
    covered = own[0] + own[1] - shared
    return np.where(covered > 0, shared / np.where(covered > 0, covered, 1), 0).astype(box.dtype)


def _kept(
    order: Sequence[int], boxes: _Array, most: int, share: Any, rivals: Callable[[int], _Array]
) -> list[int]:
    """Return which boxes, looked at in an order, overlap no rival that was kept before.

    Args:
        order: the candidates.
        boxes: (box, 4) the corners.
        most: how many are kept at most, all if not positive.
        share: a box goes that overlaps a rival so much.
        rivals: which boxes can suppress a box: a truth value for each.
    """
    result: list[int] = []
    for box in order:
        if 0 < most == len(result):
            break
        near = [k for k in result if rivals(box)[k]]
        if not near or not (_overlap(boxes[box], boxes[near]) >= share).any():
            result.append(int(box))
    return result


def _best_first(scores: _Array) -> _Array:
    """Return the places of scores from the best to the worst; NaN is worse than every number."""
    return np.argsort(-np.where(np.isnan(scores), -np.inf, scores), kind="stable")


def _check_boxes(data: _Array, *places: int) -> None:
    check(data, "f")
    if data.ndim != 3:
        raise ShapeMismatchError(f"data has dimensions (batch, boxes, width), got {data.shape}")
    if max(places) >= data.shape[2]:
        raise ShapeMismatchError(f"boxes of {data.shape[2]} numbers have no number {max(places)}")


def _get_valid_counts(
    data: _Array, score_threshold: float, id_index: int, score_index: int
) -> tuple[_Array, ...]:
    _check_boxes(data, id_index, score_index)
    counts = data[..., score_index] > data.dtype.type(score_threshold)
    if id_index >= 0:
        counts &= data[..., id_index] >= 0
    out, places = np.full_like(data, -1), np.full(data.shape[:2], -1, "int32")
    for i, keep in enumerate(counts):
        (kept,) = keep.nonzero()
        out[i, : len(kept)], places[i, : len(kept)] = data[i, kept], kept
    return counts.sum(1, dtype="int32"), out, places


def _non_max_suppression(
    data: _Array, valid_count: _Array, indices: _Array, max_output_size: int, iou_threshold: float,
    force_suppress: bool, top_k: int, coord_start: int, score_index: int, id_index: int,
    return_indices: bool, invalid_to_bottom: bool, soft_nms_sigma: float, score_threshold: float,
) -> Any:  # fmt: skip
    _check_boxes(data, coord_start + 3, score_index, id_index)
    check(valid_count, "iu")
    check(indices, "iu")
    batch, boxes, _ = data.shape
    if valid_count.shape != (batch,) or indices.shape != (batch, boxes):
        raise ShapeMismatchError(
            f"valid_count and indices of {data.shape} have the shapes {(batch,)} and "
            f"{(batch, boxes)}, got {valid_count.shape} and {indices.shape}"
        )
    out, places = np.full_like(data, -1), np.full((batch, boxes), -1, "int32")
    total = np.zeros((batch, 1), "int32")
    soft, share = soft_nms_sigma > 0, data.dtype.type(iou_threshold)
    for i in range(batch):
        count = int(min(max(int(valid_count[i]), 0), boxes))
        order = _best_first(data[i, :count, score_index])
        rows = data[i, order[:top_k] if top_k > 0 else order]
        corners = rows[:, coord_start : coord_start + 4]
        alone = force_suppress or id_index < 0

        def rivals(box: int, rows: _Array = rows, alone: bool = alone) -> _Array:
            every = np.ones(len(rows), bool)
            return every if alone else rows[:, id_index] == rows[box, id_index]

        if soft:
            kept = _faded(rows, corners, max_output_size, share, rivals, score_index,
                          soft_nms_sigma, score_threshold)  # fmt: skip
            out[i, : len(kept)] = rows[kept]
        else:
            good = (rows[:, score_index] > 0).nonzero()[0]
            kept = _kept(good.tolist(), corners, max_output_size, share, rivals)
            out[i, kept] = rows[kept]
        places[i, : len(kept)] = indices[i, order[kept]]
        total[i] = len(kept)
    if return_indices:
        return (out, places, total) if soft else (places, total)
    return _in_front(out, score_index) if invalid_to_bottom else out


def _faded(
    rows: _Array, corners: _Array, most: int, share: Any, rivals: Callable[[int], _Array],
    score: int, sigma: float, least: float,
) -> list[int]:  # fmt: skip
    """Return which boxes are kept, the best of those left first; scores of rivals get less."""
    kept: list[int] = []
    left = rows[:, score] > least
    while left.any() and not 0 < most == len(kept):
        best = int(np.where(left, rows[:, score], -np.inf).argmax())
        left[best] = False
        kept.append(best)
        near = left & rivals(best)
        common = _overlap(corners[best], corners)
        faded = rows[:, score] * np.exp(common * common * (-0.5 / sigma))
        gone = common >= share
        rows[:, score] = np.where(near & ~gone, faded, rows[:, score])
        left &= ~(near & (gone | (rows[:, score] <= least)))
    return kept


def _in_front(boxes: _Array, score: int) -> _Array:
    out = np.full_like(boxes, -1)
    for to, rows in zip(out, boxes, strict=True):
        some = rows[rows[:, score] >= 0]
        to[: len(some)] = some
    return out


def _number(value: Any, kinds: str) -> Any:
    check(value, kinds)
    if value.size != 1 or value.ndim > 1:
        raise ShapeMismatchError(f"a limit is one number, got a tensor of shape {value.shape}")
    return value.reshape(())[()]


def _all_class_non_max_suppression(
    boxes: _Array, scores: _Array, most: _Array, share: _Array, least: _Array, output_format: str
) -> tuple[_Array, ...]:
    check(boxes, "f")
    check(scores, "f")
    limit, common = int(_number(most, "iu")), boxes.dtype.type(_number(share, "f"))
    lowest = scores.dtype.type(_number(least, "f"))
    if scores.ndim != 3 or boxes.shape != (scores.shape[0], scores.shape[2], 4):
        raise ShapeMismatchError(
            "boxes and scores have the shapes (batch, box, 4) and (batch, class, box), got "
            f"{boxes.shape} and {scores.shape}"
        )
    batch, classes, count = scores.shape
    every = np.ones(count, bool)
    selected: list[list[tuple[int, int]]] = []
    for b in range(batch):
        selected.append([])
        for c in range(classes):
            points = scores[b, c]
            order = [j for j in _best_first(points).tolist() if points[j] > lowest]
            kept = _kept(order, boxes[b], limit, common, lambda box: every)
            selected[b] += [(c, j) for j in kept]
    totals = np.array([len(rows) for rows in selected], "int64")
    if output_format == "onnx":
        rows = [(b, c, j) for b, pairs in enumerate(selected) for c, j in pairs]
        return np.array(rows, "int64").reshape(-1, 3), totals.sum(keepdims=True, dtype="int64")
    pairs = np.zeros((batch, classes * count, 2), "int64")
    points = np.zeros((batch, classes * count), scores.dtype)
    for b, each in enumerate(selected):
        for row, (c, j) in enumerate(each):
            pairs[b, row], points[b, row] = (c, j), scores[b, c, j]
    return pairs, points, totals


def _multibox_transform_loc(
    classes: _Array, places: _Array, anchors: _Array, clip: bool, threshold: float,
    variances: Sequence[float], keep_background: bool, apply_softmax: bool,
) -> tuple[_Array, _Array]:  # fmt: skip
    check(classes, "f")
    check_pair(classes, places, "f")
    check_pair(classes, anchors, "f")
    if classes.ndim != 3:
        raise ShapeMismatchError(f"cls_pred has 3 dimensions, got {classes.shape}")
    batch, _, count = classes.shape
    if places.shape != (batch, 4 * count) or anchors.shape != (1, count, 4):
        raise ShapeMismatchError(
            f"loc_pred and anchor for cls_pred {classes.shape} have the shapes "
            f"{(batch, 4 * count)} and {(1, count, 4)}, got {places.shape} and {anchors.shape}"
        )
    if len(variances) != 4:
        raise ArgumentTypeError(f"variances must be 4 numbers, got {len(variances)}")
    kind = classes.dtype.type
    loc = places.reshape(batch, count, 4) * np.array(variances, kind)
    size = anchors[..., 2:] - anchors[..., :2]
    middle = loc[..., :2] * size + (anchors[..., :2] + anchors[..., 2:]) * kind(0.5)
    half = np.exp(loc[..., 2:]) * size * kind(0.5)
    boxes = np.concatenate([(middle - half)[..., ::-1], (middle + half)[..., ::-1]], -1)
    scores = classes
    if apply_softmax:
        exps = np.exp(classes - classes.max(1, keepdims=True, initial=-np.inf))
        scores = exps / exps.sum(1, keepdims=True)
    scores = np.where(scores >= kind(threshold), scores, kind(0))
    if not keep_background:
        scores[:, :1] = 0
    return boxes.clip(0, 1) if clip else boxes, scores


BOXES: dict[str, Callable[..., Any]] = {
    "all_class_non_max_suppression": _all_class_non_max_suppression,
    "get_valid_counts": _get_valid_counts,
    "multibox_transform_loc": _multibox_transform_loc,
    "non_max_suppression": _non_max_suppression,
}
