"""Reductions over dimensions and over windows, and sorting."""

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.dialects.relax.conv_geometry import SPATIAL
from relax_mlir.frontend.mlir.legalized import legalized
from relax_mlir.frontend.mlir.stablehlo.regions import combiner, compared
from relax_mlir.frontend.registry import converts
from relax_mlir.relax import op
from relax_mlir.relax.expr import const

# The reduction, what joins it with the first value, and the first value that changes nothing.
_REDUCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any], float]] = {
    "add": (op.sum, op.add, 0),
    "multiply": (op.prod, op.multiply, 1),
    "maximum": (op.max, op.maximum, -np.inf),
    "minimum": (op.min, op.minimum, np.inf),
    "and": (op.all, op.logical_and, 1),
    "or": (op.any, op.logical_or, 0),
}
_OF_BOOLS = {"add": "or", "maximum": "or", "multiply": "and", "minimum": "and"}
_POOLS = {
    "maximum": {1: op.max_pool1d, 2: op.max_pool2d, 3: op.max_pool3d},
    "add": {1: op.avg_pool1d, 2: op.avg_pool2d, 3: op.avg_pool3d},
}


def _kind(m: Any) -> str | None:
    """Return by what a region with one pair of arguments reduces, None for other regions."""
    kind = combiner(m.op.regions[0])
    if m.dtype() == "bool":
        kind = _OF_BOOLS.get(kind or "", kind)
        return kind if kind in ("and", "or") else None
    return kind if kind in ("add", "multiply", "maximum", "minimum") else None


@converts("stablehlo", "reduce")
def _reduce(m: Any) -> Any:
    kind = _kind(m)
    if kind is None:
        return legalized(m)
    reduce, join, neutral = _REDUCTIONS[kind]
    axes = m.attr("dimensions")
    if not axes:
        return join(m.x(0), m.x(1))
    x = m.cast(reduce(m.x(0), axis=axes), m.dtype())
    return x if _is_number(m, 1, neutral) else join(m.emit(x), m.x(1))


def _is_number(m: Any, index: int, number: float) -> bool:
    """Whether an operand is known to be a number; an infinity is the end of an integer range."""
    array = m.value(index).array
    if array is None or array.size != 1:
        return False
    result = array.reshape(-1)[0]
    if np.isinf(number) and array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        return bool(result == (limits.min if number < 0 else limits.max))
    return bool(result == number)


@converts("stablehlo", "reduce_window")
def _reduce_window(m: Any) -> Any:
    kind = _kind(m) if len(m.op.results) == 1 else None
    rank = len(m.attr("window_dimensions"))
    ones = [1] * rank
    window = m.attr("window_dimensions")
    strides = m.attr("window_strides") or ones
    spread = m.attr("window_dilations") or ones
    pairs = m.attr("padding")
    edges = [[0, 0]] * rank if pairs is None else np.asarray(pairs).reshape(rank, 2).tolist()
    cumulated = _cumulated(m, kind, window, strides, edges)
    if cumulated is not None:
        return cumulated
    moving = [
        axis for axis in range(rank) if (window[axis], strides[axis], edges[axis]) != (1, 1, [0, 0])
    ]
    is_plain = (m.attr("base_dilations") or ones) == ones and "float" in m.dtype()
    is_padded = any(max(pair) > 0 for pair in edges)
    has_negative = any(min(pair) < 0 for pair in edges)
    if kind not in _POOLS or not is_plain or len(moving) > 3 or has_negative:
        return legalized(m)
    if not _is_number(m, 1, _REDUCTIONS[kind][2]) or (is_padded and rank < 2):
        return legalized(m)
    others = [axis for axis in range(rank) if axis not in moving]
    if not moving or len(others) > 2:
        return legalized(m)
    return _pooled(m, kind, moving, others, window, strides, spread, edges)


def _pooled(
    m: Any, kind: str, moving: list[int], others: list[int], window: list[int],
    strides: list[int], spread: list[int], edges: list[list[int]],
) -> Any:  # fmt: skip
    """Return the pooling that a reduction over windows is; a sum is a mean times its count."""
    letters = SPATIAL[len(moving)]
    x: Any = m.x(0)
    names = dict(zip(moving, letters, strict=True)) | dict(zip(others, "NC", strict=False))
    layout = "".join(names[axis] for axis in range(x.ty.ndim))
    for letter in "NC"[len(others) :]:
        x = op.expand_dims(x, axis=0)
        layout = f"{letter}{layout}"
    options: dict[str, Any] = {"count_include_pad": True} if kind == "add" else {}
    made = _POOLS[kind][len(moving)](
        x,
        pool_size=[window[axis] for axis in moving],
        strides=[strides[axis] for axis in moving],
        dilation=[spread[axis] for axis in moving],
        padding=[edges[axis][0] for axis in moving] + [edges[axis][1] for axis in moving],
        layout=layout,
        **options,
    )
    if kind == "add":
        count = int(np.prod([window[axis] for axis in moving]))
        made = op.multiply(made, const(count, m.dtype()))
    return op.squeeze(made, axis=list(range(2 - len(others)))) if len(others) < 2 else made


def _cumulated(m: Any, kind: Any, window: Any, strides: Any, edges: Any) -> Any | None:
    """Return the cumulative sum or product that windows over all elements before each are."""
    scans = {"add": op.cumsum, "multiply": op.cumprod}
    dims = m.dims(0)
    moving = [axis for axis, size in enumerate(window) if size != 1]
    if kind not in scans or len(moving) != 1 or any(each != 1 for each in strides):
        return None
    (axis,) = moving
    size, others = dims[axis].value, [pair for i, pair in enumerate(edges) if i != axis]
    if size is None or window[axis] != size or any(pair != [0, 0] for pair in others):
        return None
    if not _is_number(m, 1, _REDUCTIONS[kind][2]):
        return None
    if edges[axis] == [size - 1, 0]:
        return scans[kind](m.x(0), axis=axis)
    if edges[axis] == [0, size - 1]:
        return op.flip(m.emit(scans[kind](op.flip(m.x(0), axis=axis), axis=axis)), axis=axis)
    return None


@converts("stablehlo", "sort")
def _sort(m: Any) -> Any:
    direction = compared(m.op.regions[0])
    axis = m.attr("dimension", -1)
    if direction is None:
        return legalized(m)
    keys, descending = m.x(0), direction == "GT"
    if len(m.op.operands) == 1:
        return op.sort(keys, axis=axis, descending=descending)
    places = m.emit(op.argsort(keys, axis=axis, descending=descending, dtype="int64"))
    return [op.gather_elements(x, places, axis=axis) for x in m.xs()]


@converts("stablehlo", "batch_norm_inference")
def _batch_norm(m: Any) -> Any:
    x, gamma, beta, mean, variance = m.xs()
    return m.emit(
        op.batch_norm(
            x, gamma, beta, mean, variance, axis=m.attr("feature_index"),
            epsilon=m.attr("epsilon"), training=False,
        )
    )[0]  # fmt: skip


@converts("stablehlo", "batch_norm_training")
def _batch_norm_training(m: Any) -> Any:
    x, gamma, beta = m.xs()
    feature = m.attr("feature_index")
    axes = [axis for axis in range(x.ty.ndim) if axis != feature]
    mean, variance = m.emit(op.mean(x, axis=axes)), m.emit(op.variance(x, axis=axes))
    made = op.batch_norm(
        x, gamma, beta, mean, variance, axis=feature, epsilon=m.attr("epsilon"), training=False
    )
    return [m.emit(made)[0], mean, variance]
