"""Layouts for the blocks and inputs of a prim func whose outputs get other ones."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError, ScheduleValueError
from relax_mlir.relax.analysis.scopes import function_op
from relax_mlir.tir.schedule.analysis.injective import determined_names
from relax_mlir.tir.schedule.index_map import IndexMap, index_map_of
from relax_mlir.tir.stmt import Buffer
from relax_mlir.tir.view import tree
from relax_mlir.tir.view.accesses import accesses
from relax_mlir.tir.view.buffers import dims_of
from relax_mlir.tir.view.index import Indices
from relax_mlir.tir.view.statements import Block, described

# For each dimension of a buffer the spatial iterator that its index determines, if there is one.
_Layout = list[str | None]


def suggest_layout_transforms(
    func: Any, write_buffer_transforms: Sequence[IndexMap | Callable[..., Any]]
) -> dict[Block, dict[Block | Buffer, IndexMap]]:
    """Return maps for blocks and buffers that keep accesses in order under new output layouts.

    A block gets one where each index that it writes at is injective in one of its spatial
    iterators, these come in the order of the block, and the map is one-to-one. A buffer that it
    reads gets one where that holds for its indices too. As in TVM's
    `relax.analysis.suggest_layout_transforms`; a buffer that is made inside the function also
    takes the map that its reader suggests, and each buffer is suggested once.

    Args:
        func: a prim func: its view or its MLIR operation.
        write_buffer_transforms: maps of its last parameters, one each.

    Returns:
        For each block that can change: itself and buffers with what `sch.transform_block_layout`
        and `sch.transform_layout` take.

    Raises:
        ExprTypeError: it is no function, or what is given is no map.
        ScheduleValueError: there are more maps than parameters, or one takes another number of
            indices than its buffer has dimensions.
    """
    op = function_op(func)
    indices = Indices(op)
    known = _given(indices, write_buffer_transforms)
    matches: list[tuple[ir.Operation, IndexMap, list[ir.Value]]] = []
    # What reads a buffer says how the block before it should write it.
    for block in reversed(tree.blocks_under(op)):
        own = _of_block(indices, block, known)
        if own is not None:
            matches.insert(0, (block, *own))
    result: dict[Block, dict[Block | Buffer, IndexMap]] = {}
    done: set[ir.Value] = set()
    for block, index_map, buffers in matches:
        view = Block(block)
        view._keep = func
        fresh = [each for each in buffers if each not in done]
        result[view] = {view: index_map, **{described(each): known[each] for each in fresh}}
        done.update(fresh)
    return result


def _given(indices: Indices, transforms: Sequence[Any]) -> dict[ir.Value, IndexMap]:
    parameters = list(tree.body_of(indices.function).arguments)
    if len(transforms) > len(parameters):
        raise ScheduleValueError(
            f"Incompatible PrimFunc and write_transformations: {len(transforms)} maps for "
            f"{len(parameters)} parameters"
        )
    result: dict[ir.Value, IndexMap] = {}
    outputs = parameters[len(parameters) - len(transforms) :]
    for given, buffer in zip(transforms, outputs, strict=True):
        index_map = index_map_of(given)
        rank = len(dims_of(indices, buffer)) if isinstance(buffer.type, ir.MemRefType) else None
        if rank != len(index_map.names):
            raise ScheduleValueError(
                "Mismatch between output buffer shape and index map: "
                f"'{tree.value_name(buffer, 'parameter')}' has "
                f"{'no' if rank is None else rank} dimensions, {index_map} takes "
                f"{len(index_map.names)} indices"
            )
        result[buffer] = index_map
    return result


def _of_block(
    indices: Indices, block: ir.Operation, known: dict[ir.Value, IndexMap]
) -> tuple[IndexMap, list[ir.Value]] | None:
    """Return the map of a block and the buffers that it uses, adding to `known` those it reads."""
    order: _Layout = [indices.var(each).name for each in tree.body_of(block).arguments]
    layouts = _layouts(indices, block)
    if layouts is None:
        return None
    written, layouts = layouts
    source = known.get(written)
    layout = layouts.pop(written, None)
    if source is None or layout is None or None in layout or not _follows(layout, order):
        return None
    own = _inferred(layout, source, order)
    if own is None or not _is_bijective(own, indices.extents(block)):
        return None
    used = [written]
    for buffer, read in layouts.items():
        if buffer not in known and _follows(read, order):
            index_map = _inferred(layout, source, read)
            if index_map is not None and _is_bijective(index_map, dims_of(indices, buffer)):
                known[buffer] = index_map
        if buffer in known:
            used.append(buffer)
    return own, used


def _layouts(
    indices: Indices, block: ir.Operation
) -> tuple[ir.Value, dict[ir.Value, _Layout]] | None:
    """Return the one buffer that a block writes, and the layouts of those that have one."""
    kinds = tree.iter_types(block)
    if len(tree.nested_blocks(block)) > 1 or not set(kinds) <= {"spatial", "reduction"}:
        return None
    uses = accesses(indices, block, init=False)
    written = {each.buffer for each in uses if each.writes}
    if len(written) != 1:
        return None
    spatial = {
        str(indices.var(argument))
        for argument, kind in zip(tree.body_of(block).arguments, kinds, strict=True)
        if kind == "spatial"
    }
    result: dict[ir.Value, _Layout | None] = {}
    for each in uses:
        layout = None
        if each.indices is not None:
            layout = _layout(indices, each.op, each.indices, spatial)
        if result.setdefault(each.buffer, layout) != layout:
            result[each.buffer] = None
    return written.pop(), {buffer: layout for buffer, layout in result.items() if layout}


def _layout(
    indices: Indices, op: ir.Operation, exprs: Sequence[SymExpr], spatial: set[str]
) -> _Layout | None:
    facts = indices.facts(op)
    result: _Layout = []
    for expr in exprs:
        # A value that is computed may depend on any iterator.
        values = filter(None, map(indices.value_of, expr.symbols))
        own = expr.symbols & spatial
        determined = determined_names([expr], facts, expr.symbols - own)
        if (
            len(own) > 1
            or not own <= determined
            or not all(isinstance(v.owner, ir.Block) for v in values)
        ):
            return None
        result.append(next(iter(own), None))
    return result


def _follows(layout: _Layout, order: _Layout) -> bool:
    """Whether the iterators of a buffer's dimensions come in the order of the block's."""
    places = [order.index(name) for name in layout if name is not None]
    return places == sorted(set(places))


def _inferred(source: _Layout, index_map: IndexMap, target: _Layout) -> IndexMap | None:
    """Return the map for a target whose dimensions have these iterators.

    Indices of iterators that the target lacks go, and what is new in it keeps its place.
    """
    names = dict(zip(source, index_map.names, strict=True))
    kept = {name for each, name in names.items() if each in target}
    final: list[SymExpr] = []
    for expr in index_map.final_indices:
        own = expr.symbols & set(index_map.names)
        if own <= kept:
            final.append(expr)
        elif own & kept:
            return None
    initial: list[str] = []
    for place, each in enumerate(target):
        name = names.get(each) if each is not None else None
        if name is None:
            name = f"d{place}"
            while name in index_map.names:
                name += "_"
            final.insert(place, SymExpr.var(name))
        initial.append(name)
    return IndexMap(initial, final)


def _is_bijective(index_map: IndexMap, shape: Sequence[SymExpr]) -> bool:
    try:
        index_map.inverse(shape)
    except ExprError:
        return False
    return True
