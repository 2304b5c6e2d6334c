"""Rewrites of reductions before they are matched: quotients of iterators, and sums of bools."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.analysis import (
    QUOTIENTS,
    REMAINDERS,
    Nest,
    divisors,
    iter_types,
    kind_of_loop,
    make_block,
    make_loop,
    match_nest,
    top_level,
)
from relax_mlir.lowering.tir_to_vector.index_emit import constant_or_value, is_constant
from relax_mlir.lowering.tir_to_vector.symbols import size_value
from relax_mlir.lowering.walk import defining_op


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
        for position, by in divisors(nest, (*QUOTIENTS, *REMAINDERS)).items():
            extent = constant_or_value(nest.loops[nest.loop_of[position]].operands[1])
            if nest.types[position] == "spatial" and isinstance(extent, int) and extent % by == 0:
                _split(nest, position, by, extent // by)


def _split(nest: Nest, position: int, by: int, count: int) -> None:
    """Write a loop inside an iterator's own, with an iterator after all others."""
    loop = nest.loops[nest.loop_of[position]]
    with ir.InsertionPoint(loop):
        zero, width, loop.operands[1] = map(size_value, (0, by, count))
    body = loop.regions[0].blocks[0]
    *inside, end = [view.operation for view in body.operations]
    with ir.InsertionPoint(end):
        _, counter, point = make_loop(zero, width, kind_of_loop(loop))
    for op in inside:
        op.detach_from_parent()
        point.insert(op)
    _divide_iterator(nest.block, position, by, counter, (loop.operands[1], width))


def _divide_iterator(
    block: ir.Operation, position: int, by: int, counter: ir.Value, sizes: tuple[ir.Value, ir.Value]
) -> None:
    """Rebuild a block with one more iterator: the remainder of the divided one."""
    kinds = iter_types(block)
    count = len(kinds)
    values, domains = list(block.operands)[:count], list(block.operands)[count : 2 * count]
    domains[position] = sizes[0]
    types = ir.ArrayAttr.get([ir.StringAttr.get(kind) for kind in (*kinds, "spatial")])
    with ir.InsertionPoint(block):
        operands = [*values, counter, *domains, sizes[1], *list(block.operands)[2 * count :]]
        made = make_block(block, operands, iter_types=types)
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
        scaled = _make("arith.muli", whole, size_value(by))
        total = _make("arith.addi", scaled, rest)
    for op in dict.fromkeys(users):
        divides = op.name in (*QUOTIENTS, *REMAINDERS) and op.operands[0] == whole
        if divides and constant_or_value(op.operands[1]) == by:
            part = whole if op.name in QUOTIENTS else rest
            op.results[0].replace_all_uses_with(part)
            op.erase()
            continue
        for number, operand in enumerate(op.operands):
            if operand == whole:
                op.operands[number] = total


def _make(name: str, *operands: ir.Value, type_: ir.Type | None = None) -> ir.Value:
    """Write an operation of the type of its last operand, or of another one."""
    made = type_ or operands[-1].type
    return ir.Operation.create(name, results=[made], operands=list(operands)).result


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
    widened = defining_op(store.operands[0], WIDENING)
    combined = None if widened is None else defining_op(widened.operands[0], *_LOGICAL)
    first = _first(nest)
    if widened is None or combined is None or first is None:
        return
    for side in (0, 1):
        total = _total(combined.operands[side], store)
        if total is None:
            continue
        with ir.InsertionPoint(store):
            byte = _make(WIDENING, combined.operands[1 - side], type_=total.type)
            value = _make(combined.name, total, byte)
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
        store.operands[0] = value
        for dead in (widened, combined, test, before):
            if not list(dead.results[0].uses):
                dead.erase()
        return


def _total(value: ir.Value, store: ir.Operation) -> ir.Value | None:
    """Return the load of a reduction's total, from its comparison with 0."""
    test = defining_op(value, "arith.cmpi")
    if test is None or ir.IntegerAttr(test.attributes["predicate"]).value != 1:
        return None
    load = defining_op(test.operands[0], "memref.load")
    if load is None or list(load.operands) != list(store.operands)[1:]:
        return None
    return load.result if constant_or_value(test.operands[1]) == 0 else None


def _first(nest: Nest) -> tuple[ir.Operation, bool] | None:
    """Return the store of a reduction's initial value, and the constant bool."""
    if not nest.has_init():
        return None
    init = [view.operation for view in nest.block.regions[1].blocks[0].operations]
    stores = [op for op in init if op.name == "memref.store"]
    widened = defining_op(stores[0].operands[0], WIDENING) if len(stores) == 1 else None
    known = None if widened is None else widened.operands[0]
    if known is None or not is_constant(known) or ir.IntegerType(known.type).width != 1:
        return None
    return stores[0], bool(constant_or_value(known))
