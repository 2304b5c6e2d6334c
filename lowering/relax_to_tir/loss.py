"""Loss functions as prim funcs."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import can_prove_less_equal
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import INDEX, Scalar, binary, cast, compare, select
from relax_mlir.lowering.relax_to_tir.manipulate import attributes
from relax_mlir.lowering.relax_to_tir.support.axes import spatial
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer
from relax_mlir.lowering.relax_to_tir.support.index_checks import check_targets
from relax_mlir.lowering.relax_to_tir.support.limits import ACCUMULATE


def legalize_nll_loss(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise minus the weighted predictions of the targets' classes, and their sum or mean."""
    attrs = attributes(op)
    operands = [value for value in op.operands if T.is_tensor(value.type)]
    shapes = T.all_dims(value.type for value in operands)
    dtype = T.tensor_dtype(operands[0].type)
    if shapes is None or not dtype or not T.tensor_dtype(operands[1].type):
        return None
    dims, rows, *weights = shapes
    axis = min(1, len(dims) - 1)
    classes, ignored = dims[axis], attrs["ignore_index"]
    if rows != [*dims[:axis], *dims[axis + 1 :]] or not can_prove_less_equal(1, classes):
        return None
    if not isinstance(ignored, int) or any(given != [classes] for given in weights):
        return None
    check_targets(legalizer, op, operands[1], classes, ignored)
    wide, reduction = ACCUMULATE.get(dtype, dtype), attrs["reduction"]

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        scores, targets, *given, out = buffers
        last = cast(builder.symbol(classes - 1), "int64")

        def at_target(at: Sequence[Scalar]) -> tuple[Scalar, Scalar, Scalar]:
            """Return whether a target counts, its prediction and its weight."""
            number = cast(targets[tuple(at)], "int64")
            counted = compare("ne", number, ignored)
            place = binary("max", binary("min", select(counted, number, 0), last), 0)
            place = cast(place, INDEX)
            score = cast(scores[(*at[:axis], place, *at[axis:])], wide)
            return counted, score, cast(given[0][place] if given else 1, wide)

        losses = out if reduction == "none" else builder.alloc("Losses", rows, wide)
        with builder.nest("loss", spatial(rows)) as block:
            counted, score, weight = at_target(tuple(block))
            loss = select(counted, 0 - score * weight, cast(0, wide))
            losses.store(cast(loss, losses.dtype), tuple(block))
        if reduction == "none":
            return
        total = _total(builder, "total", losses)
        if reduction == "mean":
            shares = builder.alloc("Shares", rows, wide)
            with builder.nest("share", spatial(rows)) as block:
                counted, _, weight = at_target(tuple(block))
                shares.store(select(counted, weight, cast(0, wide)), tuple(block))
            whole = _total(builder, "whole", shares)
        with builder.nest("finish", []):
            value = total[0]
            if reduction == "mean":
                value = value / whole[0]
            out.store(cast(value, out.dtype), ())

    return legalizer.call_inferred(op, operands, body, str(attrs))


def _total(builder: PrimFuncBuilder, name: str, numbers: Buffer) -> Buffer:
    """Write the sum of all numbers; return a buffer of it."""
    numbers = builder.linear(numbers)
    result = builder.alloc(name.capitalize(), [SymExpr.const(1)], numbers.dtype)
    with builder.nest(name, [("reduction", numbers.dims[0])]) as block:
        (i,) = block
        with block.init():
            result.store(cast(0, result.dtype), 0)
        result.store(result[0] + numbers[i], 0)
    return result


LEGALIZE = {"nll_loss": legalize_nll_loss}
