"""Depthwise convolution and pooling of NCHW planes in place, with masks at the borders.

A tile is a vector wide and several rows high. A row of the image is loaded once, for all rows of
outputs that need it. Two short rows of outputs, half a tile from each other, share a vector: the
pixels of both that a tap meets are picked from two rows of the image.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial, reduce

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.pattern import DepthwisePool
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.writer import (
    MAX_ELEMENTS,
    REST_ROWS,
    ROWS,
    InPlaceWriter,
    Tile,
)
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index, Span
from relax_mlir.lowering.tir_to_vector.shuffles import pick_lanes


def reads_in_place(pool: DepthwisePool, machine: Machine) -> bool:
    """Whether planes are read in place: windows are small, and loads may have masks."""
    width = pool.image.buffer.type.element_type.width
    if not machine.can_mask(width):
        return False
    last = pool.axes[-1:] if pool.row is None else pool.axes[-2:]
    if pool.row is not None and pool.row not in last[0].inner:
        return False
    known = {pool.row, pool.col, *pool.reductions}
    if any(i not in known for axis in last for i in axis.inner):
        return False
    others, pads = len(pool.axes) - len(last), pool.padded
    still = [i for axis in pool.axes[:others] for i in axis.inner]
    shifts = pads is not None and any([*pads.before[:others], *pads.after[:others]])
    if shifts or any(pool.flat.iters[i].extent != 1 for i in still):
        return False
    extents = [pool.flat.iters[i].extent.value for i in pool.reductions]
    count = math.prod(MAX_ELEMENTS + 1 if extent is None else extent for extent in extents)
    return 0 < count <= MAX_ELEMENTS


@dataclass(frozen=True)
class Use:
    """What a row of outputs takes of a row of the image.

    Attributes:
        row: the row of the tile's outputs.
        shift: the pixel's column less the output's column times the stride.
        steps: the tap.
    """

    row: int
    shift: int
    steps: tuple[int, ...]


# A row of the image: its offset from the tile's first, whether it exists, and its uses.
Seen = tuple[int, ir.Value | bool, list[Use]]


class InPlaceNchw(InPlaceWriter):
    """Writes the kernel: vectors are of one row of outputs."""

    def _shape(self) -> None:
        pool = self.pool
        self.along = pool.axes[-1]
        self.down = None if pool.row is None else pool.axes[-2]
        self.step: int = 0 if pool.row is None else pool.axes[-2].inner[pool.row]
        pads = pool.padded
        self.above: int = self.befores[-2] if self.down else 0
        self.below: int = pads.after[-2] if pads and self.down else 0
        # For each tap: its steps, and its offsets down and to the right.
        self.taps: list[tuple[tuple[int, ...], int, int]] = []
        sizes = [pool.flat.iters[i].extent.value or 1 for i in pool.reductions]
        for steps in itertools.product(*map(range, sizes)):
            at = dict(zip(pool.reductions, steps, strict=True))
            downs = {} if self.down is None else self.down.inner
            y, x = (
                sum(factor * at.get(i, 0) for i, factor in inner.items())
                for inner in (downs, self.along.inner)
            )
            self.taps.append((steps, y, x - self.befores[-1]))
        self.max_down: int = max(y for _, y, _ in self.taps)
        self.shifts = sorted({x for _, _, x in self.taps})
        self.sure = self.shifts[-1] - (pads.after[-1] if pads else 0)
        # Where the last vector of rows begins that are longer than one.
        self.whole: Index = 0

    def write(self) -> None:
        """Write the loops."""
        with self._spread(ROWS[0]) as (spans, rows):
            self._all(spans, *rows)

    def _all(self, spans: dict[int, Span], low: Index, high: Index) -> None:
        """Write some rows of outputs of some planes."""

        def write() -> None:
            self._prepare()
            masked = self.weight is not None and not self.emit.isa.free_masks
            (self._row_counts if masked else self._tiles)(spans, low, high)

        # The masks assume that there is a column.
        self.emit.if_any(self.extent(self.pool.col), write)

    def _row_counts(self, spans: dict[int, Span], low: Index, high: Index) -> None:
        """Write rows, with separate code for a common number of short rows."""
        emit, rows, dynamic = self.emit, _COMMON_ROWS, not isinstance(high, int)
        usual = min(rows * self.step, (rows - 1) * self.step + self.max_down + 1 - self.above)
        known = [(low, 0), (high, rows), (self.whole, 0)]
        if self.below:
            known.append((self.counts[-2], usual))

        def common() -> None:
            counts, whole = list(self.counts), self.whole
            if self.below:
                self.counts[-2] = usual
            self.whole = 0
            self._tiles(spans, 0, rows)
            self.counts, self.whole = counts, whole

        same = dynamic and emit.all_hold(emit.holds("eq", *pair) for pair in known)
        emit.choose(same, common, partial(self._tiles, spans, low, high))

    def _tiles(self, spans: dict[int, Span], low: Index, high: Index) -> None:
        """Write tiles of each plane."""
        with self._planes(spans) as env:
            for tile in self._row_tiles(low, high):
                self._columns(env, tile)

    def _heights(self, low: Index, high: Index) -> Iterator[tuple[int, bool]]:
        known = isinstance(low, int) and isinstance(high, int)
        if known or self.weight is not None or self.pool.flat.init is None:
            yield from super()._heights(low, high)
            return
        # Without weights in registers, short code is worth more than higher tiles.
        yield from ((REST_ROWS, False), (REST_ROWS, True))

    @contextmanager
    def _planes(self, spans: dict[int, Span]) -> Iterator[dict[int, Index]]:
        """Write the loops over planes, and over windows on each; yields their counters."""
        pool, env = self.pool, dict[int, Index]()
        with ExitStack() as loops:
            for position in pool.outer:
                env[position] = loops.enter_context(self.emit.each_step(*spans[position]))
            self.start = self.plane_at(env)
            for position in pool.inner:
                env[position] = loops.enter_context(self.emit.each_step(0, self.extent(position)))
            elements = self._elements(env)
            assert elements is not None  # of larger windows copies are made
            self.elements = elements
            yield env

    def _prepare(self) -> None:
        """Write the masks of the columns at the borders, which all planes share."""
        emit, lanes = self.emit, self.lanes
        cols = self.extent(self.pool.col)
        # The last vector holds those at the border. It ends with the row, and overlaps the one
        # before, unless an epilogue or sums in memory may read what was stored there.
        self.whole = emit.round_down(cols - 1, lanes)
        self.first: Tile = Tile(0, 0, 0, 0, self.kept(emit.mask(cols, lanes)))
        # The first vector of rows that are longer needs no masks for their end.
        self.full: Tile = Tile(0, 0, 0, follows=True)
        self.last: Tile = Tile(0, 0, 0, cols - lanes, before=1)
        if self.finish is not None or self.pool.flat.init is None:
            rest = self.kept(emit.mask(cols - self.whole, lanes))
            self.last = Tile(0, 0, 0, self.whole, rest, before=lanes)
        self.prepare_shifts()
        # Which pixels the tiles at the borders load, by where the first one is.
        self.first_masks: dict[int, ir.Value | None] = self._kept_masks(self.first)
        self.full_masks, self.last_masks = (
            {} if self.whole == 0 else self._kept_masks(tile) for tile in (self.full, self.last)
        )

    def _masks(self, tile: Tile) -> dict[int, ir.Value | None]:
        """Return the masks of a tile's loads of a row, by their first pixel."""
        firsts = {first for shift in self.shifts for first in self.loads(shift, tile.col)}
        return {x: self.mask(tile, x) for x in sorted(firsts)}

    def _kept_masks(self, tile: Tile) -> dict[int, ir.Value | None]:
        return {x: self.kept(mask) for x, mask in self._masks(tile).items()}

    def _row_tiles(self, low: Index, high: Index) -> Iterator[Tile]:
        """Write loops over tiles of rows; yields the tile of each."""
        emit = self.emit
        for done, upto, height, guarded in self._row_ranges(low, high):
            with emit.each_step(done, upto, height) as row:
                left = high - row if guarded else height
                yield Tile(row, height, left)

    def _columns(self, env: dict[int, Index], tile: Tile) -> None:
        """Write a row of tiles; those between the borders need no masks."""
        emit, lanes, whole = self.emit, self.lanes, self.whole
        if not isinstance(tile.left, int):
            # Partial tiles are few: one code with masks for all.
            cols = self.extent(self.pool.col)
            with emit.loop(0, cols, lanes) as col:
                mask = emit.mask(cols - col.counter, lanes)
                self._tile(env, replace(tile, col=col.counter, mask=mask), {})
            return

        def rest() -> None:
            if whole != lanes:
                with emit.loop(lanes, whole, lanes) as col:
                    inner = replace(tile, col=col.counter, before=lanes, follows=True)
                    self._tile(env, inner, {})
            self._tile(env, self.last.of_rows(tile), self.last_masks)

        first, full = (
            partial(self._tile, env, part.of_rows(tile), masks)
            for part, masks in ((self.first, self.first_masks), (self.full, self.full_masks))
        )
        longer = emit.holds("sgt", whole, 0)
        emit.choose(longer, full, first)
        emit.choose(longer, rest, lambda: None)

    def _tile(self, env: dict[int, Index], tile: Tile, masks: dict[int, ir.Value | None]) -> None:
        """Write a tile's outputs.

        Args:
            env: the counters of the plane.
            tile: which rows and columns.
            masks: existing masks of the loads of a row, by their first pixel.
        """
        emit = self.emit
        sums = self._begin(env, tile.row, tile.rows, tile.col, tile.mask)
        corner = self.start + tile.col * self.pool.stride
        masks = masks or self._masks(tile)
        seen = list(self._image_rows(tile))
        # Rows are stored early where registers hold no tile with its weights, but for masked ones.
        kept = tile.rows + (0 if self.weight is None else len(self.taps))
        crowded = tile.mask is None and kept >= self.machine.registers
        last = {row * self.step + self.max_down: row for row in range(tile.rows) if crowded}
        places = self._walk(tile.row, corner, seen)
        for place, (offset, live, uses) in zip(places, seen, strict=True):
            done = sorted({use.row for use in uses})

            def taken(
                inside: bool, place: Index = place, uses: list[Use] = uses, done: list[int] = done
            ) -> list[ir.Value]:
                pixels = self.row(
                    tile.col,
                    lambda first: self.load(
                        place + first, masks[first], masks[first] and self._fill_value()
                    ),
                )
                around = self._fill_value()
                after = list(sums)
                self._take(after, uses, pixels if inside else lambda shift: around)
                return [after[at] for at in done]

            types = [self.vector] * len(done)
            values = emit.either(live, types, partial(taken, True), partial(taken, False))
            if self.down is not None:
                # LLVM would hoist the loads of all rows, and spill.
                values = emit.register_barrier(values)
            for at, value in zip(done, values, strict=True):
                sums[at] = value
            if (row := last.get(offset)) is not None:
                self._store(env, replace(tile, row=tile.row + row, rows=1, left=1), [sums[row]])
        if not last:
            self._store(env, tile, sums)

    def _take(
        self, sums: list[ir.Value], uses: Sequence[Use], pixels: Callable[[int], ir.Value]
    ) -> None:
        """Add what rows of outputs take of a row of the image to their sums.

        Pixels that are combined as they are, are so once for all rows of outputs that take them.
        """
        if self.weight is not None:
            for use in sorted(uses, key=lambda use: use.shift):
                element = self.elements[use.steps]
                sums[use.row] = self.combined(sums[use.row], pixels(use.shift), element)
            return
        taken: dict[int, tuple[int, ...]] = {}
        for use in uses:
            taken[use.row] = (*taken.get(use.row, ()), use.shift)
        totals: dict[tuple[int, ...], ir.Value] = {}
        for row, shifts in taken.items():
            if shifts not in totals:
                totals[shifts] = reduce(
                    lambda total, pixel: self.combined(total, pixel, None), map(pixels, shifts)
                )
            sums[row] = self.combined(sums[row], totals[shifts], None)

    def _image_rows(self, tile: Tile) -> Iterator[Seen]:
        """Yield the rows of the image that a tile sees."""
        emit = self.emit
        uses: dict[int, list[Use]] = {}
        for row in range(tile.rows):
            for steps, y, x in self.taps:
                uses.setdefault(row * self.step + y, []).append(Use(row, x, steps))
        first = tile.row * self.step - self.above
        furthest = (tile.rows - 1) * self.step + self.max_down
        guarded = not isinstance(tile.left, int) or tile.left < tile.rows
        for offset in sorted(uses):
            live: ir.Value | bool = True
            if offset < self.above:
                live = emit.holds("slt", -1, first + offset)
            if self.down is not None and (guarded or furthest - offset < self.below):
                below = emit.holds("slt", first + offset, self.counts[-2])
                live = emit.all_hold((live, below))
            yield offset, live, uses[offset]

    def _walk(self, row: Index, corner: Index, seen: Sequence[Seen]) -> Iterator[Index]:
        """Yield where rows of the image are, from that of a place in the plane's first row."""
        stride = 0 if self.down is None else self.source_strides[-2]
        place, reached = corner + (row * self.step - self.above) * stride, 0
        for offset, _, _ in seen:
            # One follows from the last: an addition is cheaper than keeping them all.
            place += (offset - reached) * stride
            reached = offset
            yield place

    def _store(self, env: dict[int, Index], tile: Tile, sums: Sequence[ir.Value]) -> None:
        """Store the rows of a tile that are there."""
        if self.finish is None and isinstance(tile.left, int):
            places = [self.out.at(self.output(env, tile.row, tile.col)).offset]
            for _ in sums[1 : tile.left]:
                places.append(places[-1] + self.out.stride(self.pool.row))
            *rows, last = zip(sums, places, strict=False)
            self._store_rows(rows, tile, overwrites=True)
            self._store_rows([last], tile, overwrites=False)
            return
        there = (self.output(env, tile.row + row, tile.col) for row in range(len(sums)))
        self._put_rows(sums, there, tile.left, tile.mask)

    def _store_rows(
        self, rows: Sequence[tuple[ir.Value, Index]], tile: Tile, overwrites: bool
    ) -> None:
        """Store rows of sums at their places; `overwrites` says that a further row is stored next.

        Where that begins no further than half a vector away, and is the next in memory, it may
        overwrite what a whole vector stores behind a row.
        """
        emit, pool = self.emit, self.pool
        cols, short = pool.flat.iters[pool.col].extent, False
        if overwrites and tile.col == 0 and pool.row is not None and not emit.isa.free_masks:
            short = pool.out.strides[pool.row] == cols and emit.holds(
                "sle", self.lanes, emit.size(cols) * 2
            )
        if rows:
            values, places = zip(*rows, strict=True)
            write = partial(emit.store_rows, values, self.out.base, places)
            emit.choose(short, lambda: write(None), lambda: write(tile.mask))


# Vectors of a register tile.
_VECTORS = 4
# A common number of dynamic rows: that of the last layers for images of 224 pixels.
_COMMON_ROWS = 7


def max_paired_columns(pool: DepthwisePool, machine: Machine) -> int:
    """Return the columns of outputs up to which two rows share a vector."""
    lanes = machine.lanes(pool.element)
    if lanes is None or pool.row is None or pool.flat.init is None or not machine.isa.tables:
        return 0
    taps = {i: pool.flat.iters[i].extent.value or 1 for i in pool.axes[-1].inner if i != pool.col}
    span = 1 + sum(pool.axes[-1].inner[i] * (count - 1) for i, count in taps.items())
    return max(0, min(lanes // 2, (lanes - span) // pool.stride + 1))


def pairing_pays(pool: DepthwisePool, emit: Emitter) -> ir.Value | bool:
    """Return whether rows are that short, and there are several."""
    cols, rows = (emit.size(pool.flat.iters[i].extent) for i in (pool.col, pool.row))
    most = max_paired_columns(pool, emit.machine)
    return emit.all_hold((emit.holds("sle", cols, most), emit.holds("sgt", rows, 1)))


class PairedRowsNchw(InPlaceNchw):
    """Writes the kernel for short rows."""

    row_mask: ir.Value
    rest_mask: ir.Value

    def _prepare(self) -> None:
        emit, lanes, first = self.emit, self.lanes, self.shifts[0]
        mask = emit.mask(self.counts[-1] - first, lanes)
        self.row_mask = self.without(mask, -first) if first < 0 else mask
        self.rest_mask = emit.mask(self.extent(self.pool.col), lanes)
        if not isinstance(self.extent(self.pool.col), int):
            self.row_mask, self.rest_mask = map(self.kept, (self.row_mask, self.rest_mask))

    def _heights(self, low: Index, high: Index) -> Iterator[tuple[int, bool]]:
        if not isinstance(low, int) or not isinstance(high, int):
            yield 2 * _VECTORS, True
            return
        rows = high - low
        if rows >= 2 * _VECTORS:
            yield 2 * _VECTORS, False
        if rows % (2 * _VECTORS):
            yield rows % (2 * _VECTORS), False

    def _all(self, spans: dict[int, Span], low: Index, high: Index) -> None:
        """Write the rows of outputs of some planes."""
        self._prepare()
        self._row_counts(spans, low, high)

    def _tiles(self, spans: dict[int, Span], low: Index, high: Index) -> None:
        """Write tiles one after the other, each of all planes, which share its masks."""
        for tile in self._row_tiles(low, high):
            half = (tile.rows + 1) // 2
            known = isinstance(tile.left, int)
            below, above = (half, tile.rows - half) if known else (tile.left, tile.left)
            lower = Tile(tile.row, half, below)
            upper = Tile(tile.row + half, half, above)
            tops, bottoms = ([*self._image_rows(part)] for part in (lower, upper))
            masks = [
                [(live, self._live_mask(live)) for _, live, _ in seen] for seen in (tops, bottoms)
            ]
            with self._planes(spans) as env:
                corner = self.start + self.shifts[0]
                places = [
                    self._walk(part.row, corner, seen)
                    for part, seen in ((lower, tops), (upper, bottoms))
                ]
                rows = zip(zip(*places, strict=True), zip(*masks, strict=True), tops, strict=True)
                sums = [self.splat(self.pool.flat.init)] * half
                for ats, pair, (_, _, uses) in rows:
                    pixels = [
                        self._load_live(at, corner, mask, live)
                        for at, (live, mask) in zip(ats, pair, strict=True)
                    ]
                    picked = {x: self._picked(pixels, x) for x in {use.shift: 0 for use in uses}}
                    self._take(sums, uses, picked.__getitem__)
                self._store_halves(env, tile, sums)

    def _load_live(
        self, at: Index, corner: Index, mask: ir.Value | None, live: ir.Value | bool
    ) -> ir.Value:
        """Load pixels of a row of the image, or what is around it where that is none.

        A place in the plane's first row stands for rows that are not there: of a page that is not
        there either a load takes long even where all of its lanes are off.
        """
        if live is False:
            return self._fill_value()
        place = at if live is True else self.emit.select(live, at, corner)
        return self.load(place, mask, None if mask is None else self._fill_value())

    def _live_mask(self, live: ir.Value | bool) -> ir.Value:
        """Return the mask of a row's pixels, which is off where the row is not there."""
        if isinstance(live, bool):
            return self.row_mask
        every = self.emit.op("vector.broadcast", [live], self.row_mask.type)
        return self.emit.both(self.row_mask, every)

    def _store_halves(self, env: dict[int, Index], tile: Tile, sums: list[ir.Value]) -> None:
        lanes = self.lanes
        rotated = [*range(lanes // 2, lanes), *range(lanes // 2)]
        high = [self.emit.shuffle(value, value, rotated) for value in sums]
        rows = [*sums, *high][: tile.rows]
        self._store(env, replace(tile, mask=self.rest_mask), rows)

    def _picked(self, pixels: list[ir.Value], shift: int) -> ir.Value:
        """Return the pixels that a tap meets, of both rows."""
        lanes, stride = self.lanes, self.pool.stride
        picks: list[tuple[int, int] | None] = []
        for row, col in itertools.product(range(2), range(lanes // 2)):
            lane = col * stride + shift - self.shifts[0]
            picks.append((row, lane) if lane < lanes else None)
        return pick_lanes(self.emit, pixels, picks)
