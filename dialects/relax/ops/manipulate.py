"""Manipulation: the same elements in another arrangement."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ext, ir
from relax_mlir.dialects.relax.infer import flatten, permute, reshape
from relax_mlir.dialects.relax.ops.base import ComputeOp, Param, define


class ReshapeBase(ComputeOp):
    """The same elements in row-major order under another shape."""

    PARAMS = (Param("x", "tensor"), Param("shape", "shape"))
    x: ext.Operand[Any]
    shape: ext.Operand[Any]
    result: ext.Result[Any]

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


define(ReshapeBase, "reshape", "Give another shape.")
define(FlattenBase, "flatten", "Give one dimension.")
define(PermuteDimsBase, "permute_dims", "Reorder axes.")
