"""Where tensors that live at different times share memory: offsets in one arena.

Sizes may be symbolic. Offsets are then minima that hold for every value of the symbols: each tensor
starts where the last of those below it ends, and which ones are below is decided by how a numeric
planner places them for typical values. So the values only decide how good a plan is, never whether
it is right.
"""

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import NO_FACTS, Facts
from relax_mlir.lowering.relax_to_vm.symbolic_sizes import Sum, SymbolicSizes, aligned, number_of

_ZERO = SymExpr.const(0)
# Typical values of symbols that are alike, and of one symbol and the others.
_TYPICAL = (128, 16, 1024)
_UNLIKE = ((1024, 16), (384, 64))
# So many tensors are placed again, in other orders, where a plan is not the best possible.
_ATTEMPTS = 5000
# Orders for symbolic sizes: how many to start from, of two kinds, and how often to change each.
_STARTS, _MOVES = 3, 400
# A plan for symbolic sizes is good enough when it takes so much of what is needed.
_GOOD = 1.02


@dataclass(frozen=True)
class Allocation:
    """A tensor that needs memory.

    Attributes:
        size: its bytes, at least 0 for all values that its symbols can have.
        start: the position at which it is made.
        end: the last position at which it is needed, at least `start`.
    """

    size: SymExpr
    start: int
    end: int


@dataclass(frozen=True)
class Plan:
    """Where allocations are in their arena.

    Attributes:
        offsets: for each allocation its offset in bytes, a multiple of `ALIGNMENT`.
        total: bytes of the arena.
    """

    offsets: list[SymExpr]
    total: SymExpr


def unplanned(allocations: Sequence[Allocation]) -> SymExpr:
    """Return the bytes that the allocations need when none shares memory with another."""
    return sum((aligned(allocation.size) for allocation in allocations), _ZERO)


def least(allocations: Sequence[Allocation], values: Mapping[str, int]) -> int:
    """Return the most bytes that are needed at one time: no plan can do with less."""
    return _least(allocations, [number_of(aligned(each.size), values) for each in allocations])


def needed(allocations: Sequence[Allocation]) -> SymExpr:
    """Return the most bytes that are needed at one time; of very many candidates, the largest."""
    sizes = [aligned(allocation.size) for allocation in allocations]
    sums = SymbolicSizes(
        sizes,
        [allocation.size for allocation in allocations],
        NO_FACTS,
        next(_points(sizes, NO_FACTS)),
    )
    result: dict[Sum, None] = {}
    for position in sorted({allocation.start for allocation in allocations}):
        total: Sum = ()
        for i, allocation in enumerate(allocations):
            if allocation.start <= position <= allocation.end:
                total = sums.add(total, i)
        result[total] = None
    return sums.maximum(sums.largest(list(result), exact=True))


def plan_arena(allocations: Sequence[Allocation], facts: Facts = NO_FACTS) -> Plan:
    """Place allocations so that two that live at the same time never overlap.

    Args:
        allocations: what needs memory.
        facts: what is known about the symbols of their sizes.
    """
    sizes = [aligned(allocation.size) for allocation in allocations]
    conflicts = _conflicts(allocations)
    points = list(_points(sizes, facts))
    numbers = [[number_of(size, values) for size in sizes] for values in points]
    least_ = [_least(allocations, each) for each in numbers]

    def waste(order: Sequence[int], limit: float) -> float:
        """Return the most that an order takes of what is needed, or some number above a limit."""
        worst = 0.0
        for at in hardest:
            wasted = _height(numbers[at], conflicts, order) / max(least_[at], 1)
            if wasted > limit:
                # What speaks against one order probably does against others.
                hardest.remove(at)
                hardest.insert(0, at)
                return wasted
            worst = max(worst, wasted)
        return worst

    hardest = list(range(len(points)))
    orders = []
    for at, low in zip(numbers, least_, strict=True):
        offsets = _place(at, conflicts, low, allocations)
        if all(size.is_const for size in sizes):
            total = max((o + s for o, s in zip(offsets, at, strict=True)), default=0)
            return Plan([SymExpr.const(offset) for offset in offsets], SymExpr.const(total))
        orders.append(sorted(range(len(sizes)), key=lambda i, o=offsets: (o[i], i)))
    raw = [allocation.size for allocation in allocations]
    return _stack(sizes, raw, conflicts, _improved(orders, waste), facts, points[0])


def _improved(
    orders: Sequence[list[int]], waste: Callable[[Sequence[int], float], float]
) -> list[int]:
    """Return the order that wastes least, of those given and others near them and elsewhere."""
    rng = random.Random(0)
    starts = sorted(orders, key=lambda order: waste(order, math.inf))[:_STARTS]
    starts += [rng.sample(starts[0], len(starts[0])) for _ in range(_STARTS)]
    best, least_waste = starts[0], waste(starts[0], math.inf)
    for start in starts:
        order, now = start, waste(start, math.inf)
        for _ in range(min(_MOVES, 4 * _ATTEMPTS // max(len(order), 1))):
            if least_waste <= _GOOD:
                return best
            other = list(order)
            other.insert(rng.randrange(len(order)), other.pop(rng.randrange(len(order))))
            wasted = waste(other, now)
            if wasted <= now:
                order, now = other, wasted
                if now < least_waste:
                    best, least_waste = order, now
    return best


def _conflicts(allocations: Sequence[Allocation]) -> list[set[int]]:
    """Return for each allocation those that live when it does."""
    result: list[set[int]] = [set() for _ in allocations]
    alive: list[int] = []
    for i in sorted(range(len(allocations)), key=lambda i: allocations[i].start):
        alive = [j for j in alive if allocations[j].end >= allocations[i].start]
        for j in alive:
            result[i].add(j)
            result[j].add(i)
        alive.append(i)
    return result


def _points(sizes: Sequence[SymExpr], facts: Facts) -> Iterator[dict[str, int]]:
    """Yield typical values of the symbols."""
    names = sorted(frozenset().union(*(size.symbols for size in sizes)))

    def point(chosen: Mapping[str, int]) -> dict[str, int]:
        values = {}
        for name in names:
            low, high = facts.bounds(SymExpr.var(name))
            value = max(chosen[name], low or 0)
            values[name] = value if high is None else min(value, high)
        return values

    if not names:
        yield {}
        return
    for value in _TYPICAL:
        yield point(dict.fromkeys(names, value))
    if 1 < len(names) <= 3:
        for name in names:
            for large, small in _UNLIKE:
                yield point({**dict.fromkeys(names, small), name: large})


def _least(allocations: Sequence[Allocation], sizes: Sequence[int]) -> int:
    changes = sorted(
        [(allocation.start, 0, size) for allocation, size in zip(allocations, sizes, strict=True)]
        + [(allocation.end, 1, -size) for allocation, size in zip(allocations, sizes, strict=True)]
    )
    return max(itertools.accumulate(change for _, _, change in changes), default=0)


def _place(
    sizes: Sequence[int], conflicts: Sequence[set[int]], low: int, allocations: Sequence[Allocation]
) -> list[int]:
    """Return offsets of sizes that are numbers, as near to the least possible end as is found."""
    everything = range(len(sizes))
    length = [allocation.end - allocation.start for allocation in allocations]
    orders = [
        sorted(everything, key=lambda i: (-sizes[i], -length[i])),
        sorted(everything, key=lambda i: (-length[i], -sizes[i])),
        sorted(everything, key=lambda i: (allocations[i].start, -sizes[i])),
        sorted(everything, key=lambda i: (-sizes[i] * (length[i] + 1), i)),
    ]
    best: tuple[int, list[int], list[int]] | None = None
    for order in orders:
        best = _better(best, order, sizes, conflicts)
        if best[0] <= low:
            return best[1]
    assert best is not None
    order = best[2]
    rng = random.Random(0)
    for i in range(_ATTEMPTS // max(len(sizes), 1)):
        if i % 2:
            order = list(best[2])
            a, b = rng.randrange(len(order)), rng.randrange(len(order))
            order[a], order[b] = order[b], order[a]
        else:
            # What sticks out is placed first next time.
            offsets = best[1]
            top = max(everything, key=lambda i: offsets[i] + sizes[i])
            order = [top, *(i for i in order if i != top)]
        best = _better(best, order, sizes, conflicts)
        if best[0] <= low:
            break
    return best[1]


def _better(
    best: tuple[int, list[int], list[int]] | None, order: list[int], sizes: Sequence[int],
    conflicts: Sequence[set[int]],
) -> tuple[int, list[int], list[int]]:  # fmt: skip
    offsets = _fit(sizes, conflicts, order)
    end = max((o + s for o, s in zip(offsets, sizes, strict=True)), default=0)
    return (end, offsets, order) if best is None or end <= best[0] else best


def _fit(sizes: Sequence[int], conflicts: Sequence[set[int]], order: Sequence[int]) -> list[int]:
    """Put each allocation in the smallest gap that holds it between those placed before it."""
    offsets = [-1] * len(sizes)
    for i in order:
        taken = sorted((offsets[j], offsets[j] + sizes[j]) for j in conflicts[i] if offsets[j] >= 0)
        end, best, smallest = 0, -1, 0
        for start, stop in taken:
            gap = start - end
            if gap >= sizes[i] and (best < 0 or gap < smallest):
                best, smallest = end, gap
            end = max(end, stop)
        offsets[i] = best if best >= 0 else end
    return offsets


def _height(sizes: Sequence[int], conflicts: Sequence[set[int]], order: Sequence[int]) -> int:
    """Return the end of an arena in which allocations stand on each other in that order."""
    ends: dict[int, int] = {}
    for i in order:
        below = [ends[j] for j in conflicts[i] if j in ends]
        ends[i] = max(below, default=0) + sizes[i]
    return max(ends.values(), default=0)


def _stack(
    sizes: Sequence[SymExpr], raw: Sequence[SymExpr], conflicts: Sequence[set[int]],
    order: Sequence[int], facts: Facts, point: Mapping[str, int],
) -> Plan:  # fmt: skip
    """Put each allocation on top of those before it in the order that live when it does."""
    sums = SymbolicSizes(sizes, raw, facts, point)
    rank = {i: position for position, i in enumerate(order)}
    below = {i: {j for j in conflicts[i] if rank[j] < rank[i]} for i in order}
    offsets: list[list[Sum]] = [[] for _ in sizes]
    ends: list[list[Sum]] = [[] for _ in sizes]
    for i in order:
        # What stands below something that stands below this one ends before that begins.
        direct, covered = [], set()
        for j in sorted(below[i], key=rank.__getitem__, reverse=True):
            if j not in covered:
                direct.append(j)
                covered |= below[j]
        offsets[i] = sums.largest([end for j in direct for end in ends[j]])
        ends[i] = [sums.add(offset, i) for offset in offsets[i]]
    total = sums.largest([end for each in ends for end in each])
    return Plan([sums.maximum(each) for each in offsets], sums.maximum(total))
