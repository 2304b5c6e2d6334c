"""The primitive `rolling_buffer`: circular buffers for overlapping iterations."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import Facts
from relax_mlir.dialects.tir import scalar as S
from relax_mlir.tir.schedule.analysis import scopes
from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV
from relax_mlir.tir.schedule.primitives import checks
from relax_mlir.tir.schedule.primitives.cache import chosen_buffer
from relax_mlir.tir.schedule.primitives.transform_layout import reshaped
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.view import buffers, edit, tree
from relax_mlir.tir.view.accesses import Access, accesses, declare, inlined
from relax_mlir.tir.view.conditions import Comparison
from relax_mlir.tir.view.index import Indices
from relax_mlir.tir.view.regions import Range, covers, range_of
from relax_mlir.tir.view.simplify import simplify


@dataclass
class _Roll:
    """A dimension of which the steps of a loop use overlapping parts.

    Attributes:
        dim: the dimension.
        depth: the position of the loop, outermost first.
        variable: of the loop.
        extent: how many indices one step uses.
        overlap: how many of these the step before it used too.
        inside: the position of an index in its step.
    """

    dim: int
    depth: int
    variable: SymExpr
    extent: int
    overlap: int
    inside: SymExpr


def rolling_buffer(state: ScheduleState, block: ir.Operation, which: int | str) -> None:
    """Fold a buffer along the dimension that rolls, and compute nothing in it twice."""
    buffer = chosen_buffer(state, block, which, "write")
    name = buffers.name_of(buffer)
    checks.local(state, block, buffer)
    scopes.check_regular(state, block)
    indices = state.indices(block)
    uses = [a for a in accesses(indices, indices.function) if a.buffer == buffer]
    if any(access.indices is None for access in uses):
        raise state.error(f"more of '{name}' than its elements is used", block)
    checks.runs_for_all(state, indices, block)
    common = _common(state, indices, block, uses, name)
    _inputs_stay(state, block, common)
    exprs, ranges, facts = _written(state, indices, block, uses, common, name)
    _covered(state, indices, block, uses, common, ranges, facts, name)
    rolls = _rolls(indices, exprs, ranges, common, facts)
    if not rolls:
        raise state.error(
            f"no dimension of '{name}' is used in parts that overlap from one step of a loop to "
            "the next", block, *common,
        )  # fmt: skip
    dims = buffers.dims_of(indices, buffer)
    first = min(rolls, key=lambda roll: roll.depth)
    shape = list(dims)
    shape[first.dim] = SymExpr.const(first.extent)
    _skip_known(indices, block, rolls)
    made = reshaped(indices, buffer, shape)
    users = _folded(indices, uses, made, first)
    for use in list(buffer.uses):
        use.owner.operation.erase()
    buffer.owner.operation.erase()
    state.touch()
    fresh = state.indices(block)
    declare(fresh, *users)
    edit.sweep(block)


def _common(
    state: ScheduleState, indices: Indices, block: ir.Operation, uses: Sequence[Access], name: str
) -> list[ir.Operation]:
    """Return the loops around a block and all that uses what it writes."""
    others = [access for access in uses if not tree.is_inside(access.op, block)]
    if not others:
        raise state.error(f"no sibling of {tree.describe(block)} uses '{name}'", block)
    common = [
        loop for loop in tree.loops_around(block)
        if all(tree.is_inside(access.op, loop) for access in others)
    ]  # fmt: skip
    if not common:
        raise state.error(
            f"no loop is around {tree.describe(block)} and all that reads '{name}'; compute_at "
            "moves it there", block,
        )  # fmt: skip
    for loop in common:
        kind = tree.string(loop, "kind")
        if kind not in ("serial", "unrolled") or "thread" in loop.attributes:
            raise state.error(f"the steps of {tree.describe(loop)} do not run in order", loop)
        checks.starts_at_zero(state, indices, loop)
    readers = [each for each in scopes.consumers(block) if each.name == tree.BLOCK]
    for access in others:
        if not any(tree.is_inside(access.op, reader) for reader in readers):
            raise state.error(f"'{name}' is read before {tree.describe(block)} runs", block)
    return common


def _inputs_stay(state: ScheduleState, block: ir.Operation, common: Sequence[ir.Operation]) -> None:
    """Check that what a block reads has one value while the loops run."""
    reads, writes = scopes.buffers(block)
    for other in scopes.siblings(block):
        own = scopes.buffers(other)[1]
        changed = [b for b in own if b in reads and b not in writes]
        if other == block or not changed or not tree.is_inside(other, common[0]):
            continue
        if scopes.complete_problem(other) and scopes.reduction_problem(other):
            raise state.error(
                f"{tree.describe(other)} changes '{buffers.name_of(changed[0])}', which "
                f"{tree.describe(block)} reads", other, block,
            )  # fmt: skip


def _variables(indices: Indices, op: ir.Operation, outer: ir.Operation) -> list[tuple[str, Range]]:
    """Return the variables of the loops from an operation up to a loop around it."""
    inner = itertools.takewhile(lambda each: each != outer, tree.ancestors(op))
    return [indices.loop_range(each) for each in inner if each.name == tree.LOOP]


def _region(
    indices: Indices, access: Access, last: ir.Operation, facts: Facts
) -> tuple[list[SymExpr], list[Range]] | None:
    exprs = inlined(indices, access, last)
    if exprs is None:
        return None
    variables = _variables(indices, access.op, last)
    ranges = [range_of(simplify(expr, facts), variables, facts) for expr in exprs]
    kept = [each for each in ranges if each is not None]
    return (list(exprs), kept) if len(kept) == len(ranges) else None


def _written(
    state: ScheduleState, indices: Indices, block: ir.Operation, uses: Sequence[Access],
    common: Sequence[ir.Operation], name: str,
) -> tuple[list[SymExpr], list[Range], Facts]:  # fmt: skip
    """Return which element a block writes, in terms of loops, and which part in one step."""
    facts = indices.facts(tree.body_of(common[-1]).operations[0].operation)
    own = [access for access in uses if tree.is_inside(access.op, block)]
    regions = [_region(indices, access, common[-1], facts) for access in own]
    known = [each for each in regions if each is not None]
    if len(known) < len(regions) or any(
        [str(e) for e in each[0]] != [str(e) for e in known[0][0]] for each in known
    ):
        raise state.error(f"{tree.describe(block)} does not write one element of '{name}'", block)
    return (*known[0], facts)


def _covered(
    state: ScheduleState, indices: Indices, block: ir.Operation, uses: Sequence[Access],
    common: Sequence[ir.Operation], ranges: Sequence[Range], facts: Facts, name: str,
) -> None:  # fmt: skip
    """Check that a step reads only what it writes."""
    for access in uses:
        if tree.is_inside(access.op, block):
            continue
        region = _region(indices, access, common[-1], facts)
        if region is None or not covers(ranges, region[1], facts):
            reader = tree.blocks_around(access.op)[0]
            raise state.error(
                f"{tree.describe(reader)} is not known to read only that part of '{name}' that "
                f"{tree.describe(block)} writes in the same step", reader, block,
            )  # fmt: skip


def _rolls(
    indices: Indices, exprs: Sequence[SymExpr], ranges: Sequence[Range],
    common: Sequence[ir.Operation], facts: Facts,
) -> list[_Roll]:  # fmt: skip
    variables = [indices.loop_var(loop) for loop in common]
    names = {str(v) for v in variables}
    result = []
    for dim, (expr, own) in enumerate(zip(exprs, ranges, strict=True)):
        extent = simplify(own.extent, facts).value
        moving = [(part, c) for part, c in own.low.split() if part.symbols]
        if extent is None or len(moving) != 1 or moving[0][0] not in variables:
            continue
        variable, step = moving[0]
        inside = simplify(expr - own.low, facts)
        if not 0 < step < extent or inside.symbols & names:
            continue
        depth = variables.index(variable)
        result.append(_Roll(dim, depth, variable, extent, extent - step, inside))
    # A step has something of the one before only where that is so in all dimensions that move.
    return [
        roll for roll in result
        if all(
            any(other.dim == dim and other.variable == roll.variable for other in result)
            for dim, own in enumerate(ranges)
            if roll.variable.symbols & (own.low.symbols | own.high.symbols)
        )
    ]  # fmt: skip


def _skip_known(indices: Indices, block: ir.Operation, rolls: Sequence[_Roll]) -> None:
    """Leave out what the step before computed."""
    conditions: list[Comparison | ir.Value] = list(indices.block_conditions(block))
    with ir.InsertionPoint(block), ir.Location.unknown():
        for depth in dict.fromkeys(roll.depth for roll in rolls):
            # Several dimensions may move with one loop; what is new in one of them is new.
            moving = [roll for roll in rolls if roll.depth == depth]
            computed = S.compare("lt", indices.scalar(moving[0].variable), 1).value
            for roll in moving:
                new = S.compare("ge", indices.scalar(roll.inside), roll.overlap)
                computed = S.arith.ori(computed, new.value)
            conditions.append(computed)
    edit.set_block(indices, block, indices.bindings(block), conditions)


def _folded(
    indices: Indices, uses: Sequence[Access], made: ir.Value, roll: _Roll
) -> list[ir.Operation]:
    """Have accesses use a buffer that is folded in one dimension; returns the blocks concerned."""
    users: dict[ir.Operation, None] = {}
    for access in uses:
        op = access.op
        first = 1 if op.name == "memref.load" else 2
        with ir.InsertionPoint(op), op.location:
            index = S.Scalar(op.operands[first + roll.dim], S.INDEX)
            op.operands[first + roll.dim] = S.binary("mod", index, roll.extent).value
        op.operands[first - 1] = made
        users |= dict.fromkeys(tree.blocks_around(op))
    return list(users)


class RollingBufferPrimitives(ScheduleBase):
    """Circular buffers."""

    @primitive("RollingBuffer", inputs=("block",))
    def rolling_buffer(self, block: BlockRV | str, write_buffer_index: int | str) -> None:
        """Keep what the next step of a loop uses again, and compute only the rest in it.

        The buffer is folded in the dimension of the outermost loop whose steps use overlapping
        parts, to the size of one part; a predicate leaves out what was computed before.

        Args:
            block: complete or a reduction, under loops with all that reads the buffer.
            write_buffer_index: the position among what it writes, or the name of the buffer.

        Raises:
            ScheduleError: they are not like that, the loops do not run in order, or no parts
                overlap.
        """
        rolling_buffer(self._state, self._block(block), write_buffer_index)
