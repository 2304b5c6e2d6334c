"""Copies of what one step of a loop reads or writes."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.tir.schedule import tree
from relax_mlir.tir.schedule.primitives.annotations import annotate
from relax_mlir.tir.schedule.primitives.cache import cache_read, cache_write
from relax_mlir.tir.schedule.primitives.compute_at import LAST, compute_at, reverse_compute_at
from relax_mlir.tir.schedule.state import ScheduleState

_KEY = "auto_copy"


def read_at(
    state: ScheduleState, loop: ir.Operation, block: ir.Operation, which: int | str, scope: str
) -> ir.Operation:
    """Copy what a block reads of a buffer in one step of a loop, in that step."""
    return _copied(state, loop, block, which, scope, reads=True)


def write_at(
    state: ScheduleState, loop: ir.Operation, block: ir.Operation, which: int | str, scope: str
) -> ir.Operation:
    """Have a block write a copy of a buffer, copied back at the end of each step of a loop."""
    return _copied(state, loop, block, which, scope, reads=False)


def _copied(
    state: ScheduleState, loop: ir.Operation, block: ir.Operation, which: int | str, scope: str,
    *, reads: bool,
) -> ir.Operation:  # fmt: skip
    if block.name != tree.BLOCK or loop not in tree.loops_around(block):
        raise state.error(
            f"{tree.describe(loop)} is not around {tree.describe(block)}", loop, block
        )
    target = state.sref(loop)
    if reads:
        made = cache_read(state, block, which, scope, [block])
    else:
        made = cache_write(state, block, which, scope, [])
    number = state.sref(made)
    place = state.find(target)
    assert place is not None
    if not tree.is_inside(made, place):
        (compute_at if reads else reverse_compute_at)(state, made, place, True, LAST)
    found = state.find(number)
    assert found is not None
    annotate(state, found, _KEY, 1)
    return found
