"""The primitives that say how loops run, and what is noted of loops and blocks."""

from typing import Any

from relax_mlir.tir.prim_expr import PrimExpr
from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV, LoopRV
from relax_mlir.tir.schedule.primitives import annotations as A
from relax_mlir.tir.schedule.primitives import kinds as K


class KindPrimitives(ScheduleBase):
    """Parallel, vectorised, unrolled and bound loops; annotations."""

    @primitive("Parallel", inputs=("loop",))
    def parallel(self, loop: LoopRV) -> None:
        """Run the iterations of a loop on several threads.

        Raises:
            ScheduleError: an iteration may use what another one writes, as where a block reduces
                over the loop.
        """
        K.set_kind(self._state, self._loop(loop), "parallel")

    @primitive("Vectorize", inputs=("loop",))
    def vectorize(self, loop: LoopRV) -> None:
        """Run the iterations of a loop as the lanes of vectors.

        Raises:
            ScheduleError: an iteration may use what another one writes.
        """
        K.set_kind(self._state, self._loop(loop), "vectorized")

    @primitive("Unroll", inputs=("loop",))
    def unroll(self, loop: LoopRV) -> None:
        """Write the body of a loop as often as it runs."""
        K.set_kind(self._state, self._loop(loop), "unrolled")

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
        K.bind(self._state, self._loop(loop), thread_axis)

    @primitive("Annotate", inputs=("block_or_loop",))
    def annotate(self, block_or_loop: BlockRV | LoopRV, ann_key: str, ann_val: Any) -> None:
        """Note a value on a block or a loop, which scripts show as its annotations.

        Args:
            block_or_loop: what it is noted on.
            ann_key: its name.
            ann_val: a string, a number, an `ExprRV`, or a list or dictionary of such.

        Raises:
            ScheduleError: it has an annotation of the name already.
            TypeError: a value that annotations cannot have.
        """
        value = self._plain_value(ann_val)
        A.annotate(self._state, self._op(block_or_loop), ann_key, value)

    @primitive("Unannotate", inputs=("block_or_loop",))
    def unannotate(self, block_or_loop: BlockRV | LoopRV, ann_key: str) -> None:
        """Remove an annotation.

        Raises:
            ScheduleError: there is none of the name.
        """
        A.unannotate(self._state, self._op(block_or_loop), ann_key)

    def _plain_value(self, value: Any) -> Any:
        if isinstance(value, PrimExpr):
            return self._number(value).value
        if isinstance(value, (list, tuple)):
            return [self._plain_value(each) for each in value]
        if isinstance(value, dict):
            return {key: self._plain_value(each) for key, each in value.items()}
        return value
