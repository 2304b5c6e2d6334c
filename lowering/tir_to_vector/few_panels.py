"""Contractions of a few rows with panels that are there already: they are read once, in order."""

from dataclasses import replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import UNROLL
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.matmul_sizes import Sizes, Span
from relax_mlir.lowering.tir_to_vector.microkernel import (
    Flat,
    Store,
    Tile,
    store_kept,
    tile_sums,
)

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
    if not isinstance(sizes.k, int) or sizes.found.widen[0] is not None:
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

    def write(self, a: Flat, b: Flat, columns: Span, store: Store) -> None:
        """Write the loop over panels.

        Args:
            a: the first element of A.
            b: the first element of the first panel.
            columns: the range of columns, of whole panels but for the last.
            store: what becomes of sums, from column 0 on.
        """
        emit, m = self._emit, self._sizes.m
        if self._alongside == 1 or (isinstance(m, int) and m > 1):
            self._panels(a, b, columns, store)
        elif isinstance(m, int):
            self._single(a, b, columns, store)
        else:
            with emit.when(emit.compare("eq", m, 1)) as branch:
                self._single(a, b, columns, store)
            with emit.otherwise(branch):
                self._panels(a, b, columns, store)

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
        tile = Tile(1, vectors * self._alongside, sizes.vector, sizes.machine.fma)
        with emit.loop(first, whole, width) as column:
            number = emit.div(column.counter, ready)
            starts = [
                emit.add(b.offset, emit.mul(emit.add(number, i), far))
                for i in range(self._alongside)
            ]
            with emit.loop(0, sizes.k, 1, [zero] * tile.vectors, UNROLL) as loop:
                along = emit.mul(loop.counter, a.stride(sizes.found.k))
                one = emit.splat(emit.load(a.base, [emit.add(a.offset, along)]), sizes.vector)
                sums = list(loop.carried)
                for i in range(tile.vectors):
                    at = emit.add(starts[i // vectors], emit.mul(loop.counter, step))
                    place = emit.add(at, i % vectors * lanes)
                    line = emit.vector_load(b.base, [place], sizes.vector)
                    ahead = emit.add(place, emit.mul(self._ahead, step))
                    emit.prefetch(b.base, ahead, far=True)
                    sums[i] = tile.multiply_add(emit, one, line, sums[i])
                loop.carry(sums)
            for i, value in enumerate(loop.results):
                emit.vector_store(value, self._scratch, [i * lanes])
            there = replace(store, scratch=self._scratch, rows=1).at(emit, column.counter)
            store_kept(emit, tile, there, self._masks(column.counter, tile.vectors))
        self._panels(a, b, (whole, last), store)

    @property
    def _ahead(self) -> int:
        """Steps of k that panels are asked for ahead of their use."""
        return _AHEAD * 8 // (self._sizes.ready * self._sizes.vector.element_type.width)

    def _panels(self, a: Flat, b: Flat, columns: Span, store: Store) -> None:
        """Write the loop over panels, one after the other."""
        emit, sizes = self._emit, self._sizes
        with emit.loop(*columns, sizes.ready) as column:
            number = emit.div(column.counter, sizes.ready)
            place = emit.add(b.offset, emit.mul(number, b.stride(sizes.panel)))
            panel = Flat(b.base, place, {"k": b.stride(sizes.found.k)})
            self._rows(a, panel)
            tile = Tile(self._most, self._vectors, sizes.vector, sizes.machine.fma)
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

    def _rows(self, a: Flat, panel: Flat) -> None:
        emit, m = self._emit, self._sizes.m
        if isinstance(m, int):
            self._sums(0, m, a, panel)
            return
        whole = emit.round_down(m, _TOGETHER)
        with emit.loop(0, whole, _TOGETHER) as group:
            self._sums(group.counter, _TOGETHER, a, panel)
        left = emit.sub(m, whole)
        for rows in range(1, _TOGETHER):
            with emit.when(emit.compare("eq", left, rows)):
                self._sums(whole, rows, a, panel)

    def _sums(self, row: Index, rows: int, a: Flat, panel: Flat) -> None:
        """Write the sums of some rows and all columns of a panel, as many at a time as fit."""
        emit, sizes, found = self._emit, self._sizes, self._sizes.found
        most = sizes.rows.most * sizes.vectors
        vectors = self._vectors if rows * self._vectors <= most else sizes.vectors
        tile = Tile(rows, vectors, sizes.vector, sizes.machine.fma)
        m_stride = a.stride(found.m)
        place = emit.add(a.offset, emit.mul(row, m_stride))
        left = Flat(a.base, place, {"m": m_stride, "k": a.stride(found.k)})
        masks: list[ir.Value | None] = [None] * vectors
        for first in range(0, self._vectors, vectors):
            start: Index = emit.add(panel.offset, first * sizes.lanes)
            part = Flat(panel.base, start, panel.strides)
            far = rows < _NEAR_ROWS
            sums = tile_sums(emit, tile, left, part, sizes.k, masks, self._ahead, far=far)
            for i, value in enumerate(sums):
                number, vector = divmod(i, vectors)
                line = emit.mul(emit.add(row, number), sizes.ready)
                at = emit.add(line, (first + vector) * sizes.lanes)
                emit.vector_store(value, self._scratch, [at])
