"""Decode attention: keys and values are read once, in place; memory is the limit.

A vector of scores is computed at a time. All heads of a thread take one block of keys before the
next, because the heads of one key are adjacent in memory.
"""

import math
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.attention.pattern import LOWEST, Attention
from relax_mlir.lowering.tir_to_vector.attention.setup import Setup
from relax_mlir.lowering.tir_to_vector.attention.tile import Matrix
from relax_mlir.lowering.tir_to_vector.contraction.packing import copy_rows
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index, round_up
from relax_mlir.lowering.tir_to_vector.shuffles import sums_in_lanes

# Vectors of sums in registers.
_SUMS = 8
# Keys of a block.
_KEY_BLOCK = 32
# Vectors of a query in registers.
_HELD = 16


class DecodeAttention(Setup):
    """Writes the kernel."""

    highest: ir.Value
    totals: ir.Value
    queries: ir.Value
    sums: ir.Value

    def __init__(self, attention: Attention, emit: Emitter) -> None:
        super().__init__(attention, emit)
        self.lanes: int = self.use.lanes

    def write(self) -> None:
        """Write the loops at the insertion point."""
        emit = self.emit
        order = [*self.own, *self.shared]
        with self.parallel_region(1) as (spans, rows):
            inside = order[max(len(self.own) - 1, 0) :]
            self._allocate(inside)
            env: dict[int, Index] = {}
            with ExitStack() as stack:
                for position in order[: len(order) - len(inside)]:
                    env[position] = stack.enter_context(emit.loop(*spans[position])).counter
                ranges = [spans[position] for position in inside]
                each = partial(self._each, inside, ranges, rows, env)
                each(self._begin)
                # Of all queries, not of this thread's: the rounding of sums depends on the blocks.
                lower, upper = self.visible(0, self.rows, self.lanes)
                with emit.loop(lower, upper, _KEY_BLOCK) as block:
                    key = block.counter
                    count = emit.min(upper - key, _KEY_BLOCK)
                    each(lambda env, row, slot: self._block(env, row, slot, key, count))
                each(self._finish)

    def _each(
        self, inside: list[int], ranges: list[tuple[Index, Index]], rows: tuple[Index, Index],
        env: dict[int, Index], write: Callable[[dict[int, Index], Index, Index], None],
    ) -> None:  # fmt: skip
        """Write loops over the inner loops and queries; each step has a slot for its state."""
        emit = self.emit
        here = dict(env)
        slot: Index = 0
        with ExitStack() as stack:
            for position, span in zip(inside, ranges, strict=True):
                counter = stack.enter_context(emit.loop(*span)).counter
                here[position] = counter
                extent = emit.size(self.attention.outer[position])
                slot = slot * extent + counter
            row = stack.enter_context(emit.loop(*rows)).counter
            write(here, row, slot * self.rows + row)

    def _allocate(self, inside: list[int]) -> None:
        emit, lanes = self.emit, self.lanes
        element = self.attention.element
        with emit.outside():
            outer = (emit.size(self.attention.outer[position]) for position in inside)
            slots: Index = math.prod(outer, start=self.rows)
            self.query_stride: Index = round_up(self.depth, lanes)
            self.sum_stride: Index = round_up(self.width, lanes)
            sizes = [slots * size for size in (1, lanes, self.query_stride, self.sum_stride)]
            # Copies of queries end with a vector past the last.
            sizes[2] += lanes
        self.highest, self.totals, self.queries, self.sums = (
            emit.alloc(size, element) for size in sizes
        )
        self.exps: ir.Value = emit.alloc(_KEY_BLOCK, element)

    def _begin(self, env: dict[int, Index], row: Index, slot: Index) -> None:
        emit, use = self.emit, self.use
        zero = emit.constant(use.vector, 0)
        emit.store(emit.constant(self.attention.element, LOWEST), self.highest, [slot])
        emit.vector_store(zero, self.totals, [slot * self.lanes])
        query = self.matrix(self.attention.query, env)
        line, load = slot * self.query_stride, query.loader(self.factor)
        copy_rows(load, query.rows(row, None), 1, self.depth, self.queries, 0, line)
        line = slot * self.sum_stride
        with emit.loop(0, self.sum_stride, self.lanes) as column:
            emit.vector_store(zero, self.sums, [line + column.counter])

    def _block(
        self, env: dict[int, Index], row: Index, slot: Index, key: Index, count: Index
    ) -> None:
        """Write a block of keys."""
        emit, use = self.emit, self.use
        element, lanes = self.attention.element, self.lanes
        keys, score_mod = self.matrix(self.attention.key, env), self.score_mod(env)
        of_row = score_mod.of_row(row)
        lowest, zero = emit.constant(use.vector, LOWEST), emit.constant(use.vector, 0)
        with emit.loop(0, count, lanes, [lowest]) as loop:
            first, left = key + loop.counter, count - loop.counter
            scores = self._scores(keys, slot, first, emit.min(left, lanes))
            scores = score_mod.apply(scores, (row, first), emit.mask(left, lanes), of_row)
            emit.vector_store(scores, self.exps, [loop.counter])
            loop.carry([use.larger(scores, loop.carried[0])])
        before = emit.load(self.highest, [slot])
        highest = use.larger(use.across(loop.results[0], use.larger), before)
        emit.store(highest, self.highest, [slot])
        least, none = emit.constant(element, LOWEST), emit.constant(element, 0)
        nothing = emit.compare_floats("oeq", highest, least)
        shift = use.splat(emit.select(nothing, none, highest))
        with emit.loop(0, count, lanes, [zero]) as loop:
            scores = use.load(self.exps, loop.counter)
            exps = use.exp(use.sub(scores, shift))
            emit.vector_store(exps, self.exps, [loop.counter])
            loop.carry([use.add(loop.carried[0], exps)])
        shrink = use.exp(use.sub(use.splat(before), shift))
        at = slot * lanes
        total = use.multiply_add(use.load(self.totals, at), shrink, loop.results[0])
        emit.vector_store(total, self.totals, [at])
        self._add(self.matrix(self.attention.value, env), slot, key, count, shrink)

    def _scores(self, keys: Matrix, slot: Index, key: Index, count: Index) -> ir.Value:
        """Return the scores of a query and a block of keys; keys past the last repeat it."""
        emit, use, lanes = self.emit, self.use, self.lanes
        depth = self.depth
        # Limits of distances take fewer registers than those of keys: addresses are not stored.
        begin, last = keys.place(key, 0), (count - 1) * keys.row
        starts = [begin + emit.min(i * keys.row, last) for i in range(lanes)]
        line = slot * self.query_stride
        zero = emit.constant(use.vector, 0)

        # Without a tail, the next elements are the next query's, or beyond the buffer.
        def part(column: Index, mask: ir.Value | None = None) -> ir.Value:
            return emit.vector_load(self.queries, [line + column], use.vector, mask)

        def product(
            query: ir.Value, at: Index, mask: ir.Value | None, total: ir.Value
        ) -> ir.Value:  # fmt: skip
            return use.multiply_add(query, keys.load(at, mask), total)

        def step(column: Index, mask: ir.Value | None, sums: list[ir.Value]) -> list[ir.Value]:
            query = part(column, mask)
            return [
                product(query, start + column, mask, total)
                for start, total in zip(starts, sums, strict=True)
            ]

        whole = emit.round_down(depth, lanes)
        sums = [zero] * lanes
        if isinstance(whole, int) and whole <= _HELD * lanes:
            # One key after the other: memory is fastest in order.
            queries = [part(column) for column in range(0, whole, lanes)]
            for i, start in enumerate(starts):
                for number, query in enumerate(queries):
                    at = start + number * lanes
                    sums[i] = product(query, at, None, sums[i])
                emit.compiler_barrier()
        else:
            with emit.loop(0, whole, lanes, sums) as loop:
                loop.carry(step(loop.counter, None, loop.carried))
            sums = loop.results
        left = depth - whole
        if left != 0:
            sums = step(whole, emit.mask(left, lanes), sums)
        value, order = sums_in_lanes(emit, sums)
        return emit.shuffle(value, value, order)

    def _add(self, values: Matrix, slot: Index, key: Index, count: Index, shrink: ir.Value) -> None:
        """Add a block of values to the rescaled sums of a query."""
        emit, lanes = self.emit, self.lanes
        line, width = slot * self.sum_stride, self.width
        start, whole = values.place(key, 0), emit.round_down(width, _SUMS * lanes)
        for number, done, upto in ((_SUMS, 0, whole), (1, whole, width)):
            if done == upto:
                continue
            with emit.loop(done, upto, number * lanes) as run:
                places = [run.counter + h * lanes for h in range(number)]
                masks: list[ir.Value | None] = [None] * number
                if number == 1:
                    masks = [emit.mask(width - run.counter, lanes)]
                held = [
                    self.use.mul(self.use.load(self.sums, line + place), shrink) for place in places
                ]
                with emit.loop(0, count, 1, held) as loop:
                    at = start + loop.counter * values.row
                    exp = self.use.splat(emit.load(self.exps, [loop.counter]))
                    loop.carry(
                        [
                            self.use.multiply_add(exp, values.load(at + place, mask), total)
                            for place, mask, total in zip(places, masks, loop.carried, strict=True)
                        ]
                    )
                for place, value in zip(places, loop.results, strict=True):
                    emit.vector_store(value, self.sums, [line + place])

    def _finish(self, env: dict[int, Index], row: Index, slot: Index) -> None:
        sums, totals = (self.sums, slot * self.sum_stride), (self.totals, slot * self.lanes)
        self.finish(self.matrix(self.attention.out, env), row, sums, totals)
