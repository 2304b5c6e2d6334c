"""The primitives that make blocks of loops, and of these what a tensor intrinsic does."""

from collections.abc import Sequence

from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV, LoopRV
from relax_mlir.tir.schedule.primitives import tensorize as T
from relax_mlir.tir.schedule.primitives.blockize import blockize
from relax_mlir.tir.schedule.primitives.enclose import enclose
from relax_mlir.tir.tensor_intrin import TensorIntrin


class TensorPrimitives(ScheduleBase):
    """Blocks of blocks, tensor intrinsics."""

    @primitive("Blockize", inputs=("target",))
    def blockize(
        self, target: LoopRV | Sequence[BlockRV | str], preserve_unit_iters: bool = True
    ) -> BlockRV:
        """Make a block of a loop with all inside it, or of several blocks.

        Of a loop it is named after the block inside with `_o`; its iterators say which tile it is,
        those of the block inside where in the tile. Of blocks it is named after all of them, and
        its iterators are the loops around all of them.

        Args:
            target: a loop with one block inside, whose iterators are made of `outer * n + inner`,
                or blocks that stand side by side, with loops of their own or without.
            preserve_unit_iters: whether iterators of one step are kept.

        Returns:
            The new block.

        Raises:
            ScheduleError: they are not like that, a predicate compares loops inside with those
                around, or a reduction would go on around the block of several.
        """
        if not isinstance(target, LoopRV):
            if not isinstance(target, (list, tuple)):
                raise self._wrong(f"a LoopRV or blocks are needed, got {type(target).__name__}")
            blocks = [self._block(each) for each in target]
            return self._block_rv(enclose(self._state, blocks, preserve_unit_iters))
        return self._block_rv(blockize(self._state, self._loop(target), preserve_unit_iters))

    @primitive("Tensorize", inputs=("block_or_loop",))
    def tensorize(
        self, block_or_loop: BlockRV | LoopRV, tensor_intrin: str,
        preserve_unit_iters: bool = True,
    ) -> None:  # fmt: skip
        """Put the implementation of a tensor intrinsic where the program is as it describes.

        Args:
            block_or_loop: a block that holds a tile's loops and block, or a loop, which
                `blockize` makes such a block of first.
            tensor_intrin: the name with which `tir.TensorIntrin.register` made it known.
            preserve_unit_iters: as in `blockize`.

        Raises:
            ScheduleError: the program is not as described; what differs is said.
            ValueError: there is no such intrinsic.
        """
        intrin = TensorIntrin.get(tensor_intrin)
        assert intrin is not None
        T.tensorize(self._state, self._op(block_or_loop), intrin, preserve_unit_iters)
