"""The pass `compose-permute-dims`: transpositions in a row as one, or none."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from operator import mul

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import build
from relax_mlir.dialects.relax.side_effects import functions_to_optimize, written_values
from relax_mlir.dialects.relax.tuples import is_make_tuple
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.walk import named
from relax_mlir.transform.fusion.attention_patterns import axes
from relax_mlir.transform.relax.dead_code_elimination import remove_unused

_PERMUTE = "relax.permute_dims"
_ENDS = ("func.return", "relax.output", "relax.yield")


def compose_permute_dims(module: ir.Operation) -> None:
    """Write a transposition of a transposition as one, and take out those that change nothing.

    A reshape may be between them if the second keeps together what the first one's axes became: it
    then comes last. Tensors that something writes to stay as they are, and results that would be
    parameters.
    """
    for func in functions_to_optimize(module):
        permutations = named(func, (_PERMUTE,))
        written = written_values(func) if permutations else set()
        # From the first to the last: what an operation takes is composed already.
        changed = [op for op in permutations if _compose(op, written)]
        for op in changed:
            op.erase()
        if changed:
            remove_unused(func)


def _compose(op: ir.Operation, written: set[ir.Value]) -> bool:
    """Give the users of a transposition a simpler value; False where there is none."""
    order, source = _axes(op), op.operands[0]
    if order is None or op.results[0] in written:
        return False
    if order == sorted(order):
        value = source
        if source in written:
            return False
    else:
        reshape = _made_by(source, "relax.reshape", written)
        inner = _made_by(reshape.operands[0] if reshape else source, _PERMUTE, written)
        first = _axes(inner) if inner else None
        last = _before_reshape(reshape, order) if reshape else order
        if inner is None or first is None or last is None or inner.operands[0] in written:
            return False
        with ir.InsertionPoint(op), op.location:
            value, both = inner.operands[0], [first[axis] for axis in last]
            if both != sorted(both):
                value = build("permute_dims", [value], {"axes": both})
            if reshape:
                value = build("reshape", [value, T.tensor_dims(op.results[0].type)], {})
    if value.type != op.results[0].type or (_is_parameter(value) and _leaves(op.results[0])):
        return False
    op.results[0].replace_all_uses_with(value)
    return True


def _is_parameter(value: ir.Value) -> bool:
    return isinstance(value.owner, ir.Block)


def _leaves(value: ir.Value) -> bool:
    """Whether a function or a block may give a value: a result is no argument's own memory."""
    users = [use.owner.operation for use in value.uses]
    return any(user.name in _ENDS or is_make_tuple(user) for user in users)


def _made_by(value: ir.Value, name: str, written: set[ir.Value]) -> ir.Operation | None:
    """Return the operation of this name that made a value that nothing writes to."""
    if isinstance(value.owner, ir.Block) or value in written:
        return None
    return value.owner.operation if value.owner.operation.name == name else None


def _axes(op: ir.Operation) -> list[int] | None:
    """Return which axis of the operand each axis of the result is, None where that is not known."""
    rank = T.tensor_ndim(op.operands[0].type)
    return None if rank < 0 else axes(op, rank)


def _before_reshape(reshape: ir.Operation, order: Sequence[int]) -> list[int] | None:
    """Return the transposition before a reshape that does what one after it does, or None."""
    before, after = (
        T.tensor_dims(value.type) for value in (reshape.operands[0], reshape.results[0])
    )
    if before is None or after is None or any(dim.value == 0 for dim in after):
        return None
    # Axes that become each other's: the order within each must stay.
    groups = {tuple(new): old for old, new in _groups(before, after)}
    result, rest = [], list(order)
    while rest:
        new = next((new for new in groups if new == tuple(rest[: len(new)])), None)
        if new is None:
            return None
        result += groups.pop(new)
        rest = rest[len(new) :]
    return result if len(result) == len(before) else None


def _groups(
    before: Sequence[SymExpr], after: Sequence[SymExpr]
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the axes of as many elements on both sides of a reshape, as few at a time as can be."""
    sizes, others = ([*accumulate(dims, mul)] for dims in (before, after))
    old = new = 0
    for axis, size in enumerate(sizes[:-1]):
        found = [i for i in range(new, len(after) - 1) if others[i] == size]
        if found:
            yield [*range(old, axis + 1)], [*range(new, found[0] + 1)]
            old, new = axis + 1, found[0] + 1
    yield [*range(old, len(before))], [*range(new, len(after))]
