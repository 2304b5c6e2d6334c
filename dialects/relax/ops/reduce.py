"""Reductions over some or all axes."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ext, ir
from relax_mlir.dialects.relax.infer import reduce
from relax_mlir.dialects.relax.ops.base import ComputeOp, Param, define


class ReduceOp(ComputeOp):
    """Combine the elements along axes; `axis=None` takes all."""

    PARAMS = (Param("x", "tensor"), Param("axis", "ints", None), Param("keepdims", "bool", False))
    x: ext.Operand[Any]
    axis: Any
    keepdims: Any
    result: ext.Result[Any]

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        return reduce(types[0], attrs["axis"], attrs["keepdims"])


REDUCTIONS = {
    "sum": "Sum; of no elements, 0.",
    "prod": "Product; of no elements, 1.",
    "max": "Largest element.",
    "min": "Smallest element.",
    "mean": "Arithmetic mean.",
}

for _name, _doc in REDUCTIONS.items():
    define(ReduceOp, _name, _doc)
