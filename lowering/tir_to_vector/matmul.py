"""Fast contractions: register tiles over packed or direct operands, blocked for the caches."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction import Contraction
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.machine import Machine
from relax_mlir.lowering.tir_to_vector.microkernel import VECTORS, Flat, Tile, emit_tile
from relax_mlir.lowering.tir_to_vector.operands import Layout, Panels
from relax_mlir.lowering.tir_to_vector.packing import Loader, PanelPacker, copy_rows
from relax_mlir.lowering.tir_to_vector.team import Part
from relax_mlir.lowering.tir_to_vector.vector_nest import NestWriter, work_of

# A block of B, KC * NC elements, stays in the second-level cache while rows of A pass by.
import os
APF=1
KC = int(os.environ.get('KC','384'))
NC = int(os.environ.get('NC','512'))
# Packing B pays when enough rows share it, and it is too big for the first-level cache.
PACK_ROWS = 32
PACK_ELEMENTS = 8192
# With fewer rows, an operand that would have to be transposed is better read as it lies.
DOT_ROWS = 4
# Where each thread has so many runs of columns, columns are split between them.
_COLUMNS_EACH = 4
Span = tuple[Index, Index]


def emit_contraction(found: Contraction, emit: Emitter, machine: Machine) -> None:
    """Write the kernel of a contraction at the insertion point."""
    writer = _Writer(found, emit, machine)
    few = writer.few_rows()
    if few is None:
        writer.write()
        return
    dots = NestWriter(found.flat, found.k, emit, machine)
    if few is True:
        dots.write([])
        return
    with emit.when(few) as branch:
        dots.write([])
    with emit.otherwise(branch):
        writer.write()


class _Writer:
    def __init__(self, found: Contraction, emit: Emitter, machine: Machine) -> None:
        self.found, self.emit, self.machine = found, emit, machine
        lanes = machine.lanes(found.element)
        assert lanes is not None  # contractions of other elements are left to plain loops
        self.lanes = lanes
        self.width = VECTORS * self.lanes
        self.vector = ir.VectorType.get([self.lanes], found.element)
        self.m = 1 if found.m is None else self._extent(found.m)
        self.n, self.k = self._extent(found.n), self._extent(found.k)
        self.a, self.b, self.c = (Layout(x, emit) for x in (found.a, found.b, found.c))

    def _extent(self, position: int) -> Index:
        return self.emit.size(self.found.flat.iters[position].extent)

    def few_rows(self) -> bool | ir.Value | None:
        """Return whether too few rows would pay for rearranging B; None when that never is so.

        Where both operands run along k, what is left is a product of vectors for each element.
        """
        found = self.found
        if found.a.strides[found.k] != 1 or found.b.strides[found.k] != 1:
            return None
        if isinstance(self.m, int):
            return True if self.m < DOT_ROWS else None
        return self.emit.compare("slt", self.m, DOT_ROWS)

    def write(self) -> None:
        """Write the loops."""
        emit, found = self.emit, self.found
        unit = self.b.stride(found.n) == 1
        self.pack = self._pack_when(unit)
        self.k_block = min(KC, self.k) if isinstance(self.k, int) else emit.min(KC, self.k)
        self.init = found.flat.init
        if self.init is not None and found.outer_reductions:
            self._fill()
            self.init = None
        with ExitStack() as loops:
            spans, columns, self.span = loops.enter_context(self._team())
            packed = self._packed_buffer()
            self.rows_buffer = self._rows_buffer()
            env: dict[int, Index] = {}
            for position in found.outer:
                env[position] = loops.enter_context(self._outer(position, spans[position]))
            for position in found.outer_reductions:
                env[position] = loops.enter_context(self._outer(position))
            a, b, c = (x.at(env) for x in (self.a, self.b, self.c))
            j0, j1 = loops.enter_context(self._columns_of(columns))
            k0, k1 = loops.enter_context(self._blocks(self.k, KC))
            panels = self._panels(b, packed, j0, j1, k0, k1)
            self._rows(a, panels, c, j0, j1, k0, k1)

    @contextmanager
    def _team(self) -> Iterator[tuple[dict[int, Span], Span, Span]]:
        """Split the work: between outer steps, else rows, else columns; yields the ranges.

        Units are what the widest code takes, so that each element's is the same in any split.
        """
        emit, outer = self.emit, self.found.outer
        rows, run = self.machine.row_tiles[0], self.machine.registers // 2 * self.lanes
        work = work_of(emit, self.found.flat, 1)
        parts = [Part(self._extent(position), 1, 2 * emit.threads) for position in outer]
        # Rows share the packed B, of which each thread then has one of its own.
        parts.append(Part(self.n, run, _COLUMNS_EACH * emit.threads * run))
        parts.append(Part(self.m, rows, 2 * rows * emit.threads))
        parts.append(Part(self.n, run))
        with emit.team(parts, work) as ranges:
            *outer_ranges, wide, m_range, narrow = ranges
            yield (
                dict(zip(outer, outer_ranges, strict=True)),
                (emit.max(wide[0], narrow[0]), emit.min(wide[1], narrow[1])),
                m_range,
            )

    @contextmanager
    def _columns_of(self, columns: Span) -> Iterator[Span]:
        first, last = columns
        if first == 0:
            with self._blocks(last, NC) as block:
                yield block
            return
        with self.emit.loop(first, last, NC) as loop:
            yield loop.counter, self.emit.min(self.emit.add(loop.counter, NC), last)

    def _fill(self) -> None:
        """Set C to its initial value: several reduction loops have no one first block."""
        emit, found = self.emit, self.found
        value = emit.constant_of(found.element, self.init)
        with ExitStack() as loops:
            spatial = [i for i in (*found.outer, found.m, found.n) if i is not None]
            env = {i: loops.enter_context(self._outer(i)) for i in spatial}
            emit.store(value, self.c.base, [self.c.at(env).offset])

    @contextmanager
    def _outer(self, position: int, span: Span | None = None) -> Iterator[Index]:
        span = span or (0, self._extent(position))
        if span == (0, 1):
            yield 0
            return
        with self.emit.loop(*span) as loop:
            yield loop.counter

    @contextmanager
    def _blocks(self, extent: Index, size: int) -> Iterator[tuple[Index, Index]]:
        """Loop over blocks of a dimension; one that may be empty still gets one step."""
        emit = self.emit
        if isinstance(extent, int) and extent <= size:
            yield 0, extent
            return
        upper = extent if isinstance(extent, int) else emit.max(extent, 1)
        with emit.loop(0, upper, size) as loop:
            yield loop.counter, emit.min(emit.add(loop.counter, size), extent)

    def _pack_when(self, unit: bool) -> bool | ir.Value:
        if not unit or self.found.widen[1] is not None:
            return True
        emit = self.emit
        conditions = []
        for value, least in ((self.m, PACK_ROWS), (emit.mul(self.k, self.n), PACK_ELEMENTS + 1)):
            if not isinstance(value, int):
                conditions.append(emit.compare("sge", value, least))
            elif value < least:
                return False
        if not conditions:
            return True
        return conditions[0] if len(conditions) == 1 else emit.both(*conditions)

    def _packed_buffer(self) -> ir.Value | None:
        if self.pack is False:
            return None
        emit = self.emit
        with emit.outside():
            panels = emit.div(emit.add(emit.min(self.n, NC), self.width - 1), self.width)
            rows = emit.add(emit.mul(emit.add(self.k_block, 1), panels), self.lanes)
            size = emit.mul(rows, self.width)
            if self.pack is not True:
                size = emit.select(self.pack, size, 0)
        return emit.alloc(size, self.found.element)

    def _rows_buffer(self) -> ir.Value | None:
        """Return where rows of A are copied to: at fixed distances, and off the powers of two.

        A register tile reads its rows side by side. With distances known, one register addresses
        them all; at multiples of a page they would evict each other from the first-level cache.
        """
        stride = self.a.stride(self.found.m)
        bytes_ = self.vector.element_type.width // 8
        fixed = isinstance(stride, int) and (stride * bytes_ % 1024 or stride <= 256)
        if self.found.widen[0] is None and (self.m == 1 or fixed):
            return None
        self.rows_stride = (min(KC, self.k) if isinstance(self.k, int) else KC) + self.lanes
        return self.emit.alloc(self.machine.row_tiles[0] * self.rows_stride, self.found.element)

    def _panels(
        self, b: Flat, packed: ir.Value | None, j0: Index, j1: Index, k0: Index, k1: Index
    ) -> Panels:
        emit, found = self.emit, self.found
        n_stride, k_stride = b.stride(found.n), b.stride(found.k)
        start = emit.add(b.offset, emit.add(emit.mul(j0, n_stride), emit.mul(k0, k_stride)))
        direct = Panels(b.base, start, k_stride, self.width, contiguous=True)
        self.direct = direct if n_stride == 1 and found.widen[1] is None else None
        if self.pack is False:
            return direct
        # A row more: at multiples of a page panels would evict each other from the caches.
        size = emit.mul(emit.add(self.k_block, 1), self.width)
        load = Loader(emit, b.base, found.widen[1], self.vector)
        packer = PanelPacker(load, self.width, packed, size)
        block = Flat(b.base, start, {"n": n_stride, "k": k_stride})
        columns, steps = emit.sub(j1, j0), emit.sub(k1, k0)
        if self.pack is True:
            packer.pack(block, columns, steps)
            return Panels(packed, 0, self.width, size)
        with emit.when(self.pack):
            packer.pack(block, columns, steps)
        return Panels(
            emit.select(self.pack, emit.dynamic(packed), emit.dynamic(b.base)),
            emit.select(self.pack, 0, start),
            emit.select(self.pack, self.width, k_stride),
            emit.select(self.pack, size, self.width),
        )

    def _rows(
        self, a: Flat, panels: Panels, c: Flat, j0: Index, j1: Index, k0: Index, k1: Index
    ) -> None:
        emit, found = self.emit, self.found
        done, last = self.span
        for tile in self.machine.row_tiles:
            upto = emit.add(done, emit.round_down(emit.sub(last, done), tile))
            if isinstance(upto, int) and upto == done:
                continue
            with emit.loop(done, upto, tile) as row:
                m_stride = a.stride(found.m)
                start = emit.add(a.offset, emit.mul(row.counter, m_stride))
                start = emit.add(start, emit.mul(k0, a.stride(found.k)))
                rows = Flat(a.base, start, {"m": m_stride, "k": a.stride(found.k)})
                steps = emit.sub(k1, k0)
                self.ahead = rows if rows.stride("k") == 1 else None
                if self.rows_buffer is not None and (tile > 1 or found.widen[0] is not None):
                    load = Loader(emit, a.base, found.widen[0], self.vector)
                    copy_rows(load, rows, tile, steps, self.rows_buffer, self.rows_stride)
                    rows = Flat(self.rows_buffer, 0, {"m": self.rows_stride, "k": 1})
                source = self.direct if tile == 1 and self.direct is not None else panels
                place = emit.add(c.offset, emit.add(emit.mul(row.counter, c.stride(found.m)), j0))
                out = Flat(c.base, place, {"m": c.stride(found.m)})
                self._columns(tile, rows, source, out, emit.sub(j1, j0), k0, steps)
            done = upto

    def _columns(
        self,
        tile: int,
        a: Flat,
        panels: Panels,
        c: Flat,
        columns: Index,
        k0: Index,
        steps: Index,
    ) -> None:
        emit, init = self.emit, self.init
        first: bool | ir.Value | None = None
        if init is not None:
            first = k0 == 0 if isinstance(k0, int) else emit.compare("eq", k0, 0)
        done: Index = 0
        # A single row has no neighbours to share B with: it takes long runs of B instead.
        alone = tile == 1 and panels.contiguous
        for vectors in (self.machine.registers // 2, VECTORS) if alone else (VECTORS,):
            kernel = Tile(tile, vectors, self.vector, self.machine.fma)
            width = vectors * self.lanes
            upto = emit.add(done, emit.round_down(emit.sub(columns, done), width))
            if not isinstance(upto, int) or upto != done:
                with emit.loop(done, upto, width) as column:
                    if APF and tile > 1 and self.ahead is not None:
                        for row in range(tile):
                            for h in range(2):
                                w = emit.add(self.ahead.offset, emit.mul(row+tile, self.ahead.stride("m")))
                                w = emit.add(w, emit.add(emit.mul(emit.div(column.counter, width), 2*self.lanes), h*self.lanes))
                                emit.prefetch(self.ahead.base, w)
                    b, to = self._at(panels, c, column.counter)
                    emit_tile(emit, kernel, a, b, to, steps, first, init, [None] * vectors)
            done = upto
        left = emit.sub(columns, done)
        at = self._at(panels, c, done)
        if isinstance(left, int):
            self._tail(kernel, a, at, left, steps, first, init, -(-left // self.lanes))
            return
        if tile != self.machine.row_tiles[0]:
            # What few rows waste on a vector without columns is less than another kernel costs.
            with emit.when(emit.compare("sgt", left, 0)):
                self._tail(kernel, a, at, left, steps, first, init, VECTORS)
            return
        with emit.when(emit.compare("sgt", left, self.lanes)):
            self._tail(kernel, a, at, left, steps, first, init, VECTORS)
        narrow = emit.both(emit.compare("sgt", left, 0), emit.compare("sle", left, self.lanes))
        with emit.when(narrow):
            self._tail(kernel, a, at, left, steps, first, init, 1)

    def _at(self, panels: Panels, c: Flat, column: Index) -> tuple[Flat, Flat]:
        emit = self.emit
        panel = column
        if not panels.contiguous:
            panel = emit.mul(emit.div(column, self.width), panels.panel_stride)
        source = Flat(panels.base, emit.add(panels.offset, panel), {"k": panels.row_stride})
        return source, Flat(c.base, emit.add(c.offset, column), c.strides)

    def _tail(
        self, kernel: Tile, a: Flat, at: tuple[Flat, Flat], left: Index, steps: Index,
        first: bool | ir.Value | None, init: ir.Attribute | None, vectors: int,
    ) -> None:  # fmt: skip
        if not vectors:
            return
        masks = [None] * vectors
        if not (isinstance(left, int) and left == vectors * self.lanes):
            # All but the last are full, where it is known how many there are.
            known = isinstance(left, int) or kernel.rows == self.machine.row_tiles[0]
            for number in range(vectors - 1 if known else 0, vectors):
                rest = self.emit.sub(left, number * self.lanes)
                masks[number] = self.emit.mask(rest, self.lanes)
        narrow = Tile(kernel.rows, vectors, kernel.vector, kernel.fma)
        emit_tile(self.emit, narrow, a, *at, steps, first, init, masks)
