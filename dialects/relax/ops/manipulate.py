"""Manipulation: the same elements in another arrangement."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ext, ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import flatten, permute, reshape, resolve_reshape
from relax_mlir.dialects.relax.ops.base import ComputeOp, Param, build, declare, define
from relax_mlir.dialects.relax.symbolic import SymExpr


class ReshapeBase(ComputeOp):
    """The same elements in row-major order under another shape."""

    PARAMS = (Param("x", "tensor"), Param("shape", "shape"))
    x: ext.Operand[Any]
    shape: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def prepare(cls, operands: list[Any]) -> list[Any]:
        x, shape = operands
        if isinstance(shape, (list, tuple)):
            shape = [SymExpr.of(item) for item in shape]
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


define(ReshapeBase, "reshape", "Give another shape.")
define(FlattenBase, "flatten", "Give one dimension.")
define(PermuteDimsBase, "permute_dims", "Reorder axes.")

declare(
    "resolve_shape",
    "The shape that a pattern for reshape stands for: -1 takes what is left, 0 copies.",
    [Param("x", "tensor"), Param("pattern", "dims")],
    lambda types, attrs: T.shape_type(
        resolve_reshape(types[0], attrs["pattern"]), len(attrs["pattern"])
    ),
)
