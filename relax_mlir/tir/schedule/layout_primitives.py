"""The primitives that change layouts: of buffers, and of the points that blocks run for."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.tir.schedule import buffers, tree
from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV
from relax_mlir.tir.schedule.index_map import IndexMap, index_map_of
from relax_mlir.tir.schedule.primitives import buffer_notes as N
from relax_mlir.tir.schedule.primitives import layout as L
from relax_mlir.tir.schedule.primitives.block_layout import transform_block_layout


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


def _region_map(sch: ScheduleBase, arguments: dict[str, Any]) -> None:
    count = len(tree.iter_types(sch._block(arguments["block"])))
    given = arguments["gen_new_ranges"]
    if callable(given) and not isinstance(given, IndexMap):
        pairs = given

        def given(*indices: Any) -> list[Any]:
            found = pairs(*indices)
            return [
                end
                for each in found
                for end in (each if isinstance(each, (list, tuple)) else [each])
            ]

    arguments["gen_new_ranges"] = index_map_of(given, count)


def _separated(method: Callable[..., None]) -> Callable[..., None]:
    """Have a primitive take maps with axis separators, which are noted on the buffer after it."""

    @functools.wraps(method)
    def run(self: "LayoutPrimitives", *args: Any, **kwargs: Any) -> None:
        found: list[int] = []
        given = inspect.signature(method).bind(self, *args, **kwargs).arguments
        function = given.get("index_map")
        if not callable(function) or isinstance(function, IndexMap):
            return method(self, *args, **kwargs)

        @functools.wraps(function)
        def plain(*indices: Any) -> Any:
            found.clear()
            results = function(*indices)
            if not isinstance(results, (list, tuple)):
                return results
            kept: list[Any] = []
            for each in results:
                if isinstance(each, str) and each == IndexMap.AXIS_SEPARATOR:
                    found.append(len(kept))
                else:
                    kept.append(each)
            return kept

        given["index_map"] = plain
        method(**given)
        if found:
            self.set_axis_separator(given["block"], given["buffer"], found)

    return run


class LayoutPrimitives(ScheduleBase):
    """Layouts of buffers and of blocks."""

    @_separated
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

        The new loops are serial: kinds, threads and annotations of the old ones go with them.

        Args:
            block: each of its iterators is the variable of one loop, which hold nothing else.
            index_map: from the values of its iterators to those of new ones, which get loops.

        Raises:
            ScheduleError: the block is not like that, the map is not one-to-one, or a new iterator
                would be both spatial and a reduction's.
        """
        transform_block_layout(self._state, self._block(block), index_map_of(index_map))

    @primitive("SetAxisSeparator", inputs=("block",))
    def set_axis_separator(
        self, block: BlockRV | str, buffer: tuple[str, int] | str,
        axis_separators: Sequence[int] | None,
    ) -> None:  # fmt: skip
        """Note between which dimensions a buffer is cut into groups.

        Args:
            block: one that uses the buffer.
            buffer: its name, or `("read", n)` or `("write", n)`.
            axis_separators: positions among its dimensions, increasing; none to take them away.

        Raises:
            ScheduleError: there is no such buffer, or the positions are not like that.
        """
        separators = list(axis_separators or [])
        N.set_axis_separator(self._state, self._block(block), buffer, separators)

    @primitive("UnsafeSetDType", inputs=("block",))
    def unsafe_set_dtype(self, block: BlockRV | str, buffer_index: int | str, dtype: str) -> None:
        """Have a buffer hold another dtype: stores and loads convert. Numbers may change.

        Args:
            block: one that writes the buffer, which the function makes.
            buffer_index: the position among what it writes, or the name of the buffer.
            dtype: what the buffer is to hold.

        Raises:
            ScheduleError: there is no such buffer, or it is a parameter.
        """
        N.unsafe_set_dtype(self._state, self._block(block), buffer_index, dtype)

    @primitive("AnnotateBufferAccess", inputs=("block",), prepare=_region_map)
    def annotate_buffer_access(
        self, block: BlockRV | str, buffer_index: int, buf_type: str,
        gen_new_ranges: IndexMap | Callable[..., Any],
    ) -> None:  # fmt: skip
        """Declare which part of a buffer a block accesses, in place of what is found of it.

        Args:
            block: the block.
            buffer_index: the position among what it reads or writes.
            buf_type: `read` or `write`.
            gen_new_ranges: from the block's iterators to pairs, for each dimension where the part
                begins and where it ends; sizes must be the same everywhere.

        Raises:
            ScheduleError: there is no such buffer, or the map gives no such part.
        """
        N.annotate_buffer_access(
            self._state, self._block(block), buffer_index, buf_type, index_map_of(gen_new_ranges)
        )

    @primitive("UnsafeHideBufferAccess", inputs=("block",))
    def unsafe_hide_buffer_access(
        self, block: BlockRV | str, buf_type: str, buf_index_array: Sequence[int]
    ) -> None:
        """Leave buffers out of what a block declares; what it does stays.

        Primitives look at what blocks do, not at what they declare, and declare anew the blocks
        that they change.

        Args:
            block: the block.
            buf_type: `read` or `write`.
            buf_index_array: the positions among what it reads or writes.

        Raises:
            ScheduleError: there is no such buffer.
        """
        N.hide_buffer_access(self._state, self._block(block), buf_type, buf_index_array)
