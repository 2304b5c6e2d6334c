"""Unrolling: a loop of known extent becomes copies of its body, one for each step."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.scheduled.copy import Copier, integer_of

# Operations of a function up to which loops are unrolled.
MAX_OPS = 1 << 13


def unroll(loop: ir.Operation, emit: Emitter, most_ops: int = MAX_OPS) -> bool:
    """Replace a `tir.for` by its steps.

    Args:
        loop: the loop.
        emit: writes constants at the function's entry.
        most_ops: with more operations than this it stays a loop.

    Returns:
        Whether it was replaced; else it is as before.
    """
    lower, extent = (integer_of(value) for value in loop.operands)
    body = loop.regions[0].blocks[0]
    if not isinstance(lower, int) or not isinstance(extent, int):
        return False
    if extent * size_of(loop) > most_ops:
        return False
    with ir.InsertionPoint(loop):
        for step in range(lower, lower + extent):
            Copier(emit, {body.arguments[0]: step}).body(body)
    loop.erase()
    return True


def size_of(op: ir.Operation) -> int:
    """Return how many operations there are in an operation's regions."""
    count = 0

    def visit(_: ir.Operation) -> ir.WalkResult:
        nonlocal count
        count += 1
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return count - 1
