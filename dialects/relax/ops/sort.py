"""Sorting and searching: order along an axis, the first few of it, places among boundaries.

NaN is greater than every number, as numpy has it; equal elements keep their order.
"""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import InferError, join_dtypes, normalize_axes
from relax_mlir.dialects.relax.ops.base import Param, declare
from relax_mlir.dialects.relax.ops.elementwise import with_dtype


def _along(type_: ir.Type, axis: int) -> int:
    """Return the axis, counted from 0 where the rank is known."""
    ndim = T.tensor_ndim(type_)
    return axis if ndim < 0 else normalize_axes([axis], ndim)[0]


def integer_dtype(dtype: str) -> str:
    """Return the dtype of indices under its one name.

    Raises:
        InferError: it is none of integers.
    """
    try:
        name = T.normalize_dtype(dtype)
    except ValueError as error:
        raise InferError(str(error)) from error
    if "int" not in name:
        raise InferError(f"indices have an integer dtype, got {name}")
    return name


def _sort(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    _along(types[0], attrs["axis"])
    return types[0]


def _argsort(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    _along(types[0], attrs["axis"])
    return with_dtype(types[0], integer_dtype(attrs["dtype"]))


def _topk(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    axis, k = _along(types[0], attrs["axis"]), attrs["k"]
    dims, ndim = T.tensor_dims(types[0]), T.tensor_ndim(types[0])
    if dims is not None:
        room = dims[axis] - k
        if room.value is not None and room.value < 0:
            raise InferError(f"cannot take {k} of {dims[axis]} elements")
        everything = k.value is not None and k.value < 1
        dims = [*dims[:axis], dims[axis] if everything else k, *dims[axis + 1 :]]
    values = T.tensor_type(dims, T.tensor_dtype(types[0]), ndim)
    indices = T.tensor_type(dims, integer_dtype(attrs["dtype"]), ndim)
    results = {
        "both": ir.TupleType.get_tuple([values, indices]),
        "values": values,
        "indices": indices,
    }
    if attrs["ret_type"] not in results:
        raise InferError(f"ret_type must be one of {', '.join(results)}, got {attrs['ret_type']}")
    return results[attrs["ret_type"]]


def _bucketize(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    join_dtypes(types)
    if T.tensor_ndim(types[1]) not in (-1, 1):
        raise InferError(f"boundaries must have 1 dimension, got {T.tensor_ndim(types[1])}")
    return with_dtype(types[0], "int32" if attrs["out_int32"] else "int64")


def _searchsorted(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    return _bucketize(types[::-1], attrs)


_AXIS = Param("axis", "int", -1)
_DTYPE = Param("dtype", "dtype", "int32")
_SIDE = [Param("out_int32", "bool", False), Param("right", "bool", False)]

declare(
    "sort",
    "The elements in ascending or descending order.",
    [Param("x", "tensor"), _AXIS, Param("descending", "bool", False)],
    _sort,
)
declare(
    "argsort",
    "Where the elements in ascending or descending order are.",
    [Param("data", "tensor"), _AXIS, Param("descending", "bool", False), _DTYPE],
    _argsort,
)
declare(
    "topk",
    "The largest or smallest elements in order and where they are; all when k is below 1.",
    [
        Param("data", "tensor"),
        Param("k", "dim", 1),
        _AXIS,
        Param("ret_type", "str", "both"),
        Param("largest", "bool", True),
        _DTYPE,
    ],
    _topk,
)
declare(
    "bucketize",
    "Between which boundaries each element lies; `right` says to which side equal ones go.",
    [Param("input_tensor", "tensor"), Param("boundaries", "tensor"), *_SIDE],
    _bucketize,
)
declare(
    "searchsorted",
    "Where in an ascending sequence each element would stand.",
    [Param("sorted_sequence", "tensor"), Param("input_tensor", "tensor"), *_SIDE],
    _searchsorted,
)
