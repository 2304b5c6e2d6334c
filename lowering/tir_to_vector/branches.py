"""Branches inside a block, `T.if_then_else` and `if`: what they hold, and which have vector form.

A lane whose condition is false neither loads nor stores; other operations run for all lanes.
"""

from collections.abc import Iterator

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.index_emit import constant_or_value

BRANCH = "scf.if"
_DIVIDES = (
    "arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.floordivsi",
    "arith.ceildivsi", "arith.ceildivui", "math.ipowi",
)  # fmt: skip


def operations(op: ir.Operation) -> Iterator[ir.Operation]:
    """Yield an operation and all operations inside it, in order, without terminators."""
    if op.name == "scf.yield":
        return
    yield op
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                yield from operations(view.operation)


def is_plain(op: ir.Operation) -> bool:
    """Whether a branch has a vector form: it gives one value, or has one conditional store.

    Besides loads it computes, and no division inside could be by zero.
    """
    inside = [inner for inner in operations(op) if inner != op]
    stores = [inner for inner in inside if inner.name == "memref.store"]
    if len(op.results) == 0:
        has_else = len(op.regions[1].blocks) > 0
        if has_else or len(stores) != 1 or stores[0].block != op.regions[0].blocks[0]:
            return False
    elif len(op.results) != 1 or stores:
        return False
    return all(_computes(inner) for inner in inside)


def _computes(op: ir.Operation) -> bool:
    if op.name == BRANCH:
        return len(op.results) == 1
    if op.name in _DIVIDES:
        by = constant_or_value(op.operands[1])
        return isinstance(by, int) and by not in (0, -1)
    return op.name in ("memref.load", "memref.store") or op.name.startswith(("arith.", "math."))


def result_of(op: ir.Operation, number: int) -> ir.Value:
    """Return the result of one side of a branch."""
    *_, last = op.regions[number].blocks[0].operations
    return last.operation.operands[0]


def is_within(op: ir.Operation, body: ir.Block) -> bool:
    """Whether an operation is in a block, or in a branch there."""
    while op.block != body:
        parent = op.parent
        if parent is None or parent.operation.name != BRANCH:
            return False
        op = parent.operation
    return True


def guard_of(op: ir.Operation, body: ir.Block) -> ir.Operation | None:
    """Return the branch that an operation of a block stands in, if any."""
    return None if op.block == body else op.parent.operation
