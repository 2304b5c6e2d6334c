"""Attributes of buffers other than the shape: axis separators, dtype, declared regions."""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.tir import scalar as S
from relax_mlir.dialects.tir.layout import buffer_type
from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV
from relax_mlir.tir.schedule.index_map import IndexMap, index_map_of
from relax_mlir.tir.schedule.primitives.transform_layout import buffer_of
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.view import buffers, tree
from relax_mlir.tir.view.accesses import accesses, declare, region_attributes
from relax_mlir.tir.view.regions import Range

memref: ModuleType = submodule("dialects.memref")
_KEY = "tir.axis_separators"


def set_axis_separator(
    state: ScheduleState, block: ir.Operation, which: Any, separators: Sequence[int]
) -> None:
    """Note between which dimensions a buffer is cut into groups."""
    buffer = buffer_of(state, block, which)
    name, rank = buffers.name_of(buffer), ir.MemRefType(buffer.type).rank
    if list(separators) != sorted(separators) or any(not 0 <= s <= rank for s in separators):
        raise state.error(
            f"separators of '{name}' are increasing positions from 0 to {rank}, got "
            f"{list(separators)}", block,
        )  # fmt: skip
    i64 = ir.IntegerType.get_signless(64)
    value = ir.ArrayAttr.get([ir.IntegerAttr.get(i64, each) for each in separators])
    owner = buffer.owner
    if not isinstance(owner, ir.Block):
        attributes = owner.operation.attributes
        if separators:
            attributes[_KEY] = value
        elif _KEY in attributes:
            del attributes[_KEY]
        return
    function = owner.owner.operation
    entries = [ir.DictAttr(each) for each in ir.ArrayAttr(function.attributes["arg_attrs"])]
    own = {item.name: item.attr for item in entries[buffer.arg_number] if item.name != _KEY}
    if separators:
        own[_KEY] = value
    entries[buffer.arg_number] = ir.DictAttr.get(own)
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(entries)


def unsafe_set_dtype(
    state: ScheduleState, block: ir.Operation, which: int | str, dtype: str
) -> None:
    """Have a buffer hold another dtype; what is stored and loaded is converted."""
    buffer = buffer_of(state, block, which if isinstance(which, str) else ("write", which))
    name = buffers.name_of(buffer)
    if not buffers.is_local(buffer):
        raise state.error(f"'{name}' is a parameter of the function", block)
    indices = state.indices(block)
    uses = [a for a in accesses(indices, indices.function) if a.buffer == buffer]
    if any(access.indices is None for access in uses):
        raise state.error(f"more of '{name}' than its elements is used", block)
    old = buffers.dtype_of(buffer)
    if "bool" in (old, dtype) or "int4" in old + dtype:
        raise state.error(f"{old} is not converted to {dtype}", block)
    dims = buffers.dims_of(indices, buffer)
    op = buffer.owner.operation
    with ir.InsertionPoint(op), op.location:
        made = memref.AllocOp(buffer_type(dims, dtype), list(op.operands), []).result
    own = made.owner.operation.attributes
    for key in op.attributes:
        if key != "operandSegmentSizes":
            own[key] = op.attributes[key]
    own["tir.dtype"], own["tir.shape"] = ir.StringAttr.get(dtype), Dims.of(dims)
    for access in uses:
        each = access.op
        with ir.InsertionPoint(each), each.location:
            if each.name == "memref.load":
                value = memref.load(made, list(each.operands)[1:])
                each.results[0].replace_all_uses_with(S.cast(S.Scalar(value, dtype), old).value)
            else:
                value = S.cast(S.Scalar(each.operands[0], old), dtype).value
                memref.store(value, made, list(each.operands)[2:])
        each.erase()
    blocks = [op for use in buffer.uses for op in tree.blocks_around(use.owner.operation)]
    for use in list(buffer.uses):
        use.owner.operation.erase()
    op.erase()
    state.touch()
    fresh = state.indices(block)
    declare(fresh, *dict.fromkeys(blocks))


def annotate_buffer_access(
    state: ScheduleState, block: ir.Operation, index: int, kind: str, index_map: IndexMap
) -> None:
    """Declare which part of a buffer a block accesses; the caller vouches for it."""
    buffer = buffer_of(state, block, (kind, index))
    name, rank = buffers.name_of(buffer), ir.MemRefType(buffer.type).rank
    indices = state.indices(block)
    variables = [indices.var(argument) for argument in tree.body_of(block).arguments]
    exprs = index_map.map_indices(variables)
    if len(exprs) != 2 * rank:
        raise state.error(
            f"'{name}' has {rank} dimensions: the map must give {2 * rank} numbers, where each "
            f"begins and ends, got {len(exprs)}", block,
        )  # fmt: skip
    ranges = [Range(exprs[i], exprs[i + 1] - 1) for i in range(0, 2 * rank, 2)]
    attributes = region_attributes(ranges, [str(each) for each in variables])
    if isinstance(attributes["map"], ir.UnitAttr):
        raise state.error(f"{index_map} is no region of a size that is the same everywhere", block)
    wanted = f"tir.{kind}s"
    ops = [view.operation for view in tree.body_of(block).operations]
    old = [op for op in ops if op.name == wanted and op.operands[0] == buffer]
    with ir.InsertionPoint(old[0]), ir.Location.unknown():
        ir.Operation.create(wanted, operands=[buffer], attributes=attributes)
    for op in old:
        op.erase()


def hide_buffer_access(
    state: ScheduleState, block: ir.Operation, kind: str, positions: Sequence[int]
) -> None:
    """Leave out of what a block declares that it reads or writes some buffers."""
    if kind not in ("read", "write"):
        raise state.error(f"buf_type is 'read' or 'write', got '{kind}'")
    hidden = [buffer_of(state, block, (kind, position)) for position in positions]
    for view in list(tree.body_of(block).operations):
        op = view.operation
        if op.name == f"tir.{kind}s" and op.operands[0] in hidden:
            op.erase()


def _region_map(sch: ScheduleBase, arguments: dict[str, Any]) -> None:
    count = len(tree.iter_types(sch._block(arguments["block"])))
    given = arguments["gen_new_ranges"]
    if callable(given) and not isinstance(given, IndexMap):
        pairs = given

        def given(*indices: Any) -> list[Any]:
            result = pairs(*indices)
            return [
                end
                for each in result
                for end in (each if isinstance(each, (list, tuple)) else [each])
            ]

    arguments["gen_new_ranges"] = index_map_of(given, count)


class BufferAttributePrimitives(ScheduleBase):
    """Axis separators, dtypes and declared regions of buffers."""

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
        set_axis_separator(self._state, self._block(block), buffer, separators)

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
        unsafe_set_dtype(self._state, self._block(block), buffer_index, dtype)

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
        annotate_buffer_access(
            self._state, self._block(block), buffer_index, buf_type, index_map_of(gen_new_ranges)
        )

    @primitive("UnsafeHideBufferAccess", inputs=("block",))
    def unsafe_hide_buffer_access(
        self, block: BlockRV | str, buf_type: str, buf_index_array: Sequence[int]
    ) -> None:
        """Leave buffers out of what a block declares; what it does stays.

        Primitives look at what blocks do, not at what they declare, and declare again the blocks
        that they change.

        Args:
            block: the block.
            buf_type: `read` or `write`.
            buf_index_array: the positions among what it reads or writes.

        Raises:
            ScheduleError: there is no such buffer.
        """
        hide_buffer_access(self._state, self._block(block), buf_type, buf_index_array)
