"""Loops that were split, fused and reordered: one loop for each iterator again.

A block in loops over `i0, i1` whose iterator is `i0 * 32 + i1`, under the predicate that it is
below `n`, is the same block in a loop over `n`. So kernels have the class that they had before they
were scheduled. Vectorised and unrolled loops stay, except in GEMMs.
"""

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.dialects.symbolic.prover import can_prove_less_equal
from relax_mlir.dialects.tir.ops import block_predicate, set_block_predicate
from relax_mlir.lowering.tir_to_vector.analysis import (
    BY_HAND,
    counter_of,
    iter_types,
    kind_of_loop,
    make_loop,
    perfect_nest,
    top_level,
)
from relax_mlir.lowering.tir_to_vector.index_emit import constant_or_value
from relax_mlir.lowering.tir_to_vector.scheduled.index import Lin, conjuncts, is_inside, linear
from relax_mlir.lowering.tir_to_vector.symbols import size_value, symbolic
from relax_mlir.lowering.walk import collect, defining_op, operands_of

# Predicates of arith.cmpi: below a bound, and a bound that is above.
_BELOW, _ABOVE = (2, 6), (4, 8)
_ONE = SymExpr.const(1)


class _Unknown(Exception):
    """The loops are not those of iterators that were split or fused."""


@dataclass(frozen=True)
class _Digit:
    """A digit of a counter: `counter // unit % extent`."""

    counter: int
    unit: int
    extent: SymExpr


@dataclass
class _Counter:
    """A loop's counter, or several that a predicate limits together.

    Attributes:
        weights: the loops that it is the sum of, with their factors.
        extent: how many numbers.
        cuts: the units of its digits.
    """

    weights: dict[ir.Value, int]
    extent: SymExpr
    cuts: set[int]

    def digits(self, number: int) -> list[_Digit]:
        """Return its digits, the least significant first."""
        units = sorted(self.cuts)
        extents = [SymExpr.const(above // unit) for unit, above in itertools.pairwise(units)]
        if any(above % unit for unit, above in itertools.pairwise(units)):
            raise _Unknown
        last = self.extent // units[-1]
        if last * units[-1] != self.extent:
            raise _Unknown
        return [_Digit(number, *each) for each in zip(units, [*extents, last], strict=True)]


@dataclass(frozen=True)
class _Division:
    """A multiple of a quotient or a remainder, in a sum.

    Attributes:
        of: the dividend.
        by: the divisor.
        times: the factor.
        remainder: whether it is a remainder.
        whole: the terms of the sum that it is.
    """

    of: Lin
    by: int
    times: int
    remainder: bool
    whole: Lin


# A sum of multiples of digits.
_Sum = dict[_Digit, int]


def merge_loops(func: ir.OpView, is_fast: Callable[[ir.Operation], bool]) -> None:
    """Give blocks whose iterators are sums and quotients of counters one loop for each iterator.

    Args:
        func: the prim func.
        is_fast: whether what a loop is the top of becomes vector code. What does not keeps its
            loops, which say how it goes through memory.
    """
    for top in list(top_level(func)):
        perfect = _perfect(top) if top.name == "tir.for" else None
        if perfect is None or _has_own_loops(*perfect):
            continue
        with ir.InsertionPoint(top):
            copy = top.clone()
        made = merged(copy)
        if made is None:
            copy.erase()
        else:
            (top if is_fast(made) else made).erase()


def merged(top: ir.Operation) -> ir.Operation | None:
    """Replace a perfect nest by one with a loop for each iterator; None, unchanged, for others."""
    result = _perfect(top)
    if result is None:
        return None
    try:
        with top.location:
            return _Merged(*result).rewrite()
    except _Unknown:
        return None


def _perfect(top: ir.Operation) -> tuple[list[ir.Operation], ir.Operation] | None:
    """Return the loops of a perfect nest and its block, None where it is none.

    Blocks whose points are not to run in any order are none.
    """
    loops, op = perfect_nest(top)
    if any(constant_or_value(x.operands[0]) != 0 or kind_of_loop(x) in BY_HAND for x in loops):
        return None
    if op is None or op.name != "tir.block" or not set(iter_types(op)) <= {"spatial", "reduction"}:
        return None
    return loops, op


def _has_own_loops(loops: list[ir.Operation], block: ir.Operation) -> bool:
    """Whether the iterators are the loops' counters: nothing was split or fused."""
    values = list(block.operands)[: len(iter_types(block))]
    own = len(values) == len(loops) and set(values) == set(map(counter_of, loops))
    return own and block_predicate(block) is None


class _Merged:
    """The loops of a nest as those of its block's iterators.

    Raises:
        _Unknown: from `rewrite`, before anything is changed: they are not.
    """

    def __init__(self, loops: list[ir.Operation], block: ir.Operation) -> None:
        self._loops, self._block = loops, block
        self._at = {counter_of(loop): i for i, loop in enumerate(loops)}
        self._counters: list[_Counter] = []

    def rewrite(self) -> ir.Operation:
        """Write the loops anew around the block; return the outermost one."""
        block, types = self._block, self._block.attributes["iter_types"]
        if _uses_counters(block, self._loops[0]):
            raise _Unknown
        extents = [symbolic(loop.operands[1]) for loop in self._loops]
        known = [extent for extent in extents if extent is not None]
        if len(known) < len(extents):
            raise _Unknown
        self._take_predicate(block_predicate(block), known)
        bound = list(block.operands)[: len(types)]
        for value in bound:
            self._cut(self._parts(linear(value)))
        sums = [self._sum(self._parts(linear(value))) for value in bound]
        sizes = [_contiguous(each) for each in sums]
        self._use_each_once(sums)
        outermost = [
            min((at for at, _ in self._loops_of(x)), default=len(self._loops)) for x in sums
        ]
        order = sorted(range(len(sums)), key=outermost.__getitem__)
        kinds = [self._kind_of(each) for each in sums]
        types = (ir.StringAttr(kind).value for kind in types)
        if ("reduction", "parallel") in zip(types, kinds, strict=True):
            raise _Unknown
        return self._write(order, sizes, kinds)

    def _take_predicate(self, predicate: ir.Value | None, extents: list[SymExpr]) -> None:
        """Make counters of the loops, one of those that a part of the predicate limits together."""
        left = dict(zip(self._at, extents, strict=True))
        for below, bound in _limits(predicate):
            limit, affine = symbolic(bound), linear(below)
            group = sorted(affine.terms.items(), key=lambda item: item[1])
            if limit is None or affine.const or not all(value in left for value, _ in group):
                raise _Unknown
            whole = _ONE
            for value, factor in group:
                if whole.value is None or factor != whole.value:
                    raise _Unknown
                whole = whole * left.pop(value)
            if not can_prove_less_equal(limit, whole) or not can_prove_less_equal(0, limit):
                raise _Unknown
            self._counters.append(_Counter(dict(group), limit, {1}))
        self._counters += [_Counter({value: 1}, extent, {1}) for value, extent in left.items()]

    def _parts(self, lin: Lin) -> tuple[list[tuple[int, int]], list["_Division"]]:
        """Return a sum as multiples of counters, by number, and of quotients and remainders."""
        if lin.const:
            raise _Unknown
        divisions: list[_Division] = []
        for value in [value for value in lin.terms if value not in self._at]:
            if value not in lin.terms:
                continue
            division = _division(value, lin)
            lin = lin.plus(division.whole, -1)
            divisions.append(division)
        return self._counted(lin, 0), divisions

    def _counted(self, lin: Lin, modulo: int) -> list[tuple[int, int]]:
        """Return a sum of loops' counters as such a sum, of the same remainder where `modulo`."""
        if any(value not in self._at for value in lin.terms):
            raise _Unknown
        counted = []
        for number, counter in enumerate(self._counters):
            # The least of the loops has a factor of 1.
            (least, _), *_ = counter.weights.items()
            factor = lin.factor(least)
            for value, weight in counter.weights.items():
                off = lin.factor(value) - factor * weight
                if off % modulo if modulo else off:
                    raise _Unknown
            if factor:
                counted.append((number, factor))
        return counted

    def _divided(self, division: "_Division") -> tuple[list[tuple[int, int]], list["_Division"]]:
        if division.remainder and all(value in self._at for value in division.of.terms):
            return self._counted(division.of, division.by), []
        return self._parts(division.of)

    def _cut(self, parts: tuple[list[tuple[int, int]], list["_Division"]]) -> None:
        """Note where counters are cut by the quotients and remainders in a sum."""
        for division in parts[1]:
            inner = self._divided(division)
            for number, factor in inner[0]:
                counter, unit = self._counters[number], division.by // max(factor, 1)
                if factor > 0 and unit * factor == division.by and counter.extent != unit:
                    counter.cuts.add(unit)
            self._cut(inner)

    def _sum(self, parts: tuple[list[tuple[int, int]], list["_Division"]]) -> _Sum:
        """Return a sum as one of digits."""
        total: _Sum = {}
        for number, factor in parts[0]:
            for digit in self._counters[number].digits(number):
                _add(total, digit, digit.unit * factor)
        for division in parts[1]:
            whole = self._sum(self._divided(division))
            for digit, times in _part(whole, division).items():
                _add(total, digit, times * division.times)
        return total

    def _use_each_once(self, sums: list[_Sum]) -> None:
        used = [digit for each in sums for digit in each]
        digits = [
            digit
            for number, counter in enumerate(self._counters)
            for digit in counter.digits(number)
            if digit.extent != 1
        ]
        if len(set(used)) != len(used) or set(used) != set(digits):
            raise _Unknown

    def _loops_of(self, digits: _Sum) -> Iterable[tuple[int, ir.Operation]]:
        for digit in digits:
            for value in self._counters[digit.counter].weights:
                yield self._at[value], self._loops[self._at[value]]

    def _kind_of(self, digits: _Sum) -> str:
        kinds = {kind_of_loop(loop) for _, loop in self._loops_of(digits)}
        if not kinds <= {"serial", "parallel"}:
            raise _Unknown
        return "parallel" if "parallel" in kinds else "serial"

    def _write(self, order: list[int], sizes: list[SymExpr], kinds: list[str]) -> ir.Operation:
        block, top = self._block, self._loops[0]
        count = len(sizes)
        set_block_predicate(block, None)
        with ir.InsertionPoint(top):
            zero, values = size_value(0), [size_value(size) for size in sizes]
        point, outer = ir.InsertionPoint(top), block
        for i in order:
            with point:
                loop, counter, point = make_loop(zero, values[i], kinds[i])
            outer = loop if outer is block else outer
            block.operands[i] = counter
            block.operands[count + i] = values[i]
        block.detach_from_parent()
        point.insert(block)
        top.erase()
        return outer


def _add(total: _Sum, digit: _Digit, times: int) -> None:
    left = total.get(digit, 0) + times
    if digit.extent == 1 or not left:
        total.pop(digit, None)
    else:
        total[digit] = left


def _division(value: ir.Value, lin: Lin) -> _Division:
    """Return the quotient that a term of a sum is, or the remainder with the terms next to it."""
    given = operands_of(value, "arith.floordivsi")
    by = None if given is None else constant_or_value(given[1])
    if given is None or not isinstance(by, int) or by < 1:
        raise _Unknown
    of, times = linear(given[0]), lin.factor(value)
    if times % by == 0:
        # `x - x // by * by`, times a factor.
        whole = of.plus(Lin(0, {value: 1}), -by).times(-times // by)
        if not lin.plus(whole, -1).terms.keys() & whole.terms.keys():
            return _Division(of, by, -times // by, True, whole)
    return _Division(of, by, times, False, Lin(0, {value: times}))


def _part(digits: _Sum, division: _Division) -> _Sum:
    """Return the quotient or remainder of a sum of digits."""
    by, quotient, rest, most = division.by, {}, {}, 0
    for digit, times in digits.items():
        if times % by == 0:
            quotient[digit] = times // by
            continue
        if division.remainder:
            times %= by
        if digit.extent.value is None or times < 0:
            raise _Unknown
        rest[digit] = times
        most += times * (digit.extent.value - 1)
    if most >= by:
        raise _Unknown
    return rest if division.remainder else quotient


def _contiguous(digits: _Sum) -> SymExpr:
    """Return how many numbers a sum takes, each once."""
    size = _ONE
    for digit, times in sorted(digits.items(), key=lambda item: item[1]):
        if size.value != times:
            raise _Unknown
        size = product([size, digit.extent])
    return size


def _limits(predicate: ir.Value | None) -> list[tuple[ir.Value, ir.Value]]:
    """Return the pairs `a < b` of a predicate's conjunction."""
    pairs = []
    for condition in [] if predicate is None else conjuncts(predicate):
        op = defining_op(condition, "arith.cmpi")
        kind = None if op is None else ir.IntegerAttr(op.attributes["predicate"]).value
        if op is None or kind not in (*_BELOW, *_ABOVE):
            raise _Unknown
        a, b = op.operands
        pairs.append((a, b) if kind in _BELOW else (b, a))
    return pairs


def _uses_counters(block: ir.Operation, top: ir.Operation) -> bool:
    """Whether something inside a block uses values of its loops besides iterators."""
    inside = collect(block, lambda op: op != block and op.name != "tir.where")
    used = [value for op in inside for value in op.operands]
    return any(is_inside(value, top) and not is_inside(value, block) for value in used)
