"""The primitives that decide something at random."""

from collections.abc import Sequence

from relax_mlir.tir.schedule.base import INLINE, ROOT, ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV, ExprRV, LoopRV
from relax_mlir.tir.schedule.primitives import sampling as S


class SamplingPrimitives(ScheduleBase):
    """Numbers and tile sizes by the schedule's seed, or as a decision says."""

    @primitive("SampleCategorical", pure=True, samples=True)
    def sample_categorical(
        self, candidates: Sequence[int], probs: Sequence[float], decision: int | None = None
    ) -> ExprRV:
        """Sample one of some integers.

        Args:
            candidates: the integers.
            probs: how probable each is beside the others; as TVM's they need not add up to 1.
            decision: the position of the one to take.

        Raises:
            ScheduleError: these do not go together.
        """
        self._decision = S.categorical(self._state, self._random, candidates, probs, decision)
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
        self._decision = S.perfect_tile(
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
        self._decision = S.partitioned_tile(
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
            The loop, or what tells `compute_at` to do nothing, or to inline.
        """
        op = self._block(block)
        places = S.compute_locations(self._state, op)
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
