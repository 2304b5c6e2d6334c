"""Values of padding elements of a buffer."""

from collections.abc import Sequence
from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir import scalar as S
from relax_mlir.dialects.tir.layout import INT4
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.view import buffers, edit, tree
from relax_mlir.tir.view.accesses import declare
from relax_mlir.tir.view.conditions import Comparison
from relax_mlir.tir.view.index import Indices

memref: ModuleType = submodule("dialects.memref")
# For each sign of a comparison what is not so.
_NOT = ("ne", "eq", "ge", "gt", "le", "lt")


def number(value: bool | int | float, buffer: ir.Value) -> ir.Value:
    """Write a number as what a load from a buffer gives, at the current insertion point.

    Raises:
        DtypeError: the dtype of the buffer has no such number.
    """
    dtype = buffers.dtype_of(buffer)
    return S.const(value, INT4.get(dtype, dtype)).value


def fill(
    state: ScheduleState, indices: Indices, writer: ir.Operation, buffer: ir.Value,
    shape: Sequence[SymExpr], conditions: Sequence[Comparison], value: bool | int | float,
) -> ir.Operation:  # fmt: skip
    """Write a block that stores a number where conditions do not hold, behind another block.

    Args:
        state: the program.
        indices: of the function.
        writer: the block; the new one stands behind the outermost loop around it.
        buffer: where it stores.
        shape: of the buffer.
        conditions: on symbols `i0_new`, `i1_new`, ... that stand for the indices.
        value: the number.
    """
    outermost = [*tree.loops_around(writer), writer][0]
    variables, at = edit.new_nest(indices, edit.after(outermost), shape)
    iterators = [("spatial", f"v{i}") for i in range(len(shape))]
    made = edit.new_block(indices, at, f"{buffers.name_of(buffer)}_pad", iterators)
    values = {f"i{i}_new": variable for i, variable in enumerate(variables)}
    with ir.InsertionPoint(made), ir.Location.unknown():
        outside: S.Scalar | None = None
        for each in (condition.substitute(values) for condition in conditions):
            own = S.compare(_NOT[each.sign], indices.scalar(each.lhs), indices.operand(each.rhs))
            both = own if outside is None else S.Scalar(
                S.arith.ori(outside.value, own.value), "bool")  # fmt: skip
            outside = both
    assert outside is not None
    edit.set_block(indices, made, variables, [outside.value], shape)
    with edit.end_of(made), ir.Location.unknown():
        memref.store(
            buffers.stored(buffer, number(value, buffer)),
            buffer,
            list(tree.body_of(made).arguments),
        )
    declare(indices, made)
    state.touch()
    return made
