"""The online softmax of a block of scores, and the weighted sums of values.

Scores have a running maximum, or are bounded; sums are kept between blocks of keys.
"""

import functools
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.attention.pattern import LOWEST
from relax_mlir.lowering.tir_to_vector.attention.setup import VECTORS, ScoreMod, Setup
from relax_mlir.lowering.tir_to_vector.attention.tile import (
    MAX_BOUNDED_SCORE,
    PAIR,
    Arithmetic,
    Matrix,
    narrowed_pairs,
)
from relax_mlir.lowering.tir_to_vector.emit import StridedRef
from relax_mlir.lowering.tir_to_vector.index_emit import Bool, Index, round_up

# Lanes of a partial sum of squares. Maxima of partial sums avoid a horizontal sum for each query.
_PARTS = 4


@dataclass(frozen=True)
class BoundedScores:
    """Whether the scores of a block of queries are bounded.

    Attributes:
        holds: whether all scores are bounded, an i1.
        uses_winograd: whether they are computed by Winograd's dot product, an i1; None for no.
    """

    holds: ir.Value
    uses_winograd: ir.Value | None


def max_key_norm(
    use: Arithmetic, keys: ir.Value, count: Index, steps: Index, width: int
) -> ir.Value:
    """Return the largest squared norm of keys in panels of `width` keys and `steps` lines."""
    emit, zero, places = use.emit, use.emit.constant(use.vector, 0), range(0, width, use.lanes)
    with emit.loop(0, count, width, [zero]) as panel:
        start = panel.counter * steps
        with emit.loop(0, steps, 1, [zero] * len(places)) as step:
            line = start + step.counter * width
            values = [use.load(keys, line + place) for place in places]
            sums = zip(values, step.carried, strict=True)
            step.carry([use.add_product(value, value, total) for value, total in sums])
        (largest,) = panel.carried
        for place, square in zip(places, step.results, strict=True):
            there = emit.mask(count - (panel.counter + place), use.lanes)
            largest = use.larger(emit.select(there, square, zero), largest)
        panel.carry([largest])
    return use.across(panel.results[0], use.larger)


def max_query_norm(use: Arithmetic, queries: StridedRef, rows: Index, steps: Index) -> ir.Value:
    """Return an upper bound of the squared norms of some queries, a scalar."""
    emit, lanes = use.emit, use.lanes
    zero = emit.constant(use.vector, 0)
    with emit.loop(0, rows, 1, [zero]) as row:
        start = queries.offset + row.counter * queries.stride("m")
        with emit.loop(0, steps, lanes, [zero]) as column:
            at, mask = start + column.counter, emit.tail(steps, column.counter, lanes)
            value = emit.vector_load(queries.base, [at], use.vector, mask)
            column.carry([use.add_product(value, value, column.carried[0])])
        (square,), half = column.results, lanes // 2
        while half >= _PARTS:
            rotated = emit.shuffle(square, square, [(i + half) % lanes for i in range(lanes)])
            square, half = use.add(square, rotated), half // 2
        row.carry([use.larger(square, row.carried[0])])
    # The sum of maxima of partial sums is at least the largest sum.
    (largest,) = row.results
    parts = [emit.extract(largest, i) for i in range(min(_PARTS, lanes))]
    return functools.reduce(use.add, parts)


def are_bounded(
    use: Arithmetic, query: ir.Value, key: ir.Value, factor: ir.Value | None
) -> ir.Value:  # fmt: skip
    """Return whether scores are bounded, by upper bounds of the squared norms of queries and keys.

    `factor` is the scale of scores, None for 1.
    """
    bound = use.mul(query, key)
    for _ in range(0 if factor is None else 2):
        bound = use.mul(bound, factor)
    return use.is_less(bound, MAX_BOUNDED_SCORE**2)


class Softmax:
    """The online softmax of a block of queries over blocks of keys, and weighted sums of values.

    Args:
        setup: the attention.
        queries, keys: of a block, at the most.
        sums: where weighted sums of values are, and the stride from one query's to the next.
        bounded: whether scores may be bounded.

    Attributes:
        scores: the block of scores, which exponentials replace.
        stride: from one row to the next.
        highest: the running maximum of each row.
        shift: what is subtracted from this block's scores.
        shrink: the factor that rescales earlier sums.
        totals: sums of exponentials.
        shares: sums of this block's exponentials; at the end, the reciprocals of the totals.
        parts: a vector for each row of partial sums of bounded exponentials; None without them.
    """

    def __init__(
        self, setup: Setup, queries: int, keys: int, sums: tuple[ir.Value, Index], bounded: bool
    ) -> None:
        emit, self.use, element = setup.emit, setup.use, setup.attention.element
        self.setup: Setup = setup
        self.sums, self.sum_stride = sums
        # A stride of a power of two would have cache set conflicts.
        self.stride: int = keys + self.use.lanes
        self.scores: ir.Value = emit.alloc(queries * self.stride, element)
        rows = round_up(queries, self.use.lanes)
        self.highest, self.shift, self.shrink, self.totals, self.shares = (
            emit.alloc(rows, element) for _ in range(5)
        )
        self.parts: ir.Value | None = (
            emit.alloc(rows * self.use.lanes, element) if bounded else None
        )

    def begin(self, rows: Index) -> None:
        """Reset the state of rows."""
        self._fill(rows, (self.highest, LOWEST), (self.totals, 0))

    def _fill(self, count: Index, *numbers: tuple[ir.Value, float]) -> None:
        """Set the first elements of buffers to a number each."""
        use, emit = self.use, self.use.emit
        with emit.loop(0, count, use.lanes) as loop:
            for buffer, number in numbers:
                emit.vector_store(emit.constant(use.vector, number), buffer, [loop.counter])

    def adjust(
        self,
        rows: Index,
        columns: tuple[Index, Index],
        at: tuple[Index, Index],
        score_mod: ScoreMod,
    ) -> None:
        """Modify scores of some keys of a block, from the first of a vector on.

        `at` are the numbers of the block's first query and key.
        """
        emit, use = self.use.emit, self.use
        with emit.loop(0, rows) as row:
            query = at[0] + row.counter
            line = row.counter * self.stride
            of_row = score_mod.of_row(query)
            with emit.loop(*columns, use.lanes) as column:
                place = line + column.counter
                there = emit.mask(columns[1] - column.counter, use.lanes)
                here = (query, at[1] + column.counter)
                value = score_mod.apply(use.load(self.scores, place), here, there, of_row)
                emit.vector_store(value, self.scores, [place])

    def reset_partial_sums(self, rows: Index) -> None:
        """Reset the partial sums of bounded exponentials."""
        if self.parts is not None:
            self._fill(rows * self.use.lanes, (self.parts, 0))

    def keep(self, row: Index, column: Index, sums: list[list[ir.Value]]) -> None:
        """Store the scores of a tile."""
        emit, use = self.use.emit, self.use
        line = row * self.stride + column
        for r, values in enumerate(sums):
            for h, value in enumerate(values):
                place = line + (r * self.stride + h * use.lanes)
                emit.vector_store(value, self.scores, [place])

    def exp_panel(self, rows: Index, column: Index, vectors: int) -> None:
        """Exponentiate bounded scores of some columns, and add them up."""
        emit, use, parts = self.use.emit, self.use, self.parts
        with emit.loop(0, rows) as row:
            line, part = row.counter * self.stride, row.counter * use.lanes
            total = use.load(parts, part)
            for at in range(0, vectors * use.lanes, use.lanes):
                exp = use.bounded_exp(use.load(self.scores, line + column + at))
                self._store(exp, line, column + at)
                total = use.add(total, exp)
            emit.vector_store(total, parts, [part])

    def write(self, rows: Index, columns: Index, bounded: Bool, done: Index) -> None:
        """Exponentiate the scores of a block, and update the state of its rows.

        If scores are bounded, the first `done` columns are exponentiated already.
        """
        emit = self.use.emit
        emit.choose(
            bounded,
            lambda: self._fill(rows, (self.shift, 0), (self.shrink, 1)),
            lambda: self._prepare(rows, columns),
        )
        start = emit.select(bounded, done, 0)
        with emit.loop(0, rows) as row:
            self._exp_row(row.counter, start, columns)
        with emit.loop(0, rows, self.use.lanes) as row:
            self._invert(row.counter)

    def _prepare(self, rows: Index, columns: Index) -> None:
        emit = self.use.emit
        with emit.loop(0, rows) as row:
            self._peak(row.counter, columns)
        with emit.loop(0, rows, self.use.lanes) as row:
            self._shift(row.counter)

    def _store(self, exp: ir.Value, line: Index, column: Index) -> None:
        """Store exponentials of a row in place of its scores; pairs never overtake the scores."""
        emit, use = self.use.emit, self.use
        if use.pairs is not None:
            # Exponentials are rounded to bf16, and packed where the row of scores begins.
            column, exp = column // PAIR, narrowed_pairs(use, exp)
        emit.vector_store(exp, self.scores, [line + column])

    def _invert(self, row: Index) -> None:
        """Add a block's sums of exponentials to earlier ones, for a vector of rows."""
        emit, use = self.use.emit, self.use
        before, shrink = use.load(self.totals, row), use.load(self.shrink, row)
        total = use.multiply_add(before, shrink, use.load(self.shares, row))
        emit.vector_store(total, self.totals, [row])
        emit.vector_store(self.setup.shares(total), self.shares, [row])

    def _peak(self, row: Index, columns: Index) -> None:
        """Find the largest score of a row."""
        emit, use = self.use.emit, self.use
        line = row * self.stride
        lowest = emit.constant(use.vector, LOWEST)
        with emit.loop(0, columns, use.lanes, [lowest]) as loop:
            value = use.load(self.scores, line + loop.counter)
            loop.carry([use.larger(value, loop.carried[0])])
        (peak,) = loop.results
        emit.store(use.across(peak, use.larger), self.shift, [row])

    def _shift(self, row: Index) -> None:
        """Compute, for a vector of rows, the shift of scores and the rescaling of sums."""
        emit, use = self.use.emit, self.use
        lowest, zero = emit.constant(use.vector, LOWEST), emit.constant(use.vector, 0)
        highest = use.load(self.shift, row)
        before = use.load(self.highest, row)
        highest = use.larger(highest, before)
        emit.vector_store(highest, self.highest, [row])
        # Rows whose keys are all masked get exponentials of 0, not of infinity less infinity.
        nothing = emit.compare_floats("oeq", highest, lowest)
        shift = emit.select(nothing, zero, highest)
        emit.vector_store(shift, self.shift, [row])
        emit.vector_store(use.exp(use.sub(before, shift)), self.shrink, [row])

    def _exp_row(self, row: Index, start: Index, columns: Index) -> None:
        """Exponentiate the scores of a row from a column on, and add them up."""
        emit, use = self.use.emit, self.use
        line = row * self.stride
        shift = use.splat(emit.load(self.shift, [row]))
        total = emit.constant(use.vector, 0)
        if self.parts is not None:
            total = use.load(self.parts, row * use.lanes)
        with emit.loop(start, columns, use.lanes, [total]) as loop:
            place = line + loop.counter
            less = use.sub(use.load(self.scores, place), shift)
            exp = use.exp(less)
            self._store(exp, line, loop.counter)
            loop.carry([use.add(loop.carried[0], exp)])
        (total,) = loop.results
        emit.store(use.across(total, use.add), self.shares, [row])

    def before(self, goes_on: Bool, row: Index, column: Index, count: int) -> list[ir.Value] | None:
        """Return the sums of earlier blocks, rescaled, for a tile; None for none."""
        use, emit = self.use, self.use.emit
        if goes_on is False:
            return None
        zeros = [emit.constant(use.vector, 0)] * (count * VECTORS)

        def made() -> list[ir.Value]:
            shrink = [use.splat(emit.load(self.shrink, [row + r])) for r in range(count)]
            return [
                use.mul(use.load(self.sums, place), each)
                for r, each in enumerate(shrink)
                for place in self._places(row + r, column)
            ]

        return emit.either(goes_on, [use.vector] * len(zeros), made, lambda: zeros)

    def put(self, row: Index, column: Index, sums: list[list[ir.Value]]) -> None:
        """Store the sums of a tile, whose first query is counted from the block's."""
        for r, vectors in enumerate(sums):
            places = self._places(row + r, column)
            for place, value in zip(places, vectors, strict=True):
                self.use.emit.vector_store(value, self.sums, [place])

    def finish(self, out: Matrix, first: Index, rows: Index) -> None:
        """Divide and store the results of `rows` queries."""
        emit = self.use.emit
        with emit.loop(0, rows) as row:
            share = emit.load(self.shares, [row.counter])
            sums = self.sums, row.counter * self.sum_stride
            self.setup.store(out, first + row.counter, sums, share)

    def _places(self, row: Index, column: Index) -> list[Index]:
        """Return where the sums of a row's panel are."""
        line = row * self.sum_stride + column
        return [line + h * self.use.lanes for h in range(VECTORS)]
