"""Lookup of blocks and loops, which changes nothing."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.tir.schedule.analysis import scopes
from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV, LoopRV
from relax_mlir.tir.view import tree


def _blocks(ops: list[ir.Operation]) -> list[ir.Operation]:
    return [each for each in ops if each.name == tree.BLOCK]


class LookupPrimitives(ScheduleBase):
    """Blocks by name, loops around blocks, producers and consumers."""

    @primitive("GetBlock", pure=True)
    def get_block(self, name: str, func_name: str | None = None) -> BlockRV:
        """Return the block of a name.

        Args:
            name: of the block; `root` stands for the body of the function.
            func_name: the function that it is in; the one worked on when not given.

        Raises:
            IndexError: no block, or more than one, has the name.
        """
        return self._block_rv(self._named_block(name, func_name))

    def get_sblock(self, name: str, func_name: str | None = None) -> BlockRV:
        """Return the block of a name; TVM's later name of `get_block`."""
        return self.get_block(name, func_name)

    @primitive("GetLoops", inputs=("block",), pure=True)
    def get_loops(self, block: BlockRV | str) -> list[LoopRV]:
        """Return the loops around a block inside the block that it is in, outermost first."""
        return self._loop_rvs(tree.loops_around(self._block(block)))

    @primitive("GetChildBlocks", inputs=("block_or_loop",), pure=True)
    def get_child_blocks(self, block_or_loop: BlockRV | LoopRV) -> list[BlockRV]:
        """Return the blocks inside a block or a loop that are in no other block there."""
        return self._block_rvs(tree.blocks_under(self._op(block_or_loop)))

    def get_child_sblocks(self, block_or_loop: BlockRV | LoopRV) -> list[BlockRV]:
        """Return the blocks inside; TVM's later name of `get_child_blocks`."""
        return self.get_child_blocks(block_or_loop)

    @primitive("GetProducers", inputs=("block",), pure=True)
    def get_producers(self, block: BlockRV | str) -> list[BlockRV]:
        """Return the siblings of a block that write what it reads."""
        return self._block_rvs(_blocks(scopes.producers(self._block(block))))

    @primitive("GetConsumers", inputs=("block",), pure=True)
    def get_consumers(self, block: BlockRV | str) -> list[BlockRV]:
        """Return the siblings of a block that read what it writes."""
        return self._block_rvs(_blocks(scopes.consumers(self._block(block))))

    @primitive("GetOutputBlocks", inputs=("scope_block",), pure=True)
    def get_output_blocks(self, scope_block: BlockRV | str) -> list[BlockRV]:
        """Return the blocks in a block that write to parameters of the function."""
        return self._block_rvs(scopes.output_blocks(self._block(scope_block)))

    def get_output_sblocks(self, scope_block: BlockRV | str) -> list[BlockRV]:
        """Return the blocks that write to parameters; TVM's later name of `get_output_blocks`."""
        return self.get_output_blocks(scope_block)
