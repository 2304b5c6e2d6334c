"""Reductions whose indices divide an iterator by a constant: two loops instead of the quotient.

A grouped convolution over output channels, as in te functions and scripts, becomes one over groups
and their channels.
"""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.analysis import Nest, kind_of_loop, match_nest, top_level
from relax_mlir.lowering.tir_to_vector.index_emit import constant_or_value

QUOTIENTS = ("arith.floordivsi", "arith.divsi", "arith.divui")
REMAINDERS = ("arith.remsi", "arith.remui")


def split_quotients(func: ir.OpView) -> None:
    """Split iterators of reductions that are divided by a divisor of their extent."""
    for op in list(top_level(func)):
        split_quotients_of(op)


def split_quotients_of(op: ir.Operation) -> None:
    """Do the same for one nest."""
    nest = match_nest(op)
    if not isinstance(nest, Nest) or "reduction" not in nest.types:
        return
    if any(kind_of_loop(loop) != "serial" for loop in nest.loops):
        return
    with op.location:
        for position, by in _divided(nest).items():
            _split(nest, position, by)


def _divided(nest: Nest) -> dict[int, int]:
    """Return the divisors of spatial iterators that one number divides evenly."""
    arguments = list(nest.block.regions[0].blocks[0].arguments)
    found: dict[int, set[int]] = {}
    for op in nest.body():
        if op.name in (*QUOTIENTS, *REMAINDERS) and op.operands[0] in arguments:
            by = constant_or_value(op.operands[1])
            position = arguments.index(op.operands[0])
            found.setdefault(position, set()).add(by if isinstance(by, int) else 0)
    divided = {}
    for position, numbers in found.items():
        extent = constant_or_value(nest.loops[nest.loop_of[position]].operands[1])
        by = min(numbers)
        whole = isinstance(extent, int) and by > 1 and extent % by == 0
        if len(numbers) == 1 and whole and nest.types[position] == "spatial":
            divided[position] = by
    return divided


def _split(nest: Nest, position: int, by: int) -> None:
    """Write a loop inside an iterator's own, with an iterator after all others."""
    loop = nest.loops[nest.loop_of[position]]
    extent = constant_or_value(loop.operands[1])
    assert isinstance(extent, int)  # asked before
    with ir.InsertionPoint(loop):
        zero, width, count = (_index(number) for number in (0, by, extent // by))
    loop.operands[1] = count
    body = loop.regions[0].blocks[0]
    inside = [view.operation for view in body.operations]
    with ir.InsertionPoint.at_block_begin(body):
        inner = ir.Operation.create(
            loop.name, operands=[zero, width], regions=1,
            attributes={name: loop.attributes[name] for name in loop.attributes},
        )  # fmt: skip
        inner_body = inner.regions[0].blocks.append(ir.IndexType.get())
    for op in inside:
        op.detach_from_parent()
        inner_body.append(op)
    with ir.InsertionPoint(body):
        ir.Operation.create("tir.yield")
    _divide_iterator(nest.block, position, by, inner_body.arguments[0], (count, width))


def _divide_iterator(
    block: ir.Operation, position: int, by: int, counter: ir.Value, sizes: tuple[ir.Value, ir.Value]
) -> None:
    """Rebuild a block with one more iterator: the remainder of the divided one."""
    count = len(block.attributes["iter_types"])
    values, domains = list(block.operands)[:count], list(block.operands)[count : 2 * count]
    domains[position] = sizes[0]
    kinds = [*ir.ArrayAttr(block.attributes["iter_types"]), ir.StringAttr.get("spatial")]
    attributes = {name: block.attributes[name] for name in block.attributes}
    attributes["iter_types"] = ir.ArrayAttr.get(kinds)
    with ir.InsertionPoint(block):
        made = ir.Operation.create(
            block.name,
            operands=[*values, counter, *domains, sizes[1], *list(block.operands)[2 * count :]],
            attributes=attributes,
            regions=2,
        )
    for number in range(2):
        for inner in list(block.regions[number].blocks):
            inner.append_to(made.regions[number])
            _split_argument(inner, position, by)
    block.erase()


def _split_argument(body: ir.Block, position: int, by: int) -> None:
    """Write an argument of a block as the sum of its parts, and its quotients as the first."""
    whole = body.arguments[position]
    rest = body.add_argument(ir.IndexType.get(), ir.Location.current)
    for view in list(body.operations):
        op = view.operation
        if op.name in ("tir.reads", "tir.writes"):
            # They name the old iterators; regions are derived from the accesses.
            op.erase()
    users = [use.owner.operation for use in whole.uses]
    with ir.InsertionPoint.at_block_begin(body):
        width = _index(by)
        index = ir.IndexType.get()
        scaled = ir.Operation.create("arith.muli", results=[index], operands=[whole, width])
        total = ir.Operation.create("arith.addi", results=[index], operands=[scaled.result, rest])
    for op in dict.fromkeys(users):
        divides = op.name in (*QUOTIENTS, *REMAINDERS) and op.operands[0] == whole
        if divides and constant_or_value(op.operands[1]) == by:
            part = whole if op.name in QUOTIENTS else rest
            op.results[0].replace_all_uses_with(part)
            op.erase()
            continue
        for number, operand in enumerate(op.operands):
            if operand == whole:
                op.operands[number] = total.result


def _index(number: int) -> ir.Value:
    return ir.Operation.create(
        "arith.constant",
        results=[ir.IndexType.get()],
        attributes={"value": ir.IntegerAttr.get(ir.IndexType.get(), number)},
    ).result
