"""The primitives `split`, `fuse` and `reorder`."""

from collections.abc import Sequence
from itertools import pairwise

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.tir.schedule.analysis import legality
from relax_mlir.tir.schedule.base import IntOrRV, ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import LoopRV
from relax_mlir.tir.schedule.primitives import checks
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.view import edit, tree
from relax_mlir.tir.view.conditions import Comparison
from relax_mlir.tir.view.index import Indices
from relax_mlir.tir.view.simplify import simplify


def split(
    state: ScheduleState,
    loop: ir.Operation,
    factors: Sequence[SymExpr | None],
    preserve_unit_iters: bool = True,
    disable_predication: bool = False,
) -> list[ir.Operation]:
    """Replace a loop by one for each factor, outermost first; returns them."""
    indices = state.indices(loop)
    checks.plain_loop(state, loop)
    checks.starts_at_zero(state, indices, loop)
    extent = indices.lift(loop.operands[1])
    facts = indices.facts(loop)
    sizes = _sizes(state, indices, loop, extent, factors)
    total = product(sizes)
    exact = facts.can_prove(total == extent)
    if not exact and not disable_predication:
        checks.statements_in_blocks(state, loop)
    if disable_predication and not exact and total.value is not None and extent.value is not None:
        raise state.error(
            f"without a predicate {total.value} steps would run, {tree.describe(loop)} has "
            f"{extent.value}", loop,
        )  # fmt: skip
    name = tree.loop_name(loop)
    made: list[ir.Operation] = []
    at = ir.InsertionPoint(loop)
    for position, size in enumerate(sizes):
        lower, steps = indices.entry(SymExpr.const(0)), _extent(indices, size, loop)
        made.append(edit.new_loop(at, f"{name}_{position}", lower, steps))
        at = edit.end_of(made[-1])
    value = _combined([indices.loop_var(each) for each in made], sizes)
    with at, ir.Location.unknown():
        tree.variable(loop).replace_all_uses_with(indices.emit(value))
    edit.move_body(loop, made[-1])
    loop.erase()
    if not exact and not disable_predication:
        _guard(indices, made[0], Comparison(value, 2, extent))
    edit.normalize(indices, made[0], unit=preserve_unit_iters)
    return made


def _sizes(
    state: ScheduleState, indices: Indices, loop: ir.Operation, extent: SymExpr,
    factors: Sequence[SymExpr | None],
) -> list[SymExpr]:  # fmt: skip
    what = tree.describe(loop)
    if not factors:
        raise state.error("split needs at least one factor")
    if sum(factor is None for factor in factors) > 1:
        raise state.error("only one factor can be None")
    known = [factor for factor in factors if factor is not None]
    for factor in known:
        if factor.value is not None and factor.value < 1:
            raise state.error(f"a factor must be positive, got {factor}")
        if not factor.is_const and not factor.symbols <= known_sizes(indices):
            raise state.error(f"factor {factor} is made of sizes that this function does not have")
    others = product(known)
    if len(known) == len(factors):
        if not indices.facts(loop).can_prove(others >= extent):
            raise state.error(
                f"the product of the factors, {others}, is not at least the extent of {what}, "
                f"{extent}; leave one factor to be found, None", loop,
            )  # fmt: skip
        return known
    whole = simplify(extent.ceildiv(others), indices.facts(loop))
    return [whole if factor is None else factor for factor in factors]


def known_sizes(indices: Indices) -> set[str]:
    """Return the symbols that sizes of the function's parameters give."""
    result: set[str] = set(indices.parameters.values())
    for raw in indices.function.attributes["arg_attrs"]:
        described = ir.DictAttr(raw)
        if "tir.shape" in described:
            for dim in described["tir.shape"].maybe_downcast().dims:
                result |= dim.symbols
    return result


def _extent(indices: Indices, size: SymExpr, loop: ir.Operation) -> ir.Value:
    with ir.InsertionPoint(loop), ir.Location.unknown():
        return indices.emit(size)


def _combined(variables: Sequence[SymExpr], sizes: Sequence[SymExpr]) -> SymExpr:
    value = SymExpr.const(0)
    for variable, size in zip(variables, sizes, strict=True):
        value = value * size + variable
    return value


def _guard(indices: Indices, top: ir.Operation, condition: Comparison) -> None:
    """Add a condition to the predicates of the blocks under a loop."""
    for block in tree.blocks_under(top):
        conditions = [*indices.block_conditions(block), condition]
        edit.set_block(indices, block, indices.bindings(block), conditions)


def fuse(
    state: ScheduleState, loops: Sequence[ir.Operation], preserve_unit_iters: bool = True
) -> ir.Operation:
    """Replace loops, each all that the one before holds, by a single one; returns it."""
    if not loops:
        raise state.error("fuse needs at least one loop")
    indices = state.indices(loops[0])
    checks.distinct(state, loops)
    for loop in loops:
        checks.plain_loop(state, loop)
        checks.starts_at_zero(state, indices, loop)
    for outer, inner in pairwise(loops):
        if tree.parent_of(inner) != outer:
            raise state.error(
                f"{tree.describe(inner)} is not right inside {tree.describe(outer)}", outer, inner
            )
        checks.perfectly_nested(state, (outer, inner))
    sizes = [indices.lift(loop.operands[1]) for loop in loops]
    for position, loop in enumerate(loops):
        for outer in loops[:position]:
            if sizes[position].symbols & indices.loop_var(outer).symbols:
                raise state.error(
                    f"the extent of {tree.describe(loop)} depends on {tree.describe(outer)}",
                    outer, loop,
                )  # fmt: skip
    name = "_".join([*map(tree.loop_name, loops), "fused"])
    with ir.InsertionPoint(loops[0]), ir.Location.unknown():
        zero, steps = indices.entry(SymExpr.const(0)), indices.emit(product(sizes))
    made = edit.new_loop(ir.InsertionPoint(loops[0]), name, zero, steps)
    rest = indices.loop_var(made)
    facts = indices.facts(made, unit=not preserve_unit_iters)
    with edit.end_of(made), ir.Location.unknown():
        for position, loop in reversed(list(enumerate(loops))):
            # A loop without steps has no values.
            size = SymExpr.const(1) if sizes[position].value == 0 else sizes[position]
            value = rest % size if position else rest
            rest = rest // size
            tree.variable(loop).replace_all_uses_with(indices.emit(simplify(value, facts)))
    for loop in loops:
        edit.move_body(loop, made) if loop == loops[-1] else edit.move_numbers(loop, made)
    loops[0].erase()
    edit.normalize(indices, made, unit=preserve_unit_iters)
    return made


def reorder(state: ScheduleState, loops: Sequence[ir.Operation]) -> None:
    """Put loops, which are in one line, in the order given; those between them stay in place."""
    if not loops:
        raise state.error("reorder needs at least one loop")
    checks.distinct(state, loops)
    indices = state.indices(loops[0])
    line = checks.chain(state, loops)
    wanted = iter(loops)
    order = [next(wanted) if loop in loops else loop for loop in line]
    if order == line:
        return
    _check_extents(state, indices, order)
    legality.may_permute(state, indices, line, order)
    inner = line[-1]
    made, _, _ = edit.copy_loops(indices, ir.InsertionPoint(line[0]), order)
    for loop, new in zip(order, made, strict=True):
        for key in loop.attributes:
            new.attributes[key] = loop.attributes[key]
    for loop in line:
        if loop != inner:
            edit.move_numbers(loop, made[-1])
    edit.move_body(inner, made[-1])
    for loop, new in zip(order, made, strict=True):
        tree.variable(loop).replace_all_uses_with(tree.variable(new))
    line[0].erase()
    state.touch()
    edit.normalize(indices, made[0])


def _check_extents(state: ScheduleState, indices: Indices, order: list[ir.Operation]) -> None:
    for position, loop in enumerate(order):
        for inner in order[position + 1 :]:
            variable = indices.loop_var(inner).symbols
            if any(indices.lift(value).symbols & variable for value in loop.operands):
                raise state.error(
                    f"the range of {tree.describe(loop)} depends on {tree.describe(inner)}, which "
                    "would be inside it", loop, inner,
                )  # fmt: skip


class LoopPrimitives(ScheduleBase):
    """Split, fuse, reorder."""

    @primitive("Split", inputs=("loop", "factors"))
    def split(
        self,
        loop: LoopRV,
        factors: Sequence[IntOrRV | None],
        preserve_unit_iters: bool = True,
        disable_predication: bool = False,
    ) -> list[LoopRV]:
        """Split a loop into loops inside each other, one for each factor.

        Blocks inside get a predicate where the factors' product may be more than the extent.

        Args:
            loop: starts at 0, is serial and has no annotations.
            factors: extents of the new loops, outermost first; one may be None and is found.
                Sizes that the function knows are possible too.
            preserve_unit_iters: whether variables of loops of one step stay in the indices.
            disable_predication: no predicate; the caller knows that the factors divide the extent.

        Raises:
            ScheduleError: the loop is none of that kind, or the factors do not cover its extent.
        """
        if not isinstance(factors, Sequence) or isinstance(factors, str):
            raise self._wrong(f"factors are a list, such as [None, 4], got {factors!r}")
        sizes = [None if each is None else self._number(each) for each in factors]
        op = self._loop(loop)
        return self._loop_rvs(
            split(self._state, op, sizes, preserve_unit_iters, disable_predication)
        )

    @primitive("Fuse", inputs=("loops",))
    def fuse(self, *loops: LoopRV, preserve_unit_iters: bool = True) -> LoopRV:
        """Fuse loops, each of which is all that the one before it holds, into one.

        Args:
            loops: outermost first; they start at 0, are serial and have no annotations.
            preserve_unit_iters: whether variables of loops of one step stay in the indices.

        Raises:
            ScheduleError: the loops are not like that.
        """
        ops = [self._loop(loop) for loop in loops]
        return self._loop_rv(fuse(self._state, ops, preserve_unit_iters))

    @primitive("Reorder", inputs=("ordered_loops",))
    def reorder(self, *ordered_loops: LoopRV) -> None:
        """Put loops that are in each other in another order; those between them stay in place.

        Args:
            ordered_loops: in the order that they are to have.

        Raises:
            ScheduleError: they are not in one line, a range depends on a loop that would be inside,
                or a block's instances must run in the order that they have.
        """
        reorder(self._state, [self._loop(loop) for loop in ordered_loops])
