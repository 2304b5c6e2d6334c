"""The primitives that move blocks to where their results are used, or their inputs are made."""

from relax_mlir.tir.schedule.base import INLINE, ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV, LoopRV
from relax_mlir.tir.schedule.primitives import compute_at as C
from relax_mlir.tir.schedule.primitives import inline


class ComputePrimitives(ScheduleBase):
    """Where blocks are computed."""

    @primitive("ComputeInline", inputs=("block",))
    def compute_inline(self, block: BlockRV | str) -> None:
        """Compute what a block stores wherever it is read; the block and its loops go.

        Args:
            block: complete, one store to a buffer of the function with its iterators as indices.

        Raises:
            ScheduleError: it is not like that, nothing reads it, or what it reads changes before
                what it computes is read.
        """
        inline.compute_inline(self._state, self._block(block))

    @primitive("ReverseComputeInline", inputs=("block",))
    def reverse_compute_inline(self, block: BlockRV | str) -> None:
        """Compute a block in the one block that writes what it reads; the block and its loops go.

        Args:
            block: complete, one store; reads one element, by its iterators, of a buffer that one
                complete block writes and nothing else uses.

        Raises:
            ScheduleError: it is not like that.
        """
        inline.reverse_compute_inline(self._state, self._block(block))

    @primitive("ComputeAt", inputs=("block", "loop"))
    def compute_at(
        self,
        block: BlockRV | str,
        loop: LoopRV,
        preserve_unit_loops: bool = False,
        index: int = -1,
    ) -> None:
        """Move a block under a loop of those that read it, for what one step of the loop needs.

        Args:
            block: complete or a reduction; all that read what it computes are inside the loop.
            loop: of the block that `block` is in.
            preserve_unit_loops: whether it gets loops of one step too.
            index: which statement of the loop's body it becomes; -1 for the last place that is
                possible, -2 for the first.

        Raises:
            ScheduleError: they are not like that, or something between uses what the block uses.
        """
        where = self._location(loop)
        if where == INLINE:
            inline.compute_inline(self._state, self._block(block))
        elif where is not None:
            C.compute_at(
                self._state, self._block(block), self._loop(loop), preserve_unit_loops, index
            )

    @primitive("ReverseComputeAt", inputs=("block", "loop"))
    def reverse_compute_at(
        self,
        block: BlockRV | str,
        loop: LoopRV,
        preserve_unit_loops: bool = False,
        index: int = -1,
    ) -> None:
        """Move a block under a loop of those that it reads, for what one step of the loop gives.

        Args:
            block: complete or a reduction; it reads what a block inside the loop computes.
            loop: of the block that `block` is in.
            preserve_unit_loops: whether it gets loops of one step too.
            index: which statement of the loop's body it becomes; -1 for the last place that is
                possible, -2 for the first.

        Raises:
            ScheduleError: they are not like that, or something between uses what the block uses.
        """
        where = self._location(loop)
        if where == INLINE:
            inline.reverse_compute_inline(self._state, self._block(block))
        elif where is not None:
            C.reverse_compute_at(
                self._state, self._block(block), self._loop(loop), preserve_unit_loops, index
            )
