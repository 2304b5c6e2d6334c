"""Set operations: results whose shape depends on the data (W3 of R09)."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ext, ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import expect_tensor
from relax_mlir.dialects.relax.ops.base import ComputeOp, Param, define


class UniqueBase(ComputeOp):
    """The distinct elements, ascending, as one dimension of a length known only at run time."""

    PARAMS = (Param("x", "tensor"),)
    x: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        expect_tensor(types[0], "operand")
        return T.tensor_type(None, T.tensor_dtype(types[0]), 1)


define(UniqueBase, "unique", "Distinct elements.")
