"""The primitives that copy buffers and say where they are."""

from collections.abc import Sequence

from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV, LoopRV
from relax_mlir.tir.schedule.primitives import cache
from relax_mlir.tir.schedule.primitives import copies_at as A
from relax_mlir.tir.schedule.primitives.rolling import rolling_buffer


class BufferPrimitives(ScheduleBase):
    """Copies of buffers, storage scopes, alignment."""

    @primitive("CacheRead", inputs=("block", "consumer_blocks"))
    def cache_read(
        self,
        block: BlockRV | str,
        read_buffer_index: int | str,
        storage_scope: str,
        consumer_blocks: Sequence[BlockRV | str] = (),
    ) -> BlockRV:
        """Copy a buffer that a block reads, and have those that read it read the copy.

        Args:
            block: one that reads it.
            read_buffer_index: the position among what it reads, or the name of the buffer.
            storage_scope: of the copy, which is named after it.
            consumer_blocks: who reads the copy; all that read the buffer when none is given.

        Returns:
            The block that copies, in front of the first that reads the copy.

        Raises:
            ScheduleError: they do not read it by its elements, or it is written after that.
        """
        consumers = [self._block(each) for each in consumer_blocks]
        return self._block_rv(
            cache.cache_read(
                self._state, self._block(block), read_buffer_index, storage_scope, consumers
            )
        )

    @primitive("CacheWrite", inputs=("block", "consumer_blocks"))
    def cache_write(
        self,
        block: BlockRV | str,
        write_buffer_index: int | str,
        storage_scope: str,
        consumer_blocks: Sequence[BlockRV | str] = (),
    ) -> BlockRV:
        """Have a block write a buffer of its own, from which the old one is copied.

        Args:
            block: complete or a reduction, the only one that writes it.
            write_buffer_index: the position among what it writes, or the name of the buffer.
            storage_scope: of the new buffer, which is named after it.
            consumer_blocks: who reads the new buffer; the others read the old one.

        Returns:
            The block that copies, behind the loops of the one that writes.

        Raises:
            ScheduleError: they are not like that.
        """
        consumers = [self._block(each) for each in consumer_blocks]
        return self._block_rv(
            cache.cache_write(
                self._state, self._block(block), write_buffer_index, storage_scope, consumers
            )
        )

    @primitive("SetScope", inputs=("block",))
    def set_scope(self, block: BlockRV | str, buffer_index: int | str, storage_scope: str) -> None:
        """Note in which kind of memory a buffer is; all memory is one kind on a CPU.

        Args:
            block: one that writes it.
            buffer_index: the position among what it writes, or the name of the buffer.
            storage_scope: such as `shared`; the buffer is named after it.

        Raises:
            ScheduleError: there is no such buffer, or it is a parameter.
        """
        cache.set_scope(self._state, self._block(block), buffer_index, storage_scope)

    @primitive("StorageAlign", inputs=("block",))
    def storage_align(
        self, block: BlockRV | str, buffer_index: int, axis: int, factor: int, offset: int
    ) -> None:
        """Have a buffer with a stride of `k * factor + offset` for some `k`, the least possible.

        It is an annotation of the block, `buffer_dim_align`, which lowering carries out: rows are
        longer than they need be. A buffer used other than by its elements stays dense.

        Args:
            block: one that writes the buffer.
            buffer_index: the position among what it writes.
            axis: the dimension; negative numbers count from the end.
            factor: what the stride is a multiple of.
            offset: what is added.

        Raises:
            ScheduleError: there is no such buffer or dimension, or it is a parameter.
        """
        cache.storage_align(self._state, self._block(block), buffer_index, axis, factor, offset)

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
        return self._block_rv(A.read_at(self._state, place, op, read_buffer_index, storage_scope))

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
        return self._block_rv(A.write_at(self._state, place, op, write_buffer_index, storage_scope))

    @primitive("RollingBuffer", inputs=("block",))
    def rolling_buffer(self, block: BlockRV | str, write_buffer_index: int | str) -> None:
        """Keep what the next step of a loop uses again, and compute only the rest in it.

        The buffer is folded in the dimension of the outermost loop whose steps use overlapping
        parts, to the size of one part; a predicate leaves out what was computed before.

        Args:
            block: complete or a reduction, under loops with all that reads the buffer.
            write_buffer_index: the position among what it writes, or the name of the buffer.

        Raises:
            ScheduleError: they are not like that, the loops do not run in order, or no parts
                overlap.
        """
        rolling_buffer(self._state, self._block(block), write_buffer_index)
