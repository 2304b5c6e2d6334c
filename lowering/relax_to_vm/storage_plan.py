"""Where tensors that live at different times share memory: offsets in one arena (V04).

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

from relax_mlir.dialects.relax.prover import NO_FACTS, Facts, can_prove_less_equal
from relax_mlir.dialects.relax.symbolic import SymExpr

ALIGNMENT = 64
_ZERO = SymExpr.const(0)
# Typical values of symbols that are alike, and of one symbol and the others.
_TYPICAL = (128, 16, 1024)
_UNLIKE = ((1024, 16), (384, 64))
# An offset is the largest of at most so many sums of sizes; where there are more, two become one
# that is at least as large as both.
_MOST_SUMS = 6
# So many tensors are placed again, in other orders, where a plan is not the best possible.
_ATTEMPTS = 5000
# Orders for symbolic sizes: how many to start from, of two kinds, and how often to change each.
_STARTS, _MOVES = 3, 400
# A plan for symbolic sizes is good enough when it takes so much of what is needed.
_GOOD = 1.02


@dataclass(frozen=True)
class Tenant:
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
    """Where tenants are in their arena.

    Attributes:
        offsets: for each tenant its offset in bytes, a multiple of `ALIGNMENT`.
        total: bytes of the arena.
    """

    offsets: list[SymExpr]
    total: SymExpr


def aligned(size: SymExpr) -> SymExpr:
    """Return a size rounded up, so that what comes after it is aligned."""
    return (size + (ALIGNMENT - 1)) // ALIGNMENT * ALIGNMENT


def unplanned(tenants: Sequence[Tenant]) -> SymExpr:
    """Return the bytes that the tenants need when none shares memory with another."""
    return sum((aligned(tenant.size) for tenant in tenants), _ZERO)


def least(tenants: Sequence[Tenant], values: Mapping[str, int]) -> int:
    """Return the most bytes that are needed at one time: no plan can do with less."""
    return _least(tenants, [_number(aligned(each.size), values) for each in tenants])


def needed(tenants: Sequence[Tenant]) -> SymExpr:
    """Return the most bytes that are needed at one time; of very many candidates, the largest."""
    sizes = [aligned(tenant.size) for tenant in tenants]
    sums = _Sums(
        sizes, [tenant.size for tenant in tenants], NO_FACTS, next(_points(sizes, NO_FACTS))
    )
    found: dict[_Sum, None] = {}
    for position in sorted({tenant.start for tenant in tenants}):
        total: _Sum = ()
        for i, tenant in enumerate(tenants):
            if tenant.start <= position <= tenant.end:
                total = sums.add(total, i)
        found[total] = None
    return sums.maximum(sums.largest(list(found), exact=True))


def plan_arena(tenants: Sequence[Tenant], facts: Facts = NO_FACTS) -> Plan:
    """Place tenants so that two that live at the same time never overlap.

    Args:
        tenants: what needs memory.
        facts: what is known about the symbols of their sizes.
    """
    sizes = [aligned(tenant.size) for tenant in tenants]
    conflicts = _conflicts(tenants)
    points = list(_points(sizes, facts))
    numbers = [[_number(size, values) for size in sizes] for values in points]
    least_ = [_least(tenants, each) for each in numbers]

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
        offsets = _place(at, conflicts, low, tenants)
        if all(size.is_const for size in sizes):
            total = max((o + s for o, s in zip(offsets, at, strict=True)), default=0)
            return Plan([SymExpr.const(offset) for offset in offsets], SymExpr.const(total))
        orders.append(sorted(range(len(sizes)), key=lambda i, o=offsets: (o[i], i)))
    raw = [tenant.size for tenant in tenants]
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


def _conflicts(tenants: Sequence[Tenant]) -> list[set[int]]:
    """Return for each tenant those that live when it does."""
    found: list[set[int]] = [set() for _ in tenants]
    alive: list[int] = []
    for i in sorted(range(len(tenants)), key=lambda i: tenants[i].start):
        alive = [j for j in alive if tenants[j].end >= tenants[i].start]
        for j in alive:
            found[i].add(j)
            found[j].add(i)
        alive.append(i)
    return found


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


def _number(size: SymExpr, values: Mapping[str, int]) -> int:
    try:
        return max(0, size.evaluate(values))
    except ZeroDivisionError:
        return 0


def _least(tenants: Sequence[Tenant], sizes: Sequence[int]) -> int:
    changes = sorted(
        [(tenant.start, 0, size) for tenant, size in zip(tenants, sizes, strict=True)]
        + [(tenant.end, 1, -size) for tenant, size in zip(tenants, sizes, strict=True)]
    )
    return max(itertools.accumulate(change for _, _, change in changes), default=0)


def _place(
    sizes: Sequence[int], conflicts: Sequence[set[int]], low: int, tenants: Sequence[Tenant]
) -> list[int]:
    """Return offsets of sizes that are numbers, as near to the least possible end as is found."""
    everything = range(len(sizes))
    length = [tenant.end - tenant.start for tenant in tenants]
    orders = [
        sorted(everything, key=lambda i: (-sizes[i], -length[i])),
        sorted(everything, key=lambda i: (-length[i], -sizes[i])),
        sorted(everything, key=lambda i: (tenants[i].start, -sizes[i])),
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
            top = max(everything, key=lambda i: best[1][i] + sizes[i])
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
    """Put each tenant in the smallest gap that holds it between those placed before it."""
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
    """Return the end of an arena in which tenants stand on each other in that order."""
    ends: dict[int, int] = {}
    for i in order:
        below = [ends[j] for j in conflicts[i] if j in ends]
        ends[i] = max(below, default=0) + sizes[i]
    return max(ends.values(), default=0)


def _stack(
    sizes: Sequence[SymExpr], raw: Sequence[SymExpr], conflicts: Sequence[set[int]],
    order: Sequence[int], facts: Facts, point: Mapping[str, int],
) -> Plan:  # fmt: skip
    """Put each tenant on top of those before it in the order that live when it does."""
    sums = _Sums(sizes, raw, facts, point)
    rank = {i: position for position, i in enumerate(order)}
    below = {i: {j for j in conflicts[i] if rank[j] < rank[i]} for i in order}
    offsets: list[list[_Sum]] = [[] for _ in sizes]
    ends: list[list[_Sum]] = [[] for _ in sizes]
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


# How often each distinct size is in a sum, sorted by size.
_Sum = tuple[tuple[int, int], ...]


class _Sums:
    """Sums of aligned sizes, compared without writing them out."""

    def __init__(
        self, sizes: Sequence[SymExpr], raw: Sequence[SymExpr], facts: Facts,
        point: Mapping[str, int],
    ) -> None:  # fmt: skip
        self._facts = facts
        self._distinct = list(dict.fromkeys(sizes))
        numbers = {size: number for number, size in enumerate(self._distinct)}
        self._number = [numbers[size] for size in sizes]
        # Of each distinct size: its products and their coefficients, and by how much rounding may
        # have made it larger than their sum.
        self._parts: list[dict[str, int]] = [{} for _ in self._distinct]
        self._bytes: list[SymExpr] = list(self._distinct)
        self._slack = [0] * len(self._distinct)
        self._product: dict[str, SymExpr] = {"1": SymExpr.const(1)}
        for size, exact in zip(sizes, raw, strict=True):
            number = numbers[size]
            parts = exact.split()
            lows = [part.lower_bound() for part, _ in parts]
            if all(low is not None and low >= 0 for low in lows):
                self._parts[number] = {str(part): coefficient for part, coefficient in parts}
                self._product |= {str(part): part for part, _ in parts}
                self._bytes[number] = exact
                self._slack[number] = 0 if size == exact else ALIGNMENT - 1
            else:
                self._parts[number] = {f"size {number}": 1}
                self._product[f"size {number}"] = size
        self._weight = {part: _number(each, point) for part, each in self._product.items()}
        self._proved: dict[tuple[_Sum, _Sum], bool] = {}

    def add(self, sum_: _Sum, tenant: int) -> _Sum:
        """Return a sum with one more tenant in it."""
        counts = dict(sum_)
        counts[self._number[tenant]] = counts.get(self._number[tenant], 0) + 1
        return tuple(sorted(counts.items()))

    def largest(self, sums: Sequence[_Sum], *, exact: bool = False) -> list[_Sum]:
        """Return at most `_MOST_SUMS` sums; none of those given is ever larger than all of them.

        Where that needs sums that are not among them, `exact` leaves small ones out instead.
        """
        kept: list[_Sum] = []
        for each in dict.fromkeys(sums):
            if any(self._covers(other, each) for other in kept):
                continue
            kept = [other for other in kept if not self._covers(each, other)]
            kept.append(each)
        if exact:
            kept = sorted(kept, key=self._typical, reverse=True)[:_MOST_SUMS]
        while len(kept) > _MOST_SUMS:
            # The pair goes of which the cover is the least larger than the larger one.
            i, j = min(
                itertools.combinations(range(len(kept)), 2),
                key=lambda pair: self._loss(kept[pair[0]], kept[pair[1]]),
            )
            cover = self._cover(kept[i], kept[j])
            kept = [each for k, each in enumerate(kept) if k not in (i, j)] + [cover]
        return kept or [()]

    def _typical(self, sum_: _Sum) -> int:
        return sum(self._weight[part] * times for part, times in self._total(sum_).items())

    def _loss(self, a: _Sum, b: _Sum) -> float:
        left, right = self._total(a), self._total(b)
        both = [sum(self._weight[part] * c for part, c in each.items()) for each in (left, right)]
        high = {part: max(left.get(part, 0), right.get(part, 0)) for part in left | right}
        cover = sum(self._weight[part] * coefficient for part, coefficient in high.items())
        return cover - max(both)

    def _total(self, sum_: _Sum) -> dict[str, int]:
        """Return the products in a sum, with what rounding adds at most."""
        total: dict[str, int] = {}
        for number, times in sum_:
            for part, coefficient in self._parts[number].items():
                total[part] = total.get(part, 0) + coefficient * times
            total["1"] = total.get("1", 0) + self._slack[number] * times
        return total

    def _cover(self, a: _Sum, b: _Sum) -> _Sum:
        """Return a sum that is never smaller than one of the two."""
        left, right = self._total(a), self._total(b)
        high = {part: max(left.get(part, 0), right.get(part, 0)) for part in left | right}
        exact = sum((self._product[part] * high[part] for part in high), _ZERO)
        size = aligned(exact)
        if size not in self._distinct:
            self._distinct.append(size)
            self._parts.append(high)
            self._bytes.append(exact)
            self._slack.append(0 if size == exact else ALIGNMENT - 1)
        return ((self._distinct.index(size), 1),)

    def maximum(self, sums: Sequence[_Sum]) -> SymExpr:
        """Return the largest of some sums as an expression."""
        found = [sum((self._distinct[i] * times for i, times in each), _ZERO) for each in sums]
        return found[0].max(*found[1:]) if len(found) > 1 else found[0]

    def _covers(self, large: _Sum, small: _Sum) -> bool:
        key = (large, small)
        if key not in self._proved:
            self._proved[key] = self._compare(dict(large), dict(small))
        return self._proved[key]

    def _compare(self, large: dict[int, int], small: dict[int, int]) -> bool:
        common = {i: min(times, large.get(i, 0)) for i, times in small.items()}
        gap: dict[str, int] = {}
        for counts, sign in ((large, 1), (small, -1)):
            for i, times in counts.items():
                left = sign * (times - common.get(i, 0))
                for part, coefficient in self._parts[i].items():
                    gap[part] = gap.get(part, 0) + left * coefficient
                if sign < 0:
                    gap["1"] = gap.get("1", 0) + left * self._slack[i]
        if all(coefficient >= 0 for coefficient in gap.values()):
            return True
        if not self._facts:
            return False
        bytes_ = [
            sum((self._bytes[i] * (t - common.get(i, 0)) for i, t in counts.items()), _ZERO)
            for counts in (small, large)
        ]
        slack = sum(self._slack[i] * (t - common.get(i, 0)) for i, t in small.items())
        return can_prove_less_equal(bytes_[0] + slack, bytes_[1], self._facts)
