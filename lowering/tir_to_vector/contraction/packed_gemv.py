"""GEMV, and GEMM of up to eight rows, of a packed operand: panels are read once, in order."""

from collections.abc import Callable
from dataclasses import replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction.gemm_blocking import GemmBlocking, Span
from relax_mlir.lowering.tir_to_vector.contraction.gemm_operands import copy_of_rows
from relax_mlir.lowering.tir_to_vector.contraction.microkernel import (
    RegisterTile,
    Store,
    starts,
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
            a = self._copied(a, self._copies)
        emit.choose(
            self._panels_at_once > 1 and emit.holds("eq", m, 1),
            lambda: self._single(a, b, columns, store),
            lambda: self._panels(a, b, columns, store),
        )

    def _copied(self, a: StridedRef, copies: ir.Value) -> StridedRef:
        """Copy the rows of A in the type that is multiplied."""
        blocking, distance = self._blocking, self._distance
        with self._emit.loop(0, blocking.m) as row:
            source = replace(a, offset=a.offset + row.counter * a.stride("m"))
            to = row.counter * distance
            copy_of_rows(blocking, source, 1, blocking.k, copies, distance, to)
        return StridedRef(copies, 0, {"m": distance, "k": 1, "start": distance - 1})

    def _single(self, a: StridedRef, b: StridedRef, columns: Span, store: Store) -> None:
        """Write the loop for one row: several panels side by side use more streams of memory."""
        emit, blocking = self._emit, self._blocking
        vectors, lanes, panel_width = self._vectors, blocking.lanes, blocking.panel_width
        first, last = columns
        width = self._panels_at_once * panel_width
        count = last - first
        if blocking.is_ragged:
            count += panel_width - 1
        whole = first + emit.round_down(count, width)
        far, step = b.stride(blocking.panel), b.stride(blocking.gemm.k)
        zero = emit.constant(blocking.vector, 0)
        panel, tile = (self._tile(1, vectors * count) for count in (1, self._panels_at_once))
        begin = [zero] * tile.vectors
        if blocking.dot is not None and blocking.dot.flips_signs:
            begin = starts(tile, a)
        with emit.loop(first, whole, width) as column:
            number = column.counter // panel_width
            places = [b.offset + (number + i) * far for i in range(self._panels_at_once)]

            def step_of(
                k: Index, carried: list[ir.Value], known: tuple[Index, ...], line: Index
            ) -> list[ir.Value]:
                one = tile.splat(emit.load(a.base, [a.offset + k * a.stride("k")]))
                sums = list(carried)
                for i in range(tile.vectors):
                    at = places[i // vectors] + line * step
                    place = at + i % vectors * lanes
                    here = self._tile(1, vectors, number + i // vectors, known=known)
                    value = here.column(b.base, place, k, i % vectors * lanes)
                    if i % vectors == 0 and not any(known[1:]):
                        panel.prefetch(b.base, at + panel.prefetch_distance * step)
                    sums[i] = tile.multiply_add(one, value, sums[i])
                return sums

            for i, value in enumerate(self._sums_by_steps(begin, step_of)):
                emit.vector_store(value, self._scratch, [i * lanes])
            there = replace(store, scratch=self._scratch, rows=1).at(column.counter)
            store_kept(tile, there, self._masks(column.counter, tile.vectors))
        self._panels(a, b, (whole, last), store)

    def _sums_by_steps(
        self, begin: list[ir.Value],
        step_of: Callable[[Index, list[ir.Value], tuple[Index, ...], Index], list[ir.Value]],
    ) -> list[ir.Value]:  # fmt: skip
        """Write the loop over steps, nested by groups of scales so that scales stay in registers.

        Two steps that share bytes (int4) are computed at once.

        Args:
            begin: the initial sums.
            step_of: writes a step, given its number, the sums, what is known of its group, and its
                line in the panel.
        """
        emit, blocking = self._emit, self._blocking
        steps, computed = blocking.groups(blocking.k), blocking.load.computed
        if computed is None or computed.group is None:
            with emit.loop(0, steps, 1, begin, UNROLL) as loop:
                loop.carry(step_of(loop.counter, list(loop.carried), (), loop.counter))
            return list(loop.results)
        lines = computed.half or computed.group
        with emit.loop(0, steps // computed.group, 1, begin, KEEP) as outer:
            first, group = outer.counter * computed.group, outer.counter
            with emit.loop(0, lines, 1, list(outer.carried), UNROLL) as loop:
                line = group * lines + loop.counter
                sums = list(loop.carried)
                for part in range(computed.group // lines):
                    k = first + part * lines + loop.counter
                    known = (group,) if computed.half is None else (group, part)
                    sums = step_of(k, sums, known, line)
                loop.carry(sums)
            outer.carry(loop.results)
        return list(outer.results)

    def _tile(
        self, rows: int, vectors: int, panel: Index = 0, first: int = 0,
        known: tuple[Index, ...] = (),
    ) -> RegisterTile:  # fmt: skip
        """Return a tile of some columns of a panel."""
        blocking = self._blocking
        load = replace(blocking.load, panel=panel, first=first, known=known)
        distance = _PREFETCH_BYTES // (blocking.panel_width * load.bytes(blocking.b.base))
        return replace(
            blocking.tile, rows=rows, vectors=vectors, load=load, prefetch_distance=distance,
            far=rows < _L1_PREFETCH_ROWS,
        )  # fmt: skip

    def _panels(self, a: StridedRef, b: StridedRef, columns: Span, store: Store) -> None:
        """Write the loop over panels, one after the other."""
        emit, blocking = self._emit, self._blocking
        with emit.loop(*columns, blocking.panel_width) as column:
            number = column.counter // blocking.panel_width
            place = b.offset + number * b.stride(blocking.panel)
            panel = StridedRef(b.base, place, {"k": b.stride(blocking.gemm.k)})
            self._rows(a, panel, number)
            tile = self._tile(self._most, self._vectors)
            there = replace(store, scratch=self._scratch, rows=blocking.m).at(column.counter)
            store_kept(tile, there, self._masks(column.counter, self._vectors))

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

    def _rows(self, a: StridedRef, panel: StridedRef, number: Index) -> None:
        emit, m = self._emit, self._blocking.m
        if isinstance(m, int):
            self._sums(0, m, a, panel, number)
            return
        whole = emit.round_down(m, _TOGETHER)
        with emit.loop(0, whole, _TOGETHER) as group:
            self._sums(group.counter, _TOGETHER, a, panel, number)
        left = m - whole
        for rows in range(1, _TOGETHER):
            with emit.when(emit.compare("eq", left, rows)):
                self._sums(whole, rows, a, panel, number)

    def _sums(
        self, row: Index, rows: int, a: StridedRef, panel: StridedRef, panel_number: Index
    ) -> None:
        """Write the sums of some rows by a panel, as many columns at a time as fit registers."""
        emit, blocking = self._emit, self._blocking
        most = blocking.rows.most * blocking.vectors
        vectors = self._vectors if rows * self._vectors <= most else blocking.vectors
        left = replace(a, offset=a.offset + row * a.stride("m"))
        for first in range(0, self._vectors, vectors):
            start: Index = panel.offset + first * blocking.lanes
            part = StridedRef(panel.base, start, panel.strides)
            tile = self._tile(rows, vectors, panel_number, first * blocking.lanes)
            if blocking.load.computed is not None and blocking.load.computed.group is not None:
                sums = self._grouped_sums(tile, left, part)
            else:
                sums = tile_sums(tile, left, part, blocking.groups(blocking.k))
            for i, value in enumerate(sums):
                number, vector = divmod(i, vectors)
                line = (row + number) * blocking.panel_width
                at = line + (first + vector) * blocking.lanes
                emit.vector_store(value, self._scratch, [at])

    def _grouped_sums(self, tile: RegisterTile, a: StridedRef, panel: StridedRef) -> list[ir.Value]:
        """Write the sums of some rows by a panel with groups of scales."""
        masks = [None] * tile.vectors

        def step_of(
            k: Index, carried: list[ir.Value], known: tuple[Index, ...], line: Index
        ) -> list[ir.Value]:
            assert tile.load is not None  # computed panels have one
            if not any(known[1:]):
                later = (line + tile.prefetch_distance) * panel.stride("k")
                tile.prefetch(panel.base, panel.offset + later)
            here = replace(tile, load=replace(tile.load, known=known), prefetch_distance=0)
            return tile_step(here, a, panel, k, masks, carried)

        zero = self._emit.constant(tile.vector, 0)
        return self._sums_by_steps([zero] * (tile.rows * tile.vectors), step_of)
