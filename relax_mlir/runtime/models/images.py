"""Sampling of images at positions that are computed: resize, grid sample, indices of maxima."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

_Array = np.ndarray


def _positions(count: int, size: int, scale: float, mode: str, roi: tuple[float, float]) -> _Array:
    """Return where each element of the output is in the input (ONNX, Resize, coordinates)."""
    x = np.arange(count, dtype="float64")
    length = scale * size
    if mode == "asymmetric":
        return x / scale
    if mode == "align_corners":
        return np.zeros(count) if length == 1 else x * (size - 1) / (length - 1)
    if mode == "tf_crop_and_resize":
        span = (roi[1] - roi[0]) * (size - 1)
        inside = np.full(count, span / 2) if length == 1 else x * span / (length - 1)
        return inside + roi[0] * (size - 1)
    if mode == "pytorch_half_pixel" and length == 1:
        return np.full(count, -0.5)
    start = size / 2 * (1 - count / length) if mode == "half_pixel_symmetric" else 0.0
    return start + (x + 0.5) / scale - 0.5


_ROUNDING: dict[str, Callable[[Any], Any]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _cubic(distance: _Array, a: float) -> _Array:
    d = np.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((d - 5) * d + 8) * d * a - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def _weights(x: _Array, size: int, scale: float, config: dict[str, Any]) -> _Array:
    """Return the matrix that takes an axis of the input to one of the output."""
    count = len(x)
    rows = np.arange(count)
    matrix = np.zeros((count, size))
    if config["mode"] == "nearest":
        at = np.clip(_ROUNDING[config["nearest_mode"]](x), 0, size - 1).astype("int64")
        matrix[rows, at] = 1
        return matrix
    shrink = min(scale, 1.0) if config["antialias"] else 1.0
    radius = 2.0 if config["mode"] == "cubic" else 1.0
    first = int(np.floor(-radius / shrink)) + 1
    base = np.ceil(x) - 1
    places = np.arange(first, 2 - first)
    distance = (places[None] - (x - base)[:, None]) * shrink
    if config["mode"] == "cubic":
        weights = _cubic(distance, config["cubic_coeff_a"])
    else:
        weights = np.clip(1 - np.abs(distance), 0, 1)
    index = base[:, None].astype("int64") + places[None]
    if config["exclude_outside"]:
        weights = np.where((index >= 0) & (index < size), weights, 0)
    if config["exclude_outside"] or config["antialias"]:
        weights = weights / weights.sum(1, keepdims=True)
    np.add.at(matrix, (rows[:, None], np.clip(index, 0, size - 1)), weights)
    return matrix


def _resize(x: _Array, roi: Any, scales: Any, sizes: Any, **config: Any) -> Any:
    axes = [axis % x.ndim for axis in config["axes"]] or list(range(x.ndim))
    if sizes is not None and sizes.size:
        wanted = [int(each) for each in sizes]
        factors = [want / x.shape[axis] for want, axis in zip(wanted, axes, strict=True)]
        policy = config["keep_aspect_ratio_policy"]
        if policy != "stretch":
            one = min(factors) if policy == "not_larger" else max(factors)
            factors = [one] * len(axes)
            wanted = [int(np.floor(one * x.shape[axis] + 0.5)) for axis in axes]
    else:
        factors = [float(each) for each in scales]
        wanted = [int(f * x.shape[axis]) for f, axis in zip(factors, axes, strict=True)]
    dtype, y = x.dtype, x if config["mode"] == "nearest" else x.astype("float64")
    outside: Any = False
    for i, (axis, count, factor) in enumerate(zip(axes, wanted, factors, strict=True)):
        size = x.shape[axis]
        mode = config["coordinate_transformation_mode"]
        is_crop = mode == "tf_crop_and_resize"
        if factor == 1 and count == size and not is_crop:
            continue
        part = (float(roi[i]), float(roi[len(axes) + i])) if is_crop else (0.0, 1.0)
        at = _positions(count, size, factor, mode, part)
        matrix = _weights(at, size, factor, config)
        if config["mode"] == "nearest":
            y = np.take(y, matrix.argmax(1), axis)
        else:
            y = np.moveaxis(np.tensordot(matrix, y, (1, axis)), 0, axis)
        if is_crop:
            shape = [-1 if j == axis else 1 for j in range(x.ndim)]
            outside = outside | ((at < 0) | (at > size - 1)).reshape(shape)
    y = np.where(outside, config["extrapolation_value"], y)
    if dtype.kind in "iu" and config["mode"] != "nearest":
        limits = np.iinfo(dtype)
        y = np.clip(np.rint(y), limits.min, limits.max)
    return y.astype(dtype)


def _reflected(x: _Array, low: float, high: float) -> _Array:
    span = high - low
    if span == 0:
        return np.full_like(x, low)
    away = np.abs(x - low) % (2 * span)
    return low + np.where(away > span, 2 * span - away, away)


def grid_sample(
    x: _Array, grid: _Array, *, mode: str, padding_mode: str, align_corners: bool
) -> Any:  # fmt: skip
    """Return images read at the points of a grid whose last axis has x, y and z.

    Args:
        x: images, channels before the pixels.
        grid: points from -1 to 1.
        mode: nearest, linear or cubic.
        padding_mode: zeros, border or reflection.
        align_corners: whether -1 and 1 are the middles of the corner pixels, else their edges.
    """
    spatial = x.shape[2:]
    rank = len(spatial)
    # PyTorch and onnxruntime bring each pixel that a cubic curve reads inside of the image.
    padding = "" if mode == "cubic" else padding_mode
    at = []
    for i, size in enumerate(spatial):
        g = grid[..., rank - 1 - i].astype("float64")
        p = (g + 1) / 2 * (size - 1) if align_corners else ((g + 1) * size - 1) / 2
        p = np.rint(p) if mode == "nearest" else p
        if padding == "border":
            p = np.clip(p, 0, size - 1)
        elif padding == "reflection":
            p = _reflected(p, *((0, size - 1) if align_corners else (-0.5, size - 0.5)))
        at.append(p)
    reach = {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}[mode]
    base = [np.rint(p) if mode == "nearest" else np.floor(p) for p in at]
    total: Any = 0.0
    batch = np.arange(x.shape[0]).reshape([-1] + [1] * rank)
    channels_last = np.moveaxis(x, 1, -1).astype("float64")
    for offsets in itertools.product(reach, repeat=rank):
        weight: Any = 1.0
        index: list[Any] = []
        for i, offset in enumerate(offsets):
            place = base[i] + offset
            away = at[i] - place
            if mode == "linear":
                weight = weight * (1 - np.abs(away))
            elif mode == "cubic":
                weight = weight * _cubic(away, -0.75)
            place, valid = _inside(place, spatial[i], padding_mode, align_corners)
            weight = weight * valid
            index.append(place)
        total = (
            total + channels_last[(batch, *index)] * np.broadcast_to(weight, at[0].shape)[..., None]
        )
    return np.moveaxis(total, -1, 1).astype(x.dtype)


def _inside(place: _Array, size: int, mode: str, align: bool) -> tuple[_Array, Any]:
    valid: Any = 1.0
    if mode == "zeros":
        valid = ((place >= 0) & (place < size)).astype("float64")
    elif mode == "reflection":
        place = _reflected(place, *((0, size - 1) if align else (-0.5, size - 0.5)))
    return np.clip(place, 0, size - 1).astype("int64"), valid


def _max_pool_indices(
    x: _Array, y: _Array, *, kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int],
    dilations: Sequence[int], column_major: bool,
) -> Any:  # fmt: skip
    spatial = x.shape[2:]
    rank = len(spatial)
    weights = np.cumprod([1, *spatial[:0:-1]])[::-1]
    if column_major:
        weights = np.cumprod([1, *spatial[:-1]])
    best = np.full(y.shape, -np.inf)
    result = np.zeros(y.shape, "int64")
    for offsets in itertools.product(*map(range, kernel)):
        places = [
            np.arange(y.shape[2 + i]) * strides[i] + offsets[i] * dilations[i] - pads[i]
            for i in range(rank)
        ]
        grids = np.meshgrid(*places, indexing="ij")
        valid = np.all([(g >= 0) & (g < s) for g, s in zip(grids, spatial, strict=True)], axis=0)
        index = tuple(np.clip(g, 0, s - 1) for g, s in zip(grids, spatial, strict=True))
        values = np.where(valid, x[(slice(None), slice(None), *index)].astype("float64"), -np.inf)
        flat = sum(g * int(w) for g, w in zip(index, weights, strict=True))
        better = values > best
        best, result = np.where(better, values, best), np.where(better, flat, result)
    planes = np.arange(x.shape[0] * x.shape[1]).reshape(x.shape[:2] + (1,) * rank)
    return result + planes * int(np.prod(spatial))


def _non_max_suppression(
    boxes: _Array, scores: _Array, count: Any, overlap: Any, limit: Any, *, is_center: bool
) -> Any:
    most = int(count.reshape(-1)[0]) if count is not None else 0
    threshold = float(overlap.reshape(-1)[0]) if overlap is not None else 0.0
    chosen: list[tuple[int, int, int]] = []
    for batch, label in itertools.product(range(scores.shape[0]), range(scores.shape[1])):
        corners = _corners(boxes[batch].astype("float64"), is_center)
        score = scores[batch, label]
        order = np.argsort(-score, kind="stable")
        if limit is not None:
            order = order[score[order] > float(limit.reshape(-1)[0])]
        kept: list[int] = []
        for box in order:
            if len(kept) >= most:
                break
            if all(_overlap(corners[box], corners[other]) <= threshold for other in kept):
                kept.append(int(box))
        chosen += [(batch, label, box) for box in kept]
    return np.array(chosen, "int64").reshape(-1, 3)


def _corners(boxes: _Array, is_center: bool) -> _Array:
    if is_center:
        half = boxes[:, 2:] / 2
        return np.concatenate([boxes[:, :2] - half, boxes[:, :2] + half], 1)
    return np.concatenate(
        [np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])], 1
    )


def _overlap(a: _Array, b: _Array) -> float:
    sides = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0)
    common = sides[0] * sides[1]
    union = np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - common
    return float(common / union) if union > 0 else 0.0


def affine_grid(theta: _Array, size: Sequence[int], align_corners: bool) -> _Array:
    """Return positions from -1 to 1 of all elements, mapped; the last axis has x first.

    Args:
        theta: maps, (batch, rank, rank + 1).
        size: of the grid.
        align_corners: whether -1 and 1 are the middles of the corner elements, else their edges.
    """
    steps = []
    for count in size:
        places = np.arange(count, dtype="float64")
        between = max(count - 1, 1) if align_corners else count
        steps.append((2 * places + (not align_corners)) / between - 1)
    places = np.meshgrid(*steps, indexing="ij")[::-1]
    homogeneous = np.stack([*places, np.ones_like(places[0])], -1)
    return np.einsum("...k,njk->n...j", homogeneous, theta).astype(theta.dtype)


def _between_pixels(x: _Array, rows: _Array, columns: _Array) -> _Array:
    """Return (channels, ...) of (channels, height, width) at positions; zeros outside."""
    total = np.zeros((x.shape[0], *rows.shape), "float64")
    for down, right in itertools.product((0, 1), repeat=2):
        row, column = np.floor(rows) + down, np.floor(columns) + right
        weight = (1 - np.abs(rows - row)) * (1 - np.abs(columns - column))
        inside = (row >= 0) & (row < x.shape[1]) & (column >= 0) & (column < x.shape[2])
        at = tuple(np.where(inside, each, 0).astype("int64") for each in (row, column))
        total += x[(slice(None), *at)] * (weight * inside)
    return total


def _deform_conv(
    x: _Array, weight: _Array, offset: _Array, bias: Any, mask: Any, *, strides: Sequence[int],
    pads: Sequence[int], dilations: Sequence[int], group: int, offset_group: int,
) -> Any:  # fmt: skip
    """Convolve images where each element of the window is at an offset of its own."""
    (batch, channels), window, size = x.shape[:2], weight.shape[2:], offset.shape[2:]
    grid = np.stack(np.meshgrid(*map(np.arange, (*window, *size)), indexing="ij"))
    base = [grid[2 + i] * strides[i] - pads[i] + grid[i] * dilations[i] for i in range(2)]
    moved = offset.reshape(batch, offset_group, *window, 2, *size)
    masks = np.ones((batch, offset_group, *window, *size)) if mask is None else mask
    masks = masks.reshape(batch, offset_group, *window, *size)
    parts = np.split(x, offset_group, 1)
    columns = np.stack([
        np.concatenate([
            _between_pixels(part[n], *(base[i] + moved[n, g, :, :, i] for i in range(2)))
            * masks[n, g]
            for g, part in enumerate(parts)
        ])
        for n in range(batch)
    ])  # fmt: skip
    columns = columns.reshape(batch, group, channels // group, *columns.shape[2:])
    kernels = weight.reshape(group, -1, *weight.shape[1:])
    y = np.einsum("ngckljw,gockl->ngojw", columns, kernels).reshape(batch, -1, *size)
    return (y if bias is None else y + bias.reshape(-1, 1, 1)).astype(x.dtype)


IMAGES: dict[str, Callable[..., Any]] = {
    "affine_grid": lambda theta, size, align_corners: affine_grid(
        theta, [int(each) for each in size[2:]], align_corners
    ),
    "deform_conv": _deform_conv,
    "grid_sample": grid_sample,
    "max_pool_indices": _max_pool_indices,
    "non_max_suppression": _non_max_suppression,
    "resize": _resize,
}
