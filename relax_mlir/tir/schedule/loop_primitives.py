"""The primitives that change loops."""

from collections.abc import Sequence

from relax_mlir.tir.schedule.base import IntOrRV, ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV, LoopRV
from relax_mlir.tir.schedule.primitives import loop_sets
from relax_mlir.tir.schedule.primitives import loops as L


class LoopPrimitives(ScheduleBase):
    """Splitting, fusing, reordering."""

    @primitive("Split", inputs=("loop", "factors"))
    def split(
        self,
        loop: LoopRV,
        factors: Sequence[IntOrRV | None],
        preserve_unit_iters: bool = True,
        disable_predication: bool = False,
    ) -> list[LoopRV]:
        """Split a loop into loops inside each other, one for each factor.

        Blocks inside get a predicate where the factors' product may be more than the extent.

        Args:
            loop: starts at 0, is serial and has no annotations.
            factors: extents of the new loops, outermost first; one may be None and is found.
                Sizes that the function knows are possible too.
            preserve_unit_iters: whether variables of loops of one step stay in the indices.
            disable_predication: no predicate; the caller knows that the factors divide the extent.

        Raises:
            ScheduleError: the loop is none of that kind, or the factors do not cover its extent.
        """
        if not isinstance(factors, Sequence) or isinstance(factors, str):
            raise self._wrong(f"factors are a list, such as [None, 4], got {factors!r}")
        sizes = [None if each is None else self._number(each) for each in factors]
        op = self._loop(loop)
        return self._loop_rvs(
            L.split(self._state, op, sizes, preserve_unit_iters, disable_predication)
        )

    @primitive("Fuse", inputs=("loops",))
    def fuse(self, *loops: LoopRV, preserve_unit_iters: bool = True) -> LoopRV:
        """Fuse loops, each of which is all that the one before it holds, into one.

        Args:
            loops: outermost first; they start at 0, are serial and have no annotations.
            preserve_unit_iters: whether variables of loops of one step stay in the indices.

        Raises:
            ScheduleError: the loops are not like that.
        """
        ops = [self._loop(loop) for loop in loops]
        return self._loop_rv(L.fuse(self._state, ops, preserve_unit_iters))

    @primitive("Reorder", inputs=("ordered_loops",))
    def reorder(self, *ordered_loops: LoopRV) -> None:
        """Put loops that are in each other in another order; those between them stay in place.

        Args:
            ordered_loops: in the order that they are to have.

        Raises:
            ScheduleError: they are not in one line, a range depends on a loop that would be inside,
                or a block's instances must run in the order that they have.
        """
        L.reorder(self._state, [self._loop(loop) for loop in ordered_loops])

    @primitive("AddUnitLoop", inputs=("block_or_loop",))
    def add_unit_loop(self, block_or_loop: BlockRV | LoopRV) -> LoopRV:
        """Put a loop of one step around a block or a loop.

        Raises:
            ScheduleError: the block is the root.
        """
        return self._loop_rv(loop_sets.add_unit_loop(self._state, self._op(block_or_loop)))

    @primitive("Merge", inputs=("loops",))
    def merge(self, *loops: LoopRV) -> LoopRV:
        """Make one loop of loops that run one after the other.

        Args:
            loops: in the order in which they run, with equal extents from 0, equally deep below the
                place where they meet, without annotations; those around them are merged too.

        Raises:
            ScheduleError: they are not like that, or an iteration uses what another one writes.
        """
        ops = [self._loop(loop) for loop in loops]
        return self._loop_rv(loop_sets.merge(self._state, ops))

    @primitive("LoopPartition", inputs=("loop", "factors"))
    def loop_partition(
        self,
        loop: LoopRV,
        factors: Sequence[IntOrRV | None],
        preserve_unit_iters: bool = True,
    ) -> list[LoopRV]:
        """Cut a loop in parts that run one after the other.

        The blocks of each part are named after it: `B_i_0`, `B_i_1`.

        Args:
            loop: serial and without annotations.
            factors: how many steps each part makes; one may be None and is found, and what is left
                over becomes a last part.
            preserve_unit_iters: whether variables of loops of one step stay in the indices.

        Raises:
            ScheduleError: the loop is none of that kind, or does not make so many steps.
        """
        sizes = [None if each is None else self._number(each) for each in factors]
        op = self._loop(loop)
        return self._loop_rvs(loop_sets.loop_partition(self._state, op, sizes, preserve_unit_iters))
