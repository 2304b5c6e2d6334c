"""Dead code elimination of values carried by loops and branches."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.side_effects import is_pure
from relax_mlir.dialects.relax.tuples import (
    field_types,
    get_item,
    is_tuple,
    known_fields,
    make_tuple,
)
from relax_mlir.transform.relax.rebuild import keep_results, replace_output


def trim_branches(op: ir.Operation) -> ir.Operation:
    """Rebuild a `relax.if` with only the fields of its result that are used."""
    wanted = used_fields(op)
    if wanted is None or not wanted or len(wanted) == len(field_types(op.results[0].type)):
        return op
    for region in op.regions:
        block = region.blocks[0]
        end = _end(block)
        value = end.operands[0]
        with ir.InsertionPoint(end), op.location:
            fields = [get_item(value, index) for index in wanted]
            new = fields[0] if len(fields) == 1 else make_tuple(fields)
        replace_output(block, "relax.yield", [new])
    return _renumber(op, [new.type], wanted, alone=len(wanted) == 1)


def trim_loop(op: ir.Operation, sweep: Callable[[ir.Block], None]) -> ir.Operation:
    """Rebuild a loop that carries only what is used after it, or decides about what is.

    Args:
        op: a `relax.for` or a `relax.while`.
        sweep: removes what a block computes for nothing.
    """
    used = used_fields(op)
    blocks = [region.blocks[0] for region in op.regions]
    yielded = known_fields(_end(blocks[-1]).operands[0])
    if used is None or yielded is None:
        return op
    wanted = _needed(blocks, yielded, used)
    if len(wanted) == len(yielded):
        return op
    position = len(op.operands) - 1
    with ir.InsertionPoint(op), op.location:
        initial = make_tuple([get_item(op.operands[position], index) for index in wanted])
    with ir.InsertionPoint(_end(blocks[-1])), op.location:
        turn = make_tuple([yielded[index] for index in wanted])
    replace_output(blocks[-1], "relax.yield", [turn])
    op.operands[position] = initial
    for block in blocks:
        sweep(block)
        shift = len(block.arguments) - len(yielded)
        for index in reversed(range(len(yielded))):
            if index not in wanted:
                block.erase_argument(index + shift)
    return _renumber(op, [initial.type], wanted)


def used_fields(op: ir.Operation) -> list[int] | None:
    """Return which fields of a tuple of results are used, None where it is used as a whole."""
    if len(op.results) != 1 or not is_tuple(op.results[0].type):
        return None
    users = [use.owner.operation for use in op.results[0].uses]
    if any(user.name != "relax.tuple_get_item" for user in users):
        return None
    return sorted({user.attributes["index"].value for user in users})


def _needed(
    blocks: Sequence[ir.Block], yielded: Sequence[ir.Value], used: Iterable[int]
) -> list[int]:
    """Return the fields that are used, and those that they or effects are computed from."""
    wanted = set(used)
    if len(blocks) == 2:
        roots = [_end(blocks[0]).operands[0]]
        wanted |= _reached(blocks[0], roots, len(yielded))
    while True:
        roots = [yielded[index] for index in wanted]
        more = _reached(blocks[-1], roots, len(yielded)) - wanted
        if not more:
            return sorted(wanted)
        wanted |= more


def _reached(block: ir.Block, roots: Iterable[ir.Value], count: int) -> set[int]:
    """Return the carried arguments from which values, and what has effects, are computed."""
    todo = list(roots)
    last = _end(block)
    for view in block.operations:
        op = view.operation
        if op != last and not is_pure(op):
            todo += _operands(op)
    shift = len(block.arguments) - count
    seen: set[ir.Operation] = set()
    result: set[int] = set()
    while todo:
        value = todo.pop()
        owner = value.owner
        if isinstance(owner, ir.Block):
            if owner == block and value.arg_number >= shift:
                result.add(value.arg_number - shift)
        elif owner.operation not in seen:
            seen.add(owner.operation)
            todo += _operands(owner.operation)
    return result


def _operands(op: ir.Operation) -> Iterator[ir.Value]:
    """Yield what an operation and everything in it uses."""
    yield from op.operands
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                yield from _operands(view.operation)


def _end(block: ir.Block) -> ir.Operation:
    return list(block.operations)[-1].operation


def _renumber(
    op: ir.Operation, types: Sequence[ir.Type], wanted: Sequence[int], *, alone: bool = False
) -> ir.Operation:
    """Rebuild an operation whose result has fewer fields, or is the only one left."""
    users = [use.owner.operation for use in op.results[0].uses]
    new = keep_results(op, types)
    for user in users:
        if alone:
            user.results[0].replace_all_uses_with(new.results[0])
            user.erase()
            continue
        index = wanted.index(user.attributes["index"].value)
        i64 = ir.IntegerType.get_signless(64)
        user.attributes["index"] = ir.IntegerAttr.get(i64, index)
    return new
