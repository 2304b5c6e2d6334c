"""Rewrites of reductions before they are matched: quotients of iterators, and sums of bools."""

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
    divisors: dict[int, set[int]] = {}
    for op in nest.body():
        if op.name in (*QUOTIENTS, *REMAINDERS) and op.operands[0] in arguments:
            by = constant_or_value(op.operands[1])
            position = arguments.index(op.operands[0])
            divisors.setdefault(position, set()).add(by if isinstance(by, int) else 0)
    divided = {}
    for position, numbers in divisors.items():
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


WIDENING = "arith.extui"
_LOGICAL = ("arith.andi", "arith.ori", "arith.xori")


def combine_bytes(func: ir.OpView) -> None:
    """Rewrite `total = byte(bool(total) op x)` to `total = total op byte(x)`; totals are 0 or 1."""
    for op in list(top_level(func)):
        nest = match_nest(op)
        if isinstance(nest, Nest) and "reduction" in nest.types and len(nest.stores) == 1:
            with op.location:
                _rewrite(nest)


def _rewrite(nest: Nest) -> None:
    store = nest.stores[0].op
    widened = _made_by(store.operands[0], (WIDENING,))
    combined = None if widened is None else _made_by(widened.operands[0], _LOGICAL)
    first = _first(nest)
    if widened is None or combined is None or first is None:
        return
    for side in (0, 1):
        total = _total(combined.operands[side], store)
        if total is None:
            continue
        with ir.InsertionPoint(store):
            byte = ir.Operation.create(
                "arith.extui", results=[total.type], operands=[combined.operands[1 - side]]
            )
            value = ir.Operation.create(
                combined.name, results=[total.type], operands=[total, byte.result]
            )
        begin, number = first
        with ir.InsertionPoint(begin):
            constant = ir.Operation.create(
                "arith.constant",
                results=[total.type],
                attributes={"value": ir.IntegerAttr.get(total.type, int(number))},
            )
        before = begin.operands[0].owner.operation
        begin.operands[0] = constant.result
        test = combined.operands[side].owner.operation
        store.operands[0] = value.result
        for dead in (widened, combined, test, before):
            if not list(dead.results[0].uses):
                dead.erase()
        return


def _made_by(value: ir.Value, names: tuple[str, ...]) -> ir.Operation | None:
    if isinstance(value.owner, ir.Block) or value.owner.operation.name not in names:
        return None
    return value.owner.operation


def _total(value: ir.Value, store: ir.Operation) -> ir.Value | None:
    """Return the load of a reduction's total, from its comparison with 0."""
    test = _made_by(value, ("arith.cmpi",))
    if test is None or ir.IntegerAttr(test.attributes["predicate"]).value != 1:
        return None
    load = _made_by(test.operands[0], ("memref.load",))
    if load is None or list(load.operands) != list(store.operands)[1:] or not _is_zero(test):
        return None
    return load.result


def _is_zero(test: ir.Operation) -> bool:
    made = _made_by(test.operands[1], ("arith.constant",))
    return made is not None and ir.IntegerAttr(made.attributes["value"]).value == 0


def _first(nest: Nest) -> tuple[ir.Operation, bool] | None:
    """Return the store of a reduction's initial value, and the constant bool."""
    if not nest.has_init():
        return None
    init = [view.operation for view in nest.block.regions[1].blocks[0].operations]
    stores = [op for op in init if op.name == "memref.store"]
    widened = _made_by(stores[0].operands[0], ("arith.extui",)) if len(stores) == 1 else None
    known = None if widened is None else _made_by(widened.operands[0], ("arith.constant",))
    if known is None or ir.IntegerType(known.results[0].type).width != 1:
        return None
    return stores[0], bool(ir.IntegerAttr(known.attributes["value"]).value)
