"""GEMV, and GEMM of up to eight rows, of a packed operand: panels are read once, in order."""

from dataclasses import replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction.gemm_blocking import GemmBlocking, Span
from relax_mlir.lowering.tir_to_vector.contraction.gemm_operands import copy_of_rows
from relax_mlir.lowering.tir_to_vector.contraction.microkernel import (
    RegisterTile,
    Store,
    store_kept,
    tile_step,
    tile_sums,
)
from relax_mlir.lowering.tir_to_vector.control_flow import KEEP, UNROLL
from relax_mlir.lowering.tir_to_vector.emit import StridedRef
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# Rows up to which reading the panels is the limit, not the products.
MAX_ROWS = 8
# Panels that one row reads side by side for each FMA unit, and registers that hold no sums.
_PANELS_PER_FMA_UNIT, _SPARE = 2, 4
# Rows that go together if their number is dynamic.
_TOGETHER = 4
# The prefetch distance in bytes: the hardware prefetcher stops at the end of a page.
_PREFETCH_BYTES = 2048
# Rows from which on prefetches go into L1. Fewer rows do not hide its misses: L2 has more of them
# in flight.
_L1_PREFETCH_ROWS = 4


def is_packed_gemv(blocking: GemmBlocking) -> bool | ir.Value:
    """Return whether few rows share the panels, so that each panel is read from end to end."""
    size = blocking.vector.element_type.width // 8
    if not isinstance(blocking.k, int) or blocking.matrices:
        return False
    # The rows of A stay in L2 while panels stream through it.
    most = min(
        MAX_ROWS, blocking.rows.most, blocking.machine.l2_bytes // 2 // size // max(1, blocking.k)
    )
    if isinstance(blocking.m, int):
        return 0 < blocking.m <= most
    return False if most < 1 else blocking.m <= most


def panels_at_once(blocking: GemmBlocking) -> int:
    """Return how many panels one row reads side by side; threads get as many at a time.

    Args:
        blocking: of a GEMM of a packed operand.
    """
    fit = (blocking.machine.registers - _SPARE) // (blocking.panel_width // blocking.lanes)
    return max(1, min(_PANELS_PER_FMA_UNIT * blocking.machine.fma_units, fit))


class PackedGemv:
    """Writes the sums and their epilogue.

    Dynamic rows go four at a time, with a branch for each number of rows in the tail; a panel that
    several groups of rows read is in cache after the first.
    """

    def __init__(self, blocking: GemmBlocking) -> None:
        self._blocking, self._emit = blocking, blocking.emit
        self._most = (
            blocking.m if isinstance(blocking.m, int) else min(MAX_ROWS, blocking.rows.most)
        )
        self._panels_at_once = panels_at_once(blocking)
        rows = max(self._most, self._panels_at_once)
        self._scratch = self._emit.alloc(rows * blocking.panel_width, blocking.gemm.element)
        self._copies: ir.Value | None = None
        if blocking.dot is not None or blocking.gemm.widen[0] is not None:
            assert isinstance(blocking.k, int)  # or panels would not be read so
            self._distance = blocking.k + blocking.lanes
            self._copies = self._emit.alloc(self._most * self._distance, blocking.operand)

    def write(self, a: StridedRef, b: StridedRef, columns: Span, store: Store) -> None:
        """Write the loop over panels.

        Args:
            a: the first element of A.
            b: the first element of the first panel.
            columns: the range of columns, of whole panels but for the last.
            store: what is done with sums, from column 0 on.
        """
        emit, m, gemm = self._emit, self._blocking.m, self._blocking.gemm
        a = replace(a, strides={"m": a.stride(gemm.m), "k": a.stride(gemm.k)})
        if self._copies is not None:
            a = copy_of_rows(self._blocking, a, m, self._blocking.k, self._copies, self._distance)
        emit.choose(
            self._panels_at_once > 1 and emit.holds("eq", m, 1),
            lambda: self._single(a, b, columns, store),
            lambda: self._panels(a, b, columns, store),
        )

    def _single(self, a: StridedRef, b: StridedRef, columns: Span, store: Store) -> None:
        """Write the loops for one row: several panels side by side use more streams of memory."""
        blocking, (first, last) = self._blocking, columns
        count = last - first
        if blocking.is_ragged:
            count += blocking.panel_width - 1
        width = self._panels_at_once * blocking.panel_width
        whole = first + self._emit.round_down(count, width)
        self._panels(a, b, (first, whole), store, self._panels_at_once)
        self._panels(a, b, (whole, last), store)

    def _tile(self, rows: int, vectors: int, panel: Index = 0, first: int = 0) -> RegisterTile:
        """Return a tile of some columns of a panel, or of several panels."""
        blocking, several = self._blocking, vectors > self._vectors
        load = replace(
            blocking.load, panel=panel, first=first,
            width=blocking.panel_width if several else 0, apart=blocking.b.stride(blocking.panel),
        )  # fmt: skip
        distance = _PREFETCH_BYTES // (blocking.panel_width * load.bytes(blocking.b.base))
        return replace(
            blocking.tile, rows=rows, vectors=vectors, load=load, prefetch_distance=distance,
            far=rows < _L1_PREFETCH_ROWS, in_order=several,
        )  # fmt: skip

    def _panels(
        self, a: StridedRef, b: StridedRef, columns: Span, store: Store, count: int = 1
    ) -> None:
        """Write the loop over panels, `count` of them side by side: those are of one row."""
        emit, blocking, vectors = self._emit, self._blocking, count * self._vectors
        rows, most = (blocking.m, self._most) if count == 1 else (1, 1)
        with emit.loop(*columns, count * blocking.panel_width) as column:
            number = column.counter // blocking.panel_width
            place = b.offset + number * b.stride(blocking.panel)
            panel = StridedRef(b.base, place, {"k": b.stride(blocking.gemm.k)})
            self._rows(rows, vectors, a, panel, number)
            there = replace(store, scratch=self._scratch, rows=rows).at(column.counter)
            store_kept(self._tile(most, vectors), there, self._masks(column.counter, vectors))

    def _masks(self, column: Index, vectors: int) -> list[ir.Value | None]:
        """Return the masks of columns from one on, None for whole vectors."""
        emit, blocking = self._emit, self._blocking
        if not blocking.is_ragged:
            return [None] * vectors
        left = blocking.n - column
        return [emit.mask(left - i * blocking.lanes, blocking.lanes) for i in range(vectors)]

    @property
    def _vectors(self) -> int:
        return self._blocking.panel_width // self._blocking.lanes

    def _rows(
        self, m: Index, vectors: int, a: StridedRef, panel: StridedRef, number: Index
    ) -> None:
        emit = self._emit
        if isinstance(m, int):
            self._sums(0, m, vectors, a, panel, number)
            return
        whole = emit.round_down(m, _TOGETHER)
        with emit.loop(0, whole, _TOGETHER) as group:
            self._sums(group.counter, _TOGETHER, vectors, a, panel, number)
        left = m - whole
        for rows in range(1, _TOGETHER):
            with emit.when(emit.compare("eq", left, rows)):
                self._sums(whole, rows, vectors, a, panel, number)

    def _sums(
        self, row: Index, rows: int, columns: int, a: StridedRef, panel: StridedRef, number: Index
    ) -> None:
        """Write the sums of some rows by vectors of columns, as many at a time as fit registers."""
        emit, blocking = self._emit, self._blocking
        most = blocking.rows.most * blocking.vectors
        vectors = columns if rows * columns <= most or rows == 1 else blocking.vectors
        left = replace(a, offset=a.offset + row * a.stride("m"))
        for first in range(0, columns, vectors):
            start = panel.offset + first * blocking.lanes
            part = StridedRef(panel.base, start, panel.strides)
            tile = self._tile(rows, vectors, number, first * blocking.lanes)
            for i, value in enumerate(self._tile_sums(tile, left, part)):
                line, vector = divmod(i, vectors)
                at = (row + line) * columns + (first + vector)
                emit.vector_store(value, self._scratch, [at * blocking.lanes])

    def _tile_sums(self, tile: RegisterTile, a: StridedRef, panel: StridedRef) -> list[ir.Value]:
        """Write the sums of a tile; loops over groups of scales keep these in registers.

        Two steps that share bytes (int4) are computed at once.
        """
        emit, blocking = self._emit, self._blocking
        steps, computed = blocking.groups(blocking.k), blocking.load.computed
        if computed is None or computed.group is None:
            return tile_sums(tile, a, panel, steps)
        lines, masks = computed.half or computed.group, [None] * tile.vectors
        begin = [emit.constant(tile.vector, 0)] * (tile.rows * tile.vectors)
        with emit.loop(0, steps // computed.group, 1, begin, KEEP) as outer:
            first, group = outer.counter * computed.group, outer.counter
            with emit.loop(0, lines, 1, outer.carried, UNROLL) as loop:
                later = group * lines + loop.counter + tile.prefetch_distance
                tile.prefetch(panel.base, panel.offset + later * panel.stride("k"))
                sums = loop.carried
                for part in range(computed.group // lines):
                    k = first + part * lines + loop.counter
                    known = (group,) if computed.half is None else (group, part)
                    load = replace(tile.load, known=known)
                    here = replace(tile, load=load, prefetch_distance=0)
                    sums = tile_step(here, a, panel, k, masks, sums)
                loop.carry(sums)
            outer.carry(loop.results)
        return list(outer.results)
