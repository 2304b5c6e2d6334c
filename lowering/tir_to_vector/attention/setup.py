"""What the attention kernels share: operands, score modification, sizes of tiles, and packing."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.attention.pattern import LOWEST, Attention, Place
from relax_mlir.lowering.tir_to_vector.attention.tile import PAIR, Arithmetic, Matrix
from relax_mlir.lowering.tir_to_vector.attention.winograd_dot import (
    balanced_factors,
    winograd_dot_pays,
)
from relax_mlir.lowering.tir_to_vector.contraction.blocking import PAGE, has_set_conflicts
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import DotProduct, bf16_dot_product
from relax_mlir.lowering.tir_to_vector.contraction.operands import Loader, VnniLoader
from relax_mlir.lowering.tir_to_vector.contraction.packing import Packer
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index, ceil_div
from relax_mlir.lowering.tir_to_vector.parallel_region import ParallelDim
from relax_mlir.lowering.walk import defining_op

Span = tuple[Index, Index]
LOG2_E = 1.4426950408889634
_FAR = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Mask:
    """A causal mask: query i sees keys up to `i + offset`, of them the last `window`."""

    offset: Index
    window: int | None


@dataclass(frozen=True)
class ScoreMod:
    """The modification of the scores of a head.

    Attributes:
        use: the arithmetic.
        added: biases.
        seen: a mask of bytes; None if each query sees all keys.
        unseen: the score of a masked key.
        mask: the causal mask; None for none.
    """

    use: Arithmetic
    added: list[Matrix]
    seen: Matrix | None
    unseen: float
    mask: Mask | None

    @property
    def reads(self) -> bool:
        """Whether each score needs a load: of a bias or of a mask."""
        return bool(self.added) or self.seen is not None

    def of_row(self, row: Index) -> dict[Matrix, ir.Value]:
        """Return splats of the operands that are the same for all keys of a query."""
        use = self.use
        result = {x: use.splat(x.one(x.place(row, 0))) for x in self.added if x.column == 0}
        if self.seen is not None and self.seen.column == 0:
            single = self._is_set(self.seen.one(self.seen.place(row, 0)))
            result[self.seen] = use.emit.splat(single, use.emit.condition_type(use.vector))
        return result

    def apply(
        self,
        scores: ir.Value,
        at: tuple[Index, Index],
        there: ir.Value,
        row: dict[Matrix, ir.Value],
    ) -> ir.Value:
        """Return the modified scores of a query and adjacent keys.

        `at` are the numbers of the query and of the first key, `there` which keys there are, `row`
        what `of_row` returned.
        """
        use, emit = self.use, self.use.emit
        lowest = emit.constant(use.vector, LOWEST)
        for x in self.added:
            summand = row[x] if x in row else x.load(x.place(*at), there)
            if use.is_single:
                base = emit.constant(use.vector, LOG2_E)
                scores = use.multiply_add(summand, base, scores)
            else:
                scores = use.add(scores, summand)
        x = self.seen
        if x is not None:
            seen = row[x] if x in row else self._is_set(x.load(x.place(*at), there))
            unseen = emit.constant(use.vector, self._scaled(self.unseen))
            scores = emit.select(seen, scores, unseen)
        scores = emit.select(there, scores, lowest)
        if self.mask is None:
            return scores
        last = at[0] - at[1] + self.mask.offset + 1
        upto = emit.mask(last, use.lanes)
        scores = emit.select(upto, scores, lowest)
        if self.mask.window is not None:
            gone = emit.mask(last - self.mask.window, use.lanes)
            scores = emit.select(gone, lowest, scores)
        return scores

    def _is_set(self, value: ir.Value) -> ir.Value:
        """Return whether bytes are not zero."""
        emit = self.use.emit
        return emit.compare("ne", value, emit.constant(value.type, 0))

    def _scaled(self, score: float) -> float:
        """Return a score times log2(e) for base-2 exponentials; finite scores stay finite."""
        if not self.use.is_single or score in (LOWEST, -LOWEST):
            return score
        return max(-_FAR, min(_FAR, score * LOG2_E))


def copy_fixed(value: ir.Value, emit: Emitter) -> ir.Value:
    """Copy the computation of such a value to the insertion point."""
    op = defining_op(value)
    if op is None or op.block.owner.operation.name == "func.func":
        return value
    return emit.copied(op, [copy_fixed(operand, emit) for operand in op.operands])


class Setup:
    """An attention as values at the insertion point.

    Attributes:
        rows, keys, depth, width: sizes.
        own: outer loops in which keys or values differ.
        shared: outer loops of queries that share keys and values.
        factor: the scale of scores, times log2(e) for f32, whose exponentials have base 2.
        mask: the causal mask; None for none.
    """

    attention: Attention
    emit: Emitter
    machine: Machine
    rows: Index
    keys: Index
    depth: Index
    width: Index

    def __init__(self, attention: Attention, emit: Emitter) -> None:
        self.attention, self.emit, self.machine = attention, emit, emit.machine
        lanes = emit.isa.lanes(attention.element.width)
        vector = ir.VectorType.get([lanes], attention.element)
        self.use: Arithmetic = Arithmetic(
            emit, vector, find_pair_dot_product(attention, emit.machine)
        )
        self.rows, self.keys, self.depth, self.width = map(
            emit.size, (attention.rows, attention.keys, attention.depth, attention.width)
        )
        count = range(len(attention.outer))
        places = (attention.key, attention.value)
        self.shared: list[int] = [i for i in count if all(place.outer[i] == 0 for place in places)]
        self.own: list[int] = [i for i in count if i not in self.shared]
        self.factor: ir.Value = self._factor()
        self.mask: Mask | None = self._mask()

    def _factor(self) -> ir.Value:
        emit, element = self.emit, self.attention.element
        factor = emit.constant(element, LOG2_E if self.use.is_single else 1.0)
        for value in self.attention.scores.factors:
            factor = self.use.mul(copy_fixed(value, emit), factor)
        return self.use.splat(factor)

    def _mask(self) -> Mask | None:
        scores, emit = self.attention.scores, self.emit
        if not scores.causal:
            return None
        offset: Index = 0
        if scores.offset is not None:
            offset = emit.op("arith.index_cast", [copy_fixed(scores.offset, emit)], emit.index_type)
        return Mask(offset, scores.window)

    @contextmanager
    def parallel_region(self, unit: int) -> Iterator[tuple[dict[int, Span], Span]]:
        """Split the work; yields the range of each outer loop, and that of queries.

        Args:
            unit: how many queries go together.
        """
        emit = self.emit
        order = [*self.own, *self.shared]
        extents = [emit.size(self.attention.outer[i]) for i in order]
        each = self.rows * self.keys * (self.depth + self.width)
        work = math.prod(extents, start=each)
        dims = [ParallelDim(self.rows, unit)]
        # The outermost loop is split that has two steps for each thread, or more than those inside.
        most = ceil_div(self.rows, unit)
        for extent in reversed(extents):
            dims.insert(0, ParallelDim(extent, 1, emit.min(most, 2 * emit.threads)))
            most = emit.max(most, extent)
        with emit.parallel_region(dims, work) as (*spans, rows):
            yield dict(zip(order, spans, strict=True)), rows

    def matrix(self, place: Place, env: dict[int, Index]) -> Matrix:
        """Return an operand at given counters of the outer loops."""
        emit = self.emit
        offset = emit.size(place.offset)
        for position, counter in env.items():
            offset += counter * emit.size(place.outer[position])
        base = emit.flatten_once(place.buffer)
        row, column = emit.size(place.row), emit.size(place.column)
        return Matrix(self.use, base, offset, row, column, place.widen)

    def score_mod(self, env: dict[int, Index]) -> ScoreMod:
        """Return what is done to scores at given counters of the outer loops."""
        attention = self.attention
        added = [self.matrix(place, env) for place in attention.added]
        seen = None if attention.seen is None else self.matrix(attention.seen, env)
        return ScoreMod(self.use, added, seen, attention.scores.unseen, self.mask)

    def visible(self, first: Index, rows: Index, unit: int) -> Span:
        """Return which keys any of some queries sees; the first is a multiple of the unit."""
        emit, mask = self.emit, self.mask
        if mask is None:
            return 0, self.keys
        start = first + mask.offset
        upper = emit.min(start + rows, self.keys)
        if mask.window is None:
            return 0, upper
        lower = emit.max(start - (mask.window - 1), 0)
        return emit.round_down(lower, unit), upper

    def finish(
        self, out: Matrix, row: Index, sums: tuple[ir.Value, Index],
        totals: tuple[ir.Value, Index],
    ) -> None:  # fmt: skip
        """Store a query's sums, divided by the sum of its exponentials.

        `sums` and `totals` are buffers and places; the latter has a vector of partial sums.
        """
        total = self.use.across(self.use.load(*totals), self.use.add)
        self.store(out, row, sums, self.shares(total))

    def shares(self, total: ir.Value) -> ir.Value:
        """Return the reciprocals of sums of exponentials, a scalar or a vector."""
        emit = self.emit
        one, zero = (emit.constant(total.type, number) for number in (1, 0))
        # No keys give zeros; keys that are all masked may give NaN.
        zeros = self.attention.zeros or emit.holds("eq", self.keys, 0)
        if zeros is not False:
            none = emit.compare_floats("oeq", total, zero)
            if zeros is not True:
                vector = isinstance(none.type, ir.VectorType)
                none = emit.both(none, emit.splat(zeros, none.type) if vector else zeros)
            total = emit.select(none, one, total)
        return emit.op("arith.divf", [one, total], total.type)

    def store(
        self, out: Matrix, row: Index, sums: tuple[ir.Value, Index], share: ir.Value
    ) -> None:  # fmt: skip
        """Store the sums of a query times a scalar."""
        emit, use = self.emit, self.use
        if out.column != 1:
            with emit.loop(0, self.width) as column:
                value = emit.load(sums[0], [sums[1] + column.counter])
                value = use.mul(value, share)
                place = out.place(row, column.counter)
                emit.store(self.narrowed(value, out), out.base, [place])
            return
        shares, target = use.splat(share), out.place(row, 0)

        def part(at: Index, mask: ir.Value | None) -> None:
            value = use.load(sums[0], sums[1] + at)
            value = self.narrowed(use.mul(value, shares), out)
            emit.vector_store(value, out.base, [target + at], mask)

        emit.each_vector(0, self.width, use.lanes, part)

    def narrowed(self, value: ir.Value, out: Matrix) -> ir.Value:
        """Return a result as an element, or elements, of what it is stored to."""
        narrow = out.base.type.element_type
        if narrow == self.attention.element:
            return value
        is_vector = isinstance(value.type, ir.VectorType)
        type_ = ir.VectorType.get([self.use.lanes], narrow) if is_vector else narrow
        return self.emit.op("arith.truncf", [value], type_)


# Columns of a register tile, in vectors.
VECTORS = 2
# Keys of a block: the scores of a block stay in L1.
KEY_BLOCK = 512
# Queries of a block, before rounding to tiles. More share a panel of keys, but their scores evict
# keys and values, and causal masks hide more of a block.
QUERY_BLOCK = 12
# Panels of values that are read in place, if rows are contiguous. The lines of one of more panels
# share so few L1 sets that packing pays, unless L1 holds all values: AVX2, 512 keys, 1.03 to 1.04
# times as fast as in place; 77 keys 0.99 (`benchmarks/compare.py --only ^attention_12`).
MAX_PANELS = 2
# Keys from which on the norms of queries and keys are computed to bound scores.
BOUNDED_MIN_KEYS = 128
# Queries up to which packing keys and values does not pay.
DECODE_MAX_QUERIES = 6


class Plan(Setup):
    """Sizes of tiles and blocks, and which operands are packed."""

    def __init__(self, attention: Attention, emit: Emitter) -> None:
        super().__init__(attention, emit)
        self.panel: int = VECTORS * self.use.lanes
        self.element_bytes: int = self.use.vector.element_type.width // 8
        self.pairs = self.use.pairs
        # Keys of one step of the sums over values.
        self.unit = 1 if self.pairs is None else PAIR
        self.steps: Index = self._units(self.depth)
        self.tile: int = tile_rows(self.rows, self.machine)
        self.block: int = max(round(QUERY_BLOCK / self.tile), 1) * self.tile
        value, width = self.attention.value, self.width
        # Panels partition the rows, so each cache line is used in full.
        self.values_in_place = (
            isinstance(width, int) and width % self.panel == 0 and value.widen is None
            and value.column == 1 and value.row == self.attention.width
            and (width <= MAX_PANELS * self.panel or self._fit_l1(width))
        )  # fmt: skip
        one_block = isinstance(self.keys, int) and 0 < self.keys <= KEY_BLOCK
        self.alone: bool = one_block and self.mask is None
        # With a sliding window few keys are seen by all queries of a block.
        windowed = self.mask is not None and self.mask.window is not None
        unchanged = not (self.attention.added or self.attention.seen is not None or windowed)
        self.enough_keys = self.keys >= BOUNDED_MIN_KEYS
        self.may_be_bounded: bool = (
            unchanged and self.enough_keys is not False and self.use.is_single
        )
        self.uses_winograd_dot: bool = (
            self.may_be_bounded and self.pairs is None and self.attention.query.column == 1
            and winograd_dot_pays(self.machine, self.depth)
        )  # fmt: skip
        self.factors = self.factor, None
        self.queries_in_place: bool = not self.uses_winograd_dot and self._queries_fit_in_place()
        if self.queries_in_place:
            self.factors = None, self.factor
        elif self.uses_winograd_dot:
            self.factors = balanced_factors(self.use, self.factor)

    def _units(self, count: Index) -> Index:
        """Return the number of steps of a sum over `count` elements: numbers or pairs."""
        return ceil_div(count, self.unit)

    def packer(
        self, x: Matrix, steps: Index, to: ir.Value, scale: ir.Value | None = None
    ) -> Packer:
        """Return what packs an operand to panels, times a factor if elements are numbers."""
        size = self._units(steps) * self.panel
        return Packer(self.loader(x, scale), self.panel, to, size)

    def loader(self, x: Matrix, scale: ir.Value | None = None) -> Loader | VnniLoader:
        """Return what loads an operand: pairs, or numbers times a factor."""
        if self.pairs is None:
            return x.loader(scale)
        lanes, element = self.use.lanes, self.attention.element
        return VnniLoader(self.emit, x.base, self.pairs, None, False, lanes, element)

    def _fit_l1(self, width: int) -> bool:
        """Whether L1 holds all values of a head."""
        keys = self.keys
        return isinstance(keys, int) and keys * width * self.element_bytes <= self.machine.l1_bytes

    def _queries_fit_in_place(self) -> bool:
        """Whether tiles read queries in place; keys are then multiplied by the scale."""
        query, machine = self.attention.query, self.machine
        row = query.row.value
        if row is None or query.widen is not None or query.column != 1:
            return False
        if not isinstance(self.depth, int):
            return False
        size = self.element_bytes
        ways = machine.l1_bytes // PAGE - VECTORS
        return not has_set_conflicts(self.tile, row * size, self.depth * size, ways)


def tile_rows(rows: Index, machine: Machine) -> int:
    """Return the rows of a register tile, chosen for a full last tile if `rows` is static."""
    most = machine.row_tiles[0]
    if not isinstance(rows, int):
        return most
    if rows <= most:
        return max(rows, 1)

    def cost(tile: int) -> tuple[float, int]:
        # A tile with few accumulators is limited by the latency of an FMA.
        left = rows % tile
        return (rows // tile + (max(left, most // 3) / tile if left else 0)) * tile, -tile

    return min(range(most * 2 // 3, most + 1), key=cost)


def find_pair_dot_product(attention: Attention, machine: Machine) -> DotProduct | None:
    """Return the dot-product instruction of an attention's operands, None for none."""
    places = (attention.query, attention.key, attention.value)
    narrow = all(isinstance(place.buffer.type.element_type, ir.BF16Type) for place in places)
    if not (narrow and isinstance(attention.element, ir.F32Type)):
        return None
    if any(place.column != 1 for place in places):
        return None
    return bf16_dot_product(machine)
