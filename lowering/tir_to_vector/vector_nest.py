"""Vector code of elementwise, broadcast and reduction nests over flat memory."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.flat import FlatNest
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.loop_distribution import LoopDistribution
from relax_mlir.lowering.tir_to_vector.nest_cost import has_functions, is_slow
from relax_mlir.lowering.tir_to_vector.nest_elements import WIDE, ElementWriter
from relax_mlir.lowering.tir_to_vector.non_temporal import (
    blocked_loops,
    blocked_order,
    fence,
    reading_order,
    streams,
    write_cached,
    write_compactly,
    write_streaming,
)
from relax_mlir.lowering.tir_to_vector.parallel_region import ParallelDim
from relax_mlir.lowering.tir_to_vector.reductions.reduction import (
    is_split,
    reduce_across,
    reduce_along,
    reduce_split,
)
from relax_mlir.lowering.tir_to_vector.reductions.split_rows import reduce_split_rows, splits_rows

# Steps for each thread from which on a loop is split evenly enough.
_STEPS_EACH = 4


def vector_iter(flat: FlatNest, keep: int = 0) -> int | str | None:
    """Return the iterator to vectorise, None for a nest of scalars, or why there is none.

    All accesses are adjacent along it or do not move; the store moves, except that a reduction may
    go along its load.
    """
    store = flat.accesses[flat.store]
    loads = [flat.accesses[op] for op in flat.slice if op.name == "memref.load"]
    along: int | None = None
    for position in range(keep, len(flat.iters)):
        strides = [access.strides[position] for access in loads]
        if any(stride not in (0, 1) for stride in strides):
            continue
        reduction = flat.iters[position].reduction
        if not reduction and store.strides[position] == 1:
            return position
        if reduction and store.strides[position] == 0 and any(s == 1 for s in strides):
            along = position
    if along is None and len(flat.iters) > keep:
        return "no loop walks adjacent elements of all it reads and writes"
    return along


class NestWriter(ElementWriter):
    """Writes one nest, given the counters of the leading iterators."""

    def write(self, counters: Sequence[Index], row: Index = 0) -> None:
        """Write the loops over the other iterators and their body.

        Args:
            counters: of the leading iterators.
            row: the last of them, counted from the first row of a block.
        """
        self.begin_row(len(counters) - 1, row)
        env: dict[int, Index] = dict(enumerate(counters))
        if not counters and is_split(self):
            reduce_split(self)
            return
        by_rows = False if counters else splits_rows(self)
        self.emit.choose(
            by_rows,
            lambda: reduce_split_rows(self),
            lambda: self._write(env, len(counters)),
        )

    def _write(self, env: dict[int, Index], shared: int) -> None:
        """Write the loops inside the shared ones, and split them among threads."""
        emit = self.emit
        rest = [i for i in range(shared, len(self.flat.iters)) if i not in self.inner]
        free = [i for i in rest if not self.flat.iters[i].reduction]
        reductions = [i for i in rest if self.flat.iters[i].reduction]
        with ExitStack() as loops:
            split = [*free, *self._split_inside()]
            parts = [self._part(position, position in free) for position in split]
            ranges = loops.enter_context(emit.parallel_region(parts, self._work()))
            if not shared:
                loops.callback(fence, emit, [self])
            self._ranges = dict(zip(split, ranges, strict=True))
            if self.flat.total is None:
                is_plain = not shared and type(self) is NestWriter
                self.distribution = LoopDistribution.of(self) if is_plain else None
                self._maps(env, free)
                return
            env.update(self._outer_loops(loops, free))
            self._reduce(env, reductions)

    def _reduce(self, env: dict[int, Index], reductions: list[int]) -> None:
        """Write the reduction of a result, or of vectors of results."""
        if self.vector is not None and self.flat.iters[self.vector].reduction:
            reduce_along(self, env, reductions)
        else:
            reduce_across(self, env, reductions)

    def _maps(self, env: dict[int, Index], free: list[int]) -> None:
        """Write a map with its loops; twice if run time chooses non-temporal stores."""

        def write() -> None:
            with ExitStack() as loops:
                self._map({**env, **self._outer_loops(loops, free)})

        def copy(non_temporal: bool) -> None:
            self.non_temporal = non_temporal
            write()
            self.non_temporal = None

        condition = self._is_non_temporal() if free and not is_slow(self.flat) else False
        if isinstance(condition, bool):
            write()
        else:
            self.emit.choose(condition, partial(copy, True), partial(copy, False))

    def _is_non_temporal(self) -> bool | ir.Value:
        """Return whether a map's stores are non-temporal."""
        return streams(self)

    def _outer_loops(self, loops: ExitStack, free: list[int]) -> dict[int, Index]:
        """Write loops in the order of the stores, by blocks in the order of the loads."""
        emit = self.emit
        if self.flat.total is None and len(free) > 1:
            other = reading_order(self, free)
            if other != free:
                non_temporal = self._is_non_temporal() is True
                order = blocked_order(free, other, non_temporal=non_temporal)
                return blocked_loops(self, self._ranges, loops, order, non_temporal=non_temporal)
        ranges = [self._ranges[position] for position in free]
        counters = [loops.enter_context(emit.loop(*range_)).counter for range_ in ranges]
        return dict(zip(free, counters, strict=True))

    def fetch_result(self, position: int) -> None:
        """Prefetch the next row of a map's result, which plain stores read for ownership."""
        self.fetches(self.flat.written, position)

    def _split_inside(self) -> list[int]:
        """Return the inner iterators that threads may share."""
        if self.vector is None or self.flat.iters[self.vector].reduction:
            return []
        return [self.vector]

    def _part(self, position: int, is_outer: bool) -> ParallelDim:
        extent = self.emit.size(self.flat.iters[position].extent)
        unit = 1 if is_outer else WIDE * self.lanes
        return ParallelDim(extent, unit, _STEPS_EACH * self.emit.threads)

    def _map(self, env: dict[int, Index]) -> None:
        condition = self._is_non_temporal()
        wide = WIDE * self.lanes
        if self.vector is None or (condition is False and not self.is_long):
            write_cached(self, env, wide)
            return
        span = self._span(self.vector)
        if condition is False or is_slow(self.flat):
            write_compactly(self, env, span, condition, wide)
            return
        stretches = len(self.flat.iters) == 1 and not has_functions(self.flat)

        def plain() -> None:
            if self.is_long:
                write_compactly(self, env, span, False, wide)
            else:
                write_cached(self, env, wide)

        self.emit.choose(condition, lambda: write_streaming(self, env, span, stretches), plain)
