"""Whether iterations may run in another order, or at once."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.tir.schedule import tree
from relax_mlir.tir.schedule.index import Indices
from relax_mlir.tir.schedule.injective import determined_names
from relax_mlir.tir.schedule.state import ScheduleState


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
    for block in tree.blocks_under(line[-1]):
        orderly_block(state, indices, block, moved)


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
    told = determined_names(bindings, indices.facts(block, predicate=True))
    used = frozenset().union(*(expr.symbols for expr in bindings))
    for loop in loops:
        (name,) = indices.var(tree.variable(loop)).symbols
        if name in used and name not in told:
            raise state.error(
                f"the iterators of {what} are no one-to-one function of {tree.describe(loop)}",
                block, loop,
            )  # fmt: skip
        if name not in used and "reduction" in kinds:
            raise state.error(
                f"{tree.describe(loop)} repeats {what}, a reduction, at one point", block, loop
            )
