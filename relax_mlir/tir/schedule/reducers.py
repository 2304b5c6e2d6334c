"""What a reduction block does to each element: the operation, what it adds, what it begins with."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.tir.schedule import tree
from relax_mlir.tir.schedule.index import Indices


@dataclass(frozen=True)
class Update:
    """`B[...] = B[...] op value` of a reduction block.

    Attributes:
        load: the load of the element.
        combine: the operation.
        value: what is combined with it.
        store: the store.
        begin: the store of the init region.
        identity: the number that changes nothing.
    """

    load: ir.Operation
    combine: ir.Operation
    value: ir.Value
    store: ir.Operation
    begin: ir.Operation
    identity: ir.Attribute


def _integer(number: Callable[[int], int]) -> Callable[[ir.Type], ir.Attribute]:
    return lambda type_: ir.IntegerAttr.get(type_, number(type_.width))


def _float(number: float) -> Callable[[ir.Type], ir.Attribute]:
    return lambda type_: ir.FloatAttr.get(type_, number)


IDENTITIES: dict[str, Callable[[ir.Type], ir.Attribute]] = {
    "arith.addf": _float(0.0),
    "arith.mulf": _float(1.0),
    "arith.maximumf": _float(-math.inf),
    "arith.minimumf": _float(math.inf),
    "arith.addi": _integer(lambda width: 0),
    "arith.muli": _integer(lambda width: 1),
    "arith.maxsi": _integer(lambda width: -(1 << (width - 1))),
    "arith.minsi": _integer(lambda width: (1 << (width - 1)) - 1),
    "arith.maxui": _integer(lambda width: 0),
    "arith.minui": _integer(lambda width: -1),
    "arith.andi": _integer(lambda width: -1),
    "arith.ori": _integer(lambda width: 0),
}


def update_of(block: ir.Operation) -> Update | str:
    """Return how a reduction block reduces, or why that is not known."""
    body = [v.operation for v in tree.body_of(block).operations]
    begin = [v.operation for v in block.regions[1].blocks[0].operations]
    stores = [op for op in body if op.name == "memref.store"]
    starts = [op for op in begin if op.name == "memref.store"]
    if len(stores) != 1 or len(starts) != 1 or any(len(op.regions) for op in body):
        return "it does not store one element and begin with one store"
    store, start = stores[0], starts[0]
    value = store.operands[0]
    if isinstance(value.owner, ir.Block) or value.owner.operation.name not in IDENTITIES:
        return "what it stores is no sum, product, maximum or minimum"
    combine = value.owner.operation
    indices = Indices(tree.function_of(block))
    own = [store.operands[1], *map(indices.lift, list(store.operands)[2:])]
    for position, operand in enumerate(combine.operands):
        load = None if isinstance(operand.owner, ir.Block) else operand.owner.operation
        if load is None or load.name != "memref.load":
            continue
        if [load.operands[0], *map(indices.lift, list(load.operands)[1:])] != own:
            continue
        if len(list(operand.uses)) == 1 and len(list(value.uses)) == 1:
            identity = IDENTITIES[combine.name](value.type)
            other = combine.operands[1 - position]
            if _is_made_of(other, store.operands[1]):
                return "what it combines the element with is made of what it stores"
            return Update(load, combine, other, store, start, identity)
    return "what it stores is not the element combined with something"


def _is_made_of(value: ir.Value, buffer: ir.Value) -> bool:
    """Whether a value is computed of elements of a buffer."""
    seen: set[ir.Value] = set()
    pending = [value]
    while pending:
        each = pending.pop()
        if each in seen or isinstance(each.owner, ir.Block):
            continue
        seen.add(each)
        op = each.owner.operation
        if op.name == "memref.load" and op.operands[0] == buffer:
            return True
        pending += [inner for nested in tree.walk(op) for inner in nested.operands]
    return False
