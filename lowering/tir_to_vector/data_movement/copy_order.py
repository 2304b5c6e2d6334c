"""The loop order of maps that read in another order than they write."""

from collections.abc import Sequence
from contextlib import ExitStack

from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.nest_elements import ElementWriter

# Bytes of a run of stores.
_RUN = 1024
_SOME_SIZE = 64


def reading_order(writer: ElementWriter, free: Sequence[int]) -> list[int]:
    """Return the outer iterators of a map in the order of its loads in memory.

    Non-temporal stores do not wait in any order, but loads do unless the hardware prefetches them.
    Without one order of all loads, the order does not change.
    """
    flat = writer.flat
    orders = set()
    for op in flat.slice:
        strides = [flat.accesses[op].strides[i] for i in free] if op.name == "memref.load" else []
        if not strides or any(stride == 0 for stride in strides):
            continue
        # Only speed depends on it: one value for all symbols will do.
        symbols = frozenset[str]().union(*(stride.symbols for stride in strides))
        sizes = dict.fromkeys(symbols, _SOME_SIZE)
        near = [abs(stride.evaluate(sizes)) for stride in strides]
        orders.add(tuple(sorted(free, key=lambda i: -near[free.index(i)])))
    return list(orders.pop()) if len(orders) == 1 else list(free)


def blocked_order(
    free: list[int], other: list[int], *, non_temporal: bool
) -> tuple[list[int], int, list[int]]:
    """Return the iterators before that of blocks, that one, and those inside its blocks.

    With non-temporal stores loads stay in order, except for the two that change places.

    Args:
        free: the outer iterators, in the order of the stores.
        other: in the order of the loads.
        non_temporal: whether stores are non-temporal.
    """
    same = next(i for i, (a, b) in enumerate(zip(free, other, strict=True)) if a != b)
    inside = other[same:] if non_temporal and len(free) - same > 2 else free[same:]
    return free[:same], other[same], inside


def blocked_loops(
    writer: ElementWriter, spans: dict[int, tuple[Index, Index]], loops: ExitStack,
    order: tuple[list[int], int, list[int]], *, non_temporal: bool,
) -> dict[int, Index]:  # fmt: skip
    """Write loops in the order of the stores, by blocks in the order of the loads.

    So runs of memory are written, and lines of loads are reused soon.

    Args:
        writer: of the map.
        spans: ranges of its iterators.
        loops: the stack to enter the loops in.
        order: as `blocked_order` gives it.
        non_temporal: whether stores are non-temporal: longer runs are then best.

    Returns:
        the counters, by iterator.
    """
    emit = writer.emit
    before, split, inside = order
    each: Index = writer.bits(writer.flat.store) // 8
    if writer.vector is not None:
        each = emit.mul(emit.max(emit.size(writer.flat.iters[writer.vector].extent), 1), each)
    block = emit.max(emit.div(_RUN, each), 1)
    if non_temporal and inside[0] == split:
        block = 1
    elif non_temporal and block != 1:
        block = emit.mul(block, 2)
    found: dict[int, Index] = {}
    ranges = dict(spans)

    def nested(positions: list[int]) -> None:
        for position in positions:
            found[position] = loops.enter_context(emit.loop(*ranges[position])).counter

    nested(before)
    first, last = ranges[split]
    begin = loops.enter_context(emit.loop(first, last, block)).counter
    ranges[split] = (begin, emit.min(emit.add(begin, block), last))
    nested(inside)
    return found
