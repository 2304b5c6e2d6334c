"""Fast windows over planes: each plane goes to fast memory with its border, then rows of vectors.

In fast memory a row's columns are sorted by their remainder to the stride of the window, so that
the pixels that a vector of outputs needs for one element of the window lie side by side.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.epilogue import Finish
from relax_mlir.lowering.tir_to_vector.flat import inner_dims
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.machine import Machine
from relax_mlir.lowering.tir_to_vector.multiply import multiply_add
from relax_mlir.lowering.tir_to_vector.operands import Layout
from relax_mlir.lowering.tir_to_vector.planes import Planes
from relax_mlir.lowering.tir_to_vector.team import Part
from relax_mlir.lowering.tir_to_vector.vector_nest import work_of

# Rows of a register tile, the first that divides the rows; elements of the window are shared.
_ROWS = (7, 8, 6, 5, 4)
_REST_ROWS = 4
# Windows of no more elements are written out whole, larger ones only along their rows.
_MOST_ELEMENTS = 36


def emit_planes(found: Planes, emit: Emitter, machine: Machine) -> None:
    """Write the kernel of a window over planes at the insertion point."""
    _Writer(found, emit, machine).write()


class _Writer:
    def __init__(self, found: Planes, emit: Emitter, machine: Machine) -> None:
        self.found, self.emit, self.machine = found, emit, machine
        lanes = machine.lanes(found.element)
        assert lanes is not None  # others are left to plain loops
        self.lanes = lanes
        self.vector = ir.VectorType.get([lanes], found.element)
        self.finish: Finish | None = None
        if found.epilogue is None:
            self.out = Layout(found.out, emit)
        else:
            self.finish = Finish(found.epilogue, found.out.buffer, found.col, emit, machine)
        self.kernel = None if found.kernel is None else Layout(found.kernel, emit)
        source = found.image.buffer if found.padded is None else found.padded.source
        self.source = emit.flatten_once(source)
        dims = [*inner_dims(source), SymExpr.const(1)]
        self.source_strides = [
            emit.size(math.prod(dims[i:], start=SymExpr.const(1))) for i in range(len(dims))
        ]
        self._shape()

    def _extent(self, position: int | None) -> Index:
        return 1 if position is None else self.emit.size(self.found.flat.iters[position].extent)

    def _shape(self) -> None:
        """Find how large a plane is, and how it lies in fast memory."""
        emit, found = self.emit, self.found
        self.reach: list[Index] = []
        for axis in found.axes:
            reach = SymExpr.const(1)
            for i, factor in axis.inner.items():
                reach = reach + (found.flat.iters[i].extent - 1) * factor
            self.reach.append(emit.size(reach))
        # A row ends with room for the vectors that begin before its end.
        phase = emit.div(emit.add(self.reach[-1], found.stride - 1), found.stride)
        vectors = emit.add(emit.div(phase, self.lanes), 3)
        self.phase = emit.mul(vectors, self.lanes)
        strides: list[Index] = [1]
        size = emit.mul(self.phase, found.stride)
        for reach in reversed(self.reach[:-1]):
            strides.insert(0, size)
            size = emit.mul(size, reach)
        self.strides, self.size = strides, size

    def write(self) -> None:
        """Write the loops."""
        emit, found = self.emit, self.found
        size = self.size
        order = sorted(
            found.outer,
            key=lambda i: -self._extent(i) if isinstance(self._extent(i), int) else 0,
        )
        with ExitStack() as loops:
            parts = [Part(self._extent(i)) for i in order] or [Part(1)]
            ranges = loops.enter_context(emit.team(parts, work_of(emit, found.flat, 1)))
            spans = dict(zip(order, ranges, strict=False))
            self.plane = emit.alloc(size, found.element)
            fill = self._fill_value()
            with emit.loop(0, size, self.lanes) as at:
                emit.vector_store(fill, self.plane, [at.counter])
            env: dict[int, Index] = {}
            for position in found.outer:
                env[position] = loops.enter_context(self._loop(spans[position]))
            self._fill(env)
            channels = [i for i in found.inner if not self._slides(i)]
            for position in [*channels, *(i for i in found.inner if i not in channels)]:
                env[position] = loops.enter_context(self._loop((0, self._extent(position))))
            self._plane(env)

    def _slides(self, position: int) -> bool:
        return any(position in axis.inner for axis in self.found.axes)

    @contextmanager
    def _loop(self, span: tuple[Index, Index]) -> Iterator[Index]:
        if span == (0, 1):
            yield 0
            return
        with self.emit.loop(*span) as loop:
            yield loop.counter

    def _fill(self, env: dict[int, Index]) -> None:
        """Copy a plane to fast memory; what is around it there stays."""
        emit, found = self.emit, self.found
        rank = len(found.axes)
        counts: list[Index] = []
        befores = [0] * rank if found.padded is None else found.padded.before
        place: Index = 0
        for d, axis in enumerate(found.axes):
            first: Index = axis.constant
            for i, factor in axis.outer.items():
                first = emit.add(first, emit.mul(env[i], factor))
            place = emit.add(place, emit.mul(first, self.source_strides[d]))
            count = emit.sub(self.reach[d], befores[d])
            if found.padded is not None and not axis.outer:
                count = emit.min(count, emit.size(found.padded.sizes[d]))
            counts.append(count)
        to: Index = 0
        with ExitStack() as loops:
            for d in range(rank - 1):
                step = loops.enter_context(self._loop((0, counts[d])))
                place = emit.add(place, emit.mul(step, self.source_strides[d]))
                there = emit.mul(emit.add(step, befores[d]), self.strides[d])
                to = emit.add(to, there)
            self._row(place, to, counts[-1], befores[-1])

    def _row(self, place: Index, to: Index, count: Index, before: int) -> None:
        emit, lanes, stride = self.emit, self.lanes, self.found.stride
        whole = emit.round_down(count, lanes * stride)
        # What lies after a row's end was filled before, and stays so.
        other = self._fill_value()
        targets = []
        for r in range(stride):
            offset = (before + r) % stride, (before + r) // stride
            targets.append(emit.add(to, emit.add(emit.mul(offset[0], self.phase), offset[1])))

        def run(at: Index, quotient: Index, masks: Sequence[ir.Value | None]) -> None:
            vectors = [
                emit.vector_load(
                    self.source,
                    [emit.add(emit.add(place, at), v * lanes)],
                    self.vector,
                    mask,
                    other,
                )
                for v, mask in enumerate(masks)
            ]
            for r, target in enumerate(targets):
                value = every_nth(emit, vectors, r)
                emit.vector_store(value, self.plane, [emit.add(target, quotient)])

        with emit.loop(0, whole, lanes * stride) as loop:
            run(loop.counter, emit.div(loop.counter, stride), [None] * stride)
        left = emit.sub(count, whole)
        if isinstance(left, int) and left == 0:
            return
        masks = [emit.mask(emit.sub(left, v * lanes), lanes) for v in range(stride)]
        run(whole, emit.div(whole, stride), masks)

    def _plane(self, env: dict[int, Index]) -> None:
        """Write the outputs of one plane."""
        emit, found = self.emit, self.found
        rows, cols = self._extent(found.row), self._extent(found.col)
        self.elements = self._elements(env)
        done: Index = 0
        for height in _heights(rows):
            upto = emit.add(done, emit.round_down(emit.sub(rows, done), height))
            if isinstance(upto, int) and upto == done:
                continue
            with ExitStack() as loops:
                row = loops.enter_context(emit.loop(done, upto, height)).counter
                whole = emit.round_down(cols, self.lanes)
                with emit.loop(0, whole, self.lanes) as col:
                    self._tile(env, height, row, col.counter, None)
                left = emit.sub(cols, whole)
                if not isinstance(left, int):
                    mask = emit.mask(left, self.lanes)
                    with emit.when(emit.compare("sgt", left, 0)):
                        self._tile(env, height, row, whole, mask)
                elif left:
                    self._tile(env, height, row, whole, emit.mask(left, self.lanes))
            done = upto

    def _elements(self, env: dict[int, Index]) -> dict[tuple[int, ...], ir.Value | None] | None:
        """Return the window's elements as vectors, None where they would be too many."""
        found = self.found
        sizes = [found.flat.iters[i].extent.value or 0 for i in found.reductions]
        if math.prod(sizes) > _MOST_ELEMENTS:
            return None
        values: dict[tuple[int, ...], ir.Value | None] = {}
        for steps in itertools.product(*map(range, sizes)):
            values[steps] = self._element(
                {**env, **dict(zip(found.reductions, steps, strict=True))}
            )
        return values

    def _element(self, env: dict[int, Index]) -> ir.Value | None:
        """Return an element of the window in all lanes, None where there are no elements."""
        if self.kernel is None:
            return None
        place = self.kernel.at(env).offset
        return self.emit.splat(self.emit.load(self.kernel.base, [place]), self.vector)

    def _fill_value(self) -> ir.Value:
        """Return what is around an image."""
        padded = self.found.padded
        return self.emit.constant(self.vector, 0) if padded is None else self._splat(padded.fill)

    def _splat(self, number: ir.Attribute) -> ir.Value:
        return self.emit.constant_of(
            self.vector, ir.DenseElementsAttr.get_splat(self.vector, number)
        )

    def _combine(self, x: ir.Value, y: ir.Value) -> ir.Value:
        return self.emit.op(self.found.flat.combiner, [x, y], self.vector)

    def _tile(
        self, env: dict[int, Index], height: int, row: Index, col: Index, mask: ir.Value | None
    ) -> None:
        emit, found = self.emit, self.found
        init = found.flat.init
        first = None if init is None else self._splat(init)
        here = {**env, found.col: col}
        if found.row is not None:
            here[found.row] = row
        places = []
        for r in range(height):
            there = dict(here)
            if found.row is not None:
                there[found.row] = emit.add(row, r)
            places.append(there)
        start = [
            emit.vector_load(self.out.base, [self.out.at(there).offset], self.vector, mask)
            if first is None
            else first
            for there in places
        ]
        sums = self._window(here, height, [], found.reductions, start)
        for there, value in zip(places, sums, strict=True):
            if self.finish is not None:
                column = there.pop(found.col)
                self.finish.at(there)(value, column, mask)
                continue
            emit.vector_store(value, self.out.base, [self.out.at(there).offset], mask)

    def _window(
        self, env: dict[int, Index], height: int, steps: list[Index], left: list[int],
        sums: list[ir.Value],
    ) -> list[ir.Value]:  # fmt: skip
        """Add up a window; its elements, or just those of its rows, are written out."""
        emit, found = self.emit, self.found
        if not left:
            return self._step(env, height, steps, sums)
        position, *rest = left
        extent = found.flat.iters[position].extent.value or 0
        if self.elements is None and position not in found.axes[-1].inner:
            with emit.loop(0, extent, 1, sums) as loop:
                inner = {**env, position: loop.counter}
                loop.carry(self._window(inner, height, [*steps, loop.counter], rest, loop.carried))
            return loop.results
        for step in range(extent):
            sums = self._window({**env, position: step}, height, [*steps, step], rest, sums)
        return sums

    def _step(
        self, env: dict[int, Index], height: int, steps: list[Index], sums: list[ir.Value]
    ) -> list[ir.Value]:
        emit, found = self.emit, self.found
        known = self.elements
        element = self._element(env) if known is None else known[tuple(steps)]
        result = []
        for r, total in enumerate(sums):
            place: Index = 0
            for d, axis in enumerate(found.axes[:-1]):
                index: Index = 0
                for i, factor in axis.inner.items():
                    at = emit.add(env[i], r) if i == found.row else env[i]
                    index = emit.add(index, emit.mul(at, factor))
                place = emit.add(place, emit.mul(index, self.strides[d]))
            shift = sum(f * env[i] for i, f in found.axes[-1].inner.items() if i != found.col)
            phase, quotient = shift % found.stride, shift // found.stride
            along = emit.add(emit.mul(phase, self.phase), emit.add(env[found.col], quotient))
            pixel = emit.vector_load(self.plane, [emit.add(place, along)], self.vector)
            if element is None:
                result.append(self._combine(total, pixel))
            else:
                result.append(multiply_add(emit, self.machine, pixel, element, total))
        return result


def _heights(rows: Index) -> Iterator[int]:
    if isinstance(rows, int):
        best = next((size for size in _ROWS if rows % size == 0), min(_REST_ROWS, max(rows, 1)))
        yield best
        if rows % best:
            yield rows % best
        return
    yield from (_REST_ROWS, 1)


def every_nth(emit: Emitter, vectors: list[ir.Value], first: int) -> ir.Value:
    """Return one of every so many elements of vectors that lie one after the other."""
    step, lanes = len(vectors), vectors[0].type.shape[0]
    result = vectors[0]
    if step == 1:
        return result
    # Lane i comes from element `i * step + first`; those of the first vector come first.
    for number in range(1, step):
        picks = []
        for i in range(lanes):
            source, lane = divmod(i * step + first, lanes)
            if source == number:
                picks.append(lanes + lane)
            elif number == 1:
                picks.append(lane if source == 0 else 0)
            else:
                picks.append(i)
        result = emit.shuffle(result, vectors[number], picks)
    return result
