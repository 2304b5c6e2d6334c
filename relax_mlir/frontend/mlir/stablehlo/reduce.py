"""Reductions over dimensions and over windows, and sorting."""

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.dialects.relax.conv_geometry import SPATIAL
from relax_mlir.errors import ExprError
from relax_mlir.frontend.mlir.legalized import legalized
from relax_mlir.frontend.mlir.stablehlo.regions import combiner, compared
from relax_mlir.frontend.mlir.stablehlo.shape import padded
from relax_mlir.frontend.registry import converts
from relax_mlir.relax import op
from relax_mlir.relax.expr import Constant, const

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


def _kind(m: Any, region: Any) -> str | None:
    """Return by what a region with one pair of arguments reduces, None for other regions."""
    kind = combiner(region)
    if m.dtype() == "bool":
        kind = _OF_BOOLS.get(kind or "", kind)
        return kind if kind in ("and", "or") else None
    return kind if kind in ("add", "multiply", "maximum", "minimum") else None


@converts("stablehlo", "reduce")
def _reduce(m: Any) -> Any:
    kind = _kind(m, m.op.regions[0])
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
    value = m.value(index)
    array = value.expr.data.numpy() if isinstance(value.expr, Constant) else value.array
    if array is None or array.size != 1:
        return False
    result = array.reshape(-1)[0]
    if np.isinf(number) and array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        return bool(result == (limits.min if number < 0 else limits.max))
    return bool(result == number)


@converts("stablehlo", "reduce_window")
def _reduce_window(m: Any) -> Any:
    kind = _kind(m, m.op.regions[0]) if len(m.op.results) == 1 else None
    rank = len(m.attr("window_dimensions"))
    ones = [1] * rank
    window = m.attr("window_dimensions")
    strides = m.attr("window_strides") or ones
    spread = m.attr("window_dilations") or ones
    pairs = m.attr("padding")
    edges = [[0, 0]] * rank if pairs is None else np.asarray(pairs).reshape(rank, 2).tolist()
    inner = m.attr("base_dilations") or ones
    cumulated = _cumulated(m, kind, window, [*strides, *spread, *inner], edges)
    if cumulated is not None:
        return cumulated
    is_padded = any(max(pair) > 0 for pair in edges)
    if (
        inner != ones
        or any(min(pair) < 0 for pair in edges)
        or (is_padded and rank < 2)
        or (len(m.op.results) == 1 and not _starts_neutral(m, kind))
    ):
        return legalized(m)
    made = _pooled(m, kind, m.x(0), window, strides, spread, edges)
    return legalized(m) if made is None else made


# What JAX calls for windows, strides or padding of symbolic sizes.
DYNAMIC_REDUCE_WINDOW = "stablehlo.dynamic_reduce_window"


def dynamic_reduce_window(m: Any) -> Any:
    """Return a reduction over windows whose sizes are operands.

    Raises:
        ExprError: no operation of Relax is like it.
    """
    called = m.functions.get((m.attr("called_computations") or [""])[0])
    made = None
    if len(m.op.operands) == 7 and called is not None:
        kind = _kind(m, called.regions[0])
        window, strides, inner, spread, flat = (m.sizes(index) for index in range(2, 7))
        edges = [list(pair) for pair in zip(flat[::2], flat[1::2], strict=True)]
        made = _cumulated(m, kind, window, [*strides, *inner, *spread], edges)
        static = [each.value for each in (*window, *strides, *spread)]
        if made is None and None not in static and _starts_neutral(m, kind):
            rank = len(window)
            before, after = zip(*edges, strict=True)
            x = m.emit(padded(m, m.x(0), m.x(1), before, after, [each - 1 for each in inner]))
            sizes, steps, gaps = (static[i : i + rank] for i in (0, rank, 2 * rank))
            made = _pooled(m, kind, x, sizes, steps, gaps, [[0, 0]] * rank)
    if made is None:
        raise ExprError("windows of symbolic sizes are sums or products of all before, or pooling")
    return made


def _starts_neutral(m: Any, kind: str | None) -> bool:
    return kind in _POOLS and _is_number(m, 1, _REDUCTIONS[kind][2])


def _pooled(
    m: Any, kind: str | None, x: Any, window: list[int],
    strides: list[int], spread: list[int], edges: list[list[int]],
) -> Any | None:  # fmt: skip
    """Return the pooling that a reduction over windows is; a sum is a mean times its count.

    Returns:
        None where there is no such pooling.
    """
    rank = len(window)
    moving = [
        axis for axis in range(rank) if (window[axis], strides[axis], edges[axis]) != (1, 1, [0, 0])
    ]
    others = [axis for axis in range(rank) if axis not in moving]
    if kind not in _POOLS or "float" not in m.dtype() or not 0 < len(moving) < 4 or len(others) > 2:
        return None
    letters = SPATIAL[len(moving)]
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


def _cumulated(m: Any, kind: Any, window: Any, steps: Any, edges: Any) -> Any | None:
    """Return the cumulative sum or product that windows over all elements before each are.

    Args:
        m: the operation.
        kind: by what it reduces.
        window: sizes.
        steps: strides and dilations: all are 1.
        edges: the padding of each axis.
    """
    scans = {"add": op.cumsum, "multiply": op.cumprod}
    dims = m.dims(0)
    moving = [axis for axis, size in enumerate(window) if size != 1]
    if kind not in scans or len(moving) != 1 or any(each != 1 for each in steps):
        return None
    (axis,) = moving
    size, others = dims[axis], [pair for i, pair in enumerate(edges) if i != axis]
    if size != window[axis] or any(pair != [0, 0] for pair in others):
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
