"""Sums of symbolic sizes, and which of them may be the largest of several."""

import itertools
from collections.abc import Mapping, Sequence

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import Facts, can_prove_less_equal

ALIGNMENT = 64
_ZERO = SymExpr.const(0)
# An offset is the largest of at most so many sums of sizes; where there are more, two become one
# that is at least as large as both.
_MAX_SUMS = 6
# After so many comparisons that facts did not decide, facts are not asked again: sizes of images
# are quotients of quotients, and proofs about them are slow.
_MAX_UNDECIDED = 100


def aligned(size: SymExpr) -> SymExpr:
    """Return a size rounded up, so that what comes after it is aligned."""
    return (size + (ALIGNMENT - 1)) // ALIGNMENT * ALIGNMENT


def number_of(size: SymExpr, values: Mapping[str, int]) -> int:
    """Return a size for values of its symbols, 0 where it is none."""
    try:
        return max(0, size.evaluate(values))
    except ZeroDivisionError:
        return 0


# How often each distinct size is in a sum, sorted by size.
Sum = tuple[tuple[int, int], ...]


class SymbolicSizes:
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
        self._weight = {part: number_of(each, point) for part, each in self._product.items()}
        self._proved: dict[tuple[Sum, Sum], bool] = {}
        self._undecided = 0

    def add(self, sum_: Sum, allocation: int) -> Sum:
        """Return a sum with one more allocation in it."""
        counts = dict(sum_)
        counts[self._number[allocation]] = counts.get(self._number[allocation], 0) + 1
        return tuple(sorted(counts.items()))

    def largest(self, sums: Sequence[Sum], *, exact: bool = False) -> list[Sum]:
        """Return at most `_MAX_SUMS` sums; none of those given is ever larger than all of them.

        Where that needs sums that are not among them, `exact` leaves small ones out instead.
        """
        kept: list[Sum] = []
        for each in dict.fromkeys(sums):
            if any(self._covers(other, each) for other in kept):
                continue
            kept = [other for other in kept if not self._covers(each, other)]
            kept.append(each)
        if exact:
            kept = sorted(kept, key=self._typical, reverse=True)[:_MAX_SUMS]
        while len(kept) > _MAX_SUMS:
            # The pair goes of which the cover is the least larger than the larger one.
            i, j = min(
                itertools.combinations(range(len(kept)), 2),
                key=lambda pair: self._loss(kept[pair[0]], kept[pair[1]]),
            )
            cover = self._cover(kept[i], kept[j])
            kept = [each for k, each in enumerate(kept) if k not in (i, j)] + [cover]
        return kept or [()]

    def _typical(self, sum_: Sum) -> int:
        return sum(self._weight[part] * times for part, times in self._total(sum_).items())

    def _loss(self, a: Sum, b: Sum) -> float:
        left, right = self._total(a), self._total(b)
        both = [sum(self._weight[part] * c for part, c in each.items()) for each in (left, right)]
        high = {part: max(left.get(part, 0), right.get(part, 0)) for part in left | right}
        cover = sum(self._weight[part] * coefficient for part, coefficient in high.items())
        return cover - max(both)

    def _total(self, sum_: Sum) -> dict[str, int]:
        """Return the products in a sum, with what rounding adds at most."""
        total: dict[str, int] = {}
        for number, times in sum_:
            for part, coefficient in self._parts[number].items():
                total[part] = total.get(part, 0) + coefficient * times
            total["1"] = total.get("1", 0) + self._slack[number] * times
        return total

    def _cover(self, a: Sum, b: Sum) -> Sum:
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

    def maximum(self, sums: Sequence[Sum]) -> SymExpr:
        """Return the largest of some sums as an expression."""
        result = [sum((self._distinct[i] * times for i, times in each), _ZERO) for each in sums]
        return result[0].max(*result[1:]) if len(result) > 1 else result[0]

    def _covers(self, large: Sum, small: Sum) -> bool:
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
        if not self._facts or self._undecided >= _MAX_UNDECIDED:
            return False
        bytes_ = [
            sum((self._bytes[i] * (t - common.get(i, 0)) for i, t in counts.items()), _ZERO)
            for counts in (small, large)
        ]
        slack = sum(self._slack[i] * (t - common.get(i, 0)) for i, t in small.items())
        covers = can_prove_less_equal(bytes_[0] + slack, bytes_[1], self._facts)
        self._undecided += not covers
        return covers
