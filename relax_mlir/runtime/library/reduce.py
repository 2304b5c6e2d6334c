"""Reductions and scans at run time."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import ShapeMismatchError
from relax_mlir.runtime.library.elementwise import divide
from relax_mlir.runtime.library.operands import axes, check, size_of, widen
from relax_mlir.runtime.values.convert import numpy_dtype

_Array = np.ndarray


def _limit(dtype: np.dtype, largest: bool) -> Any:
    """Return the largest or smallest value of a dtype."""
    if dtype == np.dtype("bool"):
        return largest
    if dtype.kind == "f":
        return math.inf if largest else -math.inf
    return np.iinfo(dtype).max if largest else np.iinfo(dtype).min


def _mean(x: _Array, axis: tuple[int, ...], keepdims: bool) -> Any:
    wide = x.dtype if x.dtype.kind == "f" else np.dtype(f"{x.dtype.kind}8")
    total = np.asarray(np.sum(x, axis=axis, dtype=wide, keepdims=keepdims))
    return divide(total, np.array(math.prod([x.shape[i] for i in axis]), wide))


# Of no elements, each is the identity of what it combines.
_REDUCTIONS: dict[str, Callable[[_Array, tuple[int, ...], bool], Any]] = {
    "sum": lambda x, axis, keep: np.sum(x, axis=axis, dtype=x.dtype, keepdims=keep),
    "prod": lambda x, axis, keep: np.prod(x, axis=axis, dtype=x.dtype, keepdims=keep),
    "max": lambda x, axis, keep: x.max(axis=axis, keepdims=keep, initial=_limit(x.dtype, False)),
    "min": lambda x, axis, keep: x.min(axis=axis, keepdims=keep, initial=_limit(x.dtype, True)),
    "mean": _mean,
}


def _reduction(name: str) -> Callable[..., Any]:
    combine = _REDUCTIONS[name]
    kinds = "iuf" if name == "mean" else "biuf"

    def compute(x: _Array, axis: Sequence[int] | None = None, keepdims: bool = False) -> Any:
        check(x, kinds)
        result = np.asarray(combine(widen(x), axes(axis, x.ndim), keepdims))
        return result.astype(x.dtype, copy=False)

    return compute


def _variance(x: _Array, axis: Sequence[int] | None, keepdims: bool) -> Any:
    check(x, "f")
    wide, over = widen(x), axes(axis, x.ndim)
    # numpy's mean warns of no elements; here it is the NaN of 0 / 0.
    count = wide.dtype.type(math.prod(x.shape[i] for i in over))
    centred = wide - wide.sum(axis=over, keepdims=True) / count
    return np.asarray(np.square(centred).sum(axis=over, keepdims=keepdims) / count)


def _moment(root: bool) -> Callable[..., Any]:
    def compute(x: _Array, axis: Sequence[int] | None = None, keepdims: bool = False) -> Any:
        result = _variance(x, axis, keepdims)
        return (np.sqrt(result) if root else result).astype(x.dtype, copy=False)

    return compute


def _truth(combine: Callable[..., Any]) -> Callable[..., Any]:
    def compute(x: _Array, axis: Sequence[int] | None = None, keepdims: bool = False) -> Any:
        check(x)
        return combine(x, axis=axes(axis, x.ndim), keepdims=keepdims)

    return compute


def _place(find: Callable[..., Any]) -> Callable[..., Any]:
    def compute(x: _Array, axis: int | None = None, keepdims: bool = False) -> Any:
        check(x)
        over = axes(None if axis is None else [axis], x.ndim)
        shape = [1 if i in over else n for i, n in enumerate(x.shape)]
        if not keepdims:
            shape = [n for i, n in enumerate(x.shape) if i not in over]
        # numpy has no place in nothing.
        if not x.size:
            return np.zeros(shape, "int64")
        result = find(x, axis=None if axis is None else over[0])
        return np.asarray(result, "int64").reshape(shape)

    return compute


def _scan(combine: np.ufunc, identity: int) -> Callable[..., Any]:
    def compute(
        x: _Array, axis: int | None = None, dtype: str | None = None, exclusive: bool = False
    ) -> Any:
        target = numpy_dtype(dtype) if dtype else x.dtype
        check(x, "biuf" if dtype else "iuf")
        source = x.astype(target)
        source = widen(source.reshape(-1) if axis is None else source)
        (along,) = axes([axis or 0], source.ndim)
        result = np.asarray(combine.accumulate(source, axis=along, dtype=source.dtype))
        if exclusive:
            first = np.full_like(result.take([0] if result.shape[along] else [], along), identity)
            rest = np.delete(result, -1, axis=along) if result.shape[along] else result
            result = np.concatenate([first, rest], axis=along)
        return result.astype(target, copy=False)

    return compute


def _median(x: _Array, axis: Sequence[int] | None = None, keepdims: bool = False) -> Any:
    check(x, "iuf")
    source, over = (x, axes(axis, x.ndim)) if axis else (x.reshape(-1), (0,))
    (along,) = over
    count = source.shape[along]
    if not count:
        raise ShapeMismatchError("there is no median of no elements")
    place = np.argsort(source, axis=along, kind="stable").take([(count - 1) // 2], along)
    value = np.take_along_axis(source, place, along)
    if not axis:
        return value.reshape((1,) * x.ndim if keepdims else ())
    return (value, place) if keepdims else (value.squeeze(along), place.squeeze(along))


def _collapse_sum(data: _Array, target: Any) -> _Array:
    check(data)
    shape = target.shape if isinstance(target, np.ndarray) else size_of(target)
    extra = data.ndim - len(shape)
    over = [i for i, n in enumerate(data.shape) if i < extra or (shape[i - extra] == 1 and n != 1)]
    summed = data.sum(axis=tuple(over), dtype=data.dtype, keepdims=True) if over else data.copy()
    if extra < 0 or summed.shape[extra:] != shape:
        raise ShapeMismatchError(f"{data.shape} cannot be summed to {shape}")
    return summed.reshape(shape)


# Name -> function of the operands, then the attributes in their declared order.
REDUCE: dict[str, Callable[..., Any]] = {
    **{name: _reduction(name) for name in _REDUCTIONS},
    "variance": _moment(False),
    "std": _moment(True),
    "all": _truth(np.all),
    "any": _truth(np.any),
    "argmax": _place(np.argmax),
    "argmin": _place(np.argmin),
    "median": _median,
    "collapse_sum_to": _collapse_sum,
    "collapse_sum_like": _collapse_sum,
    "cumsum": _scan(np.add, 0),
    "cumprod": _scan(np.multiply, 1),
}
