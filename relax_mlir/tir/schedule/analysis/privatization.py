"""Buffers that can be private to each iteration of a loop."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import Facts
from relax_mlir.tir.schedule.analysis.domains import box_of
from relax_mlir.tir.view import buffers, tree
from relax_mlir.tir.view.accesses import Access, accesses, inlined, through
from relax_mlir.tir.view.conditions import Comparison, assume
from relax_mlir.tir.view.index import Indices
from relax_mlir.tir.view.regions import Range

_DECLARATIONS = ("tir.reads", "tir.writes")


def make_private(indices: Indices, loop: ir.Operation, buffer: ir.Value) -> bool:
    """Allocate a buffer in the body of a loop, where that changes no result.

    It does not if nothing outside of the loop uses the buffer, and if each iteration has written
    every element that it reads.

    Args:
        indices: of the function.
        loop: the loop.
        buffer: what is accessed in the loop.

    Returns:
        Whether the buffer is one for each iteration now.
    """
    if not buffers.is_local(buffer):
        return False
    users = [use.owner.operation for use in buffer.uses]
    outside = [user for user in users if not tree.is_inside(user, loop)]
    if any(user.name not in _DECLARATIONS for user in outside):
        return False
    uses = [access for access in accesses(indices, loop) if access.buffer == buffer]
    if any(access.indices is None for access in uses):
        return False
    writes = [access for access in uses if access.writes]
    for read in (access for access in uses if access.reads):
        if not any(_comes_first(indices, loop, write, read, writes) for write in writes):
            return False
    for user in outside:
        # Blocks around the loop do not see the buffer any more.
        user.erase()
    alloc = buffer.owner.operation
    alloc.move_before(tree.body_of(loop).operations[0].operation)
    return True


def _comes_first(
    indices: Indices, loop: ir.Operation, write: Access, read: Access, writes: Sequence[Access]
) -> bool:
    """Whether all that an iteration of a loop reads by one access it has written by another one.

    The steps of the write below the innermost loop or block around both are done before the read.
    """
    meeting = _meeting(write.op, read.op)
    if meeting is None or not tree.is_inside(meeting, loop):
        return False
    below = _between(write.op, meeting)
    if any(op.name not in (tree.LOOP, tree.BLOCK) for op in below):
        return False
    begun = [op for op in below if op.name == tree.BLOCK and _in_init(op, write.op)]
    conditional = [op for op in below if op.name == tree.BLOCK]
    if meeting.name == tree.BLOCK and _in_init(meeting, write.op) != _in_init(meeting, read.op):
        begun.append(meeting)
        conditional.append(meeting)
    shared = [meeting, *_between(meeting, loop)] if meeting != loop else []
    if begun and any(
        op.name != tree.LOOP and (op.name != tree.BLOCK or indices.block_conditions(op))
        for op in shared if op not in conditional
    ):  # fmt: skip
        # What is around both may not run in the first step, or otherwise.
        return False
    fixed = _first_steps(indices, begun, loop)
    targets, sources = inlined(indices, write, loop), inlined(indices, read, loop)
    if fixed is None or targets is None or sources is None:
        return False
    if any(expr.symbols & set(fixed) for expr in targets):
        return False
    facts = _facts(indices, read.op, loop)
    variables: list[tuple[str, Range]] = []
    for op in (op for op in below if op.name == tree.LOOP):
        name = str(indices.loop_var(op))
        lower, extent = (_at_loop(indices, indices.lift(v), op, loop) for v in op.operands)
        if any(name in expr.symbols for expr in targets):
            variables.append((name, Range(lower, lower + extent - 1)))
            continue
        # One step is enough. Where there may be none, nothing else may have written either.
        sizes = all(indices.value_of(each) is None for each in extent.symbols)
        alone = all(tree.is_inside(each.op, op) for each in writes)
        if not facts.can_prove(extent > 0) and not (alone and sizes):
            return False
        fixed[name] = lower
    inner = {name for name, _ in variables}
    if any((own.low.symbols | own.high.symbols) & (inner | set(fixed)) for _, own in variables):
        return False
    ends = [end for _, own in variables for end in (own.low, own.high)]
    compared = [
        side for block in conditional for each in indices.block_conditions(block)
        if isinstance(each, Comparison) for side in (each.lhs, each.rhs)
    ]  # fmt: skip
    if begun and not all(_steady(indices, expr) for expr in [*targets, *ends, *compared]):
        return False
    if not _holds(targets, sources, variables, facts):
        return False
    return all(
        isinstance(each, Comparison)
        and _runs(_compared_at_loop(indices, each, block, loop).substitute(fixed), targets, sources,
                  inner, facts)
        for block in conditional
        for each in indices.block_conditions(block)
    )  # fmt: skip


def _holds(
    targets: Sequence[SymExpr], sources: Sequence[SymExpr],
    variables: Sequence[tuple[str, Range]], facts: Facts,
) -> bool:  # fmt: skip
    """Whether what is read is in the box that is written while variables take all values."""
    boxes = box_of(targets, variables, facts)
    return boxes is not None and all(
        facts.can_prove(source >= box.low) and facts.can_prove(source <= box.high)
        for source, box in zip(sources, boxes, strict=True)
    )


def _runs(
    condition: Comparison, targets: Sequence[SymExpr], sources: Sequence[SymExpr],
    inner: set[str], facts: Facts,
) -> bool:  # fmt: skip
    """Whether a condition of the write holds where it writes the element that is read."""
    gap = condition.lhs - condition.rhs
    for target, source in zip(targets, sources, strict=True):
        for name in target.symbols & inner & gap.symbols:
            times, step = _step(gap, name), _step(target, name)
            if times is None or step is None or not step or times % step:
                return False
            gap = gap + (source - target) * (times // step)
            break
    if gap.symbols & inner:
        return False
    return Comparison(gap, condition.sign, SymExpr.const(0)).holds(facts)


def _step(expr: SymExpr, name: str) -> int | None:
    """Return by how much an expression grows with a variable, None where that is no number."""
    variable = SymExpr.var(name)
    factor = next((c for part, c in expr.split() if part == variable), None)
    if factor is None or name in (expr - variable * factor).symbols:
        return None
    return factor


def _first_steps(
    indices: Indices, blocks: Sequence[ir.Operation], loop: ir.Operation
) -> dict[str, SymExpr] | None:
    """Return the loops that reductions go over and where these start, by their variables.

    None where one iteration of the loop may not begin the reductions: where other loops carry them,
    where they are not begun in the first step, or where that step may not take place.
    """
    result: dict[str, SymExpr] = {}
    for block in blocks:
        around = [op for op in _between(block, loop) if op.name == tree.LOOP]
        bounds = {
            str(indices.loop_var(op)):
            [_at_loop(indices, indices.lift(value), op, loop) for value in op.operands]
            for op in around
        }  # fmt: skip
        reduced: list[SymExpr] = []
        spatial: set[str] = set()
        for kind, value in zip(tree.iter_types(block), indices.bindings(block), strict=True):
            own = _at_loop(indices, value, block, loop)
            if kind == "reduction":
                reduced.append(own)
            elif kind == "spatial":
                spatial |= own.symbols
            else:
                return None
        names = {
            name for expr in reduced for name in expr.symbols if indices.value_of(name) is not None
        }
        if not names <= set(bounds) or names & spatial:
            return None
        if any(expr.symbols & names for pair in bounds.values() for expr in pair):
            return None
        first = {name: bounds[name][0] for name in names}
        if any(expr.substitute(first).value != 0 for expr in reduced):
            return None
        result |= first
    return result


def _facts(indices: Indices, op: ir.Operation, loop: ir.Operation) -> Facts:
    """Return what is known at an operation, of predicates too, in variables of loops."""
    facts = indices.facts(op)
    for block in (each for each in _between(op, loop) if each.name == tree.BLOCK):
        assume(facts, [_compared_at_loop(indices, each, block, loop)
                       for each in indices.block_conditions(block)
                       if isinstance(each, Comparison)])  # fmt: skip
    return facts


def _at_loop(
    indices: Indices, expr: SymExpr, op: ir.Operation, loop: ir.Operation
) -> SymExpr:  # fmt: skip
    """Return an expression in front of an operation in the variables of the loops around it."""
    for block in (each for each in _between(op, loop) if each.name == tree.BLOCK):
        (expr,) = through(indices, block, [expr])
    return expr


def _compared_at_loop(
    indices: Indices, comparison: Comparison, block: ir.Operation, loop: ir.Operation
) -> Comparison:
    lhs, rhs = (_at_loop(indices, each, block, loop) for each in (comparison.lhs, comparison.rhs))
    return Comparison(lhs, comparison.sign, rhs)


def _meeting(first: ir.Operation, second: ir.Operation) -> ir.Operation | None:
    """Return the innermost operation around two, None where the first may not run before."""
    above = [first, *tree.ancestors(first)]
    last = second
    for each in tree.ancestors(second):
        if each in above:
            before = above[above.index(each) - 1]
            if before.block == last.block:
                return each if before != last and before.is_before_in_block(last) else None
            begins = each.name == tree.BLOCK and _in_init(each, first)
            return each if begins and not _in_init(each, second) else None
        last = each
    return None


def _between(op: ir.Operation, outer: ir.Operation) -> list[ir.Operation]:
    """Return the operations around one and inside another one, innermost first."""
    result = []
    for each in tree.ancestors(op):
        if each == outer:
            break
        result.append(each)
    return result


def _in_init(block: ir.Operation, op: ir.Operation) -> bool:
    """Whether an operation is in what a block begins with."""
    while op.parent.operation != block:
        op = op.parent.operation
    return op.block not in list(block.regions[0].blocks)


def _steady(indices: Indices, expr: SymExpr) -> bool:
    """Whether an expression is made of sizes and variables only, of nothing that is loaded."""
    values = [indices.value_of(name) for name in expr.symbols]
    return all(value is None or isinstance(value.owner, ir.Block) for value in values)
