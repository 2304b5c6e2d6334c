"""Reductions over some or all axes."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ext, ir
from relax_mlir.dialects.relax.infer import reduce
from relax_mlir.dialects.relax.ops.base import ComputeOp, Param, define
from relax_mlir.dialects.relax.ops.elementwise import expect_kind, with_dtype


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
