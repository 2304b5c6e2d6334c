"""Reading and writing at indices that are tensors.

Negative indices count from the end; what is out of range is an error at run time unless the mode
says what to do with it. Nothing is ever read or written outside of a tensor.
"""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import (
    InferError,
    InferTypeError,
    broadcast_dims,
    join_dtypes,
    normalize_axes,
)
from relax_mlir.dialects.relax.ops.base import Param, declare
from relax_mlir.dialects.relax.ops.elementwise import as_tensor_type
from relax_mlir.dialects.relax.ops.join import common_dims
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import can_prove_different, can_prove_less_equal

TAKE_MODES = ("fast", "wrap", "clip", "nan")
REDUCTIONS = ("update", "add", "mul", "min", "max")


def check_indices(type_: ir.Type, what: str = "indices") -> None:
    """Raise InferError unless a tensor can hold indices."""
    dtype = T.tensor_dtype(type_)
    if dtype and "int" not in dtype:
        raise InferTypeError(f"{what} must be integers, got {dtype}")


def _one_of(value: str, allowed: Sequence[str], what: str) -> None:
    if value not in allowed:
        raise InferError(f"{what} must be one of {', '.join(allowed)}, got '{value}'")


def _take(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    x, indices = types[0], as_tensor_type(types[1])
    check_indices(indices)
    _one_of(attrs["mode"], TAKE_MODES, "mode")
    dtype, axis = T.tensor_dtype(x), attrs["axis"]
    if attrs["mode"] == "nan" and dtype and "float" not in dtype:
        raise InferTypeError(f"mode 'nan' needs a floating-point dtype, got {dtype}")
    ndim, count = T.tensor_ndim(x), T.tensor_ndim(indices)
    dims, inner = T.tensor_dims(x), T.tensor_dims(indices)
    if axis is None:
        return T.tensor_type(inner, dtype, count)
    if ndim < 0:
        return T.tensor_type(None, dtype)
    (axis,) = normalize_axes([axis], ndim)
    if dims is None or inner is None:
        return T.tensor_type(None, dtype, -1 if count < 0 else ndim - 1 + count)
    return T.tensor_type([*dims[:axis], *inner, *dims[axis + 1 :]], dtype)


def _same_rank(data: ir.Type, others: Sequence[tuple[str, ir.Type]]) -> int:
    """Return the rank that tensors share as far as it is known."""
    ndim = T.tensor_ndim(data)
    for name, type_ in others:
        rank = T.tensor_ndim(type_)
        if -1 not in (ndim, rank) and rank != ndim:
            raise InferError(f"{name} must have {ndim} dimensions like the data, got {rank}")
        ndim = max(ndim, rank)
    return ndim


def _gather_elements(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    data, indices = types
    check_indices(indices)
    ndim = _same_rank(data, [("indices", indices)])
    if ndim >= 0:
        (axis,) = normalize_axes([attrs["axis"]], ndim)
        _check_within(T.tensor_dims(indices), T.tensor_dims(data), axis, "indices")
    return T.tensor_type(T.tensor_dims(indices), T.tensor_dtype(data), ndim)


def _check_within(
    inner: Sequence[SymExpr] | None, outer: Sequence[SymExpr] | None, axis: int, what: str
) -> None:
    """Raise InferError when constants show that a dimension other than `axis` is longer."""
    for i, (a, b) in enumerate(zip(inner or (), outer or (), strict=False)):
        if i != axis and a.is_const and b.is_const and (a - b).evaluate({}) > 0:
            raise InferError(f"{what} have {a} elements in dimension {i}, the data only {b}")


def _gather_nd(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    data, indices = types
    check_indices(indices)
    batch, dtype = attrs["batch_dims"], T.tensor_dtype(data)
    ndim, rank = T.tensor_ndim(data), T.tensor_ndim(indices)
    dims, inner = T.tensor_dims(data), T.tensor_dims(indices)
    if batch < 0 or (rank >= 0 and batch >= rank) or (0 <= ndim < batch):
        raise InferError(f"batch_dims {batch} does not go with {ndim} and {rank} dimensions")
    if inner is None or inner[-1].value is None:
        return T.tensor_type(None, dtype)
    depth = inner[-1].value
    if ndim < 0:
        return T.tensor_type(None, dtype)
    if batch + depth > ndim:
        raise InferError(f"indices of {depth} numbers need a tensor of more than {ndim} dimensions")
    if dims is None:
        return T.tensor_type(None, dtype, rank - 1 + ndim - batch - depth)
    if batch:
        common_dims([dims[:batch], inner[:batch]])
    return T.tensor_type([*inner[:-1], *dims[batch + depth :]], dtype)


def _scatter_elements(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    data, indices, updates = types
    check_indices(indices)
    join_dtypes([data, updates])
    _one_of(attrs["reduction"], REDUCTIONS, "reduction")
    ndim = _same_rank(data, [("indices", indices), ("updates", updates)])
    if ndim >= 0:
        (axis,) = normalize_axes([attrs["axis"]], ndim)
        _check_within(T.tensor_dims(indices), T.tensor_dims(data), axis, "indices")
    shapes = T.all_dims([indices, updates])
    if shapes is not None:
        common_dims(shapes)
    return data


def _scatter_nd(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    data, indices, updates = types
    check_indices(indices)
    join_dtypes([data, updates])
    _one_of(attrs["reduction"], REDUCTIONS, "reduction")
    if T.tensor_ndim(indices) == 0:
        raise InferError("indices must have at least one dimension")
    shapes = T.all_dims(types)
    depth = None if shapes is None else shapes[1][-1].value
    if shapes is None or depth is None:
        return data
    dims, inner, given = shapes
    if depth > len(dims):
        raise InferError(f"indices of {depth} numbers for a tensor of {len(dims)} dimensions")
    wanted = [*inner[:-1], *dims[depth:]]
    if len(given) != len(wanted):
        raise InferError(f"updates must have {len(wanted)} dimensions, got {len(given)}")
    common_dims([wanted, given])
    return data


def _index_tensor(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    data, indices = types
    if not indices:
        raise InferError("needs at least one tensor of indices")
    for type_ in indices:
        check_indices(type_)
    ndim, dtype = T.tensor_ndim(data), T.tensor_dtype(data)
    if 0 <= ndim < len(indices):
        raise InferError(f"{len(indices)} tensors of indices for {ndim} dimensions")
    ranks = [T.tensor_ndim(type_) for type_ in indices]
    rank = -1 if -1 in (ndim, *ranks) else max(ranks) + ndim - len(indices)
    dims, shapes = T.tensor_dims(data), T.all_dims(indices)
    if dims is None or shapes is None:
        return T.tensor_type(None, dtype, rank)
    common: list[SymExpr] | None = []
    for shape in shapes:
        common = None if common is None else broadcast_dims(common, shape)
    if common is None:
        return T.tensor_type(None, dtype, rank)
    return T.tensor_type([*common, *dims[len(indices) :]], dtype)


def _meshgrid(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    (tensors,) = types
    _one_of(attrs["indexing"], ("ij", "xy"), "indexing")
    if not tensors:
        raise InferError("needs at least one tensor")
    dtype = join_dtypes(tensors)
    for type_ in tensors:
        if T.tensor_ndim(type_) > 1:
            raise InferError(f"takes vectors, got {T.tensor_ndim(type_)} dimensions")
    shapes = T.all_dims(tensors)
    dims = None
    if shapes is not None:
        dims = [shape[0] if shape else SymExpr.const(1) for shape in shapes]
        if attrs["indexing"] == "xy" and len(dims) > 1:
            dims[:2] = dims[1], dims[0]
    return ir.TupleType.get_tuple([T.tensor_type(dims, dtype, len(tensors))] * len(tensors))


_DATA, _UPDATES = Param("data", "tensor"), Param("updates", "tensor")
_INDICES = Param("indices", "tensor", numbers="int64")
_REDUCTION = Param("reduction", "str", "update")

declare(
    "take",
    "The elements, or slices along an axis, at these indices.",
    [
        Param("x", "tensor"),
        Param("indices", "tensor", numbers="int64", scalar=True),
        Param("axis", "int", None),
        Param("mode", "str", "fast"),
    ],
    _take,
)
declare(
    "gather_elements",
    "Elements whose place along an axis is what the indices say, and elsewhere their own.",
    [_DATA, _INDICES, Param("axis", "int", 0)],
    _gather_elements,
)
declare(
    "gather_nd",
    "The elements or slices at indices of several dimensions, the last axis of the indices.",
    [_DATA, _INDICES, Param("batch_dims", "int", 0)],
    _gather_nd,
)
declare(
    "scatter_elements",
    "The data with updates put, or combined, where the indices say along an axis.",
    [_DATA, _INDICES, _UPDATES, Param("axis", "int", 0), _REDUCTION],
    _scatter_elements,
)
declare(
    "scatter_nd",
    "The data with updates put, or combined, at indices of several dimensions.",
    [_DATA, _INDICES, _UPDATES, _REDUCTION],
    _scatter_nd,
)
declare(
    "index_tensor",
    "The elements at several tensors of indices, one per dimension, broadcast together.",
    [_DATA, Param("indices", "tensors", numbers="int64")],
    _index_tensor,
)
declare(
    "meshgrid",
    "Coordinates on a grid from a vector for each of its axes.",
    [Param("tensors", "tensors"), Param("indexing", "str", "ij")],
    _meshgrid,
)


def _slice_scatter(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    data, source = types
    join_dtypes(types)
    ndim = T.tensor_ndim(data)
    if ndim < 0:
        return data
    _same_rank(data, [("src", source)])
    (axis,) = normalize_axes([attrs["axis"]], ndim)
    start, end, step = (attrs[name] for name in ("start", "end", "step"))
    if can_prove_less_equal(step, 0):
        raise InferError(f"step must be at least 1, got {step}")
    if can_prove_less_equal(end + 1, start):
        raise InferError(f"start {start} is after end {end}")
    dims, given = T.tensor_dims(data), T.tensor_dims(source)
    if dims is None or given is None:
        return data
    for i, (dim, part) in enumerate(zip(dims, given, strict=True)):
        wanted = SymExpr.of(slice_count(start, end, step, dim)) if i == axis else dim
        if can_prove_different(part, wanted):
            raise InferError(f"dimension {i} of src is {part}, the slice has {wanted}")
    return data


def slice_count(start: SymExpr, end: SymExpr, step: SymExpr, length: SymExpr) -> SymExpr:
    """Return how many elements of an axis a slice has; an end that is too large is the length."""
    if can_prove_less_equal(length, end):
        end = length
    return (end - start + step - 1) // step


def _index_put(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    data, indices, values = types
    for type_ in indices:
        check_indices(type_)
        if T.tensor_ndim(type_) == 0:
            raise InferError("each tensor of indices must have at least 1 dimension")
    join_dtypes([data, values])
    if T.tensor_ndim(data) not in (-1, len(indices)):
        raise InferError(f"{len(indices)} tensors of indices for {T.tensor_ndim(data)} dimensions")
    return data


declare(
    "slice_scatter",
    "The data with the elements of a slice along an axis taken from `src`.",
    [
        Param("input_tensor", "tensor"),
        Param("src", "tensor"),
        Param("start", "dim"),
        Param("end", "dim"),
        Param("step", "dim"),
        Param("axis", "int", 0),
    ],
    _slice_scatter,
)
declare(
    "index_put",
    "The data with values put, or added, at indices for every dimension, broadcast together.",
    [
        _DATA,
        Param("indices", "tensors", numbers="int64"),
        Param("values", "tensor"),
        Param("accumulate", "bool", False),
    ],
    _index_put,
)
