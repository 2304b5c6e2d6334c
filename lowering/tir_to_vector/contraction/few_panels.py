"""Contractions of a few rows with panels that are there already: they are read once, in order."""

from collections.abc import Callable
from dataclasses import replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import groups_type
from relax_mlir.lowering.tir_to_vector.contraction.dot_product_pack import (
    GroupLoader,
    copy_groups,
    write_starts,
)
from relax_mlir.lowering.tir_to_vector.contraction.matmul_sizes import Sizes, Span
from relax_mlir.lowering.tir_to_vector.contraction.microkernel import (
    Flat,
    Store,
    Tile,
    starts,
    store_kept,
    tile_step,
    tile_sums,
)
from relax_mlir.lowering.tir_to_vector.contraction.packing import Loader, copy_rows
from relax_mlir.lowering.tir_to_vector.emit import KEEP, UNROLL
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# Rows up to which panels are what takes the time, not the products.
MOST_ROWS = 8
# Panels that one row passes over side by side for each unit that multiplies and adds, and registers
# that do not hold its sums.
_ALONGSIDE, _SPARE = 2, 4
# Rows that go together where the number of all is not known.
_TOGETHER = 4
# Bytes of a panel that are asked for ahead of their use: the hardware stops at the ends of pages.
_AHEAD = 2048
# Fewer rows compute nothing that would hide how long lines take to the first-level cache: it is the
# second-level one that they are asked for to, which can wait for more of them at a time.
_NEAR_ROWS = 4


def few_by_panels(sizes: Sizes) -> bool | ir.Value:
    """Return whether so few rows share the panels that each is best read from end to end."""
    emit, size = sizes.emit, sizes.vector.element_type.width // 8
    if not isinstance(sizes.k, int) or sizes.matrices:
        return False
    # All rows stay in the second-level cache while panels pass through it.
    most = min(MOST_ROWS, sizes.rows.most, sizes.machine.l2_bytes // 2 // size // max(1, sizes.k))
    if isinstance(sizes.m, int):
        return 0 < sizes.m <= most
    return False if most < 1 else emit.compare("sle", sizes.m, most)


def alongside(sizes: Sizes) -> int:
    """Return how many panels one row passes over side by side: threads share out as many together.

    Args:
        sizes: of a contraction by panels.
    """
    fit = (sizes.machine.registers - _SPARE) // (sizes.ready // sizes.lanes)
    return max(1, min(_ALONGSIDE * sizes.machine.fma_units, fit))


class FewByPanels:
    """Writes the products, and what becomes of sums only once.

    Where the number of rows is known at run time, some go together, and the rest has a branch for
    each number of rows; a panel that all of them pass over is in the caches after the first time.
    """

    def __init__(self, sizes: Sizes) -> None:
        self._sizes, self._emit = sizes, sizes.emit
        self._most = sizes.m if isinstance(sizes.m, int) else min(MOST_ROWS, sizes.rows.most)
        self._alongside = alongside(sizes)
        rows = max(self._most, self._alongside)
        self._scratch = self._emit.alloc(rows * sizes.ready, sizes.found.element)
        self._copies: ir.Value | None = None
        if sizes.dot is not None or sizes.found.widen[0] is not None:
            assert isinstance(sizes.k, int)  # or panels would not be read so
            self._distance = sizes.k + sizes.lanes
            operand = sizes.found.element if sizes.dot is None else groups_type(1).element_type
            self._copies = self._emit.alloc(self._most * self._distance, operand)

    def write(self, a: Flat, b: Flat, columns: Span, store: Store) -> None:
        """Write the loop over panels.

        Args:
            a: the first element of A.
            b: the first element of the first panel.
            columns: the range of columns, of whole panels but for the last.
            store: what becomes of sums, from column 0 on.
        """
        emit, m = self._emit, self._sizes.m
        if self._copies is not None:
            a = self._copied(a, self._copies)
        if self._alongside == 1 or (isinstance(m, int) and m > 1):
            self._panels(a, b, columns, store)
        elif isinstance(m, int):
            self._single(a, b, columns, store)
        else:
            with emit.when(emit.compare("eq", m, 1)) as branch:
                self._single(a, b, columns, store)
            with emit.otherwise(branch):
                self._panels(a, b, columns, store)

    def _copied(self, a: Flat, copies: ir.Value) -> Flat:
        """Copy all rows of A as what is multiplied, and return where they are."""
        emit, sizes, found = self._emit, self._sizes, self._sizes.found
        m_stride, steps, lanes = a.stride(found.m), sizes.k, sizes.lanes
        with emit.loop(0, sizes.m) as row:
            place = emit.add(a.offset, emit.mul(row.counter, m_stride))
            source = Flat(a.base, place, {"k": a.stride(found.k)})
            to = emit.mul(row.counter, self._distance)
            if sizes.dot is None:
                load = Loader(emit, a.base, found.widen[0], sizes.vector)
                copy_rows(load, source, 1, steps, copies, self._distance, to)
            else:
                groups = GroupLoader(emit, a.base, sizes.dot, sizes.dot.widen[0], False, lanes)
                copy_groups(groups, source, 1, steps, copies, self._distance, to)
                if sizes.dot.turned:
                    here = Flat(copies, to, {"start": self._distance - 1})
                    write_starts(emit, sizes.dot, here, 1, sizes.groups(steps), lanes)
        return Flat(copies, 0, {found.m: self._distance, found.k: 1, "start": self._distance - 1})

    def _single(self, a: Flat, b: Flat, columns: Span, store: Store) -> None:
        """Write the loop for one row: several panels side by side, which memory likes better."""
        emit, sizes = self._emit, self._sizes
        vectors, lanes, ready = self._vectors, sizes.lanes, sizes.ready
        first, last = columns
        width = self._alongside * ready
        count = emit.sub(last, first)
        if sizes.is_ragged:
            count = emit.add(count, ready - 1)
        whole = emit.add(first, emit.round_down(count, width))
        far, step = b.stride(sizes.panel), b.stride(sizes.found.k)
        zero = emit.constant(sizes.vector, 0)
        panel, tile = (self._tile(1, vectors * count) for count in (1, self._alongside))
        begin = [zero] * tile.vectors
        if sizes.dot is not None and sizes.dot.turned:
            begin = starts(emit, tile, a)
        with emit.loop(first, whole, width) as column:
            number = emit.div(column.counter, ready)
            places = [
                emit.add(b.offset, emit.mul(emit.add(number, i), far))
                for i in range(self._alongside)
            ]

            def step_of(
                k: Index, carried: list[ir.Value], known: tuple[Index, ...], line: Index
            ) -> list[ir.Value]:
                along = emit.mul(k, a.stride(sizes.found.k))
                one = emit.splat(emit.load(a.base, [emit.add(a.offset, along)]), tile.operand)
                sums = list(carried)
                for i in range(tile.vectors):
                    at = emit.add(places[i // vectors], emit.mul(line, step))
                    place = emit.add(at, i % vectors * lanes)
                    here = self._tile(1, vectors, emit.add(number, i // vectors), known=known)
                    value = here.column(emit, b.base, place, k, i % vectors * lanes)
                    if i % vectors == 0 and not any(known[1:]):
                        later = emit.add(at, emit.mul(self._ahead, step))
                        panel.prefetch(emit, b.base, later, far=True)
                    sums[i] = tile.multiply_add(emit, one, value, sums[i])
                return sums

            for i, value in enumerate(self._sums_by_steps(begin, step_of)):
                emit.vector_store(value, self._scratch, [i * lanes])
            there = replace(store, scratch=self._scratch, rows=1).at(emit, column.counter)
            store_kept(emit, tile, there, self._masks(column.counter, tile.vectors))
        self._panels(a, b, (whole, last), store)

    def _sums_by_steps(
        self, begin: list[ir.Value],
        step_of: Callable[[Index, list[ir.Value], tuple[Index, ...], Index], list[ir.Value]],
    ) -> list[ir.Value]:  # fmt: skip
        """Write the loop over steps; those of a group in one, so that scales stay in registers.

        Two steps that share bytes are made at once.

        Args:
            begin: what sums start from.
            step_of: writes a step: which it is, sums, what is known of its group, and which line of
                a panel it is in.
        """
        emit, sizes = self._emit, self._sizes
        steps, computed = sizes.groups(sizes.k), sizes.load.computed
        if computed is None or computed.group is None:
            with emit.loop(0, steps, 1, begin, UNROLL) as loop:
                loop.carry(step_of(loop.counter, list(loop.carried), (), loop.counter))
            return list(loop.results)
        lines = computed.half or computed.group
        with emit.loop(0, emit.div(steps, computed.group), 1, begin, KEEP) as outer:
            first, group = emit.mul(outer.counter, computed.group), outer.counter
            with emit.loop(0, lines, 1, list(outer.carried), UNROLL) as loop:
                line = emit.add(emit.mul(group, lines), loop.counter)
                sums = list(loop.carried)
                for part in range(computed.group // lines):
                    k = emit.add(emit.add(first, part * lines), loop.counter)
                    known = (group,) if computed.half is None else (group, part)
                    sums = step_of(k, sums, known, line)
                loop.carry(sums)
            outer.carry(loop.results)
        return list(outer.results)

    @property
    def _ahead(self) -> int:
        """Steps of k, or of groups, that panels are asked for ahead of their use."""
        sizes = self._sizes
        return _AHEAD // (sizes.ready * sizes.load.bytes(sizes.b.base))

    def _tile(
        self, rows: int, vectors: int, panel: Index = 0, first: int = 0,
        known: tuple[Index, ...] = (),
    ) -> Tile:  # fmt: skip
        """Return a tile of some columns of a panel, from one on."""
        sizes = self._sizes
        load = replace(sizes.load, panel=panel, first=first, known=known)
        return Tile(rows, vectors, sizes.vector, sizes.machine.fma, sizes.dot, load=load)

    def _panels(self, a: Flat, b: Flat, columns: Span, store: Store) -> None:
        """Write the loop over panels, one after the other."""
        emit, sizes = self._emit, self._sizes
        with emit.loop(*columns, sizes.ready) as column:
            number = emit.div(column.counter, sizes.ready)
            place = emit.add(b.offset, emit.mul(number, b.stride(sizes.panel)))
            panel = Flat(b.base, place, {"k": b.stride(sizes.found.k)})
            self._rows(a, panel, number)
            tile = self._tile(self._most, self._vectors)
            there = replace(store, scratch=self._scratch, rows=sizes.m).at(emit, column.counter)
            store_kept(emit, tile, there, self._masks(column.counter, self._vectors))

    def _masks(self, column: Index, vectors: int) -> list[ir.Value | None]:
        """Return which columns from one on there are, None for whole vectors."""
        emit, sizes = self._emit, self._sizes
        if not sizes.is_ragged:
            return [None] * vectors
        left = emit.sub(sizes.n, column)
        return [emit.mask(emit.sub(left, i * sizes.lanes), sizes.lanes) for i in range(vectors)]

    @property
    def _vectors(self) -> int:
        return self._sizes.ready // self._sizes.lanes

    def _rows(self, a: Flat, panel: Flat, number: Index) -> None:
        emit, m = self._emit, self._sizes.m
        if isinstance(m, int):
            self._sums(0, m, a, panel, number)
            return
        whole = emit.round_down(m, _TOGETHER)
        with emit.loop(0, whole, _TOGETHER) as group:
            self._sums(group.counter, _TOGETHER, a, panel, number)
        left = emit.sub(m, whole)
        for rows in range(1, _TOGETHER):
            with emit.when(emit.compare("eq", left, rows)):
                self._sums(whole, rows, a, panel, number)

    def _sums(self, row: Index, rows: int, a: Flat, panel: Flat, panel_number: Index) -> None:
        """Write the sums of some rows and all columns of a panel, as many at a time as fit."""
        emit, sizes, found = self._emit, self._sizes, self._sizes.found
        most = sizes.rows.most * sizes.vectors
        vectors = self._vectors if rows * self._vectors <= most else sizes.vectors
        m_stride = a.stride(found.m)
        place = emit.add(a.offset, emit.mul(row, m_stride))
        strides = {"m": m_stride, "k": a.stride(found.k), "start": a.stride("start")}
        left = Flat(a.base, place, strides)
        masks: list[ir.Value | None] = [None] * vectors
        for first in range(0, self._vectors, vectors):
            start: Index = emit.add(panel.offset, first * sizes.lanes)
            part = Flat(panel.base, start, panel.strides)
            far = rows < _NEAR_ROWS
            steps = sizes.groups(sizes.k)
            tile = self._tile(rows, vectors, panel_number, first * sizes.lanes)
            if sizes.load.computed is not None and sizes.load.computed.group is not None:
                sums = self._grouped_sums(tile, left, part)
            else:
                sums = tile_sums(emit, tile, left, part, steps, masks, self._ahead, far=far)
            for i, value in enumerate(sums):
                number, vector = divmod(i, vectors)
                line = emit.mul(emit.add(row, number), sizes.ready)
                at = emit.add(line, (first + vector) * sizes.lanes)
                emit.vector_store(value, self._scratch, [at])

    def _grouped_sums(self, tile: Tile, a: Flat, panel: Flat) -> list[ir.Value]:
        """Write the sums of some rows by a panel whose steps are in groups."""
        emit, masks = self._emit, [None] * tile.vectors
        far = tile.rows < _NEAR_ROWS

        def step_of(
            k: Index, carried: list[ir.Value], known: tuple[Index, ...], line: Index
        ) -> list[ir.Value]:
            assert tile.load is not None  # computed panels have one
            if not any(known[1:]):
                later = emit.mul(emit.add(line, self._ahead), panel.stride("k"))
                tile.prefetch(emit, panel.base, emit.add(panel.offset, later), far=far)
            here = replace(tile, load=replace(tile.load, known=known))
            return tile_step(emit, here, a, panel, k, list(masks), carried)

        zero = emit.constant(tile.vector, 0)
        return self._sums_by_steps([zero] * (tile.rows * tile.vectors), step_of)
