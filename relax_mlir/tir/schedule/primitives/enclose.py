"""Merging several blocks and their loops into one block."""

from collections.abc import Sequence
from itertools import pairwise

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.tir.schedule.primitives import checks
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.view import edit, tree
from relax_mlir.tir.view.accesses import declare
from relax_mlir.tir.view.index import Indices

_ZERO = SymExpr.const(0)


def enclose(
    state: ScheduleState, blocks: Sequence[ir.Operation], preserve_unit: bool
) -> ir.Operation:
    """Make a block of blocks side by side; its iterators are the loops around all of them."""
    if not blocks:
        raise state.error("blockize takes one block or more")
    for block in blocks:
        if block.name != tree.BLOCK:
            raise state.error("the body of a function is no block among others")
    checks.distinct(state, blocks)
    scope = tree.scope_of(blocks[0])
    for block in blocks:
        if tree.scope_of(block) != scope:
            raise state.error(
                f"{tree.describe(blocks[0])} and {tree.describe(block)} are in different blocks",
                blocks[0], block,
            )  # fmt: skip
    indices = state.indices(blocks[0])
    around = _common([tree.loops_around(block) for block in blocks])
    held = _statements(state, around[-1] if around else scope, blocks)
    kinds = [_kind(state, indices, loop, blocks) for loop in around]
    used = [i for i, kind in enumerate(kinds) if kind is not None and (
        preserve_unit or indices.lift(around[i].operands[1]).value != 1
    )]  # fmt: skip
    name = "_".join(["outer", *(tree.block_name(block) for block in blocks)])
    made = edit.new_block(
        indices, ir.InsertionPoint(held[0]), name,
        [(kinds[i] or "", f"v{tree.loop_name(around[i])}") for i in used],
    )  # fmt: skip
    body = tree.body_of(made)
    last = list(body.operations)[-1].operation
    for statement in held:
        statement.move_before(last)
    known = {
        tree.variable(around[i]): argument for i, argument in zip(used, body.arguments, strict=True)
    }
    _remap_operands(indices, held, around, known)
    edit.set_block(
        indices, made, [indices.loop_var(around[i]) for i in used], [],
        [indices.lift(around[i].operands[1]) for i in used],
    )  # fmt: skip
    state.touch()
    fresh = state.indices(made)
    edit.normalize(fresh, made)
    declare(fresh, *tree.nested_blocks(made)[::-1], *tree.blocks_around(made))
    return made


def _common(lines: Sequence[Sequence[ir.Operation]]) -> list[ir.Operation]:
    """Return the loops that lines of loops, outermost first, begin with in common."""
    result = []
    for loops in zip(*lines, strict=False):
        if any(loop != loops[0] for loop in loops):
            break
        result.append(loops[0])
    return result


def _statements(
    state: ScheduleState, owner: ir.Operation, blocks: Sequence[ir.Operation]
) -> list[ir.Operation]:
    """Return the statements of a loop or a scope that hold the blocks.

    Raises:
        ScheduleError: something else is between them, or in one of them.
    """
    children = tree.statements(tree.body_of(owner))
    held = [c for c in children if any(tree.is_inside(b, c) or b == c for b in blocks)]
    between = children[children.index(held[0]) : children.index(held[-1]) + 1]
    if between != held:
        other = next(each for each in between if each not in held)
        raise state.error(f"{tree.describe(other)} is between them", *blocks)
    for statement in held:
        inside = [statement] if statement.name == tree.BLOCK else tree.blocks_under(statement)
        for block in inside:
            if block not in blocks:
                raise state.error(f"{tree.describe(block)} is their sibling", block)
    for one, two in pairwise(held):
        _adjacent(state, one, two)
    return held


def _adjacent(state: ScheduleState, one: ir.Operation, two: ir.Operation) -> None:
    """Check that what stands between two statements may stand in front of both."""
    operations = [view.operation for view in one.block.operations]
    for op in operations[operations.index(one) + 1 : operations.index(two)]:
        if not op.name.startswith(tree.INDEX_ONLY):
            raise state.error(f"'{op.name}' is between {tree.describe(one)} and "
                              f"{tree.describe(two)}")  # fmt: skip
        op.move_before(one)


def _kind(
    state: ScheduleState, indices: Indices, loop: ir.Operation, blocks: Sequence[ir.Operation]
) -> str | None:
    """Return the type of the iterator that a loop becomes, None where no block depends on it.

    Raises:
        ScheduleError: the loop does not begin at 0, or a reduction that begins inside of the new
            block goes on outside.
    """
    (name,) = indices.loop_var(loop).symbols
    result = set()
    for block in blocks:
        ranges = [indices.lift(value) for each in tree.loops_around(block)
                  for value in each.operands]  # fmt: skip
        for kind, value in zip(tree.iter_types(block), indices.bindings(block), strict=True):
            if name not in value.symbols:
                continue
            result.add(kind)
            if kind == "reduction" and tree.has_init(block):
                raise state.error(
                    f"{tree.describe(block)} reduces over {tree.describe(loop)}, which is around "
                    "all of these blocks; decompose_reduction gives its beginning a block of its "
                    "own", block, loop,
                )  # fmt: skip
        about = frozenset().union(*(each.symbols for each in ranges), frozenset())
        conditions = indices.block_conditions(block)
        if name in about or any(name in getattr(c, "symbols", (name,)) for c in conditions):
            result.add("spatial")
    if not result:
        return None
    if indices.lift(loop.operands[0]).value != 0:
        raise state.error(f"{tree.describe(loop)} does not start at 0", loop)
    if any(indices.value_of(each) is not None for each in indices.lift(loop.operands[1]).symbols):
        raise state.error(f"how many steps {tree.describe(loop)} makes is no size", loop)
    return next((kind for kind in ("opaque", "scan", "reduction") if kind in result), "spatial")


def _remap_operands(
    indices: Indices, statements: Sequence[ir.Operation], around: Sequence[ir.Operation],
    known: dict[ir.Value, ir.Value],
) -> None:  # fmt: skip
    """Have statements use iterators in place of loops, and copies of arithmetic with these.

    Args:
        indices: of the function.
        statements: what is in the new block now.
        around: the loops around it.
        known: what stands for the variables of loops; a loop of one step is 0.
    """
    values = dict(known)
    zero = indices.entry(_ZERO)
    for loop in around:
        if indices.lift(loop.operands[1]).value == 1:
            values.setdefault(tree.variable(loop), zero)
    homes = [tree.body_of(loop) for loop in around]
    wanted = {op for statement in statements for op in tree.walk(statement)}
    copies: list[ir.Operation] = []
    # What is used inside comes after what it uses, so the last ones are looked at first.
    for home in homes[::-1]:
        for view in list(home.operations)[::-1]:
            op = view.operation
            if op in wanted or not op.name.startswith("arith."):
                continue
            if any(use.owner.operation in wanted for use in op.results[0].uses):
                wanted.add(op)
                copies.append(op)
    with ir.InsertionPoint(statements[0]), ir.Location.unknown():
        for op in copies[::-1]:
            copy = op.clone()
            for position, operand in enumerate(copy.operands):
                copy.operands[position] = values.get(operand, operand)
            values[op.results[0]] = copy.operation.results[0]
    for statement in statements:
        for op in tree.walk(statement):
            for position, operand in enumerate(op.operands):
                if operand in values:
                    op.operands[position] = values[operand]
