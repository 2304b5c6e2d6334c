"""The primitive `transform_layout`: a new layout of a buffer."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.dialects.tir.layout import buffer_type
from relax_mlir.tir.schedule.analysis import scopes
from relax_mlir.tir.schedule.analysis.injective import determined_names
from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV
from relax_mlir.tir.schedule.index_map import IndexMap, index_map_of
from relax_mlir.tir.schedule.inverses import inverse_of
from relax_mlir.tir.schedule.primitives import checks, padding
from relax_mlir.tir.schedule.primitives.cache import chosen_buffer
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.stmt import Buffer
from relax_mlir.tir.view import buffers, edit, tree
from relax_mlir.tir.view.accesses import Access, accesses, declare
from relax_mlir.tir.view.index import Indices
from relax_mlir.tir.view.simplify import simplify

_KINDS = ("read", "write")


def buffer_of(state: ScheduleState, block: ir.Operation, which: Any) -> ir.Value:
    """Return a buffer that a block uses, by `("read", 0)`, `("write", 0)` or its name."""
    if isinstance(which, str):
        for declared in scopes.buffers(block):
            for each in declared:
                if buffers.name_of(each) == which:
                    return each
        names = [buffers.name_of(each) for declared in scopes.buffers(block) for each in declared]
        raise state.error(
            f"{tree.describe(block)} does not use '{which}', but "
            f"{', '.join(dict.fromkeys(names))}", block,
        )  # fmt: skip
    if not isinstance(which, (list, tuple)) or len(which) != 2 or which[0] not in _KINDS:
        raise state.error(
            f"a buffer is given by its name, or by ('read', n) or ('write', n), got {which!r}"
        )
    return chosen_buffer(state, block, which[1], which[0])


def transform_layout(
    state: ScheduleState, block: ir.Operation, which: Any, index_map: IndexMap,
    pad_value: int | float | None, assume_injective: bool,
) -> None:  # fmt: skip
    """Put the elements of a buffer elsewhere in it, wherever it is used."""
    buffer = buffer_of(state, block, which)
    name = buffers.name_of(buffer)
    indices = state.indices(block)
    dims = buffers.dims_of(indices, buffer)
    if len(index_map.initial_indices) != len(dims):
        raise state.error(
            f"'{name}' has {len(dims)} dimensions, the map takes "
            f"{len(index_map.initial_indices)} indices", block,
        )  # fmt: skip
    shape = shape_of(state, block, index_map, dims)
    facts, _ = index_map.ranges(dims)
    if state.legality and not assume_injective:
        determined = determined_names(index_map.final_indices, facts)
        lost = [
            each for each, dim in zip(index_map.names, dims, strict=True)
            if each not in determined and dim.value != 1
        ]  # fmt: skip
        if lost:
            raise state.error(
                f"{index_map} is not known to put elements of '{name}' that differ in "
                f"'{lost[0]}' in different places", block,
            )  # fmt: skip
    exact = facts.can_prove(product(shape) == product(dims))
    if not exact and pad_value is None:
        raise state.error(
            f"'{name}' of {product(dims)} elements would have {product(shape)}: give a pad_value",
            block,
        )
    uses = _elements(state, indices, block, buffer)
    if not buffers.is_local(buffer):
        _may_change(state, indices.function, name)
    writers = [each for each in scopes.siblings(block) if buffer in scopes.buffers(each)[1]]
    writers = writers or [
        each for each in tree.blocks_under(indices.function) if buffer in scopes.buffers(each)[1]
    ]
    conditions = []
    if not exact and writers:
        try:
            conditions = inverse_of(index_map, dims)[1]
        except ValueError as error:
            raise state.error(f"where padding is is not known: {error}", block) from error
    made = reshaped(indices, buffer, shape)
    for access in uses:
        _rewritten(indices, access, index_map, made)
    if made != buffer:
        for use in list(buffer.uses):
            use.owner.operation.erase()
        buffer.owner.operation.erase()
    state.touch()
    if conditions and pad_value is not None:
        padding.fill(state, indices, writers[-1], made, shape, conditions, pad_value)
    fresh = state.indices(tree.function_of(block))
    declare(fresh, *dict.fromkeys(_users(made)))
    edit.sweep(fresh.function)


def _users(buffer: ir.Value) -> list[ir.Operation]:
    owners = [use.owner.operation for use in buffer.uses]
    used = [op for op in owners if op.name in ("memref.load", "memref.store")]
    return [block for op in used for block in tree.blocks_around(op)]


def shape_of(
    state: ScheduleState, block: ir.Operation, index_map: IndexMap, dims: Sequence[SymExpr]
) -> list[SymExpr]:
    """Return the shape that an index map gives.

    Raises:
        ScheduleError: it gives none.
    """
    try:
        return index_map.map_shape(dims)
    except ValueError as error:
        raise state.error(f"{index_map} gives no shape: {error}", block) from error


def _elements(
    state: ScheduleState, indices: Indices, block: ir.Operation, buffer: ir.Value
) -> list[Access]:
    name = buffers.name_of(buffer)
    if not ir.MemRefType(buffer.type).layout.maybe_downcast() or not _is_dense(buffer):
        raise state.error(f"'{name}' has strides or an offset of its own", block)
    uses = [a for a in accesses(indices, indices.function) if a.buffer == buffer]
    return checks.by_elements(state, block, uses)


def _is_dense(buffer: ir.Value) -> bool:
    type_ = ir.MemRefType(buffer.type)
    return type_.affine_map == ir.AffineMap.get_identity(type_.rank)


def _may_change(state: ScheduleState, function: ir.Operation, name: str) -> None:
    """Check that nothing in the module calls a function, so that its parameters may change."""
    own = tree.string(function, "sym_name")
    for op in tree.walk(state.module.operation):
        for key in op.attributes:
            value = op.attributes[key]
            if isinstance(value, ir.FlatSymbolRefAttr) and value.value == own:
                raise state.error(
                    f"'{name}' is a parameter of '{own}', which '{op.name}' calls with the layout "
                    "that it has"
                )


def reshaped(indices: Indices, buffer: ir.Value, shape: Sequence[SymExpr]) -> ir.Value:
    """Return a buffer of another shape: the parameter itself, or a new one."""
    dtype = buffers.dtype_of(buffer)
    if buffers.is_local(buffer):
        attributes = buffer.owner.operation.attributes
        made = buffers.alloc(indices, buffers.name_of(buffer), shape, dtype)
        own = made.owner.operation.attributes
        for key in attributes:
            if key not in ("tir.shape", "operandSegmentSizes"):
                own[key] = attributes[key]
        made.owner.operation.location = buffer.owner.operation.location
        made.owner.operation.move_before(buffer.owner.operation)
        return made
    function = indices.function
    attribute = ir.ArrayAttr(function.attributes["arg_attrs"])
    entries = [ir.DictAttr(each) for each in attribute]
    own_entry = {item.name: item.attr for item in entries[buffer.arg_number]}
    own_entry["tir.shape"] = Dims.of(list(shape))
    entries[buffer.arg_number] = ir.DictAttr.get(own_entry)
    buffer.set_type(buffer_type(shape, dtype))
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(entries)
    body = tree.body_of(function)
    old = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    new = ir.FunctionType.get([each.type for each in body.arguments], old.results)
    function.attributes["function_type"] = ir.TypeAttr.get(new)
    return buffer


def _rewritten(indices: Indices, access: Access, index_map: IndexMap, buffer: ir.Value) -> None:
    op = access.op
    facts = indices.facts(op)
    assert access.indices is not None
    exprs = [simplify(each, facts) for each in index_map.map_indices(access.indices)]
    with ir.InsertionPoint(op), ir.Location.unknown():
        items = [indices.emit(each) for each in exprs]
    edit.redirect(op, buffer, items)


def _buffer_map(sch: ScheduleBase, arguments: dict[str, Any]) -> None:
    if isinstance(arguments["buffer"], Buffer):
        arguments["buffer"] = arguments["buffer"].name
    block = sch._block(arguments["block"])
    rank = len(
        buffers.dims_of(
            sch._state.indices(block), buffer_of(sch._state, block, arguments["buffer"])
        )
    )
    arguments["index_map"] = index_map_of(arguments["index_map"], rank)


def _separated(method: Callable[..., None]) -> Callable[..., None]:
    """Have a primitive take maps with axis separators, which are noted on the buffer after it."""

    @functools.wraps(method)
    def run(self: Any, *args: Any, **kwargs: Any) -> None:
        separators: list[int] = []
        given = inspect.signature(method).bind(self, *args, **kwargs).arguments
        function = given.get("index_map")
        if not callable(function) or isinstance(function, IndexMap):
            return method(self, *args, **kwargs)

        @functools.wraps(function)
        def plain(*indices: Any) -> Any:
            separators.clear()
            results = function(*indices)
            if not isinstance(results, (list, tuple)):
                return results
            kept: list[Any] = []
            for each in results:
                if isinstance(each, str) and each == IndexMap.AXIS_SEPARATOR:
                    separators.append(len(kept))
                else:
                    kept.append(each)
            return kept

        given["index_map"] = plain
        method(**given)
        if separators:
            self.set_axis_separator(given["block"], given["buffer"], separators)

    return run


class TransformLayoutPrimitives(ScheduleBase):
    """Layouts of buffers."""

    @_separated
    @primitive("TransformLayout", inputs=("block",), prepare=_buffer_map)
    def transform_layout(
        self,
        block: BlockRV | str,
        buffer: tuple[str, int] | str | Buffer,
        index_map: IndexMap | Callable[..., Any],
        pad_value: int | float | None = None,
        *,
        assume_injective_transform: bool = False,
    ) -> None:
        """Put the elements of a buffer elsewhere in it, wherever the function uses it.

        Args:
            block: one that uses the buffer.
            buffer: its name, or `("read", n)` or `("write", n)` for the position among what the
                block reads or writes, or its description.
            index_map: from the indices that elements have to those that they get.
            pad_value: what new elements that stand for no old one hold; where the buffer is an
                input, the caller provides for that.
            assume_injective_transform: not to check that each element gets a place of its own.

        Raises:
            ScheduleError: two elements may get the same place, there would be new elements and no
                pad_value, or something uses more of the buffer than elements.
        """
        transform_layout(
            self._state, self._block(block), buffer, index_map_of(index_map), pad_value,
            assume_injective_transform,
        )  # fmt: skip
