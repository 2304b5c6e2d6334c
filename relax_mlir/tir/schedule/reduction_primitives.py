"""The primitives that take reductions apart."""

from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV, LoopRV
from relax_mlir.tir.schedule.primitives import reductions as R
from relax_mlir.tir.schedule.primitives.reduction_epilogue import fuse_reduction_epilogue
from relax_mlir.tir.schedule.primitives.rfactor import rfactor


class ReductionPrimitives(ScheduleBase):
    """What reductions begin with, and partial results."""

    @primitive("DecomposeReduction", inputs=("block", "loop"))
    def decompose_reduction(self, block: BlockRV | str, loop: LoopRV) -> BlockRV:
        """Give what a reduction begins with a block of its own in front of a loop.

        The new block is named after the old one with `_init`, the old one gets `_update`.

        Args:
            block: a reduction block.
            loop: around it; no loop of the reduction is around that one.

        Returns:
            The new block.

        Raises:
            ScheduleError: they are not like that.
        """
        ops = self._block(block), self._loop(loop)
        return self._block_rv(R.decompose_reduction(self._state, *ops))

    @primitive("RFactor", inputs=("loop",))
    def rfactor(self, loop: LoopRV, factor_axis: int) -> BlockRV:
        """Keep a partial result for each step of a loop, in a buffer, and combine these after it.

        Sums, products, minima and maxima can be taken apart; the result of floating-point sums is
        rounded otherwise. So can a block that reduces several elements at once: each by itself, or
        two that are the place and the number of a minimum or a maximum, as with argmax, where of
        equal numbers another one may be found unless the comparison decides by the places.

        Args:
            loop: a loop of the reduction, not one of elements; only the block is inside.
            factor_axis: where the buffer of partial results has the dimension of the loop's steps;
                negative numbers count from the end.

        Returns:
            The block of the partial results, named after the old one with `_rf`, as their buffers
            are.

        Raises:
            ScheduleError: they are not like that.
        """
        return self._block_rv(rfactor(self._state, self._loop(loop), factor_axis))

    @primitive("FuseReductionEpilogue", inputs=("reduction_block", "epilogue_block"))
    def fuse_reduction_epilogue(
        self, reduction_block: BlockRV | str, epilogue_block: BlockRV | str
    ) -> None:
        """Have a reduction begin with what another block combines with its result, and drop that.

        A bias is added to a sum so, and a maximum is bounded from below. What would have to wait
        for the end of the reduction, such as the maximum of a sum and 0, is refused: TVM applies
        it at each step, which changes results.

        Args:
            reduction_block: a reduction block that writes a buffer of the function.
            epilogue_block: complete, the one block that reads the buffer; combines each element
                with something by the operation of the reduction.

        Raises:
            ScheduleError: they are not like that.
        """
        reduction, epilogue = self._block(reduction_block), self._block(epilogue_block)
        fuse_reduction_epilogue(self._state, reduction, epilogue)
