"""Shape manipulation: reshape, permutation, slicing, broadcasting."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ext, ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import (
    InferError,
    InferTypeError,
    flatten,
    normalize_axes,
    permute,
    reshape,
    resolve_reshape,
)
from relax_mlir.dialects.relax.ops.base import (
    ComputeOp,
    Param,
    build,
    constant_value,
    declare,
    define,
)
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.dialects.symbolic.prover import can_prove_different


class ReshapeBase(ComputeOp):
    """The same elements in row-major order under another shape."""

    PARAMS = (Param("x", "tensor"), Param("shape", "shape"))
    x: ext.Operand[Any]
    shape: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def prepare(cls, operands: list[Any]) -> list[Any]:
        x, shape = operands
        if isinstance(shape, (list, tuple)) and isinstance(x, ir.Value):
            try:
                shape = [SymExpr.of(item) for item in shape]
            except TypeError as error:
                raise InferError(f"shape: {error}") from error
            if any(item in (0, -1) for item in shape):
                known = resolve_reshape(x.type, shape)
                shape = build("resolve_shape", [x], {"pattern": shape}) if known is None else known
        return [x, shape]

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        return reshape(types[0], types[1])


class FlattenBase(ComputeOp):
    """The elements in row-major order as one dimension."""

    PARAMS = (Param("x", "tensor"),)
    x: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        return flatten(types[0])


class PermuteDimsBase(ComputeOp):
    """Axes in another order, reversed by default."""

    PARAMS = (Param("x", "tensor"), Param("axes", "ints", None))
    x: ext.Operand[Any]
    axes: Any
    result: ext.Result[Any]

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        return permute(types[0], attrs["axes"])


define(ReshapeBase, "reshape", "Reshape: the same number of elements under another shape.")
define(FlattenBase, "flatten", "Flatten to one dimension.")
define(PermuteDimsBase, "permute_dims", "Permute the axes (transpose).")

declare(
    "resolve_shape",
    "The shape that a pattern for reshape stands for: -1 takes what is left, 0 copies.",
    [Param("x", "tensor"), Param("pattern", "dims")],
    lambda types, attrs: T.shape_type(
        resolve_reshape(types[0], attrs["pattern"]), len(attrs["pattern"])
    ),
)


def _expand_dims(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    ndim, dtype = T.tensor_ndim(types[0]), T.tensor_dtype(types[0])
    if ndim < 0:
        return T.tensor_type(None, dtype)
    ndim += len(attrs["axis"])
    new = normalize_axes(attrs["axis"], ndim)
    dims = T.tensor_dims(types[0])
    if dims is None:
        return T.tensor_type(None, dtype, ndim)
    rest = iter(dims)
    return T.tensor_type([1 if i in new else next(rest) for i in range(ndim)], dtype)


def squeezed_axes(dims: Sequence[SymExpr], axes: Sequence[int] | None) -> list[int] | None:
    """Return the axes that squeeze drops, None where lengths are known at run time only.

    Raises:
        InferError: an axis is out of range or certainly longer than 1.
    """
    if axes is None:
        result = [i for i, dim in enumerate(dims) if dim == 1]
        others = [dim for i, dim in enumerate(dims) if i not in result]
        return result if all(can_prove_different(dim, 1) for dim in others) else None
    dropped = normalize_axes(axes, len(dims))
    for axis in dropped:
        if can_prove_different(dims[axis], 1):
            raise InferError(f"cannot squeeze dimension {axis}, which is {dims[axis]} and not 1")
    return dropped


def _squeeze(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    ndim, dtype = T.tensor_ndim(types[0]), T.tensor_dtype(types[0])
    dims = T.tensor_dims(types[0])
    axes = attrs["axis"]
    if dims is None:
        if ndim < 0 or axes is None:
            return T.tensor_type(None, dtype)
        return T.tensor_type(None, dtype, ndim - len(normalize_axes(axes, ndim)))
    dropped = squeezed_axes(dims, axes)
    if dropped is None:
        return T.tensor_type(None, dtype)
    return T.tensor_type([dim for i, dim in enumerate(dims) if i not in dropped], dtype)


def _broadcast_to(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    x, shape = types
    rank, ndim, dims, new = (
        T.tensor_ndim(x), T.shape_ndim(shape), T.tensor_dims(x), T.shape_dims(shape),
    )  # fmt: skip
    if 0 <= ndim < rank:
        raise InferError(f"a tensor of {rank} dimensions cannot be broadcast to {ndim}")
    if new is not None and dims is not None:
        for dim, wanted in zip(dims, new[len(new) - len(dims) :], strict=True):
            if dim != 1 and dim.is_const and wanted.is_const and dim != wanted:
                raise InferError(f"a dimension of {dim} cannot be broadcast to {wanted}")
    return T.tensor_type(new, T.tensor_dtype(x), ndim)


declare(
    "expand_dims",
    "New dimensions of 1 at these axes of the result.",
    [Param("x", "tensor"), Param("axis", "ints")],
    _expand_dims,
)
declare(
    "squeeze",
    "Without these dimensions of 1, by default without any.",
    [Param("x", "tensor"), Param("axis", "ints", None)],
    _squeeze,
)
declare(
    "broadcast_to",
    "The tensor repeated along dimensions of 1, and along new ones in front.",
    [Param("x", "tensor"), Param("shape", "shape")],
    _broadcast_to,
)


def _batch_flatten(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    dtype, ndim, dims = T.tensor_dtype(types[0]), T.tensor_ndim(types[0]), T.tensor_dims(types[0])
    if 0 <= ndim < 2:
        raise InferError(f"data must have at least 2 dimensions, got {ndim}")
    return T.tensor_type(dims and [dims[0], product(dims[1:])], dtype, 2)


def _pixel_shuffle(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    dtype, ndim, dims = T.tensor_dtype(types[0]), T.tensor_ndim(types[0]), T.tensor_dims(types[0])
    factor = attrs["upscale_factor"]
    if factor < 1:
        raise InferError(f"upscale_factor must be at least 1, got {factor}")
    if 0 <= ndim < 3:
        raise InferError(f"data must have channels, height and width, got {ndim} dimensions")
    if dims is None:
        return T.tensor_type(None, dtype, ndim)
    *outer, channels, height, width = dims
    if channels.is_const and channels % (factor * factor) != 0:
        raise InferError(f"{channels} channels are no multiple of {factor} * {factor}")
    sizes = channels // (factor * factor), height * factor, width * factor
    return T.tensor_type([*outer, *sizes], dtype)


def _reverse_sequence(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    data, lengths = types
    if T.tensor_dtype(lengths) not in ("", "int32", "int64"):
        raise InferError(f"seq_lengths must be int32 or int64, got {T.tensor_dtype(lengths)}")
    if T.tensor_ndim(lengths) not in (-1, 1):
        raise InferError(f"seq_lengths must have 1 dimension, got {T.tensor_ndim(lengths)}")
    if T.tensor_ndim(data) >= 0:
        _, batch = (
            normalize_axes([attrs[name]], T.tensor_ndim(data))[0]
            for name in ("seq_axis", "batch_axis")
        )
        dims, count = T.tensor_dims(data), T.tensor_dims(lengths)
        if dims and count and can_prove_different(dims[batch], count[0]):
            raise InferError(f"there are {count[0]} seq_lengths for a batch of {dims[batch]}")
    return data


declare(
    "batch_flatten",
    "All dimensions but the first as one.",
    [Param("data", "tensor")],
    _batch_flatten,
)
declare(
    "pixel_shuffle",
    "Channels as pixels: `(n, c * r * r, h, w)` becomes `(n, c, h * r, w * r)`.",
    [Param("data", "tensor"), Param("upscale_factor", "int")],
    _pixel_shuffle,
)
declare(
    "reverse_sequence",
    "The first elements of each sequence in reverse, as many as its length.",
    [
        Param("data", "tensor"),
        Param("seq_lengths", "tensor"),
        Param("seq_axis", "int", 1),
        Param("batch_axis", "int", 0),
    ],
    _reverse_sequence,
)


def _layout_transform(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    (data,), index_map = types, attrs["index_map"]
    dtype, ndim, dims = T.tensor_dtype(data), T.tensor_ndim(data), T.tensor_dims(data)
    if ndim not in (-1, index_map.rank):
        raise InferError(f"{index_map} takes {index_map.rank} indices, got {ndim} dimensions")
    index_map.axes()
    fill = constant_value(attrs["pad_value"])
    if isinstance(fill, float) and dtype and "float" not in dtype and not fill.is_integer():
        raise InferTypeError(f"pad_value must be an integer in a tensor of {dtype}, got {fill}")
    return T.tensor_type(dims and index_map.shape(dims), dtype, len(index_map.outputs))


declare(
    "layout_transform",
    "The elements where a function of their indices says; what is left over is `pad_value` or 0.",
    [
        Param("x", "tensor"),
        Param("index_map", "index_map"),
        Param("pad_value", "number", None),
        Param("axis_separators", "ints", None),
        Param("input_axis_separators", "ints", None),
    ],
    _layout_transform,
)
