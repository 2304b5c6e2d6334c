"""The primitives that pad computations, and take padding apart."""

from collections.abc import Sequence

from relax_mlir.errors import ScheduleError
from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV, LoopRV
from relax_mlir.tir.schedule.primitives.decompose_padding import decompose_padding
from relax_mlir.tir.schedule.primitives.pad_einsum import pad_einsum


class PaddingPrimitives(ScheduleBase):
    """Padding."""

    @primitive("PadEinsum", inputs=("block",))
    def pad_einsum(self, block: BlockRV | str, padding: Sequence[int]) -> None:
        """Have a sum of products run for multiples of numbers, on padded copies of its buffers.

        What it reads is copied in front of it, with zeros behind; what it writes is copied after
        it without the padding.

        Args:
            block: indices of what it accesses are iterators or constants; each iterator is the
                variable of one loop.
            padding: for each iterator what its new extent is a multiple of.

        Raises:
            ScheduleError: the block is not like that, or padding could change a sum.
        """
        pad_einsum(self._state, self._block(block), [int(each) for each in padding])

    @primitive("DecomposePadding", inputs=("block", "loop"))
    def decompose_padding(self, block: BlockRV | str, loop: LoopRV) -> BlockRV:
        """Fill all that a padding block writes with its constant first, and only copy after that.

        Args:
            block: complete; stores `T.if_then_else(inside, value, constant)` with comparisons
                joined by 'and' as `inside`.
            loop: around it; what fills stands in front of it, with loops of its own.

        Returns:
            The block that fills, named after the old one with `_pad_const`.

        Raises:
            ScheduleError: they are not like that.
        """
        op, around = self._block(block), self._loop(loop)
        return self._block_rv(decompose_padding(self._state, op, around))

    def can_decompose_padding(self, block: BlockRV | str, loop: LoopRV) -> bool:
        """Whether `decompose_padding` would do it; nothing changes."""
        other = self.copy()  # pyright: ignore[reportAttributeAccessIssue]
        try:
            other.decompose_padding(block, loop)
        except ScheduleError:
            return False
        return True
