"""The primitives that change loops."""

from collections.abc import Sequence

from relax_mlir.tir.schedule.base import IntOrRV, ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import LoopRV
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
