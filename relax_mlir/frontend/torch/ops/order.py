"""Sorted elements, the greatest and least ones, medians, the most frequent ones."""

import math
from typing import Any

from relax_mlir.frontend.torch.importer import Importer
from relax_mlir.frontend.torch.ops.scan import running_extreme
from relax_mlir.frontend.torch.ops.table import converts
from relax_mlir.frontend.torch.symbols import size
from relax_mlir.relax import op


@converts("sort.default", "sort.stable")
def _sort(
    m: Importer, x: Any, dim: int = -1, descending: bool = False, *, stable: Any = None
) -> list[Any]:
    places = m.emit(op.argsort(x, axis=dim, descending=descending, dtype="int64"))
    return [op.gather_elements(x, places, axis=dim), places]


@converts("argsort.default", "argsort.stable")
def _argsort(m: Importer, x: Any, dim: int = -1, descending: bool = False, **_: Any) -> Any:
    return op.argsort(x, axis=dim, descending=descending, dtype="int64")


@converts("topk.default")
def _topk(
    m: Importer,
    x: Any,
    k: Any,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
) -> list[Any]:
    if k == 0:
        shape = [size(dim) for dim in m.value[0].shape]
        return [op.zeros(shape, x.ty.dtype), op.zeros(shape, "int64")]
    both = m.emit(op.topk(x, k=k, axis=dim, largest=largest, dtype="int64"))
    return [both[0], both[1]]


def _at(m: Importer, x: Any, order: Any, rank: Any, dim: int, keepdim: bool) -> list[Any]:
    """Return the elements of a rank among the sorted ones of an axis, and their indices."""
    place = m.emit(op.gather_elements(order, rank, axis=dim))
    both = [op.gather_elements(x, place, axis=dim), place]
    return both if keepdim else [op.squeeze(each, axis=[dim]) for each in both]


def _median(
    m: Importer, x: Any, dim: int, keepdim: bool, ignores_nan: bool, padded: Any = None
) -> list[Any]:
    """Return the lower medians of an axis and their indices; NaN are the last in order.

    Elements are taken from `padded`, which has NaN after those of `x` along the axis.
    """
    if not x.ty.ndim:
        return [x, op.zeros((), "int64")]
    one, count = m.cast(1, "int64"), m.cast(x.ty.dims[dim], "int64")
    numbers: Any = op.ones(x.ty.dims, "int64")
    if "float" in x.ty.dtype:
        numbers = op.astype(op.logical_not(op.isnan(x)), "int64")
    numbers = m.emit(op.sum(numbers, axis=[dim], keepdims=True))
    middle = op.floor_divide(op.subtract(numbers, one), m.cast(2, "int64"))
    middle = op.maximum(middle, m.cast(0, "int64"))
    if not ignores_nan:
        middle = op.where(op.equal(numbers, count), middle, numbers)
    x = x if padded is None else padded
    order = m.emit(op.argsort(x, axis=dim, dtype="int64"))
    return _at(m, x, order, m.emit(middle), dim, keepdim)


def _medians(name: str, ignores_nan: bool) -> None:
    """Register the converters of a median of an axis and of all elements: NaN of none."""

    @converts(f"{name}.dim")
    def along(m: Importer, x: Any, dim: int, keepdim: bool = False) -> list[Any]:
        return _median(m, x, dim, keepdim, ignores_nan)

    @converts(f"{name}.default")
    def whole(m: Importer, x: Any) -> Any:
        flat, padded = m.emit(op.reshape(x, (-1,))), None
        if "float" in m.dtype:
            padded = op.concat([flat, op.full((1,), m.cast(math.nan, m.dtype), m.dtype)], axis=0)
            padded = m.emit(padded)
        return _median(m, flat, 0, False, ignores_nan, padded)[0]


_medians("median", False)
_medians("nanmedian", True)


@converts("kthvalue.default")
def _kthvalue(m: Importer, x: Any, k: int, dim: int = -1, keepdim: bool = False) -> list[Any]:
    if not x.ty.ndim:
        return [x, op.zeros((), "int64")]
    order = m.emit(op.argsort(x, axis=dim, dtype="int64"))
    dims = list(x.ty.dims)
    dims[dim] = 1
    return _at(m, x, order, op.full(dims, m.cast(k - 1, "int64"), "int64"), dim, keepdim)


@converts("mode.default")
def _mode(m: Importer, x: Any, dim: int = -1, keepdim: bool = False) -> list[Any]:
    """Return the most frequent elements of an axis, the least of them, and where each is last."""
    if not x.ty.ndim:
        return [x, op.zeros((), "int64")]
    axes = list(range(x.ty.ndim))
    axes.append(axes.pop(dim))
    rows = m.emit(op.permute_dims(x, axes))
    order = m.emit(op.argsort(rows, axis=-1, dtype="int64"))
    ascending = m.emit(op.gather_elements(rows, order, axis=-1))
    # How many of a run of equal elements there are up to each; the first greatest number is of
    # the least element, and stands at its last place.
    count, last = x.ty.dims[dim], [len(axes) - 1]
    before = op.strided_slice(ascending, last, [0], [count - 1])
    starts = op.not_equal(op.strided_slice(ascending, last, [1], [count]), before)
    places = m.emit(op.arange(0, count, 1, "int64"))
    begins = op.where(starts, op.strided_slice(places, [0], [1], [count]), m.cast(0, "int64"))
    first = op.zeros([*rows.ty.dims[:-1], 1], "int64")
    begins = running_extreme(m, m.emit(op.concat([first, begins], axis=-1)), -1)
    place = op.argmax(op.subtract(places, begins), axis=-1, keepdims=True)
    found = _at(m, rows, order, m.cast(place, "int64"), -1, True)
    return [op.reshape(each, m.shape) for each in found]
