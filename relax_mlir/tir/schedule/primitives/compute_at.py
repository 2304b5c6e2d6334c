"""The primitives `compute_at` and `reverse_compute_at`."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.tir.schedule.analysis import legality, scopes
from relax_mlir.tir.schedule.analysis.domains import first_inside, needed, without_gaps
from relax_mlir.tir.schedule.base import INLINE, ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV, LoopRV
from relax_mlir.tir.schedule.primitives import checks, inline
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.view import buffers, edit, tree
from relax_mlir.tir.view.accesses import accesses
from relax_mlir.tir.view.conditions import Comparison
from relax_mlir.tir.view.index import Indices
from relax_mlir.tir.view.regions import Range

# Where in a loop's body a block goes: the last and the first place that is possible.
LAST, FIRST = -1, -2


def compute_at(
    state: ScheduleState, block: ir.Operation, loop: ir.Operation, preserve_unit_loops: bool,
    index: int,
) -> None:  # fmt: skip
    """Move a block under a loop, for as much of its result as one step of the loop needs."""
    what, where = tree.describe(block), tree.describe(loop)
    _may_move(state, block, loop)
    _reads_last_values(state, block, loop)
    readers = scopes.consumers(block)
    if not readers:
        raise state.error(f"no sibling of {what} reads what it computes", block)
    outside = [each for each in readers if not tree.is_inside(each, loop)]
    if outside:
        raise state.error(
            f"{tree.describe(outside[0])}, which reads what {what} computes, is not inside {where}",
            outside[0], block, loop,
        )  # fmt: skip
    _in_blocks(state, readers)
    written = scopes.buffers(block)[1]
    checks.local(state, block, *written)
    _read_only_beside(state, block, written)
    _nothing_between(state, block, loop)
    children = _children(loop)
    users = [i for i, c in enumerate(children) if any(tree.is_inside(r, c) for r in readers)]
    makers = scopes.producers(block)
    first = max(
        (i + 1 for i, c in enumerate(children) if any(tree.is_inside(m, c) for m in makers)),
        default=0,
    )
    at = _place(state, loop, children, first, min(users), index)
    indices = state.indices(block)
    uses = [a for a in accesses(indices, loop) if a.reads and a.buffer in written]
    domain = needed(indices, block, loop, uses, writes=True)
    _move(state, indices, block, loop, at, domain, preserve_unit_loops)


def reverse_compute_at(
    state: ScheduleState, block: ir.Operation, loop: ir.Operation, preserve_unit_loops: bool,
    index: int,
) -> None:  # fmt: skip
    """Move a block under a loop, for as much as one step of the loop gives it to read.

    A block that reads only parameters that nothing has written is computed again in each step.
    """
    what, where = tree.describe(block), tree.describe(loop)
    _may_move(state, block, loop)
    makers = scopes.producers(block)
    inside = [each for each in makers if tree.is_inside(each, loop)]
    if not inside and makers:
        raise state.error(f"no block inside {where} computes what {what} reads", block, loop)
    _in_blocks(state, inside)
    indices = state.indices(block)
    around = {str(indices.loop_var(each)) for each in [*tree.loops_around(loop), loop]}
    for each in inside:
        for kind, value in zip(tree.iter_types(each), indices.bindings(each), strict=True):
            if kind == "reduction" and value.symbols & around:
                raise state.error(
                    f"{tree.describe(each)} is not done with its reduction inside {where}",
                    each, block, loop,
                )  # fmt: skip
    _reads_last_values(state, block, loop)
    siblings = scopes.siblings(block)
    last = max((i for i, each in enumerate(siblings) if tree.is_inside(each, loop)), default=0)
    if siblings.index(block) < last:
        raise state.error(f"{what} runs before what is inside {where}", block, loop)
    for each in makers:
        if each not in inside and siblings.index(each) > last:
            raise state.error(
                f"{tree.describe(each)}, which computes what {what} reads, runs after {where}",
                each, block, loop,
            )  # fmt: skip
    _nothing_between_after(state, block, siblings[last + 1 : siblings.index(block)])
    writes = scopes.buffers(block)[1]
    for each in siblings[: last + 1]:
        early = next((b for b in scopes.buffers(each)[0] if b in writes), None)
        if tree.is_inside(each, loop) and early is not None:
            raise state.error(
                f"{tree.describe(each)} reads '{buffers.name_of(early)}', which {what} writes, in "
                f"later steps of {where}", each, block, loop,
            )  # fmt: skip
    children = _children(loop)
    first = max(
        (i + 1 for i, c in enumerate(children) if any(tree.is_inside(m, c) for m in inside)),
        default=0,
    )
    at = _place(state, loop, children, first, len(children), index)
    made = {b for each in inside for b in scopes.buffers(each)[1]} & set(scopes.buffers(block)[0])
    uses = [a for a in accesses(indices, loop) if a.writes and a.buffer in made]
    domain = needed(indices, block, loop, uses, writes=False)
    if inside:
        _exact(state, indices, block, loop, domain)
    else:
        _runs(state, indices, block, loop)
    _move(state, indices, block, loop, at, domain, preserve_unit_loops)


def _read_only_beside(
    state: ScheduleState, block: ir.Operation, written: Sequence[ir.Value]
) -> None:
    """Check that nothing outside of a block's scope needs what it writes: it would not get all."""
    scope = tree.scope_of(block)
    indices = state.indices(block)
    for access in accesses(indices, indices.function) if scope.name == tree.BLOCK else ():
        if access.buffer in written and access.reads and not tree.is_inside(access.op, scope):
            raise state.error(
                f"'{buffers.name_of(access.buffer)}', which {tree.describe(block)} writes, is read "
                f"outside of {tree.describe(scope)} too", block, scope,
            )  # fmt: skip


def _in_blocks(state: ScheduleState, users: Sequence[ir.Operation]) -> None:
    """Check that what reads or computes a block's buffers is in blocks, which say what they use."""
    for each in users:
        if each.name != tree.BLOCK:
            raise state.error(f"{tree.describe(each)}, which is in no block, uses the same buffer")


def _may_move(state: ScheduleState, block: ir.Operation, loop: ir.Operation) -> None:
    what, where = tree.describe(block), tree.describe(loop)
    if block.name != tree.BLOCK:
        raise state.error("the body of a function cannot be moved")
    if tree.scope_of(block) != tree.scope_of(loop):
        raise state.error(f"{what} and {where} are in different blocks", block, loop)
    if tree.is_inside(block, loop):
        raise state.error(f"{what} is inside {where} already", block, loop)
    scopes.check_regular(state, block)
    if any(op.name not in (tree.LOOP, tree.FUNC, tree.BLOCK) for op in _to_scope(block)):
        raise state.error(f"{what} is under a condition", block)
    checks.runs_for_all(state, state.indices(block), block)
    if tree.has_init(block) and not scopes.has_each_point(state.indices(block), block):
        raise state.error(
            f"the loops of {what} are not known to have each point of its iterators", block
        )


def _reads_last_values(state: ScheduleState, block: ir.Operation, loop: ir.Operation) -> None:
    """Check that what a block reads is not written again and again in loops around both.

    A rolling buffer holds only what its last steps computed.
    """
    reads = scopes.buffers(block)[0]
    now, later = tree.loops_around(block), [*tree.loops_around(loop), loop]
    for maker in scopes.siblings(block):
        shared = tree.loops_around(maker)
        changed = [x for x in shared if (x in now) != (x in later)]
        if maker == block or not changed:
            continue
        indices = state.indices(maker)
        for buffer in scopes.buffers(maker)[1]:
            if buffer in reads and not (
                maker.name == tree.BLOCK
                and scopes.writes_once(indices, maker, buffer)
                and all(scopes.repeats_nothing(indices, maker, each) for each in changed)
            ):
                raise state.error(
                    f"{tree.describe(maker)} may write an element of '{buffers.name_of(buffer)}' "
                    f"several times, and {tree.describe(block)} reads it in between or would do so",
                    maker, block, loop,
                )  # fmt: skip


def _to_scope(op: ir.Operation) -> list[ir.Operation]:
    result = []
    for each in tree.ancestors(op):
        result.append(each)
        if each.name in (tree.BLOCK, tree.FUNC):
            break
    return result


def _children(loop: ir.Operation) -> list[ir.Operation]:
    return tree.statements(tree.body_of(loop))


def _place(
    state: ScheduleState, loop: ir.Operation, children: list[ir.Operation], first: int, last: int,
    index: int,
) -> ir.InsertionPoint:  # fmt: skip
    """Return the place for a block between the first and the last statement it can be before."""
    if first > last:
        raise state.error(f"in {tree.describe(loop)} it is needed before it can be computed", loop)
    position = {LAST: last, FIRST: first}.get(index, index)
    if not first <= position <= last:
        raise state.error(
            f"in {tree.describe(loop)} it can be from position {first} to {last}, not at {index}",
            loop,
        )
    if position < len(children):
        return ir.InsertionPoint(children[position])
    return edit.end_of(loop)


def _nothing_between(state: ScheduleState, block: ir.Operation, loop: ir.Operation) -> None:
    """Check that what a block reads is still the same where it will be computed."""
    siblings = scopes.siblings(block)
    start = siblings.index(block)
    last = max((i for i, each in enumerate(siblings) if tree.is_inside(each, loop)), default=start)
    if last < start:
        raise state.error(f"{tree.describe(loop)} runs before {tree.describe(block)}", block, loop)
    reads, writes = scopes.buffers(block)
    for other in siblings[start + 1 : last + 1]:
        own_reads, own_writes = scopes.buffers(other)
        early = not tree.is_inside(other, loop) and any(b in own_reads for b in writes)
        if early or any(b in reads or b in writes for b in own_writes):
            raise state.error(
                f"{tree.describe(other)} uses what {tree.describe(block)} uses before it would run",
                other, block,
            )  # fmt: skip


def _nothing_between_after(
    state: ScheduleState, block: ir.Operation, between: Sequence[ir.Operation]
) -> None:
    for other in between:
        if scopes.depend(block, other):
            raise state.error(
                f"{tree.describe(other)} uses what {tree.describe(block)} uses and runs before it",
                other, block,
            )  # fmt: skip


def _exact(
    state: ScheduleState, indices: Indices, block: ir.Operation, loop: ir.Operation,
    domain: Sequence[Range],
) -> None:  # fmt: skip
    """Check that the parts of a block under the steps of a loop make up all of it."""
    reads = scopes.buffers(block)[0]
    extents = indices.extents(block)
    for kind, part, extent in zip(tree.iter_types(block), domain, extents, strict=True):
        all_of_it = part.low == 0 and part.high == extent - 1
        if kind == "reduction" and not all_of_it and not _once(indices, loop, domain, extents):
            raise state.error(
                f"{tree.describe(block)} would reduce over one step of {tree.describe(loop)} at a "
                "time", block, loop,
            )  # fmt: skip
    names = {str(indices.loop_var(each)) for each in [*tree.loops_around(loop), loop]}
    if not any(names & part.low.symbols for part in domain) and _steps(indices, loop) != 1:
        # Every step would compute all of it, from what the steps before it have made so far.
        raise state.error(
            f"no iterator of {tree.describe(block)} follows {tree.describe(loop)}", block, loop
        )
    around = [each for each in [*tree.loops_around(loop), loop] if not tree.is_inside(block, each)]
    known = indices.facts(around[0])
    for each in around:
        followed = any(indices.loop_var(each).symbols & p.low.symbols for p in domain)
        if not followed and not known.can_prove(indices.lift(each.operands[1]) >= 1):
            raise state.error(
                f"{tree.describe(each)} may have no step, and {tree.describe(block)} would not run",
                each, block,
            )  # fmt: skip
    for access in accesses(indices, block):
        if access.reads and access.indices is None and access.buffer in reads:
            raise state.error(f"what {tree.describe(block)} reads is not known", block)
    variables = [indices.loop_range(each) for each in reversed([*tree.loops_around(loop), loop])]
    facts = indices.facts(first_inside(loop))
    for part, extent in zip(domain, extents, strict=True):
        if not without_gaps(part, extent, variables, facts):
            raise state.error(
                f"the steps of {tree.describe(loop)} are not known to give all that "
                f"{tree.describe(block)} reads", block, loop,
            )  # fmt: skip


def _runs(
    state: ScheduleState, indices: Indices, block: ir.Operation, loop: ir.Operation
) -> None:  # fmt: skip
    """Check that a loop, and those around it, have a step in which all of a block can run."""
    around = [*tree.loops_around(loop), loop]
    facts = indices.facts(around[0])
    plain = all(op.name in (tree.LOOP, tree.FUNC, tree.BLOCK) for op in _to_scope(loop))
    if not plain or not all(facts.can_prove(indices.lift(o.operands[1]) >= 1) for o in around):
        raise state.error(
            f"{tree.describe(loop)} may have no step, and {tree.describe(block)} would not run",
            loop, block,
        )  # fmt: skip


def _once(
    indices: Indices, loop: ir.Operation, domain: Sequence[Range], extents: Sequence[SymExpr]
) -> bool:
    """Whether the steps of a loop, and of those around it, have each point once, from 0 on.

    So a reduction begins with the first of them.
    """
    facts = indices.facts(first_inside(loop))
    around = [*tree.loops_around(loop), loop]
    loops = {str(indices.loop_var(each)): each for each in around}
    used: list[str] = []
    for part, extent in zip(domain, extents, strict=True):
        names = [name for name in loops if name in (part.low.symbols | part.high.symbols)]
        if not names:
            if part.low != 0 or part.high != extent - 1:
                return False
            continue
        width = part.extent.value
        if len(names) != 1 or names[0] in used or width is None:
            return False
        lower, steps = map(indices.lift, loops[names[0]].operands)
        tiles = part.low == SymExpr.var(names[0]) * width and lower == 0
        if not tiles or not facts.can_prove(steps * width == extent):
            return False
        used += names
    return all(name in used or _steps(indices, each) == 1 for name, each in loops.items())


def _steps(indices: Indices, loop: ir.Operation) -> int | None:
    return indices.lift(loop.operands[1]).value


def _move(
    state: ScheduleState, indices: Indices, block: ir.Operation, loop: ir.Operation,
    at: ir.InsertionPoint, domain: Sequence[Range], preserve_unit_loops: bool,
) -> None:  # fmt: skip
    facts = indices.facts(first_inside(loop))
    extents = indices.extents(block)
    bindings: list[SymExpr] = []
    conditions: list[Comparison | ir.Value] = []
    top: ir.Operation | None = None
    number = 0
    for part, extent in zip(domain, extents, strict=True):
        steps = part.extent
        if steps.value == 1 and not preserve_unit_loops:
            bindings.append(part.low)
        else:
            with at, ir.Location.unknown():
                count = indices.emit(steps)
            zero = indices.entry(SymExpr.const(0))
            made = edit.new_loop(at, f"ax{number}", zero, count)
            number += 1
            top = top or made
            at = edit.end_of(made)
            bindings.append(part.low + indices.loop_var(made))
        if not facts.can_prove(part.high < extent):
            conditions.append(Comparison(bindings[-1], 2, extent))
        if not facts.can_prove(part.low >= 0):
            conditions.append(Comparison(SymExpr.const(0), 3, bindings[-1]))
    placeholder = edit.new_block(indices, ir.InsertionPoint(block), "moved", [])
    block.detach_from_parent()
    at.insert(block)
    edit.set_block(indices, block, bindings, conditions)
    edit.remove_statement(placeholder)
    state.touch()
    fresh = state.indices(block)
    edit.normalize(fresh, top or block)
    for around in [*tree.loops_around(loop), loop]:
        kind = tree.string(around, "kind")
        if kind in ("parallel", "vectorized") or "thread" in around.attributes:
            legality.may_run_at_once(
                state, state.indices(around), around, private=kind != "vectorized"
            )


class ComputeAtPrimitives(ScheduleBase):
    """Moving blocks under loops of their consumers or producers."""

    @primitive("ComputeAt", inputs=("block", "loop"))
    def compute_at(
        self,
        block: BlockRV | str,
        loop: LoopRV,
        preserve_unit_loops: bool = False,
        index: int = -1,
    ) -> None:
        """Move a block under a loop of those that read it, for what one step of the loop needs.

        Args:
            block: complete or a reduction; all that read what it computes are inside the loop.
            loop: of the block that `block` is in.
            preserve_unit_loops: whether it gets loops of one step too.
            index: which statement of the loop's body it becomes; -1 for the last place that is
                possible, -2 for the first.

        Raises:
            ScheduleError: they are not like that, or something between uses what the block uses.
        """
        where = self._location(loop)
        if where == INLINE:
            inline.compute_inline(self._state, self._block(block))
        elif where is not None:
            compute_at(
                self._state, self._block(block), self._loop(loop), preserve_unit_loops, index
            )

    @primitive("ReverseComputeAt", inputs=("block", "loop"))
    def reverse_compute_at(
        self,
        block: BlockRV | str,
        loop: LoopRV,
        preserve_unit_loops: bool = False,
        index: int = -1,
    ) -> None:
        """Move a block under a loop of those that it reads, for what one step of the loop gives.

        Args:
            block: complete or a reduction; it reads what a block inside the loop computes.
            loop: of the block that `block` is in.
            preserve_unit_loops: whether it gets loops of one step too.
            index: which statement of the loop's body it becomes; -1 for the last place that is
                possible, -2 for the first.

        Raises:
            ScheduleError: they are not like that, or something between uses what the block uses.
        """
        where = self._location(loop)
        if where == INLINE:
            inline.reverse_compute_inline(self._state, self._block(block))
        elif where is not None:
            reverse_compute_at(
                self._state, self._block(block), self._loop(loop), preserve_unit_loops, index
            )
