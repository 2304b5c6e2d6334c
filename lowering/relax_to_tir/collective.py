"""Collectives as calls of Disco's functions, which the runtime here does not have."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.op_names import QUALIFIED
from relax_mlir.dialects.relax.ops.base import build, scalar_constant
from relax_mlir.dialects.relax.ops.collective import REDUCTIONS
from relax_mlir.dialects.relax.tuples import make_tuple
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.relax_to_tir.decompose import reshape
from relax_mlir.lowering.relax_to_tir.manipulate import attributes


def _shape(dims: Sequence[int | SymExpr]) -> ir.Value:
    return ir.Operation.create("relax.shape_expr", results=[T.shape_type(dims)]).result


def _collective(op: ir.Operation, own: bool) -> ir.Value | None:
    name = op.name.removeprefix("relax.ccl_")
    attrs, x, result = attributes(op), op.operands[0], op.results[0].type
    dims, out_dims = T.tensor_dims(x.type), T.tensor_dims(result)
    if dims is None or out_dims is None:
        return None
    with ir.InsertionPoint(op), op.location:
        if name == "scatter_from_worker0":
            count, axis = attrs["num_workers"], attrs["axis"] % len(dims)
            parts = [*dims[:axis], count, dims[axis] // count, *dims[axis + 1 :]]
            rest = [i for i in range(len(parts)) if i != axis]
            x = build("permute_dims", [reshape(x, parts)], {"axes": [axis, *rest]})
        given = [x]
        if name == "allreduce":
            given.append(_shape([REDUCTIONS.index(attrs["op_type"])]))
        given.append(scalar_constant(attrs.get("in_group", False), "bool"))
        return ir.Operation.create(
            "relax.call_dps_packed",
            results=[result],
            operands=[_shape(out_dims), make_tuple(given)],
            attributes={"func": ir.StringAttr.get(f"runtime.disco.{name}")},
        ).result


COLLECTIVES = {f"ccl_{name}": _collective for name in QUALIFIED["ccl"]}
