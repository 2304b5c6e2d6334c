"""Gradients of operations at run time."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import ShapeMismatchError
from relax_mlir.runtime.library.attention import picked
from relax_mlir.runtime.library.index import within
from relax_mlir.runtime.library.layouts import from_plain, to_plain
from relax_mlir.runtime.library.nn import NN, each_axis, pads_of
from relax_mlir.runtime.library.operands import axes, check, check_pair, widen

_Array = np.ndarray
_Ints = Sequence[int]


def _expect(grad: _Array, shape: tuple[int, ...]) -> None:
    if grad.shape != shape:
        raise ShapeMismatchError(f"output_grad must have shape {shape}, got {grad.shape}")


def _nll_loss(
    grad: _Array, predictions: _Array, targets: _Array, weights: Any, reduction: str, ignored: int
) -> _Array:
    check_pair(grad, predictions, "f")
    scores, place, factor = picked(predictions, targets, weights, ignored)
    _expect(grad, targets.shape if reduction == "none" else ())
    step = -factor * widen(grad)
    if reduction == "mean":
        step = step / factor.sum()
    result = np.zeros_like(scores)
    if scores.size:
        np.put_along_axis(result, place[..., None], step[..., None], -1)
    return np.moveaxis(result, -1, min(1, predictions.ndim - 1)).astype(predictions.dtype)


def _pool(average: bool) -> Callable[..., _Array]:
    def compute(
        grad: _Array, data: _Array, pool_size: _Ints, strides: _Ints, padding: _Ints,
        dilation: _Ints, ceil_mode: bool, count_include_pad: bool, layout: str,
        out_layout: str | None,
    ) -> _Array:  # fmt: skip
        check_pair(grad, data, "f")
        given = (pool_size, strides, padding, dilation, ceil_mode, count_include_pad)
        forward = NN["avg_pool2d" if average else "max_pool2d"]
        image = widen(to_plain(data, layout, "NCHW"))
        out = forward(image, *given, "NCHW", None)
        steps = widen(to_plain(grad, out_layout or layout, "NCHW"))
        _expect(steps, out.shape)
        size, strides, dilation = (each_axis(item, 2) for item in (pool_size, strides, dilation))
        # Where each window begins: the first axis of windows, then the second.
        starts = [
            np.arange(count) * stride - before
            for count, stride, (before, _) in zip(
                out.shape[2:], strides, pads_of(padding, 2), strict=True
            )
        ]
        if average:
            # The mean of ones is how many elements a window has over how many it counts.
            counts = [
                sum((s + k * d >= 0) & (s + k * d < n) for k in range(extent))
                for s, n, extent, d in zip(starts, image.shape[2:], size, dilation, strict=True)
            ]
            ones = forward(np.ones_like(image), *given, "NCHW", None)
            steps = steps * ones / np.maximum(np.multiply.outer(*counts), 1).astype(ones.dtype)
        result, taken = np.zeros_like(image), np.zeros(out.shape, bool)
        for window in itertools.product(*map(range, size)):
            places = [s + k * d for s, k, d in zip(starts, window, dilation, strict=True)]
            inside = [(p >= 0) & (p < n) for p, n in zip(places, image.shape[2:], strict=True)]
            rows, columns = np.ix_(*(p[i] for p, i in zip(places, inside, strict=True)))
            windows = (slice(None), slice(None), *np.ix_(*(i.nonzero()[0] for i in inside)))
            part = steps[windows]
            if not average:
                # The first of several largest elements gets the gradient.
                seen = image[:, :, rows, columns]
                largest = ((seen == out[windows]) | np.isnan(seen)) & ~taken[windows]
                taken[windows] |= largest
                part = np.where(largest, part, 0)
            pixels: Any = (slice(None), slice(None), rows, columns)
            np.add.at(result, pixels, part)
        return from_plain(result, "NCHW", layout).astype(data.dtype)

    return compute


def _take(grad: _Array, x: _Array, indices: _Array, axis: int | None) -> _Array:
    check_pair(grad, x, "iuf")
    check(indices, "iu")
    if axis is None:
        result = np.zeros(x.size, x.dtype)
        _expect(grad, indices.shape)
        np.add.at(result, within(indices, x.size), grad)
        return result.reshape(x.shape)
    (axis,) = axes([axis], x.ndim)
    _expect(grad, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))
    result = np.zeros(x.shape, widen(x).dtype)
    places: Any = (*[slice(None)] * axis, within(indices, x.shape[axis]))
    np.add.at(result, places, widen(grad))
    return result.astype(x.dtype)


# Name -> function of the operands, then the attributes in their declared order.
GRADIENTS: dict[str, Callable[..., Any]] = {
    "grad_nll_loss_backward": _nll_loss,
    "grad_max_pool2d_backward": _pool(False),
    "grad_avg_pool2d_backward": _pool(True),
    "grad_take_backward": _take,
}
