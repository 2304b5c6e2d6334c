"""What is said of a buffer beside its shape: axis separators, its dtype, declared regions."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.tir import scalar as S
from relax_mlir.dialects.tir.layout import buffer_type
from relax_mlir.tir.schedule import buffers, tree
from relax_mlir.tir.schedule.accesses import accesses, declare
from relax_mlir.tir.schedule.index_map import IndexMap
from relax_mlir.tir.schedule.nested import region_attributes
from relax_mlir.tir.schedule.primitives.layout import buffer_of
from relax_mlir.tir.schedule.regions import Range
from relax_mlir.tir.schedule.state import ScheduleState

memref = submodule("dialects.memref")
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
    found = [a for a in accesses(indices, indices.function) if a.buffer == buffer]
    if any(access.indices is None for access in found):
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
    for access in found:
        each = access.op
        with ir.InsertionPoint(each), each.location:
            if each.name == "memref.load":
                value = memref.load(made, list(each.operands)[1:])
                each.results[0].replace_all_uses_with(S.cast(S.Scalar(value, dtype), old).value)
            else:
                value = S.cast(S.Scalar(each.operands[0], old), dtype).value
                memref.store(value, made, list(each.operands)[2:])
        each.erase()
    blocks = [op for use in buffer.uses for op in tree.ancestors(use.owner.operation)]
    for use in list(buffer.uses):
        use.owner.operation.erase()
    op.erase()
    state.touch()
    fresh = state.indices(block)
    for each in dict.fromkeys(each for each in blocks if each.name == tree.BLOCK):
        declare(fresh, each)


def annotate_buffer_access(
    state: ScheduleState, block: ir.Operation, index: int, kind: str, index_map: IndexMap
) -> None:
    """Declare which part of a buffer a block accesses, as whoever calls it knows."""
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
    found = [view.operation for view in tree.body_of(block).operations]
    old = [op for op in found if op.name == wanted and op.operands[0] == buffer]
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
