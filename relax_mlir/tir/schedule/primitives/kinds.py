"""How loops run: in parallel, as vectors, unrolled, bound to threads."""

import re

from relax_mlir.dialects.bindings import ir
from relax_mlir.tir.schedule import legality, tree
from relax_mlir.tir.schedule.state import ScheduleState

_AXIS = re.compile(r"(blockIdx|threadIdx)\.[xyz]|vthread(\.[xyz])?")


def set_kind(state: ScheduleState, loop: ir.Operation, kind: str) -> None:
    """Make a loop `parallel`, `vectorized`, `unrolled` or `serial`, bound to no thread axis."""
    if kind in ("parallel", "vectorized"):
        legality.may_run_at_once(state, state.indices(loop), loop, private=kind == "parallel")
    if kind == "vectorized":
        _alone(state, loop)
    if "thread" in loop.attributes:
        del loop.attributes["thread"]
    loop.attributes["kind"] = ir.StringAttr.get(kind)


def _alone(state: ScheduleState, loop: ir.Operation) -> None:
    """Check that no other vectorised loop is around a loop, nor that nor a parallel one inside."""
    for op in [*tree.ancestors(loop), *tree.walk(loop)]:
        if op == loop or op.name != tree.LOOP:
            continue
        kind, inside = tree.string(op, "kind"), tree.is_inside(op, loop)
        if kind == "vectorized" or (kind == "parallel" and inside):
            where = "inside" if inside else "around"
            raise state.error(
                f"{tree.describe(op)} {where} {tree.describe(loop)} is {kind}", loop, op
            )


def bind(state: ScheduleState, loop: ir.Operation, axis: str) -> None:
    """Bind a loop to a thread axis; on a CPU blocks run in parallel, their threads in order."""
    if not isinstance(axis, str) or not _AXIS.fullmatch(axis):
        raise state.error(
            f"'{axis}' is no thread axis; there are blockIdx.x, threadIdx.x and vthread.x, with "
            "y and z too"
        )
    for op in [*tree.ancestors(loop), *tree.walk(loop)]:
        bound = op.name == tree.LOOP and op != loop and "thread" in op.attributes
        if bound and tree.string(op, "thread") == axis:
            raise state.error(f"{tree.describe(op)} is bound to '{axis}' already", loop, op)
    reduction = axis.startswith("threadIdx")
    legality.may_run_at_once(state, state.indices(loop), loop, reduction=reduction, private=True)
    loop.attributes["thread"] = ir.StringAttr.get(axis)
    # As scripts are read: blocks of threads are independent of each other, on a CPU too.
    loop.attributes["kind"] = ir.StringAttr.get(
        "parallel" if axis.startswith("blockIdx") else "serial"
    )
