"""What the attention kernels share: sizes, operands, masks, and the final division."""

from collections.abc import Iterator
from contextlib import contextmanager

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.attention.pack import Matrix
from relax_mlir.lowering.tir_to_vector.attention.pattern import Attention, Place
from relax_mlir.lowering.tir_to_vector.attention.score_mod import LOG2_E, Mask, ScoreMod
from relax_mlir.lowering.tir_to_vector.attention.scores import copy_fixed
from relax_mlir.lowering.tir_to_vector.attention.tile import Arithmetic
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.parallel_region import ParallelDim

Span = tuple[Index, Index]


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

    def __init__(self, attention: Attention, emit: Emitter, machine: Machine) -> None:
        self.attention, self.emit, self.machine = attention, emit, machine
        lanes = machine.lanes(attention.element)
        assert lanes is not None  # other elements are left to plain loops
        vector = ir.VectorType.get([lanes], attention.element)
        self.use: Arithmetic = Arithmetic(emit, vector, machine.fma, machine.isa.tables)
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
            factor = emit.op("arith.mulf", [copy_fixed(value), factor], element)
        return self.use.splat(factor)

    def _mask(self) -> Mask | None:
        scores, emit = self.attention.scores, self.emit
        if not scores.causal:
            return None
        offset: Index = 0
        if scores.offset is not None:
            offset = emit.op("arith.index_cast", [copy_fixed(scores.offset)], emit.index_type)
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
        if emit.threads == 1:
            yield {i: (0, extent) for i, extent in zip(order, extents, strict=True)}, (0, self.rows)
            return
        work: Index = emit.mul(emit.mul(self.rows, self.keys), emit.add(self.depth, self.width))
        for extent in extents:
            work = emit.mul(work, extent)
        dims = [ParallelDim(self.rows, unit)]
        # The outermost loop is split that has two steps for each thread, or more than those inside.
        most = emit.div(emit.add(self.rows, unit - 1), unit)
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
            offset = emit.add(offset, emit.mul(counter, emit.size(place.outer[position])))
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
        start = emit.add(first, mask.offset)
        upper = emit.min(emit.add(start, rows), self.keys)
        if mask.window is None:
            return 0, upper
        lower = emit.max(emit.sub(start, mask.window - 1), 0)
        return emit.round_down(lower, unit), upper

    def finish(
        self, out: Matrix, row: Index, sums: tuple[ir.Value, Index],
        totals: tuple[ir.Value, Index],
    ) -> None:  # fmt: skip
        """Divide the sums of a query by the sum of its exponentials.

        Args:
            out: the result.
            row: the query.
            sums: where its sums are.
            totals: where a vector of partial sums of exponentials is.
        """
        emit, use, element = self.emit, self.use, self.attention.element
        one, zero = emit.constant(element, 1), emit.constant(element, 0)
        equal = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 1)
        total = use.across(use.load(*totals), use.add)
        none = emit.op("arith.cmpf", [total, zero], emit.bool_type, predicate=equal)
        if not self.attention.zeros:
            # No keys give zeros; keys that are all masked give NaN.
            none = emit.both(none, emit.compare("eq", self.keys, 0))
        total = emit.op("arith.select", [none, one, total], element)
        share = emit.op("arith.divf", [one, total], element)
        self.write(out, row, sums, share)

    def write(
        self, out: Matrix, row: Index, sums: tuple[ir.Value, Index], share: ir.Value
    ) -> None:  # fmt: skip
        """Store the sums of a query times a scalar."""
        emit, use = self.emit, self.use
        if out.column != 1:
            with emit.loop(0, self.width) as column:
                value = emit.load(sums[0], [emit.add(sums[1], column.counter)])
                value = emit.op("arith.mulf", [value, share], self.attention.element)
                place = out.place(row, column.counter)
                emit.store(self.narrowed(value, out), out.base, [place])
            return
        shares, target = use.splat(share), out.place(row, 0)

        def part(at: Index, mask: ir.Value | None) -> None:
            value = use.load(sums[0], emit.add(sums[1], at))
            value = self.narrowed(emit.op("arith.mulf", [value, shares], use.vector), out)
            emit.vector_store(value, out.base, [emit.add(target, at)], mask)

        use.each_vector(self.width, part)

    def narrowed(self, value: ir.Value, out: Matrix) -> ir.Value:
        """Return a result as an element, or elements, of what it is stored to."""
        narrow = out.base.type.element_type
        if narrow == self.attention.element:
            return value
        is_vector = isinstance(value.type, ir.VectorType)
        type_ = ir.VectorType.get([self.use.lanes], narrow) if is_vector else narrow
        return self.emit.op("arith.truncf", [value], type_)
