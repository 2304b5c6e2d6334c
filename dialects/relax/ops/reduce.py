"""Reductions over some or all axes."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ext, ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import InferError, reduce
from relax_mlir.dialects.relax.ops.base import ComputeOp, Param, declare, define
from relax_mlir.dialects.relax.ops.elementwise import expect_kind, with_dtype
from relax_mlir.dialects.symbolic.expr import SymExpr


class ReduceOp(ComputeOp):
    """Elements are combined along the axes; `axis=None` takes all axes.

    The result lacks these axes, or has size 1 there if `keepdims`. Negative axes count from the
    end; an axis out of range or named twice is a ValueError.
    """

    PARAMS = (Param("x", "tensor"), Param("axis", "ints", None), Param("keepdims", "bool", False))
    KIND = "any"
    RESULT_DTYPE = None
    x: ext.Operand[Any]
    axis: Any
    keepdims: Any
    result: ext.Result[Any]

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        expect_kind(types[0], cls.KIND)
        result = reduce(types[0], attrs["axis"], attrs["keepdims"])
        return with_dtype(result, cls.RESULT_DTYPE) if cls.RESULT_DTYPE else result


class ArgReduceOp(ComputeOp):
    """An index along the axis, or into the row-major order if `axis` is None; the dtype is int64.

    The result lacks the axis, or has size 1 there if `keepdims`.
    """

    PARAMS = (Param("x", "tensor"), Param("axis", "int", None), Param("keepdims", "bool", False))
    x: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        axes = None if attrs["axis"] is None else [attrs["axis"]]
        return with_dtype(reduce(types[0], axes, attrs["keepdims"]), "int64")


REDUCTIONS = {
    "sum": "Sum; of no elements, 0.",
    "prod": "Product; of no elements, 1.",
    "max": "Largest element; NaN if there is one.",
    "min": "Smallest element; NaN if there is one.",
    "mean": "Arithmetic mean.",
}
MOMENTS = {
    "variance": "Mean of the squared distances from the mean.",
    "std": "Square root of the variance.",
}
TRUTHS = {
    "all": "Whether no element is zero; true of no elements.",
    "any": "Whether an element is not zero; false of no elements.",
}
ARG_REDUCTIONS = {
    "argmax": "Index of the first largest element, or of the first NaN; of no elements, 0.",
    "argmin": "Index of the first smallest element, or of the first NaN; of no elements, 0.",
}

for _name, _doc in REDUCTIONS.items():
    define(ReduceOp, _name, _doc, KIND="numeric" if _name == "mean" else "any")
for _name, _doc in MOMENTS.items():
    define(ReduceOp, _name, _doc, KIND="floating-point")
for _name, _doc in TRUTHS.items():
    define(ReduceOp, _name, _doc, RESULT_DTYPE="bool")
for _name, _doc in ARG_REDUCTIONS.items():
    define(ArgReduceOp, _name, _doc)


def _median(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    axes, keepdims = attrs["axis"], attrs["keepdims"]
    if axes is not None and len(axes) > 1:
        raise InferError(f"takes one axis, or None for all elements, got {axes}")
    expect_kind(types[0], "numeric", "x")
    values = reduce(types[0], axes or None, keepdims)
    if not axes:
        return values
    return ir.TupleType.get_tuple([values, with_dtype(values, "int64")])


def collapsed_axes(data: Sequence[SymExpr], target: Sequence[SymExpr]) -> list[int]:
    """Return the axes over which a tensor is summed to one that was broadcast to it.

    Raises:
        InferError: the target was not certainly broadcast to the data.
    """
    offset = len(data) - len(target)
    if offset < 0:
        raise InferError(f"{len(data)} dimensions cannot be summed to {len(target)}")
    axes = list(range(offset))
    for axis, (dim, wanted) in enumerate(zip(data[offset:], target, strict=True), offset):
        if dim == wanted:
            continue
        if wanted != 1:
            reason = "" if dim.is_const and wanted.is_const else "; R.match_cast says that it fits"
            raise InferError(f"dimension {axis} of {dim} cannot be summed to {wanted}{reason}")
        axes.append(axis)
    return axes


def _collapse_sum(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    data, target = types
    is_tensor = T.is_tensor(target)
    dims, wanted = T.tensor_dims(data), (T.tensor_dims if is_tensor else T.shape_dims)(target)
    if dims is not None and wanted is not None:
        collapsed_axes(dims, wanted)
    ndim = (T.tensor_ndim if is_tensor else T.shape_ndim)(target)
    return T.tensor_type(wanted, T.tensor_dtype(data), ndim)


declare(
    "median",
    "The lower median along an axis and its index, or the median of all elements.",
    [Param("x", "tensor"), Param("axis", "ints", None), Param("keepdims", "bool", False)],
    _median,
)
declare(
    "collapse_sum_to",
    "Summed to a shape that broadcasts to the tensor's.",
    [Param("data", "tensor"), Param("shape", "shape")],
    _collapse_sum,
)
declare(
    "collapse_sum_like",
    "Summed to the shape of another tensor, which broadcasts to this one's.",
    [Param("data", "tensor"), Param("collapse_target", "tensor")],
    _collapse_sum,
)
