"""One order for operations whose order says nothing: scalar expressions, and what a block reads.

`a[i] * b[i]` is the same expression whichever operand was computed first. Loads stay on their side
of whatever may write.
"""

from collections.abc import Iterator

from relax_mlir.dialects.bindings import ir

_EXPRESSIONS = ("arith.", "math.")
_LOADS = ("memref.load", "memref.dim")
_ACCESSES = ("tir.reads", "tir.writes")
# What cannot write, beside expressions.
_HARMLESS = (*_ACCESSES, "memref.alloc", "tir.yield", "scf.yield", "func.return")


def in_order(operations: list[ir.Operation]) -> list[ir.Operation]:
    """Return operations of one block in the order in which their results are used first."""
    movable = {op: None for op in operations if _is_movable(op.name)}
    accesses = sum(op.name in _ACCESSES for op in operations)
    if not movable and accesses < 2:
        return operations
    order: list[ir.Operation] = []
    loads: list[ir.Operation] = []
    for op in _sorted_accesses(operations) if accesses > 1 else operations:
        if op in movable:
            if op.name in _LOADS:
                loads.append(op)
            continue
        for user in _with_nested(op):
            for operand in user.operands:
                _take(operand, movable, order)
        if op.name not in _HARMLESS:
            for load in loads:
                if load in movable:
                    _take(load.results[0], movable, order)
            loads.clear()
        order.append(op)
    return order + list(movable)


def _is_movable(name: str) -> bool:
    return name.startswith(_EXPRESSIONS) or name in _LOADS


def _with_nested(op: ir.Operation) -> Iterator[ir.Operation]:
    yield op
    stack = [block for region in op.regions for block in region.blocks]
    while stack:
        for view in stack.pop().operations:
            inner = view.operation
            yield inner
            stack += [block for region in inner.regions for block in region.blocks]


def _take(value: ir.Value, movable: dict[ir.Operation, None], order: list[ir.Operation]) -> None:
    """Append what a value is computed by, operands first, unless that was done."""
    stack = [(value, False)]
    while stack:
        value, ready = stack.pop()
        if isinstance(value.owner, ir.Block):
            continue
        op = value.owner.operation
        if op not in movable:
            continue
        if ready:
            del movable[op]
            order.append(op)
        else:
            stack.append((value, True))
            stack += [(operand, False) for operand in reversed(list(op.operands))]


def _sorted_accesses(operations: list[ir.Operation]) -> list[ir.Operation]:
    """Return operations with what a block says it reads and writes sorted by the buffers."""
    declared = {id(op): index for index, op in enumerate(operations) if op.name in _ACCESSES}
    found = sorted((operations[i] for i in declared.values()), key=_access_key)
    rest = iter(found)
    return [next(rest) if id(op) in declared else op for op in operations]


def _access_key(op: ir.Operation) -> tuple[str, int, int, str]:
    buffer = op.operands[0]
    if isinstance(buffer.owner, ir.Block):
        kind, position = 0, buffer.arg_number
    else:
        own = buffer.owner.operation
        kind = 1
        position = next(i for i, each in enumerate(own.block.operations) if each.operation == own)
    return op.name, kind, position, str(op.attributes["map"])
