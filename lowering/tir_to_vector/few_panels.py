"""Contractions of a few rows with panels that are there already: they are read once, in order."""

from dataclasses import replace

from relax_mlir.dialects.bindings import ir
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
# Rows that go together where the number of all is not known.
_TOGETHER = 4
# Bytes of a panel that are asked for ahead of their use: the hardware stops at the ends of pages.
_AHEAD = 2048


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


class FewByPanels:
    """Writes the products, and what becomes of sums only once.

    Where the number of rows is known at run time, some go together, and the rest has a branch for
    each number of rows; a panel that all of them pass over is in the caches after the first time.
    """

    def __init__(self, sizes: Sizes) -> None:
        self._sizes, self._emit = sizes, sizes.emit
        self._most = sizes.m if isinstance(sizes.m, int) else min(MOST_ROWS, sizes.rows.most)
        self._scratch = self._emit.alloc(self._most * sizes.ready, sizes.found.element)

    def write(self, a: Flat, b: Flat, columns: Span, store: Store) -> None:
        """Write the loop over panels.

        Args:
            a: the first element of A.
            b: the first element of the first panel.
            columns: the range of columns, of whole panels.
            store: what becomes of sums, from column 0 on.
        """
        emit, sizes = self._emit, self._sizes
        with emit.loop(*columns, sizes.ready) as column:
            number = emit.div(column.counter, sizes.ready)
            place = emit.add(b.offset, emit.mul(number, b.stride(sizes.panel)))
            panel = Flat(b.base, place, {"k": b.stride(sizes.found.k)})
            self._rows(a, panel)
            tile = Tile(self._most, self._vectors, sizes.vector, sizes.machine.fma)
            there = replace(store, scratch=self._scratch, rows=sizes.m).at(emit, column.counter)
            store_kept(emit, tile, there, [None] * self._vectors)

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
        ahead = _AHEAD * 8 // (sizes.ready * sizes.vector.element_type.width)
        masks: list[ir.Value | None] = [None] * vectors
        for first in range(0, self._vectors, vectors):
            start: Index = emit.add(panel.offset, first * sizes.lanes)
            part = Flat(panel.base, start, panel.strides)
            sums = tile_sums(emit, tile, left, part, sizes.k, masks, ahead)
            for i, value in enumerate(sums):
                number, vector = divmod(i, vectors)
                line = emit.mul(emit.add(row, number), sizes.ready)
                at = emit.add(line, (first + vector) * sizes.lanes)
                emit.vector_store(value, self._scratch, [at])
