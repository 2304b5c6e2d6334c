"""Preconditions that several primitives share, with their errors."""

from collections.abc import Sequence
from itertools import pairwise

from relax_mlir.dialects.bindings import ir
from relax_mlir.tir.schedule.analysis import scopes
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.view import buffers, tree
from relax_mlir.tir.view.accesses import Access
from relax_mlir.tir.view.index import Indices

ANNOTATIONS = "annotations"


def plain_loop(state: ScheduleState, loop: ir.Operation) -> None:
    """Check that a loop has no annotations and is bound to no thread: those would be lost.

    Raises:
        ScheduleError: it is not.
    """
    what = tree.describe(loop)
    if "thread" in loop.attributes:
        raise state.error(f"{what} is bound to '{tree.string(loop, 'thread')}'", loop)
    if ANNOTATIONS in loop.attributes and len(loop.attributes[ANNOTATIONS]):
        raise state.error(f"{what} has annotations", loop)


def starts_at_zero(state: ScheduleState, indices: Indices, loop: ir.Operation) -> None:
    """Check that a loop counts from 0.

    Raises:
        ScheduleError: it does not.
    """
    lower = indices.lift(loop.operands[0])
    if lower.value != 0:
        raise state.error(f"{tree.describe(loop)} does not start at 0", loop)


def distinct(state: ScheduleState, loops: Sequence[ir.Operation]) -> None:
    """Check that no loop is given twice.

    Raises:
        ScheduleError: one is.
    """
    for position, loop in enumerate(loops):
        if loop in loops[:position]:
            raise state.error(f"{tree.describe(loop)} is given twice", loop)


def holds_only(outer: ir.Operation, inner: ir.Operation) -> bool:
    """Whether a loop's body is one statement, and allocates no other memory."""
    result = tree.statements(tree.body_of(outer))
    makes = any(v.operation.name == "memref.alloc" for v in tree.body_of(outer).operations)
    return len(result) == 1 and result[0] == inner and not makes


def perfectly_nested(state: ScheduleState, line: Sequence[ir.Operation]) -> None:
    """Check that each of some loops, outermost first, holds the next one, or a block, and no more.

    Raises:
        ScheduleError: one of them has a sibling.
    """
    for outer, inner in pairwise(line):
        if not holds_only(outer, inner):
            raise state.error(
                f"{tree.describe(inner)} is not all that {tree.describe(outer)} holds", outer, inner
            )


def local(state: ScheduleState, block: ir.Operation, *written: ir.Value) -> None:
    """Check that buffers that a block writes are no parameters of the function.

    Raises:
        ScheduleError: one is.
    """
    for buffer in written:
        if not buffers.is_local(buffer):
            raise state.error(
                f"'{buffers.name_of(buffer)}', which {tree.describe(block)} writes, is a parameter "
                "of the function", block,
            )  # fmt: skip


def reduction(state: ScheduleState, block: ir.Operation, moves: bool = True) -> None:
    """Check that a block is a reduction block.

    Raises:
        ScheduleError: it is not; `reduction_problem` says why.
    """
    problem = scopes.reduction_problem(block, moves)
    if problem is not None:
        raise state.error(f"{tree.describe(block)} is no reduction block: {problem}", block)


def runs_for_all(state: ScheduleState, indices: Indices, block: ir.Operation) -> None:
    """Check that no predicate leaves out points of a block.

    Raises:
        ScheduleError: one may do so.
    """
    if not scopes.runs_for_all(indices, block):
        raise state.error(
            f"the predicate of {tree.describe(block)} may leave out some of its points", block
        )


def by_elements(state: ScheduleState, block: ir.Operation, uses: Sequence[Access]) -> list[Access]:
    """Return accesses of a buffer, which must be loads and stores of its elements.

    Raises:
        ScheduleError: one uses more than an element.
    """
    for access in uses:
        if access.indices is None:
            raise state.error(
                f"'{access.op.name}' uses more of '{buffers.name_of(access.buffer)}' than an "
                "element", block,
            )  # fmt: skip
    return list(uses)


def chain(state: ScheduleState, loops: Sequence[ir.Operation]) -> list[ir.Operation]:
    """Return loops and those between them, outermost first, where each is all the last one holds.

    Raises:
        ScheduleError: they are in different blocks, or one of them has a sibling.
    """
    for loop in loops[1:]:
        if tree.scope_of(loop) != tree.scope_of(loops[0]):
            raise state.error(
                f"{tree.describe(loops[0])} and {tree.describe(loop)} are in different blocks",
                loops[0], loop,
            )  # fmt: skip
    deepest = max(loops, key=lambda loop: len(tree.loops_around(loop)))
    line = [*tree.loops_around(deepest), deepest]
    for loop in loops:
        if loop not in line:
            raise state.error(
                f"{tree.describe(loop)} and {tree.describe(deepest)} are siblings, not "
                "one in the other",
                loop, deepest,
            )  # fmt: skip
    line = line[min(line.index(loop) for loop in loops) :]
    perfectly_nested(state, line)
    return line


def statements_in_blocks(state: ScheduleState, loop: ir.Operation) -> None:
    """Check that all that runs in a loop is in blocks, which take predicates.

    Raises:
        ScheduleError: something is outside.
    """
    inside: set[ir.Operation] = set()
    for op in tree.walk(loop):
        if op.name == tree.BLOCK or op in inside:
            inside |= {v.operation for r in op.regions for b in r.blocks for v in b.operations}
        elif op.name not in (tree.LOOP, "scf.if", "scf.yield") and not op.name.startswith(
            tree.INDEX_ONLY
        ):
            raise state.error(
                f"{tree.describe(loop)} holds '{op.name}' outside of a block, which a predicate "
                "cannot guard",
                loop,
            )
