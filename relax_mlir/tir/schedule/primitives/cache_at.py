"""The primitives `read_at` and `write_at`: copies of the region of one iteration of a loop."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV, LoopRV
from relax_mlir.tir.schedule.primitives.annotations import annotate
from relax_mlir.tir.schedule.primitives.cache import cache_read, cache_write
from relax_mlir.tir.schedule.primitives.compute_at import LAST, compute_at, reverse_compute_at
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.view import tree

_KEY = "auto_copy"


def read_at(
    state: ScheduleState, loop: ir.Operation, block: ir.Operation, which: int | str, scope: str
) -> ir.Operation:
    """Copy what a block reads of a buffer in one step of a loop, in that step."""
    return _copied(state, loop, block, which, scope, reads=True)


def write_at(
    state: ScheduleState, loop: ir.Operation, block: ir.Operation, which: int | str, scope: str
) -> ir.Operation:
    """Have a block write a copy of a buffer, copied back at the end of each step of a loop."""
    return _copied(state, loop, block, which, scope, reads=False)


def _copied(
    state: ScheduleState, loop: ir.Operation, block: ir.Operation, which: int | str, scope: str,
    *, reads: bool,
) -> ir.Operation:  # fmt: skip
    if block.name != tree.BLOCK or loop not in tree.loops_around(block):
        raise state.error(
            f"{tree.describe(loop)} is not around {tree.describe(block)}", loop, block
        )
    target = state.sref(loop)
    if reads:
        made = cache_read(state, block, which, scope, [block])
    else:
        made = cache_write(state, block, which, scope, [])
    number = state.sref(made)
    place = state.find(target)
    assert place is not None
    if not tree.is_inside(made, place):
        (compute_at if reads else reverse_compute_at)(state, made, place, True, LAST)
    result = state.find(number)
    assert result is not None
    annotate(state, result, _KEY, 1)
    return result


class CacheAtPrimitives(ScheduleBase):
    """Copies per iteration of a loop."""

    @primitive("ReadAt", inputs=("loop", "block"))
    def read_at(
        self, loop: LoopRV, block: BlockRV | str, read_buffer_index: int | str, storage_scope: str
    ) -> BlockRV:
        """Copy what a block reads of a buffer in one step of a loop, at the start of that step.

        Args:
            loop: around the block.
            block: reads the buffer by its elements.
            read_buffer_index: the position among what it reads, or the name of the buffer.
            storage_scope: of the copy, which is named after it.

        Returns:
            The block that copies, with its loops in the loop, annotated `auto_copy`.

        Raises:
            ScheduleError: as `cache_read` and `compute_at`.
        """
        op, place = self._block(block), self._loop(loop)
        return self._block_rv(read_at(self._state, place, op, read_buffer_index, storage_scope))

    @primitive("WriteAt", inputs=("loop", "block"))
    def write_at(
        self, loop: LoopRV, block: BlockRV | str, write_buffer_index: int | str, storage_scope: str
    ) -> BlockRV:
        """Have a block write a buffer of its own, copied at the end of each step of a loop.

        Args:
            loop: around the block, none of the reduction.
            block: complete or a reduction, the only one that writes the buffer.
            write_buffer_index: the position among what it writes, or the name of the buffer.
            storage_scope: of the new buffer, which is named after it.

        Returns:
            The block that copies, with its loops in the loop, annotated `auto_copy`.

        Raises:
            ScheduleError: as `cache_write` and `reverse_compute_at`.
        """
        op, place = self._block(block), self._loop(loop)
        return self._block_rv(write_at(self._state, place, op, write_buffer_index, storage_scope))
