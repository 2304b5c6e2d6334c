"""The attention kernel: blocks of queries by blocks of keys, with online softmax.

Keys and values of a head are packed once. The scores of a block are computed by register tiles,
exponentiated in cache, and multiplied by values; earlier sums are rescaled when the maximum grows.
"""

import math
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.attention.decode import DecodeAttention
from relax_mlir.lowering.tir_to_vector.attention.pattern import Attention, match_attention
from relax_mlir.lowering.tir_to_vector.attention.setup import (
    DECODE_MAX_QUERIES,
    KEY_BLOCK,
    VECTORS,
    Plan,
    ScoreMod,
    find_pair_dot_product,
    tile_rows,
)
from relax_mlir.lowering.tir_to_vector.attention.softmax import (
    BoundedScores,
    Softmax,
    are_bounded,
    max_key_norm,
    max_query_norm,
)
from relax_mlir.lowering.tir_to_vector.attention.tile import (
    PAIR,
    FirstsOfPairs,
    Matrix,
    rows_of,
    sum_products,
)
from relax_mlir.lowering.tir_to_vector.attention.winograd_dot import WinogradDot
from relax_mlir.lowering.tir_to_vector.contraction.packing import copy_rows
from relax_mlir.lowering.tir_to_vector.emit import Emitter, StridedRef
from relax_mlir.lowering.tir_to_vector.index_emit import Bool, Index, round_up
from relax_mlir.lowering.tir_to_vector.kernel_class import Candidate, KernelClass, Nests, Problem
from relax_mlir.lowering.tir_to_vector.nest_cost import (
    FMA_LATENCY,
    Size,
    Work,
    bits_of,
    exp_cycles,
    step_cycles,
)


@dataclass(frozen=True)
class _Head:
    """The operands of one step of the outer loops."""

    query: Matrix
    value: Matrix
    out: Matrix
    score_mod: ScoreMod
    max_norm: ir.Value | None


@dataclass(frozen=True)
class _Block:
    """A block of queries by a block of keys.

    Attributes:
        head: the operands.
        first, rows: the first query, and the number of queries.
        key, keys: the first key, and the number of keys.
        goes_on: whether there are earlier blocks of keys.
        bounded: whether scores are bounded; None for no.
    """

    head: _Head
    first: Index
    rows: Index
    key: Index
    keys: Index
    goes_on: Bool
    bounded: BoundedScores | None


def _match(nests: Nests) -> Problem | str:
    result = match_attention(nests.tops, nests.machine)
    if result is None:
        return "they are no product with a softmax of another product"
    return Problem(result.nests, result, "attention")


def _candidates(problem: Problem, machine: Machine) -> list[Candidate]:
    attention: Attention = problem.form
    places = (attention.query, attention.key, attention.value)
    pairs = find_pair_dot_product(attention, machine)
    lanes = machine.isa.lanes(bits_of(attention.element))

    def few(emit: Emitter) -> bool | ir.Value:
        if any(place.column != 1 for place in places):
            return False
        return emit.size(attention.rows) <= DECODE_MAX_QUERIES

    def work(tile: tuple[int, int], size: Size) -> Work:
        points = math.prod(map(size, (*attention.outer, attention.rows, attention.keys)))
        width = sum(map(size, (attention.depth, attention.width)))
        rows = math.prod(map(size, attention.outer)) * bits_of(attention.element) / 8
        moved = rows * (size(attention.rows) + size(attention.keys)) * width
        steps = width * step_cycles(*tile) / (1 if pairs is None else pairs.group)
        return Work(points / lanes * (steps + exp_cycles(machine)), moved)

    rows = attention.rows.value
    most = tile_rows(machine.row_tiles[0] if rows is None else rows, machine)
    return [
        Candidate(
            "decode", lambda emit, _: DecodeAttention(attention, emit).write(),
            partial(work, (1, FMA_LATENCY)), (1, lanes), few,
        ),
        Candidate(
            "blocks of queries", lambda emit, _: _Kernel(attention, emit).write(),
            partial(work, (most, VECTORS)), (most, VECTORS * lanes),
        ),
    ]  # fmt: skip


ATTENTION = KernelClass("attention", _match, _candidates, one_nest=False)


class _Kernel(Plan):
    """Writes it, as planned."""

    def write(self) -> None:
        """Write the loops."""
        emit, attention = self.emit, self.attention
        with self.parallel_region(self.block) as (spans, rows), ExitStack() as stack:
            self._allocate()
            env: dict[int, Index] = {}
            for position in self.own:
                env[position] = stack.enter_context(emit.loop(*spans[position])).counter
            max_norm = self._pack(env)
            for position in self.shared:
                env[position] = stack.enter_context(emit.loop(*spans[position])).counter
            head = _Head(
                self.matrix(attention.query, env),
                self.matrix(attention.value, env),
                self.matrix(attention.out, env),
                self.score_mod(env),
                max_norm,
            )
            if rows[0] == 0 and isinstance(rows[1], int) and rows[1] <= self.block:
                self._rows(head, 0, rows[1])
                return
            with emit.loop(*rows, self.block) as loop:
                count = emit.min(rows[1] - loop.counter, self.block)
                self._rows(head, loop.counter, count)

    def _allocate(self) -> None:
        """Allocate a thread's buffers; there is none for operands that are read in place."""
        emit, lanes, element = self.emit, self.use.lanes, self.attention.element
        width = KEY_BLOCK
        if isinstance(self.keys, int):
            width = min(KEY_BLOCK, round_up(max(self.keys, 1), self.panel))
        with emit.outside():
            keys = round_up(self.keys, self.panel)
            key_size = keys * self.steps + lanes * self.panel
            self.columns = round_up(self.width, self.panel)
            value_size = self._units(self.keys) * self.columns + lanes * self.panel
            self.query_stride = round_up(self.steps, lanes) + lanes
            query_size = self.query_stride * self.block
            sum_stride = self.columns + lanes
            sum_size = sum_stride * self.block
        self.packed_keys = emit.alloc(key_size, element)
        self.packed_values = None if self.values_in_place else emit.alloc(value_size, element)
        self.queries = None if self.queries_in_place else emit.alloc(query_size, element)
        sums = emit.alloc(sum_size, element), sum_stride
        self.softmax = Softmax(self, self.block, width, sums, self.may_be_bounded)
        self.winograd_dot = None
        if self.uses_winograd_dot and isinstance(self.steps, int):
            terms = (emit.alloc(size, element) for size in (keys, round_up(self.block, lanes)))
            self.winograd_dot = WinogradDot(self.use, self.steps, *terms)

    def _pack(self, env: dict[int, Index]) -> ir.Value | None:
        """Pack keys and values; return the largest squared norm of a key, if it is needed."""
        key, value = (self.matrix(p, env) for p in (self.attention.key, self.attention.value))
        keys = StridedRef(key.base, key.offset, {"n": key.row, "k": key.column})
        self.packer(key, self.depth, self.packed_keys, self.factors[1]).pack(
            keys, self.keys, self.depth
        )
        if self.packed_values is not None:
            values = StridedRef(value.base, value.offset, {"n": value.column, "k": value.row})
            self.packer(value, self.keys, self.packed_values).pack(values, self.width, self.keys)
        if not self.may_be_bounded:
            return None
        # Keys that no query sees do not count.
        count = self._if_enough_keys(self.visible(0, self.rows, self.panel)[1])
        if self.winograd_dot is not None:
            self.winograd_dot.store_key_terms(self.packed_keys, count, self.panel)
        return max_key_norm(self.use, self.packed_keys, count, self.steps, self.panel)

    def _if_enough_keys(self, count: Index) -> Index:
        return self.emit.select(self.enough_keys, count, 0)

    def _bounded(self, head: _Head, first: Index, rows: Index) -> BoundedScores | None:
        """Return whether the scores of a block of queries are bounded, None for no."""
        if head.max_norm is None:
            return None
        emit, winograd_dot = self.emit, self.winograd_dot
        queries = self._queries(head.query, first, 0, None)
        factor = None if self.pairs is None else emit.extract(self.factor, 0)
        max_norm = max_query_norm(self.use, queries, self._if_enough_keys(rows), self.steps)
        bounded = are_bounded(self.use, max_norm, head.max_norm, factor)
        bounded &= self.enough_keys
        if winograd_dot is None:
            return BoundedScores(bounded, None)
        return BoundedScores(
            bounded,
            winograd_dot.store_query_terms(queries, rows, (max_norm, head.max_norm), bounded),
        )

    def _rows(self, head: _Head, first: Index, rows: Index) -> None:
        """Write what is done for a block of queries."""
        # Tiles compute rows past the last; garbage there may be subnormal, which is slow.
        known, unit = isinstance(self.rows, int), max(1, self.tile // 2)
        made = rows if known else round_up(rows, unit)
        if self.queries is not None:
            query = head.query.rows(first, None if known else self.rows - 1 - first)
            load = self.loader(head.query, self.factors[0])
            copy_rows(load, query, made, self.depth, self.queries, self.query_stride)
        bounded = self._bounded(head, first, rows)
        self.softmax.begin(rows)
        if self.alone:
            self._block(_Block(head, first, rows, 0, self.keys, False, bounded))
        else:
            self._blocks(head, first, rows, bounded)
        self.softmax.finish(head.out, first, rows)

    def _blocks(
        self, head: _Head, first: Index, rows: Index, bounded: BoundedScores | None
    ) -> None:
        """Write the loop over blocks of keys; without visible keys it runs for one empty block."""
        emit, mask = self.emit, self.mask
        lower, upper = self.visible(first, rows, self.panel)
        known = mask is None and isinstance(upper, int) and upper > 0
        even = known and upper % KEY_BLOCK == 0
        with emit.loop(lower, upper if known else emit.max(upper, lower + 1), KEY_BLOCK) as loop:
            key = loop.counter
            left = upper - key
            columns = KEY_BLOCK if even else emit.min(left, KEY_BLOCK)
            if not known:
                columns = emit.max(columns, 0)
            self._block(_Block(head, first, rows, key, columns, key > lower, bounded))

    def _block(self, block: _Block) -> None:
        """Write what is done for a block of keys."""
        emit, use, softmax, rows = self.emit, self.use, self.softmax, block.rows
        columns, bounded = block.keys, block.bounded
        # A panel whose second half is empty is computed in part.
        whole = emit.round_down(columns + use.lanes * (VECTORS - 1), self.panel)
        seen = self._seen_by_all(block)
        full = emit.round_down(seen, self.panel)
        softmax.reset_partial_sums(rows)
        for lower, upper, vectors in ((0, whole, VECTORS), (whole, columns, VECTORS - 1)):
            if isinstance(lower, int) and isinstance(upper, int) and lower >= upper:
                continue
            with emit.loop(lower, upper, self.panel) as panel:
                here = None
                if bounded is not None and vectors == VECTORS:
                    all_see = panel.counter < full
                    here = replace(bounded, holds=bounded.holds & all_see)
                self._products(block, panel.counter, vectors, here)
        self._adjust(block, seen)
        softmax.write(rows, columns, False if bounded is None else bounded.holds, full)
        with emit.loop(0, self.columns, self.panel) as panel:
            values = self._values(block, panel.counter)

            def shares(row: Index, count: int) -> None:
                exps = rows_of(softmax.scores, row * softmax.stride, softmax.stride)
                start = self.softmax.before(block.goes_on, row, panel.counter, count)
                sums = self._weighted_sums(count, exps, values, columns, start)
                self.softmax.put(row, panel.counter, sums)

            self._tiles(rows, shares)

    def _products(
        self, block: _Block, column: Index, vectors: int, bounded: BoundedScores | None
    ) -> None:
        """Write the scores of a panel that begins at a column of a block of keys.

        Bounded scores are exponentiated while they are in L1; `bounded` is None if they never are.
        """
        emit, use, softmax, rows = self.emit, self.use, self.softmax, block.rows
        start = (block.key + column) * self.steps
        keys = StridedRef(self.packed_keys, start, {"k": self.panel})

        def products(row: Index, count: int) -> None:
            # Only tiles of the tail may have rows past the last one.
            last = None
            if not isinstance(self.rows, int) and count < self.tile:
                last = self.rows - 1
            queries = self._queries(block.head.query, block.first, row, last)
            shape = (count, vectors)
            sums = self._scores(shape, queries, keys, (row, block.key + column), bounded)
            if self.pairs is not None:
                # Scaling bfloat16 queries would round them once more.
                sums = [[use.mul(x, self.factor) for x in each] for each in sums]
            softmax.keep(row, column, sums)

        # Half the rows keep one FMA unit busy, so there is no tile of all rows.
        one_unit = self.pairs is not None or self.machine.fma_units == 1
        self._tiles(rows, products, one_unit and vectors < VECTORS)
        if bounded is not None:
            with emit.when(bounded.holds):
                softmax.exp_panel(rows, column, vectors)

    def _scores(
        self, shape: tuple[int, int], queries: StridedRef, keys: StridedRef,
        at: tuple[Index, Index], bounded: BoundedScores | None,
    ) -> list[list[ir.Value]]:  # fmt: skip
        """Return the scores of a tile; its first query is counted from the block's."""
        winograd_dot = self.winograd_dot
        if (
            bounded is None
            or bounded.uses_winograd is None
            or winograd_dot is None
            or shape[0] < self.tile
        ):
            return sum_products(self.use, shape, queries, keys, self.steps)
        return winograd_dot.sums(shape, queries, keys, at, bounded.uses_winograd)

    def _queries(self, query: Matrix, first: Index, row: Index, last: Index | None) -> StridedRef:
        """Return the queries of a tile; rows past the last one repeat it."""
        copies = self.queries
        if copies is None:
            here = first + row
            return query.rows(here, None if last is None else last - here)
        return rows_of(copies, row * self.query_stride, self.query_stride)

    def _weighted_sums(
        self, rows: int, exps: StridedRef, values: StridedRef, keys: Index,
        start: list[ir.Value] | None,
    ) -> list[list[ir.Value]]:  # fmt: skip
        """Return the sums of a tile of exponentials times the values of some keys."""
        shape = rows, VECTORS
        if self.pairs is None or self.mask is None:
            steps = self._units(keys)
            return sum_products(self.use, shape, exps, values, steps, start)
        # The other key of the last pair is masked, and its value may be anything.
        whole = keys // PAIR
        sums = sum_products(self.use, shape, exps, values, whole, start)
        exps = replace(exps, offset=exps.offset + whole)
        values = replace(values, offset=values.offset + whole * values.stride("k"))
        return sum_products(
            self.use, shape, exps, values, keys - whole * PAIR,
            [value for each in sums for value in each], FirstsOfPairs(),
        )  # fmt: skip

    def _values(self, block: _Block, column: Index) -> StridedRef:
        """Return a panel of the values of a block."""
        packed = self.packed_values
        if packed is None:
            value = block.head.value
            return StridedRef(value.base, value.place(block.key, column), {"k": value.row})
        line = block.key // self.unit
        start = column * self._units(self.keys) + line * self.panel
        return StridedRef(packed, start, {"k": self.panel})

    def _seen_by_all(self, block: _Block) -> Index:
        """Return how many keys of a block, from its first on, all its queries see."""
        emit, mask = self.emit, self.mask
        if mask is None:
            return block.keys
        upto = block.first + mask.offset + 1
        seen = emit.max(emit.min(upto - block.key, block.keys), 0)
        if mask.window is None:
            return seen
        last = upto + (block.rows - 1)
        return emit.select(last - mask.window > block.key, 0, seen)

    def _adjust(self, block: _Block, seen: Index) -> None:
        emit, softmax, score_mod = self.emit, self.softmax, block.head.score_mod
        rows, columns, at = block.rows, block.keys, (block.first, block.key)
        # Else only keys that some queries do not see, and lanes past the last key.
        start = 0 if score_mod.reads else emit.round_down(seen, self.use.lanes)
        emit.if_any(columns - start, lambda: softmax.adjust(rows, (start, columns), at, score_mod))

    def _tiles(self, rows: Index, write: Callable[[Index, int], None], small: bool = False) -> None:
        """Write register tiles over the rows of a block, and half tiles if rows are dynamic.

        Rows of the last tile past the block's are computed and not used.
        """
        emit = self.emit
        most = self.tile
        whole: Index = 0
        if not small or isinstance(self.rows, int):
            whole = emit.round_down(rows, most)
            with emit.loop(0, whole, most) as loop:
                write(loop.counter, most)
        if isinstance(self.rows, int):
            left = self.rows % most
            if left:
                with emit.loop(whole, rows, left) as loop:
                    write(loop.counter, left)
            return
        # Fewer rows would be limited by the latency of an FMA.
        with emit.loop(whole, rows, most // 2) as loop:
            write(loop.counter, most // 2)
