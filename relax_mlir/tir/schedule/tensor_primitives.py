"""The primitives that make blocks of loops, and of these what a tensor intrinsic does."""

from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV, LoopRV
from relax_mlir.tir.schedule.primitives.blockize import blockize


class TensorPrimitives(ScheduleBase):
    """Blocks of blocks, tensor intrinsics."""

    @primitive("Blockize", inputs=("target",))
    def blockize(self, target: LoopRV, preserve_unit_iters: bool = True) -> BlockRV:
        """Make a block of a loop with all inside it, named after the block there with `_o`.

        Its iterators say which tile it is, those of the block inside where in the tile.

        Args:
            target: a loop with one block inside, whose iterators are made of `outer * n + inner`.
            preserve_unit_iters: whether iterators of one step are kept.

        Returns:
            The new block.

        Raises:
            ScheduleError: they are not like that, or a predicate compares loops inside with those
                around.
        """
        return self._block_rv(blockize(self._state, self._loop(target), preserve_unit_iters))
