"""Linear algebra: contractions."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ext, ir
from relax_mlir.dialects.relax.infer import matmul
from relax_mlir.dialects.relax.ops.base import ComputeOp, Param, define


class MatmulBase(ComputeOp):
    """Matrix product over the last two dimensions, the leading ones broadcast (numpy's rules)."""

    PARAMS = (Param("x1", "tensor"), Param("x2", "tensor"))
    x1: ext.Operand[Any]
    x2: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        return matmul(types[0], types[1])


define(MatmulBase, "matmul", "Matrix product; `R.dot` in the design document.")
