"""Scans: cumulative sums and products."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ext, ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import InferError, flatten, normalize_axes
from relax_mlir.dialects.relax.ops.base import ComputeOp, Param, define
from relax_mlir.dialects.relax.ops.elementwise import expect_kind, with_dtype


class ScanOp(ComputeOp):
    """Combine each element with those before it along an axis; `axis=None` flattens.

    With `exclusive`, the element itself is left out.
    """

    PARAMS = (
        Param("data", "tensor"),
        Param("axis", "int", None),
        Param("dtype", "dtype", None),
        Param("exclusive", "bool", False, optional=True),
    )
    data: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        result = types[0] if attrs["axis"] is not None else flatten(types[0])
        if attrs["axis"] is not None and T.tensor_ndim(types[0]) >= 0:
            normalize_axes([attrs["axis"]], T.tensor_ndim(types[0]))
        if attrs["dtype"]:
            try:
                result = with_dtype(result, T.normalize_dtype(attrs["dtype"]))
            except ValueError as error:
                raise InferError(str(error)) from error
        expect_kind(result, "numeric", "result")
        return result


define(ScanOp, "cumsum", "Sums of the elements up to each.")
define(ScanOp, "cumprod", "Products of the elements up to each.")
