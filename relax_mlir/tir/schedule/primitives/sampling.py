"""Sampling of values and tile sizes; the choices are decisions of the trace."""

import math
import random
from collections.abc import Callable, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import ScheduleError
from relax_mlir.tir.schedule.analysis import scopes
from relax_mlir.tir.schedule.base import INLINE, ROOT, ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV, ExprRV, LoopRV
from relax_mlir.tir.schedule.primitives import compute_at, inline
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.view import tree


def categorical(
    state: ScheduleState, rng: random.Random, candidates: Sequence[int], probs: Sequence[float],
    decision: int | None,
) -> int:  # fmt: skip
    """Return the position of one of the candidates."""
    if not candidates or len(candidates) != len(probs):
        raise state.error(
            f"as many probabilities as candidates are needed, got {len(probs)} for "
            f"{len(candidates)}"
        )
    if any(not isinstance(p, (int, float)) or not 0 <= p < math.inf for p in probs):
        raise state.error("a probability is a number that is not negative")
    if decision is None:
        if not 0 < sum(probs) < math.inf:
            raise state.error(f"probabilities add up to a positive number, these to {sum(probs)}")
        return rng.choices(range(len(candidates)), weights=list(probs))[0]
    if not isinstance(decision, int) or not 0 <= decision < len(candidates):
        raise state.error(
            f"the decision must be a position among {len(candidates)} candidates, got {decision}"
        )
    return decision


def static_extent(state: ScheduleState, loop: ir.Operation) -> int:
    """Return the extent of a loop as a number."""
    extent = state.indices(loop).lift(loop.operands[1])
    if extent.value is None:
        raise state.error(
            f"the extent of {tree.describe(loop)}, {extent}, is not known before the program runs",
            loop,
        )
    return extent.value


def perfect_tile(
    state: ScheduleState, rng: random.Random, loop: ir.Operation, n: int, most: int,
    decision: Sequence[int] | None,
) -> list[int]:  # fmt: skip
    """Return `n` numbers whose product is the extent of a loop, the last one at most `most`."""
    extent = static_extent(state, loop)
    if n < 1:
        raise state.error(f"at least one tile is needed, got n={n}")
    if decision is not None:
        return _repaired(state, extent, n, decision)
    return tiles(rng, extent, n, most)


def tiles(rng: random.Random, extent: int, n: int, most: int) -> list[int]:
    """Return a random ordered factorisation; each one, with the last at most `most`, can come."""
    if n == 1:
        return [extent]
    last = rng.choice([d for d in divisors(extent) if d <= max(most, 1)] or [1])
    factors, rest = [last], extent // last if extent else 0
    for _ in range(n - 2):
        factor = rng.choice(divisors(rest))
        factors.append(factor)
        rest = rest // factor
    middle = [rest, *factors[1:]]
    rng.shuffle(middle)
    return [*middle, last]


def divisors(number: int) -> list[int]:
    """Return the divisors of a number in order; 1 alone for 0."""
    if number < 1:
        return [1]
    small = [d for d in range(1, math.isqrt(number) + 1) if number % d == 0]
    return [*small, *(number // d for d in reversed(small) if d * d != number)]


def _repaired(state: ScheduleState, extent: int, n: int, decision: Sequence[int]) -> list[int]:
    """Return a decision made for another extent as one that is good for this one."""
    if len(decision) != n or any(not isinstance(d, int) or d < 1 for d in decision[1:]):
        raise state.error(f"the decision must be {n} positive integers, got {decision}")
    result, rest = list(decision), extent
    for position in range(n - 1, 0, -1):
        if rest % result[position]:
            result[position] = max(rest, 1)
        rest //= result[position]
    result[0] = rest
    return result


def partitioned_tile(
    state: ScheduleState, rng: random.Random, loop: ir.Operation, n: int, partition: int,
    inner: int, decision: Sequence[int] | None,
) -> list[int]:  # fmt: skip
    """Return tiles of which those from a position on have a product that `inner` divides."""
    extent = static_extent(state, loop)
    if n < 1 or not 0 <= partition <= n or inner < 1:
        raise state.error(f"n={n}, partition_pos={partition} and innerpart_factor={inner} clash")
    if partition == 0 or inner == 1 or extent % inner:
        return perfect_tile(state, rng, loop, n, extent, decision)
    if decision is not None:
        result = _repaired(state, extent, n, decision)
        if math.prod(result[partition:]) % inner == 0:
            return result
    head = tiles(rng, extent // inner, partition + 1, extent)
    tail = tiles(rng, head[-1] * inner, n - partition, extent) if partition < n else []
    return [*head[:-1], *tail] if tail else [*head[:-2], head[-2] * head[-1] * inner]


def compute_locations(state: ScheduleState, block: ir.Operation) -> dict[int, int]:
    """Return where a block can be computed: -1 where it is, -2 inlined, or under a loop.

    Positions are those among the loops around the first block that reads it; the values are the
    numbers of the loops.
    """
    result = {-1: -1}
    readers = scopes.consumers(block)
    if not readers:
        return result
    mark = state.sref(block)
    if _possible(state, lambda other, op: inline.compute_inline(other, op), mark):
        result[-2] = -2
    for position, loop in enumerate(tree.loops_around(readers[0])):
        number = state.sref(loop)

        def moved(other: ScheduleState, op: ir.Operation, number: int = number) -> None:
            target = other.find(number)
            assert target is not None
            compute_at.compute_at(other, op, target, False, compute_at.LAST)

        if _possible(state, moved, mark):
            result[position] = number
    return result


def _possible(
    state: ScheduleState, step: Callable[[ScheduleState, ir.Operation], None], mark: int
) -> bool:
    """Whether a primitive can be applied: it is tried on a copy."""
    other = state.copy()
    other.render_level = "none"
    op = other.find(mark)
    assert op is not None
    try:
        step(other, op)
    except ScheduleError:
        return False
    return True


class SamplingPrimitives(ScheduleBase):
    """Numbers and tile sizes by the schedule's seed, or as a decision says."""

    @primitive("SampleCategorical", pure=True, samples=True)
    def sample_categorical(
        self, candidates: Sequence[int], probs: Sequence[float], decision: int | None = None
    ) -> ExprRV:
        """Sample one of some integers.

        Args:
            candidates: the integers.
            probs: the relative probability of each; as TVM's they need not add up to 1.
            decision: the position of the one to take.

        Raises:
            ScheduleError: these do not go together.
        """
        self._decision = categorical(self._state, self._random, candidates, probs, decision)
        return self._expr_rv(int(candidates[self._decision]))

    @primitive("SamplePerfectTile", inputs=("loop",), pure=True, samples=True)
    def sample_perfect_tile(
        self,
        loop: LoopRV,
        n: int,
        max_innermost_factor: int = 16,
        decision: Sequence[int] | None = None,
    ) -> list[ExprRV]:
        """Sample factors for `split` whose product is a loop's extent.

        Args:
            loop: its extent is a number.
            n: how many factors.
            max_innermost_factor: most for the last one.
            decision: the factors to take; those that do not divide are put right.

        Raises:
            ScheduleError: the loop's extent is symbolic, or the decision is none.
        """
        self._decision = perfect_tile(
            self._state, self._random, self._loop(loop), n, max_innermost_factor, decision
        )
        return [self._expr_rv(value) for value in self._decision]

    @primitive("SamplePartitionedTile", inputs=("loop",), pure=True, samples=True)
    def sample_partitioned_tile(
        self,
        loop: LoopRV,
        n: int,
        partition_pos: int = 0,
        innerpart_factor: int = 1,
        decision: Sequence[int] | None = None,
    ) -> list[ExprRV]:
        """Sample factors for `split` whose inner part is a multiple of a number.

        Args:
            loop: its extent is a number.
            n: how many factors.
            partition_pos: where the inner part begins.
            innerpart_factor: what divides the product of the inner part.
            decision: the factors to take.

        Raises:
            ScheduleError: the loop's extent is symbolic, or the numbers do not go together.
        """
        self._decision = partitioned_tile(
            self._state, self._random, self._loop(loop), n, partition_pos, innerpart_factor,
            decision,
        )  # fmt: skip
        return [self._expr_rv(value) for value in self._decision]

    @primitive("SampleComputeLocation", inputs=("block",), pure=True, samples=True)
    def sample_compute_location(self, block: BlockRV | str, decision: int | None = None) -> LoopRV:
        """Sample a loop under which `compute_at` can move a block.

        Args:
            block: the block.
            decision: -1 to leave the block where it is, -2 to inline it, else the position of the
                loop among those around the first block that reads it; one that is not possible
                counts as -1.

        Returns:
            The loop, or the marker with which `compute_at` does nothing, or inlines.
        """
        op = self._block(block)
        places = compute_locations(self._state, op)
        if decision is None:
            decision = self._random.choice(list(places))
        self._decision = decision if decision in places else ROOT
        if self._decision in (ROOT, INLINE):
            rv = LoopRV()
            self._symbols[rv] = self._decision
            return rv
        loop = self._state.find(places[self._decision])
        assert loop is not None
        return self._loop_rv(loop)
