"""The primitives that copy what a block accesses, laid out by its iterators."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV
from relax_mlir.tir.schedule.index_map import IndexMap, index_map_of
from relax_mlir.tir.schedule.layout_primitives import iterator_map
from relax_mlir.tir.schedule.primitives import iterators as I
from relax_mlir.tir.schedule.primitives import reindex as R


class ReindexPrimitives(ScheduleBase):
    """Copies in the order of a block's iterators."""

    @primitive("Reindex", inputs=("block",))
    def reindex(self, block: BlockRV | str, buffer: tuple[str, int] | str) -> BlockRV:
        """Have a block use a copy of a buffer whose indices are its iterators, in their order.

        Args:
            block: uses one element of the buffer at each of its points.
            buffer: its name, or `("read", n)` or `("write", n)`.

        Returns:
            The block that copies, in front of the block's loops, or behind them where it writes.

        Raises:
            ScheduleError: the block is not like that, or the loops hold others that use the buffer.
        """
        return self._block_rv(R.reindex(self._state, self._block(block), buffer, None, None))

    @primitive("ReindexCacheRead", inputs=("block",), prepare=iterator_map)
    def reindex_cache_read(
        self,
        block: BlockRV | str,
        read_buffer_index: int | str,
        storage_scope: str,
        index_map: IndexMap | Callable[..., Any],
    ) -> BlockRV:
        """Have a block read a copy of a buffer in a layout of its own.

        Args:
            block: reads one element of the buffer at each of its points.
            read_buffer_index: the position among what it reads, or the name of the buffer.
            storage_scope: of the copy.
            index_map: from the block's iterators to the indices of the copy.

        Returns:
            The block that copies.

        Raises:
            ScheduleError: as `reindex`, or two elements would get the same place.
        """
        return self._remapped("read", block, read_buffer_index, storage_scope, index_map)

    @primitive("ReindexCacheWrite", inputs=("block",), prepare=iterator_map)
    def reindex_cache_write(
        self,
        block: BlockRV | str,
        write_buffer_index: int | str,
        storage_scope: str,
        index_map: IndexMap | Callable[..., Any],
    ) -> BlockRV:
        """Have a block write a buffer of its own in a layout of its own, which is copied then.

        Args:
            block: complete or a reduction, writes one element at each of its points.
            write_buffer_index: the position among what it writes, or the name of the buffer.
            storage_scope: of the new buffer.
            index_map: from the block's iterators to the indices of the new buffer.

        Returns:
            The block that copies.

        Raises:
            ScheduleError: as `reindex_cache_read`.
        """
        return self._remapped("write", block, write_buffer_index, storage_scope, index_map)

    def _remapped(
        self, kind: str, block: BlockRV | str, which: int | str, scope: str, index_map: Any
    ) -> BlockRV:
        buffer = which if isinstance(which, str) else (kind, which)
        op = self._block(block)
        return self._block_rv(R.reindex(self._state, op, buffer, index_map_of(index_map), scope))

    @primitive("CacheInplace", inputs=("block",))
    def cache_inplace(
        self, block: BlockRV | str, read_buffer_index: int | str, storage_scope: str
    ) -> list[BlockRV]:
        """Have a block update a copy of a buffer, copied before it and back after it.

        Args:
            block: reads and writes the buffer, by its elements.
            read_buffer_index: the position among all that it reads, or the name of the buffer.
            storage_scope: of the copy.

        Returns:
            The block that copies there, and the one that copies back.

        Raises:
            ScheduleError: the block is not like that, or its loops hold others that use the buffer.
        """
        op = self._block(block)
        found = R.cache_inplace(self._state, op, read_buffer_index, storage_scope)
        return self._block_rvs(found)

    @primitive("CacheIndex", inputs=("block",))
    def cache_index(
        self, block: BlockRV | str, storage_scope: str, cse_thresh: int = 0
    ) -> list[BlockRV]:
        """Have a block load the indices that it computes, which other blocks compute before it.

        Args:
            block: loads elements at indices that are more than one iterator.
            storage_scope: of the buffers of indices, `index_var_0`, `index_var_1`, ...
            cse_thresh: how often the block must use an index for it to be computed before.

        Returns:
            The blocks that compute them, in front of the loops of the block; none where no index
            is computed.

        Raises:
            ScheduleError: the block loads inside loops of its own.
        """
        op = self._block(block)
        return self._block_rvs(I.cache_index(self._state, op, storage_scope, cse_thresh))

    @primitive("ReorderBlockIterVar", inputs=("block",))
    def reorder_block_iter_var(self, block: BlockRV | str, new_order: Sequence[int]) -> None:
        """Put the iterators of a block in another order; its loops stay.

        Args:
            block: the block.
            new_order: for each place the number of the iterator that goes there.

        Raises:
            ScheduleError: the numbers are not those of all iterators, each once.
        """
        I.reorder_block_iter_var(self._state, self._block(block), new_order)
