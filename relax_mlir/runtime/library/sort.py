"""Sorting, searching and sets at run time.

NaN is greater than every number; equal elements keep their order.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError
from relax_mlir.runtime.bytecode.builtins import unique
from relax_mlir.runtime.library.operands import axes, check, check_pair
from relax_mlir.runtime.values.convert import numpy_dtype

_Array = np.ndarray


def _order(x: _Array, axis: int, descending: bool) -> _Array:
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    # Backwards from the end, so that equal elements keep their order here as well.
    order = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(order, axis)


def _sort(x: _Array, axis: int, descending: bool) -> Any:
    check(x)
    (axis,) = axes([axis], x.ndim)
    if not descending:
        return np.sort(x, axis=axis, kind="stable")
    return np.take_along_axis(x, _order(x, axis, True), axis)


def _argsort(x: _Array, axis: int, descending: bool, dtype: str) -> Any:
    check(x)
    (axis,) = axes([axis], x.ndim)
    return _order(x, axis, descending).astype(numpy_dtype(dtype))


def _topk(x: _Array, k: int, axis: int, ret_type: str, largest: bool, dtype: str) -> Any:
    check(x)
    (axis,) = axes([axis], x.ndim)
    if k > x.shape[axis]:
        raise ShapeMismatchError(f"cannot take {k} of {x.shape[axis]} elements")
    count = x.shape[axis] if k < 1 else k
    order = _order(x, axis, largest).take(range(count), axis)
    values, indices = np.take_along_axis(x, order, axis), order.astype(numpy_dtype(dtype))
    return {"both": (values, indices), "values": values, "indices": indices}[ret_type]


def _bucketize(x: _Array, boundaries: _Array, out_int32: bool, right: bool) -> Any:
    check_pair(x, boundaries)
    if boundaries.ndim != 1:
        raise ArgumentTypeError(f"boundaries must have 1 dimension, got {boundaries.ndim}")
    result = np.searchsorted(boundaries, x, side="right" if right else "left")
    return np.asarray(result, "int32" if out_int32 else "int64")


def _searchsorted(sequence: _Array, x: _Array, out_int32: bool, right: bool) -> Any:
    return _bucketize(x, sequence, out_int32, right)


def _unique(
    x: _Array, sorted: bool = True, return_index: bool = False, return_inverse: bool = False,
    return_counts: bool = False, axis: int | None = None,
) -> Any:  # fmt: skip
    check(x)
    if axis is not None:
        (axis,) = axes([axis], x.ndim)
    return unique(x, sorted, return_index, return_inverse, return_counts, axis)


def _nonzero(x: _Array) -> Any:
    check(x)
    return np.argwhere(x).T.astype("int64")


# Name -> function of the operands, then the attributes in the library's order.
SORT: dict[str, Callable[..., Any]] = {
    "sort": _sort,
    "argsort": _argsort,
    "topk": _topk,
    "bucketize": _bucketize,
    "searchsorted": _searchsorted,
    "unique": _unique,
    "nonzero": _nonzero,
}
