"""The primitives that change layouts: of buffers, and of the points that blocks run for."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.tir.schedule import buffers, tree
from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV
from relax_mlir.tir.schedule.index_map import IndexMap, index_map_of
from relax_mlir.tir.schedule.primitives import layout as L


def _buffer_map(sch: ScheduleBase, arguments: dict[str, Any]) -> None:
    block = sch._block(arguments["block"])
    rank = len(
        buffers.dims_of(
            sch._state.indices(block), L.buffer_of(sch._state, block, arguments["buffer"])
        )
    )
    arguments["index_map"] = index_map_of(arguments["index_map"], rank)


def iterator_map(sch: ScheduleBase, arguments: dict[str, Any]) -> None:
    """Make an index map of what was given as one of a block's iterators."""
    count = len(tree.iter_types(sch._block(arguments["block"])))
    arguments["index_map"] = index_map_of(arguments["index_map"], count)


class LayoutPrimitives(ScheduleBase):
    """Layouts of buffers and of blocks."""

    @primitive("TransformLayout", inputs=("block",), prepare=_buffer_map)
    def transform_layout(
        self,
        block: BlockRV | str,
        buffer: tuple[str, int] | str,
        index_map: IndexMap | Callable[..., Any],
        pad_value: int | float | None = None,
        *,
        assume_injective_transform: bool = False,
    ) -> None:
        """Put the elements of a buffer elsewhere in it, wherever the function uses it.

        Args:
            block: one that uses the buffer.
            buffer: its name, or `("read", n)` or `("write", n)` for the position among what the
                block reads or writes.
            index_map: from the indices that elements have to those that they get.
            pad_value: what new elements that stand for no old one hold; where the buffer is an
                input, the caller provides for that.
            assume_injective_transform: not to check that each element gets a place of its own.

        Raises:
            ScheduleError: two elements may get the same place, there would be new elements and no
                pad_value, or something uses more of the buffer than elements.
        """
        L.transform_layout(
            self._state, self._block(block), buffer, index_map_of(index_map), pad_value,
            assume_injective_transform,
        )  # fmt: skip

    @primitive("TransformBlockLayout", inputs=("block",), prepare=iterator_map)
    def transform_block_layout(
        self, block: BlockRV | str, index_map: IndexMap | Callable[..., Any]
    ) -> None:
        """Have a block run for other points, which stand for those that it ran for.

        Args:
            block: each of its iterators is the variable of one loop, which hold nothing else.
            index_map: from the values of its iterators to those of new ones, which get loops.

        Raises:
            ScheduleError: the block is not like that, the map is not one-to-one, or a new iterator
                would be both spatial and a reduction's.
        """
        L.transform_block_layout(self._state, self._block(block), index_map_of(index_map))


__all__ = ["LayoutPrimitives", "Sequence", "SymExpr", "iterator_map"]
