"""The primitives `parallel`, `vectorize`, `unroll` and `bind`."""

import re

from relax_mlir.dialects.bindings import ir
from relax_mlir.tir.schedule.analysis import legality
from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import LoopRV
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.view import tree

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


class KindPrimitives(ScheduleBase):
    """Parallel, vectorised, unrolled and bound loops."""

    @primitive("Parallel", inputs=("loop",))
    def parallel(self, loop: LoopRV) -> None:
        """Run the iterations of a loop on several threads.

        Raises:
            ScheduleError: an iteration may use what another one writes, as where a block reduces
                over the loop.
        """
        set_kind(self._state, self._loop(loop), "parallel")

    @primitive("Vectorize", inputs=("loop",))
    def vectorize(self, loop: LoopRV) -> None:
        """Run the iterations of a loop as the lanes of vectors.

        Raises:
            ScheduleError: an iteration may use what another one writes.
        """
        set_kind(self._state, self._loop(loop), "vectorized")

    @primitive("Unroll", inputs=("loop",))
    def unroll(self, loop: LoopRV) -> None:
        """Write the body of a loop as often as it runs."""
        set_kind(self._state, self._loop(loop), "unrolled")

    @primitive("Bind", inputs=("loop",))
    def bind(self, loop: LoopRV, thread_axis: str) -> None:
        """Bind a loop to a thread axis; CPUs run blocks in parallel and their threads in order.

        Args:
            loop: serial, without annotations.
            thread_axis: `blockIdx.x`, `threadIdx.x`, `vthread.x`, or with `y` or `z`.

        Raises:
            ScheduleError: there is no such axis, a loop around it or inside it has it, or its
                iterations cannot run at once.
        """
        bind(self._state, self._loop(loop), thread_axis)
