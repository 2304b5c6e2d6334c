"""The primitives `merge`, `loop_partition` and `add_unit_loop`."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.tir.schedule.analysis import legality
from relax_mlir.tir.schedule.base import IntOrRV, ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV, LoopRV
from relax_mlir.tir.schedule.primitives import checks
from relax_mlir.tir.schedule.primitives.loops import known_sizes
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.view import edit, tree
from relax_mlir.tir.view.accesses import declare
from relax_mlir.tir.view.index import Indices
from relax_mlir.tir.view.simplify import simplify


def add_unit_loop(state: ScheduleState, op: ir.Operation) -> ir.Operation:
    """Put a loop of one step around a loop or a block; returns it."""
    if op.name == tree.FUNC:
        raise state.error("a loop cannot be put around the body of a function")
    indices = state.indices(op)
    zero, one = (indices.entry(SymExpr.const(number)) for number in (0, 1))
    made = edit.new_loop(ir.InsertionPoint(op), "u", zero, one)
    op.move_before(list(tree.body_of(made).operations)[-1].operation)
    edit.normalize(indices, made)
    return made


def merge(state: ScheduleState, loops: Sequence[ir.Operation]) -> ir.Operation:
    """Make one loop of loops that do as many steps one after the other; returns it."""
    if len(loops) < 2:
        raise state.error("merge needs at least two loops")
    checks.distinct(state, loops)
    indices = state.indices(loops[0])
    lines = _lines(state, loops)
    for line in lines:
        checks.perfectly_nested(state, line)
        for loop, first in zip(line, lines[0], strict=True):
            checks.plain_loop(state, loop)
            checks.starts_at_zero(state, indices, loop)
            sizes = [indices.lift(each.operands[1]) for each in (loop, first)]
            if not indices.facts(first).can_prove(sizes[0] == sizes[1]):
                raise state.error(
                    f"{tree.describe(first)} makes {sizes[1]} steps and {tree.describe(loop)} "
                    f"{sizes[0]}", first, loop,
                )  # fmt: skip
    tops = [line[0] for line in lines]
    _gather(state, tops)
    return _merged(state, indices, lines)


def _lines(state: ScheduleState, loops: Sequence[ir.Operation]) -> list[list[ir.Operation]]:
    """Return for each loop the loops around it below the place where all meet, outermost first."""
    around = [[*tree.loops_around(loop), loop] for loop in loops]
    if any(tree.scope_of(loop) != tree.scope_of(loops[0]) for loop in loops):
        raise state.error("the loops are in different blocks", *loops)
    while all(len(line) > 1 for line in around) and all(line[0] == around[0][0] for line in around):
        around = [line[1:] for line in around]
    if len({len(line) for line in around}) != 1:
        raise state.error("the loops are not equally deep below the place where they meet", *loops)
    parents = [tree.parent_of(line[0]) for line in around]
    tops = [line[0] for line in around]
    if any(parent != parents[0] for parent in parents) or any(
        top in tops[:i] for i, top in enumerate(tops)
    ):
        raise state.error("the loops are not siblings", *loops)
    return around


def _gather(state: ScheduleState, tops: list[ir.Operation]) -> None:
    """Check that nothing runs between loops, and move allocations in front of them."""
    inside, positions = False, []
    for view in tops[0].block.operations:
        op = view.operation
        if op in tops:
            inside = True
            positions.append(tops.index(op))
            if len(positions) == len(tops):
                break
        elif inside and not op.name.startswith(tree.INDEX_ONLY):
            raise state.error(f"{tree.describe(op)} runs between the loops", op)
    if positions != sorted(positions):
        raise state.error("the loops must be given in the order in which they run", *tops)
    between = []
    for view in tops[0].block.operations:
        if view.operation == tops[-1]:
            break
        between.append(view.operation)
    for op in between[between.index(tops[0]) :]:
        if op not in tops:
            op.move_before(tops[0])


def _merged(
    state: ScheduleState, indices: Indices, lines: list[list[ir.Operation]]
) -> ir.Operation:
    first = lines[0]
    made, _, _ = edit.copy_loops(indices, ir.InsertionPoint(first[0]), first, "{name}_m")
    for line in lines:
        for loop, new in zip(line, made, strict=True):
            tree.variable(loop).replace_all_uses_with(tree.variable(new))
            if loop != line[-1]:
                edit.move_numbers(loop, made[-1])
        edit.move_body(line[-1], made[-1])
    for line in lines:
        line[0].erase()
    if state.legality:
        for loop in made:
            legality.independent(state, state.indices(loop), loop, "one loop")
    edit.normalize(state.indices(made[0]), made[0])
    return made[-1]


def loop_partition(
    state: ScheduleState, loop: ir.Operation, factors: Sequence[SymExpr | None],
    preserve_unit_iters: bool = True,
) -> list[ir.Operation]:  # fmt: skip
    """Cut a loop in parts that run one after the other, of so many steps each; returns them."""
    indices = state.indices(loop)
    checks.plain_loop(state, loop)
    lower, extent = (indices.lift(value) for value in loop.operands)
    sizes = _parts(state, indices, loop, extent, factors)
    if len(sizes) > 1 and not indices.facts(loop).can_prove(sizes[0] > 0):
        for block in _reductions(indices, loop):
            raise state.error(
                f"the first part of {tree.describe(loop)} may be empty, and {tree.describe(block)} "
                "begins its reduction there", loop, block,
            )  # fmt: skip
    name, made, start = tree.loop_name(loop), [], lower
    going_on: list[ir.Operation] = []
    for position, size in enumerate(sizes):
        with ir.InsertionPoint(loop), ir.Location.unknown():
            copy = loop if position == len(sizes) - 1 else loop.clone()
            copy.operands[0], copy.operands[1] = indices.emit(start), indices.emit(size)
        tree.variable(copy).set_location(ir.Location.name(f"{name}_{position}"))
        _renamed(copy, f"_{name}_{position}")
        for block in _reductions(indices, copy) if position else ():
            going_on.append(edit.drop_init(block))
        made.append(copy)
        start = start + size
    state.touch()
    for block in going_on:
        declare(state.indices(block), block)
    for each in made:
        edit.normalize(state.indices(each), each, unit=preserve_unit_iters)
    return made


def _parts(
    state: ScheduleState, indices: Indices, loop: ir.Operation, extent: SymExpr,
    factors: Sequence[SymExpr | None],
) -> list[SymExpr]:  # fmt: skip
    what = tree.describe(loop)
    if not factors or sum(factor is None for factor in factors) > 1:
        raise state.error("loop_partition needs factors, of which one can be None")
    known = [factor for factor in factors if factor is not None]
    facts = indices.facts(loop)
    for factor in known:
        if factor.value is not None and factor.value < 1:
            raise state.error(f"a factor must be positive, got {factor}")
        if not factor.symbols <= known_sizes(indices):
            raise state.error(f"factor {factor} is made of sizes that this function does not have")
    total = sum(known, SymExpr.const(0))
    if not facts.can_prove(total <= extent) or (None in factors and total == extent):
        raise state.error(
            f"{what} makes {extent} steps, which the factors, {total}, leave nothing of or exceed",
            loop,
        )
    rest = simplify(extent - total, facts)
    if None not in factors:
        return [*known, rest] if rest != 0 else known
    return [rest if factor is None else factor for factor in factors]


def _renamed(loop: ir.Operation, suffix: str) -> None:
    for op in tree.walk(loop):
        if op.name == tree.BLOCK:
            op.attributes["block_name"] = ir.StringAttr.get(tree.block_name(op) + suffix)
        if op != loop and "tir.sref" in op.attributes:
            del op.attributes["tir.sref"]
    if "tir.sref" in loop.attributes:
        del loop.attributes["tir.sref"]


def _reductions(indices: Indices, loop: ir.Operation) -> list[ir.Operation]:
    """Return the blocks with init regions that reduce over a loop.

    Where a loop also says which element is reduced, each part comes to the beginning of some.
    """
    variable = indices.loop_var(loop).symbols
    result = []
    for block in tree.blocks_under(loop):
        kinds = {
            kind
            for kind, value in zip(tree.iter_types(block), indices.bindings(block), strict=True)
            if variable & value.symbols
        }
        if kinds == {"reduction"} and tree.has_init(block):
            result.append(block)
    return result


class LoopSetPrimitives(ScheduleBase):
    """Unit loops, merging, partitioning."""

    @primitive("AddUnitLoop", inputs=("block_or_loop",))
    def add_unit_loop(self, block_or_loop: BlockRV | LoopRV) -> LoopRV:
        """Put a loop of one step around a block or a loop.

        Raises:
            ScheduleError: the block is the root.
        """
        return self._loop_rv(add_unit_loop(self._state, self._op(block_or_loop)))

    @primitive("Merge", inputs=("loops",))
    def merge(self, *loops: LoopRV) -> LoopRV:
        """Make one loop of loops that run one after the other.

        Args:
            loops: in the order in which they run, with equal extents from 0, equally deep below the
                place where they meet, without annotations; those around them are merged too.

        Raises:
            ScheduleError: they are not like that, or an iteration uses what another one writes.
        """
        ops = [self._loop(loop) for loop in loops]
        return self._loop_rv(merge(self._state, ops))

    @primitive("LoopPartition", inputs=("loop", "factors"))
    def loop_partition(
        self,
        loop: LoopRV,
        factors: Sequence[IntOrRV | None],
        preserve_unit_iters: bool = True,
    ) -> list[LoopRV]:
        """Cut a loop in parts that run one after the other.

        The blocks of each part are named after it: `B_i_0`, `B_i_1`.

        Args:
            loop: serial and without annotations.
            factors: how many steps each part makes; one may be None and is found, and what is left
                over becomes a last part.
            preserve_unit_iters: whether variables of loops of one step stay in the indices.

        Raises:
            ScheduleError: the loop is none of that kind, or does not make so many steps.
        """
        sizes = [None if each is None else self._number(each) for each in factors]
        op = self._loop(loop)
        return self._loop_rvs(loop_partition(self._state, op, sizes, preserve_unit_iters))
