"""Dependence checks: whether iterations may be reordered or run in parallel."""

from collections.abc import Sequence
from math import gcd

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import Facts
from relax_mlir.tir.schedule.analysis import scopes
from relax_mlir.tir.schedule.analysis.domains import first_inside
from relax_mlir.tir.schedule.analysis.injective import determined_names
from relax_mlir.tir.schedule.analysis.privatization import make_private
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.view import tree
from relax_mlir.tir.view.accesses import Access, accesses, inlined
from relax_mlir.tir.view.conditions import assume
from relax_mlir.tir.view.index import Indices
from relax_mlir.tir.view.simplify import simplify


def may_permute(
    state: ScheduleState,
    indices: Indices,
    line: Sequence[ir.Operation],
    order: Sequence[ir.Operation],
) -> None:
    """Check that loops in one line may be put in another order.

    Raises:
        ScheduleError: results could change.
    """
    if not state.legality:
        return
    first = next(i for i, (a, b) in enumerate(zip(line, order, strict=True)) if a != b)
    moved = [loop for loop in line[first:] if indices.lift(loop.operands[1]).value != 1]
    blocks = tree.blocks_under(line[-1])
    for block in blocks:
        orderly_block(state, indices, block, moved)
        if tree.has_init(block):
            problem = scopes.outside_problem(block)
            if problem is not None:
                raise state.error(f"what {tree.describe(block)} begins with may not come first: "
                                  f"{problem}", block)  # fmt: skip
            _begins_first(state, indices, block, line, order)
    if tree.units_under(line[-1]) != blocks[:1]:
        for loop in moved:
            independent(state, indices, loop, "reordered")


def orderly_block(
    state: ScheduleState, indices: Indices, block: ir.Operation, loops: Sequence[ir.Operation]
) -> None:
    """Check that the instances of a block may run in any order of loops around it.

    Raises:
        ScheduleError: an iterator is neither spatial nor a reduction, or its loops do not make it
            run once for each point.
    """
    kinds = tree.iter_types(block)
    what = tree.describe(block)
    for kind in kinds:
        if kind not in ("spatial", "reduction"):
            raise state.error(f"{what} has a {kind} iterator, whose order counts", block)
    bindings = indices.bindings(block)
    determined = determined_names(bindings, indices.facts(block, predicate=True))
    used = frozenset().union(*(expr.symbols for expr in bindings))
    for loop in loops:
        (name,) = indices.loop_var(loop).symbols
        if name in used and name not in determined:
            raise state.error(
                f"the iterators of {what} are no one-to-one function of {tree.describe(loop)}",
                block, loop,
            )  # fmt: skip
        if name not in used and "reduction" in kinds:
            raise state.error(
                f"{tree.describe(loop)} repeats {what}, a reduction, at one point", block, loop
            )


def _begins_first(
    state: ScheduleState,
    indices: Indices,
    block: ir.Operation,
    line: Sequence[ir.Operation],
    order: Sequence[ir.Operation],
) -> None:
    """Check that what a reduction begins with still comes first.

    Where no loop is both one of the reduction and says which element is reduced, it comes with the
    first step of all of its loops, whatever their order.
    """
    bound: dict[str, set[str]] = {"spatial": set(), "reduction": set()}
    for kind, value in zip(tree.iter_types(block), indices.bindings(block), strict=True):
        bound[kind] |= value.symbols
    names = {loop: indices.loop_var(loop).name for loop in line}
    reducing = [loop for loop in line if names[loop] in bound["reduction"]]
    mixed = [loop for loop in reducing if names[loop] in bound["spatial"]]
    if mixed and [loop for loop in order if loop in reducing] != reducing:
        raise state.error(
            f"{tree.describe(mixed[0])} says which element {tree.describe(block)} reduces and is a "
            "loop of the reduction too, so the order of these counts",
            mixed[0], block,
        )  # fmt: skip


def may_run_at_once(
    state: ScheduleState, indices: Indices, loop: ir.Operation, *, reduction: bool = False,
    private: bool = False,
) -> None:  # fmt: skip
    """Check that the iterations of a loop may run at the same time.

    Args:
        state: the program.
        indices: of its function.
        loop: the loop.
        reduction: whether it may be one over which a block reduces.
        private: whether buffers that iterations would have to share may become one for each.

    Raises:
        ScheduleError: they may not.
    """
    if not state.legality:
        return
    (name,) = indices.loop_var(loop).symbols
    for block in tree.blocks_under(loop):
        what = tree.describe(block)
        for kind, value in zip(tree.iter_types(block), indices.bindings(block), strict=True):
            if kind == "spatial" or name not in value.symbols:
                continue
            if kind != "reduction":
                raise state.error(f"{what} has a {kind} iterator, whose order counts", block)
            if not reduction:
                raise state.error(f"{what} reduces over {tree.describe(loop)}", block, loop)
    if not reduction:
        independent(state, indices, loop, "run at once", private=private)


def independent(
    state: ScheduleState, indices: Indices, loop: ir.Operation, what: str, *,
    private: bool = False,
) -> None:  # fmt: skip
    """Check that no iteration of a loop uses what another one writes.

    Raises:
        ScheduleError: one may.
    """
    if indices.lift(loop.operands[1]).value == 1:
        return
    uses = accesses(indices, loop)
    written = {access.buffer: access for access in uses if access.writes}
    for buffer, write in written.items():
        owner = buffer.owner
        if not isinstance(owner, ir.Block) and tree.is_inside(owner.operation, loop):
            continue
        mine = [access for access in uses if access.buffer == buffer]
        made = _apart(indices, loop, mine) or (private and make_private(indices, loop, buffer))
        if not made:
            block = next((op for op in tree.ancestors(write.op) if op.name == tree.BLOCK), loop)
            raise state.error(
                f"iterations of {tree.describe(loop)} may use the same element of "
                f"'{buffer_name(buffer)}', so they cannot be {what}",
                loop, block,
            )  # fmt: skip


def _apart(indices: Indices, loop: ir.Operation, uses: Sequence[Access]) -> bool:
    variable = indices.loop_var(loop)
    everywhere: list[list[SymExpr]] = []
    facts: list[Facts] = []
    for access in uses:
        exprs = inlined(indices, access, loop)
        if exprs is None:
            return False
        everywhere.append(exprs)
        inner = _innermost_block(access.op)
        # Loops inside the block count too.
        known = indices.facts(access.op)
        if inner.name == tree.BLOCK:
            assume(known, indices.block_conditions(inner))
        facts.append(known)
    outer = {str(indices.loop_var(op)) for op in tree.ancestors(loop)
             if op.name == tree.LOOP}  # fmt: skip
    for dim in range(len(everywhere[0])):
        if _stride(variable, [exprs[dim] for exprs in everywhere], facts, outer):
            return True
    # All the same element, and one that determines the iteration.
    plain = [[simplify(e, f) for e in exprs] for exprs, f in zip(everywhere, facts, strict=True)]
    determined = determined_names(plain[0], facts[0], frozenset(outer))
    if str(variable) in determined and all(exprs == plain[0] for exprs in plain):
        return True
    # Tiles of their own; where one is may take several dimensions to determine.
    used = {name for exprs in everywhere for expr in exprs for name in expr.symbols}
    fixed = frozenset(name for name in used if name in outer or indices.value_of(name) is None)
    tiles = [
        _tile(variable, [exprs[dim] for exprs in everywhere], facts, fixed)
        for dim in range(len(everywhere[0]))
    ]
    around = indices.facts(first_inside(loop))
    known = [tile for tile in tiles if tile is not None]
    return str(variable) in determined_names(known, around, fixed)


def _tile(
    variable: SymExpr, exprs: Sequence[SymExpr], facts: Sequence[Facts], fixed: frozenset[str]
) -> SymExpr | None:
    """Return `t` where all accesses are at `t * c + r` with `0 <= r < c` and `t` of the variable.

    None where there is no such number.
    """
    name = str(variable)
    coarse = [
        [(p, c) for p, c in each.split() if name in p.symbols and p.symbols <= fixed | {name}]
        for each in exprs
    ]
    scale = gcd(*(c for _, c in coarse[0]))
    whole = [sum((p * c for p, c in each), SymExpr.const(0)) for each in coarse]
    if not scale or any(each != whole[0] for each in whole):
        return None
    rests = [each - whole[0] for each in exprs]
    same = [sum((p * c for p, c in each.split() if p.symbols and p.symbols <= fixed),
                SymExpr.const(0)) for each in rests]  # fmt: skip
    if any(each != same[0] for each in same):
        return None
    bounds = [known.bounds(each - same[0]) for each, known in zip(rests, facts, strict=True)]
    low, high = zip(*bounds, strict=True)
    if None in low or None in high or max(high) - min(low) >= scale:
        return None
    return sum((p * (c // scale) for p, c in coarse[0]), SymExpr.const(0))


def _stride(
    variable: SymExpr, exprs: Sequence[SymExpr], facts: Sequence[Facts], outer: set[str]
) -> bool:
    """Whether one dimension of all accesses is `variable * c + r` with `0 <= r < c`."""
    scale = next((abs(c) for part, c in exprs[0].split() if part == variable), 0)
    if not scale:
        return False
    base: SymExpr | None = None
    for expr, known in zip(exprs, facts, strict=True):
        own = expr - variable * scale
        fixed = sum((p * c for p, c in own.split() if p.symbols and p.symbols <= outer),
                    SymExpr.const(0))  # fmt: skip
        rest = own - fixed
        if base is None:
            low, _ = known.bounds(rest)
            base = fixed + (low or 0)
        rest = own - base
        if not known.can_prove(rest >= 0) or not known.can_prove(rest < scale):
            return False
    return True


def _innermost_block(op: ir.Operation) -> ir.Operation:
    return next((each for each in tree.ancestors(op) if each.name == tree.BLOCK), op)


def buffer_name(buffer: ir.Value) -> str:
    """Return the name of a buffer, as messages have it."""
    owner = buffer.owner
    if isinstance(owner, ir.Block):
        return tree.value_name(buffer, "buffer")
    attributes = owner.operation.attributes
    if "tir.name" in attributes:
        return ir.StringAttr(attributes["tir.name"]).value
    return tree.value_name(buffer, "buffer")
