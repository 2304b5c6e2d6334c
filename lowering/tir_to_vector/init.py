"""Splitting the init region of a reduction block into a loop nest of its own (decompose)."""

from contextlib import AbstractContextManager, nullcontext
from functools import reduce
from itertools import takewhile
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.tir.ops import block_predicate
from relax_mlir.lowering.tir_to_vector.analysis import (
    Nest,
    counter_of,
    iter_types,
    kind_of_loop,
    make_block,
    make_loop,
    match_nest,
    perfect_nest,
    top_level,
)
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import constant_or_value
from relax_mlir.lowering.tir_to_vector.scheduled.index import Copier, conjuncts, depends_on
from relax_mlir.lowering.tir_to_vector.symbols import size_value
from relax_mlir.lowering.walk import (
    INNER_FIRST,
    ancestors,
    collect,
    defining_op,
    is_below,
    named,
    root,
)

_PURE = ("arith.", "affine.apply", "tir.symbol", "memref.dim")


def split_inits(func: ir.OpView, emit: Emitter) -> None:
    """Move every init region of a function out of its block.

    If nothing else runs inside the reduction loops, it becomes a nest before them: no branch is
    left inside, and an empty reduction gives its identity. Otherwise it is guarded.
    """
    for op in named(func.operation, ("tir.block",), INNER_FIRST):
        if len(op.regions[1].blocks):
            with op.location:
                _split(op, emit)


def _split(op: ir.Operation, emit: Emitter) -> None:
    kinds = iter_types(op)
    values = list(op.operands)[: len(kinds)]
    reduced = [value for kind, value in zip(kinds, values, strict=True) if kind == "reduction"]
    # Innermost first, up to the first other parent.
    loops = list(takewhile(lambda outer: outer.name == "tir.for", ancestors(op)))
    fed = [loop for loop in loops if any(_depends(value, loop) for value in reduced)]
    predicate = block_predicate(op)
    if not fed:
        # A reduction of one step, or a copy of a step that an unrolled loop made.
        _guard(op, values, kinds, emit)
        return
    outermost = fed[-1]
    inside = loops[: loops.index(outermost) + 1]
    free = [loop for loop in inside if loop not in fed]
    spatial = [value for kind, value in zip(kinds, values, strict=True) if kind != "reduction"]
    sizes = [value for loop in free for value in loop.operands]
    alone = all(_only(loop, inner) for loop, inner in zip(inside, [op, *inside], strict=False))
    # What a predicate says of the reduction loops alone holds where they begin; see `conjuncts`.
    guards, mixed = [], False
    for each in [] if predicate is None else conjuncts(predicate):
        reduces = any(_depends(each, loop) for loop in fed)
        others = [loop for loop in loops if loop not in fed]
        mixed = mixed or (reduces and any(_depends(each, loop) for loop in others))
        guards += [] if reduces else [each]
    mixed = mixed or any(_loads(each) for each in guards)
    captured = _captured(op, outermost)
    if not alone or mixed or any(
        _depends(value, loop) for value in spatial + sizes + captured for loop in fed
    ):  # fmt: skip
        _guard(op, values, kinds, emit)
        return
    # The loops between, outermost first, and what the iterators are computed from, are copied.
    copier = Copier(emit, {})
    point = ir.InsertionPoint(outermost)
    for loop in reversed(free):
        with point:
            bounds = [copier.pull(value, outermost) for value in loop.operands]
            _, counter, point = make_loop(*bounds, kind_of_loop(loop))
        copier.env[counter_of(loop)] = counter
    with point:
        iters = [
            emit.index(0) if kind == "reduction" else copier.pull(value, outermost)
            for kind, value in zip(kinds, values, strict=True)
        ]
        copied = [copier.pull(value, outermost) for value in guards]
        used = {value: copier.pull(value, outermost) for value in captured}
        for inner in _inside_init(op):
            for position, operand in enumerate(inner.operands):
                if operand in used:
                    inner.operands[position] = used[operand]
        with _where(copied, emit):
            _move_init(op, ir.InsertionPoint.current, iters)


def _captured(op: ir.Operation, outermost: ir.Operation) -> list[ir.Value]:
    """Return the values of loops around the init region that it uses."""
    inside = _inside_init(op)
    result = dict.fromkeys(operand for inner in inside for operand in inner.operands)
    return [value for value in result if _is_between(value, op, outermost)]


def _inside_init(op: ir.Operation) -> list[ir.Operation]:
    """Return the operations in a block's init region."""
    tops = [view.operation for view in op.regions[1].blocks[0].operations]
    return [inner for top in tops for inner in collect(top, lambda _: True)]


def _is_between(value: ir.Value, op: ir.Operation, outermost: ir.Operation) -> bool:
    inner = defining_op(value) or value.owner.owner.operation
    return inner != op and not is_below(inner, op) and is_below(inner, outermost)


def _where(conditions: list[ir.Value], emit: Emitter) -> AbstractContextManager[Any]:
    """Open a region that runs if all conditions hold."""
    return emit.when(reduce(emit.both, conditions)) if conditions else nullcontext()


def _loads(value: ir.Value) -> bool:
    """Whether a value comes from memory, or from anything but arithmetic."""
    op = defining_op(value)
    return op is not None and (not op.name.startswith(_PURE) or any(map(_loads, op.operands)))


def _guard(op: ir.Operation, values: list[ir.Value], kinds: list[str], emit: Emitter) -> None:
    with ir.InsertionPoint(op):
        predicate = block_predicate(op)
        conditions = [] if predicate is None else [predicate]
        for kind, value in zip(kinds, values, strict=True):
            first = constant_or_value(value)
            if kind == "reduction" and first != 0:
                conditions.append(emit.compare("eq", first, 0))
        with _where(conditions, emit):
            _move_init(op, ir.InsertionPoint.current, values)


def _move_init(op: ir.Operation, where: ir.InsertionPoint, values: list[ir.Value]) -> None:
    init = op.regions[1].blocks[0]
    for argument, value in zip(init.arguments, values, strict=True):
        argument.replace_all_uses_with(value)
    for view in list(init.operations):
        inner = view.operation
        if inner.name in ("tir.reads", "tir.writes", "tir.yield"):
            inner.erase()
        else:
            inner.detach_from_parent()
            where.insert(inner)
    drop_init(op)


def drop_init(op: ir.Operation) -> None:
    """Remove a block's init region."""
    # Regions cannot lose blocks through the bindings, so the block moves to a twin without init.
    with ir.InsertionPoint(op), op.location:
        twin = make_block(op, op.operands)
    op.regions[0].blocks[0].append_to(twin.regions[0])
    op.erase()


def _only(loop: ir.Operation, inner: ir.Operation) -> bool:
    """Whether a loop's body computes nothing besides an operation and index arithmetic."""
    return all(
        view.operation == inner
        or view.operation.name == "tir.yield"
        or view.operation.name.startswith(_PURE)
        for view in loop.regions[0].blocks[0].operations
    )


def _depends(value: ir.Value, loop: ir.Operation) -> bool:
    return depends_on(value, counter_of(loop))


def split_data_inits(func: ir.OpView) -> None:
    """Split the inits of reductions that are not constants into maps before them."""
    for op in list(top_level(func)):
        # Most inits are constants, and to look at one is faster than to match its nest.
        _, block = perfect_nest(op)
        nest = match_nest(op) if block is not None and _loads_in_init(block) else None
        if isinstance(nest, Nest) and _begins_with_data(nest):
            with op.location:
                _split_init(nest)


def _loads_in_init(block: ir.Operation) -> list[ir.Operation]:
    if block.name != "tir.block":
        return []
    inits = [view.operation for init in block.regions[1].blocks for view in init.operations]
    return [op for op in inits if op.name == "memref.load"]


def _begins_with_data(nest: Nest) -> bool:
    kinds = set(nest.types)
    if len(nest.stores) != 1 or kinds - {"spatial", "reduction"}:
        return False
    written = root(nest.stores[0].buffer)
    init = [view.operation for view in nest.block.regions[1].blocks[0].operations]
    # An init that reads the sums would see other elements in another order.
    plain = not any(len(op.regions) for op in init) and "reduction" in kinds
    return plain and all(root(op.operands[0]) != written for op in _loads_in_init(nest.block))


def _split_init(nest: Nest) -> None:
    order = nest.order
    spatial = [i for i in order if nest.types[i] == "spatial"]
    count = len(nest.types)
    domains = list(nest.block.operands)[count : 2 * count]
    counters: dict[int, ir.Value] = {}
    point = ir.InsertionPoint(nest.top)
    for i in spatial:
        loop = nest.loops[nest.loop_of[i]]
        with point:
            _, counters[i], point = make_loop(*loop.operands, kind_of_loop(loop))
    kinds = ir.ArrayAttr.get([ir.StringAttr.get("spatial")] * len(spatial))
    name = ir.StringAttr.get(f"{nest.name}_init")
    with point:
        operands = [*(counters[i] for i in spatial), *(domains[i] for i in spatial)]
        block = make_block(nest.block, operands, iter_types=kinds, block_name=name)
        body = block.regions[0].blocks.append(*[ir.IndexType.get()] * len(spatial))
    init = nest.block.regions[1].blocks[0]
    with ir.InsertionPoint(body):
        zero = size_value(0)
        for i, argument in enumerate(init.arguments):
            here = body.arguments[spatial.index(i)] if i in spatial else zero
            argument.replace_all_uses_with(here)
    for view in list(init.operations):
        body.append(view)
    drop_init(nest.block)
