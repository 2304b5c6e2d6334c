"""Windows over planes that are read where they lie: masks stand for what is around an image.

A tile is a vector wide and several rows high. What it sees of a row of the image is loaded once,
and goes to all rows of outputs that need it.
"""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.lane_picks import every_nth
from relax_mlir.lowering.tir_to_vector.machine import Machine
from relax_mlir.lowering.tir_to_vector.multiply import multiply_add
from relax_mlir.lowering.tir_to_vector.planes import Planes
from relax_mlir.lowering.tir_to_vector.planes_base import MOST_ELEMENTS, ROWS, PlanesBase
from relax_mlir.lowering.tir_to_vector.team import Part
from relax_mlir.lowering.tir_to_vector.vector_nest import work_of

Span = tuple[Index, Index]


def reads_in_place(found: Planes, machine: Machine) -> bool:
    """Whether windows are read where they lie: they are small, and loads take masks for nothing."""
    width = found.image.buffer.type.element_type.width
    if machine.vector_bits < 512 or not machine.can_mask(width):
        return False
    last = found.axes[-1:] if found.row is None else found.axes[-2:]
    if found.row is not None and found.row not in last[0].inner:
        return False
    known = {found.row, found.col, *found.reductions}
    if any(i not in known for axis in last for i in axis.inner):
        return False
    still = [i for axis in found.axes[: -len(last)] for i in axis.inner]
    if any(found.flat.iters[i].extent != 1 for i in still):
        return False
    count = 1
    for i in found.reductions:
        extent = found.flat.iters[i].extent.value
        count *= MOST_ELEMENTS + 1 if extent is None else extent
    return 0 < count <= MOST_ELEMENTS


@dataclass(frozen=True)
class Use:
    """What a row of outputs takes of a row of the image.

    Attributes:
        row: of the tile's outputs.
        shift: from an output's column, times the stride, to the pixel's.
        steps: which element of the window it is multiplied by.
    """

    row: int
    shift: int
    steps: tuple[int, ...]


# A row of the image: how far below the tile's first, whether the image has it, what is taken of it.
Seen = tuple[int, ir.Value | bool, list[Use]]


@dataclass
class Tile:
    """Rows of outputs that are computed together.

    Attributes:
        row: the first of them.
        rows: how many.
        left: how many of them there are: a number, or less than that are known to be.
        col: the first column.
        mask: which lanes are outputs, None for all.
    """

    row: Index
    rows: int
    left: Index
    col: Index = 0
    mask: ir.Value | None = None


class DirectPlanes(PlanesBase):
    """Writes windows over planes that stay where they are: vectors are of one row of outputs."""

    def _shape(self) -> None:
        found = self.found
        self.along = found.axes[-1]
        self.down = None if found.row is None else found.axes[-2]
        self.step = 0 if found.row is None else found.axes[-2].inner[found.row]
        pads = found.padded
        self.after = pads.after[-1] if pads else 0
        self.above = self.befores[-2] if self.down else 0
        self.below = pads.after[-2] if pads and self.down else 0
        # Of each element of the window: its steps, and how far down and to the right it looks.
        self.taps: list[tuple[tuple[int, ...], int, int]] = []
        sizes = [found.flat.iters[i].extent.value or 1 for i in found.reductions]
        for steps in itertools.product(*map(range, sizes)):
            at = dict(zip(found.reductions, steps, strict=True))
            downs = {} if self.down is None else self.down.inner
            y, x = (
                sum(factor * at.get(i, 0) for i, factor in inner.items())
                for inner in (downs, self.along.inner)
            )
            self.taps.append((steps, y, x - self.befores[-1]))
        self.most_down = max(y for _, y, _ in self.taps)
        self.shifts = sorted({x for _, _, x in self.taps})

    def write(self) -> None:
        """Write the loops."""
        emit, found = self.emit, self.found
        extents = {i: self.extent(i) for i in found.outer}
        order = sorted(found.outer, key=lambda i: -e if isinstance(e := extents[i], int) else 0)
        with ExitStack() as loops:
            parts = [Part(extents[i], least=2 * emit.threads) for i in order]
            parts.append(Part(self.extent(found.row), ROWS[0]))
            ranges = loops.enter_context(emit.team(parts, work_of(emit, found.flat, 1)))
            spans = dict(zip(order, ranges, strict=False))
            self._all(spans, *ranges[-1])

    def _all(self, spans: dict[int, Span], low: Index, high: Index) -> None:
        """Write some rows of outputs of some planes."""
        self._prepare()
        with self._planes(spans) as env:
            self._rows(env, low, high)

    @contextmanager
    def _planes(self, spans: dict[int, Span]) -> Iterator[dict[int, Index]]:
        """Write the loops over planes, and over windows on each; yields their counters."""
        found, env = self.found, dict[int, Index]()
        with ExitStack() as loops:
            for position in found.outer:
                env[position] = loops.enter_context(self._loop(spans[position]))
            self.start = self.plane_at(env)
            for position in found.inner:
                env[position] = loops.enter_context(self._loop((0, self.extent(position))))
            elements = self._elements(env)
            assert elements is not None  # of larger windows copies are made
            self.elements = elements
            yield env

    def _prepare(self) -> None:
        """Write what all planes share: the masks of the last columns."""
        emit, lanes, stride = self.emit, self.lanes, self.found.stride
        cols = self.extent(self.found.col)
        self.whole = emit.round_down(cols, lanes)
        self.rest = emit.sub(cols, self.whole)
        self.rest_mask = emit.mask(self.rest, lanes)
        self.masks: dict[tuple[int, int], ir.Value | None] = {}
        if self.rest != 0:
            for quotient in sorted({x // stride for x in self.shifts}):
                for number in range(stride):
                    self._mask(self.masks, quotient, number, self.whole, inside=False)

    def _rows(self, env: dict[int, Index], low: Index, high: Index) -> None:
        """Write some rows of a plane's outputs."""
        for tile in self._row_tiles(low, high):
            self._columns(env, tile)

    def _row_tiles(self, low: Index, high: Index) -> Iterator[Tile]:
        """Write loops over tiles of rows; yields the tile of each."""
        emit = self.emit
        done = low
        for height, guarded in self._heights(low, high):
            upto = high
            if not guarded:
                upto = emit.add(done, emit.round_down(emit.sub(high, done), height))
            if isinstance(upto, int) and upto == done:
                continue
            with self._steps(done, upto, height) as row:
                left = emit.sub(high, row) if guarded else height
                yield Tile(row, height, left)
            done = upto

    def _steps(self, low: Index, high: Index, step: int) -> AbstractContextManager[Index]:
        """Write a loop, none where there is one step."""
        if isinstance(low, int) and isinstance(high, int) and low < high <= low + step:
            return nullcontext(low)
        return self._counted(low, high, step)

    @contextmanager
    def _counted(self, low: Index, high: Index, step: int) -> Iterator[Index]:
        with self.emit.loop(low, high, step) as loop:
            yield loop.counter

    def _columns(self, env: dict[int, Index], tile: Tile) -> None:
        emit, whole, rest = self.emit, self.whole, self.rest
        if whole != 0:
            with emit.loop(0, whole, self.lanes) as col:
                self._tile(env, replace(tile, col=col.counter))
        last = replace(tile, col=whole, mask=self.rest_mask)
        if not isinstance(rest, int):
            with emit.when(emit.compare("sgt", rest, 0)):
                self._tile(env, last)
        elif rest:
            self._tile(env, last)

    def _tile(self, env: dict[int, Index], tile: Tile) -> None:
        """Write a tile's outputs."""
        emit, found = self.emit, self.found
        sums = [self._begin(env, tile, row) for row in range(tile.rows)]
        masks = self.masks if tile.mask is not None else {}
        corner = emit.add(self.start, emit.mul(tile.col, found.stride))
        seen = list(self._image_rows(tile))
        for place, (_, live, uses) in zip(self._walk(tile.row, corner, seen), seen, strict=True):
            loaded: dict[int, list[ir.Value]] = {}
            picked: dict[int, ir.Value] = {}
            for use in uses:
                quotient, phase = divmod(use.shift, found.stride)
                if quotient not in loaded:
                    loaded[quotient] = [
                        self._vector(masks, place, (quotient, number), tile, live)
                        for number in range(found.stride)
                    ]
                if use.shift not in picked:
                    picked[use.shift] = every_nth(emit, loaded[quotient], phase)
                sums[use.row] = self._combined(sums[use.row], picked[use.shift], use)
        self._store(env, tile, sums)

    def _begin(self, env: dict[int, Index], tile: Tile, row: int) -> ir.Value:
        """Return what a row's sums begin with."""
        found = self.found
        if found.flat.init is not None:
            return self.splat(found.flat.init)
        at = self.out.at(self._place(env, tile, row)).offset
        return self.emit.vector_load(self.out.base, [at], self.vector, tile.mask)

    def _place(self, env: dict[int, Index], tile: Tile, row: int) -> dict[int, Index]:
        """Return the counters of a tile's row."""
        there = {**env, self.found.col: tile.col}
        if self.found.row is not None:
            there[self.found.row] = self.emit.add(tile.row, row)
        return there

    def _image_rows(self, tile: Tile) -> Iterator[Seen]:
        """Yield the rows of the image that a tile sees."""
        emit = self.emit
        uses: dict[int, list[Use]] = {}
        for row in range(tile.rows):
            for steps, y, x in self.taps:
                uses.setdefault(row * self.step + y, []).append(Use(row, x, steps))
        first = emit.sub(emit.mul(tile.row, self.step), self.above)
        furthest = (tile.rows - 1) * self.step + self.most_down
        guarded = not isinstance(tile.left, int) or tile.left < tile.rows
        for offset in sorted(uses):
            live: ir.Value | bool = True
            if self.down is not None and offset < self.above:
                live = self._less(-1, emit.add(first, offset))
            if self.down is not None and (guarded or furthest - offset < self.below):
                live = self._and(live, self._less(emit.add(first, offset), self.counts[-2]))
            yield offset, live, uses[offset]

    def _walk(self, row: Index, corner: Index, seen: Sequence[Seen]) -> Iterator[Index]:
        """Yield where rows of the image are, from that of a place in the plane's first row."""
        emit, place, reached = self.emit, corner, 0
        if self.down is not None:
            first = emit.sub(emit.mul(row, self.step), self.above)
            place = emit.add(place, emit.mul(first, self.source_strides[-2]))
        for offset, _, _ in seen:
            if self.down is not None:
                # One follows from the last: an addition is cheaper than keeping them all.
                place = emit.add(place, emit.mul(offset - reached, self.source_strides[-2]))
                reached = offset
            yield place

    def _less(self, a: Index, b: Index) -> ir.Value | bool:
        if isinstance(a, int) and isinstance(b, int):
            return a < b
        return self.emit.compare("slt", a, b)

    def _and(self, a: ir.Value | bool, b: ir.Value | bool) -> ir.Value | bool:
        if isinstance(a, bool):
            return b if a else False
        if isinstance(b, bool):
            return a if b else False
        return self.emit.both(a, b)

    def _vector(
        self, masks: dict[tuple[int, int], ir.Value | None], place: Index, part: tuple[int, int],
        tile: Tile, live: ir.Value | bool,
    ) -> ir.Value:  # fmt: skip
        """Load adjacent pixels of a row: which vector of those that a shift begins with."""
        quotient, number = part
        mask = self._mask(masks, quotient, number, tile.col, inside=tile.mask is None)
        at = quotient * self.found.stride + number * self.lanes
        return self.load_live(self.emit.add(place, at), mask, live)

    def load_live(self, at: Index, mask: ir.Value | None, live: ir.Value | bool) -> ir.Value:
        """Load pixels of a row of the image, or what is around it where that is none."""
        if live is False:
            return self._fill_value()
        mask = self.live_mask(mask, live)
        return self.load(at, mask, None if mask is None else self._fill_value())

    def live_mask(self, mask: ir.Value | None, live: ir.Value | bool) -> ir.Value | None:
        """Return a mask, or one of all lanes, that is off where a row is not there."""
        emit = self.emit
        if isinstance(live, bool):
            return mask
        all_ = emit.op("vector.broadcast", [live], self._mask_type())
        return all_ if mask is None else emit.both(mask, all_)

    def _mask_type(self) -> ir.Type:
        return ir.VectorType.get([self.lanes], self.emit.bool_type)

    def _mask(
        self, masks: dict[tuple[int, int], ir.Value | None], quotient: int, number: int,
        col: Index, *, inside: bool,
    ) -> ir.Value | None:  # fmt: skip
        """Return which of adjacent pixels are the image's, None for all.

        Args:
            masks: those that are there already.
            quotient: of a shift by the stride.
            number: of the vector, of those that begin there.
            col: the first column of outputs.
            inside: whether all lanes are outputs.
        """
        emit, lanes, stride = self.emit, self.lanes, self.found.stride
        if (quotient, number) in masks:
            return masks[quotient, number]
        first = quotient * stride + number * lanes
        at = emit.add(emit.mul(col, stride), first)
        mask = None
        # The last output's last pixel is at most `after` beyond the image's end.
        beyond = self.after - self.shifts[-1] + stride - 1 + quotient * stride
        if not inside or beyond > (stride - 1 - number) * lanes:
            mask = emit.mask(emit.sub(self.counts[-1], at), lanes)
        if first < 0:
            mask = self.without(mask, emit.sub(0, at))
        masks[quotient, number] = mask
        return mask

    def without(self, mask: ir.Value | None, count: Index) -> ir.Value:
        """Return a mask, or one of all lanes, whose first lanes are off."""
        emit, type_ = self.emit, self._mask_type()
        off = emit.mask(count, self.lanes)
        on = emit.op("arith.xori", [off, emit.constant(type_, 1)], type_)
        return on if mask is None else emit.both(mask, on)

    def _combined(self, total: ir.Value, pixel: ir.Value, use: Use) -> ir.Value:
        element = self.elements[use.steps]
        if element is None:
            return self.emit.op(self.found.flat.combiner, [total, pixel], self.vector)
        return multiply_add(self.emit, self.machine, pixel, element, total)

    def _store(self, env: dict[int, Index], tile: Tile, sums: Sequence[ir.Value]) -> None:
        """Store the rows of a tile that are there."""
        emit = self.emit
        at: Index = 0
        if self.finish is None:
            at = self.out.at(self._place(env, tile, 0)).offset
        for row, value in enumerate(sums):
            with ExitStack() as guard:
                if row and isinstance(live := self._less(row, tile.left), ir.Value):
                    guard.enter_context(emit.when(live))
                elif row and not live:
                    return
                if self.finish is None:
                    emit.vector_store(value, self.out.base, [at], tile.mask)
                else:
                    self.put(value, self._place(env, tile, row), tile.mask)
            if self.finish is None:
                at = emit.add(at, self.out.stride(self.found.row))
