"""Concatenation, stacking and splitting."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import InferError, InferTypeError, join_dtypes, normalize_axes
from relax_mlir.dialects.relax.ops.base import Param, declare
from relax_mlir.dialects.relax.slices import check_sections, check_slice, slice_bounds, split_points
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import can_prove_different


def join_ranks(types: Sequence[ir.Type]) -> int:
    """Return the common rank of tensors, -1 when that of none is known.

    Raises:
        InferError: two known ranks differ, or there are no tensors.
    """
    if not types:
        raise InferError("needs at least one tensor")
    ranks = {T.tensor_ndim(type_) for type_ in types} - {-1}
    if len(ranks) > 1:
        raise InferError(f"tensors must have one rank, got {sorted(ranks)}")
    return ranks.pop() if ranks else -1


def common_dims(shapes: Sequence[Sequence[SymExpr]], except_axis: int = -1) -> list[SymExpr]:
    """Return the dimensions that shapes of one rank have in common, constants preferred.

    Where two are not certain to be equal, run time checks it.

    Raises:
        InferError: two dimensions certainly differ, other than along `except_axis`.
    """
    result = list(shapes[0])
    for dims in shapes[1:]:
        for axis, (known, dim) in enumerate(zip(result, dims, strict=True)):
            if axis == except_axis:
                continue
            if can_prove_different(known, dim):
                raise InferError(f"tensors differ in dimension {axis}: {known} and {dim}")
            if dim.is_const:
                result[axis] = dim
    return result


def _concat(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    (tensors,) = types
    ndim, dtype = join_ranks(tensors), join_dtypes(tensors)
    if attrs["axis"] is None:
        if ndim not in (-1, 1):
            raise InferError(f"tensors of {ndim} dimensions need an axis")
        ndim = 1
    if ndim < 0:
        return T.tensor_type(None, dtype)
    (axis,) = normalize_axes([attrs["axis"] or 0], ndim)
    shapes = T.all_dims(tensors)
    if shapes is None:
        return T.tensor_type(None, dtype, ndim)
    dims = common_dims(shapes, axis)
    dims[axis] = sum((shape[axis] for shape in shapes), start=SymExpr.const(0))
    return T.tensor_type(dims, dtype)


def _stack(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    (tensors,) = types
    ndim, dtype = join_ranks(tensors), join_dtypes(tensors)
    if ndim < 0:
        return T.tensor_type(None, dtype)
    (axis,) = normalize_axes([attrs["axis"]], ndim + 1)
    shapes = T.all_dims(tensors)
    if shapes is None:
        return T.tensor_type(None, dtype, ndim + 1)
    dims = common_dims(shapes)
    return T.tensor_type([*dims[:axis], len(tensors), *dims[axis:]], dtype)


def _split(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    x, parts = types[0], attrs["indices_or_sections"]
    ndim, dtype, dims = T.tensor_ndim(x), T.tensor_dtype(x), T.tensor_dims(x)
    (axis,) = [attrs["axis"]] if ndim < 0 else normalize_axes([attrs["axis"]], ndim)
    # The number of parts is checked here even where nothing is known of the tensor.
    pieces = split_points(parts, SymExpr.const(0) if dims is None else dims[axis])
    if dims is None:
        return ir.TupleType.get_tuple([T.tensor_type(None, dtype, ndim)] * len(pieces))
    fields = [T.tensor_type([*dims[:axis], size, *dims[axis + 1 :]], dtype) for _, size in pieces]
    return ir.TupleType.get_tuple(fields)


def _parts(parts: Any) -> Any:
    if isinstance(parts, int):
        check_sections(parts)
    return parts


def slice_plan(
    dims: Sequence[SymExpr], attrs: dict[str, Any]
) -> tuple[list[SymExpr], dict[int, tuple[SymExpr, int]]]:
    """Return the dimensions of a strided slice, and for each sliced axis its start and stride."""
    axes, strides = check_slice(
        attrs["axes"], attrs["begin"], attrs["end"], attrs["strides"], len(dims)
    )
    result, starts = list(dims), {}
    for axis, begin, end, stride in zip(axes, attrs["begin"], attrs["end"], strides, strict=True):
        inbound = attrs["assume_inbound"]
        start, result[axis] = slice_bounds(begin, end, stride, dims[axis], inbound)
        starts[axis] = (start, stride)
    return result, starts


def _strided_slice(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    x = types[0]
    ndim, dtype, dims = T.tensor_ndim(x), T.tensor_dtype(x), T.tensor_dims(x)
    check_slice(attrs["axes"], attrs["begin"], attrs["end"], attrs["strides"], ndim)
    if dims is None:
        return T.tensor_type(None, dtype, ndim)
    return T.tensor_type(slice_plan(dims, attrs)[0], dtype)


def _check_slice(attrs: dict[str, Any]) -> None:
    axes, begin, end = (attrs[name] for name in ("axes", "begin", "end"))
    strides = attrs.get("strides")
    if all(isinstance(part, (list, tuple)) for part in (axes, begin, end, strides or ())):
        check_slice(axes, begin, end, strides, ndim=-1)


def _dynamic_strided_slice(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    x, *bounds = types
    ndim = T.tensor_ndim(x)
    for name, type_ in zip(("begin", "end", "strides"), bounds, strict=True):
        if T.tensor_dtype(type_) not in ("int64", T.UNKNOWN_DTYPE):
            raise InferTypeError(f"{name} must be int64, got {T.tensor_dtype(type_)}")
        if T.tensor_ndim(type_) not in (-1, 1):
            raise InferError(f"{name} must have one dimension, got {T.tensor_ndim(type_)}")
        dims = T.tensor_dims(type_)
        if dims is not None and dims[0].is_const and ndim >= 0 and dims[0] != ndim:
            raise InferError(f"{name} needs {ndim} elements, one per dimension, got {dims[0]}")
    return T.tensor_type(None, T.tensor_dtype(x), ndim)


declare(
    "concat",
    "Tensors one after another along an axis they have; vectors need none.",
    [Param("tensors", "tensors"), Param("axis", "int", 0, optional=True)],
    _concat,
)
declare(
    "stack",
    "Tensors one after another along a new axis.",
    [Param("tensors", "tensors"), Param("axis", "int", 0)],
    _stack,
)
declare(
    "split",
    "Parts of a tensor along an axis: so many, or cut at these indices.",
    [
        Param("x", "tensor"),
        Param("indices_or_sections", "int_or_ints", form=_parts),
        Param("axis", "int", 0),
    ],
    _split,
)
declare(
    "strided_slice",
    "The elements from begin to end, in steps, along some axes.",
    [
        Param("x", "tensor"),
        Param("axes", "ints"),
        Param("begin", "dims"),
        Param("end", "dims"),
        Param("strides", "ints", None),
        Param("assume_inbound", "bool", False),
    ],
    _strided_slice,
    check=_check_slice,
)
declare(
    "dynamic_strided_slice",
    "A slice of every axis whose bounds are tensors.",
    [Param(name, "tensor") for name in ("x", "begin", "end", "strides")],
    _dynamic_strided_slice,
)
