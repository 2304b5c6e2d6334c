"""Sort, argsort and top-k as prim funcs."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import prim_value
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import can_prove_less_equal
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.lowering.relax_to_tir.manipulate import attributes
from relax_mlir.lowering.relax_to_tir.support.emit import (
    LIBRARY_PREFIX,
    Legalizer,
    call_pure_packed,
)
from relax_mlir.lowering.relax_to_tir.support.sorter import write_sorted


def _axis_of(op: ir.Operation) -> tuple[list[SymExpr], int] | None:
    """Return the dimensions of the operand and the axis; None where they are not known."""
    dims = T.tensor_dims(op.operands[0].type)
    if not dims or not T.tensor_dtype(op.operands[0].type):
        return None
    return list(dims), attributes(op)["axis"] % len(dims)


def _legalize_sort(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    known, attrs = _axis_of(op), attributes(op)
    if known is None:
        return None
    dims, axis = known
    name = op.name.removeprefix("relax.")

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        source, out = buffers
        outs = (out, None) if name == "sort" else (None, out)
        write_sorted(builder, name, source, axis, dims[axis], outs, attrs["descending"])

    return legalizer.call_inferred(op, [op.operands[0]], body, str(attrs))


def _legalize_topk(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    known, attrs = _axis_of(op), attributes(op)
    if known is None:
        return None
    dims, axis = known
    k = attrs["k"]
    count = dims[axis] if k.value is not None and k.value < 1 else k
    kind = attrs["ret_type"]
    if not can_prove_less_equal(count, dims[axis]):
        if count.value is None:
            return None
        _check_count(op, count, dims[axis])

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        source, *outs = buffers
        pair = {
            "both": (outs[0], outs[-1]), "values": (outs[0], None), "indices": (None, outs[0])
        }[kind]  # fmt: skip
        write_sorted(builder, "topk", source, axis, count, pair, attrs["largest"])

    return legalizer.call_inferred(op, [op.operands[0]], body, str(attrs), uses=[count])


def _check_count(op: ir.Operation, count: SymExpr, length: SymExpr) -> None:
    """Have the runtime reject more elements than there are, before the kernel relies on them."""
    with ir.InsertionPoint(op), op.location:
        numbers = [prim_value(count), prim_value(length)]
        name = f"{LIBRARY_PREFIX}check_count"
        # That the result is used keeps the call.
        checked = call_pure_packed(name, numbers, T.shape_type(None, 1))
        ir.Operation.create("relax.match_cast", results=[T.shape_type([count])], operands=[checked])


LEGALIZE = {"sort": _legalize_sort, "argsort": _legalize_sort, "topk": _legalize_topk}
