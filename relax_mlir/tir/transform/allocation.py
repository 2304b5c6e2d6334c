"""Passes that place allocations and share memory between buffers."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.walk import collect
from relax_mlir.tir.transform.functions import each_prim_func
from relax_mlir.tir.transform.guards import Guard, guards
from relax_mlir.tir.transform.regions import Span, touches


def plan_and_update_buffer_allocation_location(op: ir.Operation) -> None:
    """Move allocations inwards, to the loop whose steps write all that they read of the buffer.

    Args:
        op: the module, changed in place.
    """

    def change(func: ir.OpView, _: Emitter) -> None:
        for alloc in collect(func.operation, lambda op: op.name == "memref.alloc"):
            target = _innermost(alloc)
            if target is not None:
                alloc.move_before(target.operations[0].operation)

    each_prim_func(op, change)


def _innermost(alloc: ir.Operation) -> ir.Block | None:
    """Return the body of a loop that an allocation may move to, None to leave it."""
    buffer, block, target = alloc.results[0], alloc.block, None
    users = [use.owner.operation for use in buffer.uses]
    while users:
        children = {_child(block, user) for user in users}
        if len(children) != 1:
            break
        (only,) = children
        if only is None or only.name != "tir.for":
            break
        block = only.regions[0].blocks[0]
        if _fills_first(buffer, block):
            target = block
    return target


def _child(block: ir.Block, op: ir.Operation) -> ir.Operation | None:
    while op.name != "func.func":
        if op.block == block:
            return op
        op = op.parent.operation
    return None


def _fills_first(buffer: ir.Value, scope: ir.Block) -> bool:
    """Whether all that one step of a loop reads of a buffer it has written itself before."""
    uses = touches(buffer, scope)
    if uses is None:
        return False
    filled: list[tuple[list[Span | None], list[Guard]]] = []
    for touch in uses:
        known, all_known = guards(touch, scope)
        if touch.stores:
            if all_known:
                filled.append((touch.spans, known))
            continue
        covered = any(
            all(a is not None and b is not None and a.covers(b)
                for a, b in zip(spans, touch.spans, strict=True))
            and all(any(own.implies(each) for own in known) for each in needed)
            for spans, needed in filled
        )  # fmt: skip
        if not covered:
            return False
    return True


def storage_rewrite(op: ir.Operation) -> None:
    """Let buffers of one type that a block of operations uses one after the other be one.

    Args:
        op: the module, changed in place.
    """

    def change(func: ir.OpView, _: Emitter) -> None:
        blocks = [
            block
            for op in [func.operation, *collect(func.operation, lambda op: op.name == "tir.for")]
            for block in op.regions[0].blocks
        ]
        for block in blocks:
            _share(block)

    each_prim_func(op, change)


def _share(block: ir.Block) -> None:
    """Share memory among the buffers that are allocated directly in a block."""
    operations = [view.operation for view in block.operations]
    number = {op: i for i, op in enumerate(operations)}
    free: list[tuple[int, ir.Operation]] = []
    for alloc in [op for op in operations if op.name == "memref.alloc"]:
        lives = _life(alloc, number, block)
        if lives is None or len(alloc.operands):
            continue
        first, last = lives
        same = next(
            (i for i, (end, other) in enumerate(free)
             if end < first and other.results[0].type == alloc.results[0].type),
            None,
        )  # fmt: skip
        if same is None:
            free.append((last, alloc))
            continue
        _, other = free[same]
        if not other.is_before_in_block(alloc):
            continue
        alloc.results[0].replace_all_uses_with(other.results[0])
        free[same] = (last, other)
        alloc.erase()


def _life(
    alloc: ir.Operation, number: dict[ir.Operation, int], block: ir.Block
) -> tuple[int, int] | None:
    """Return the first and last operation of a block that use a buffer; None when views do too."""
    result = []
    for use in alloc.results[0].uses:
        user = use.owner.operation
        stored = user.name == "memref.store" and use.operand_number == 1
        if not stored and user.name not in ("memref.load", "tir.reads", "tir.writes"):
            return None
        child = _child(block, user)
        if child is None:
            return None
        result.append(number[child])
    return (min(result), max(result)) if result else None
