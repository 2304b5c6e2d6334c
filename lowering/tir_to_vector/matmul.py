"""Fast contractions: register tiles over packed or direct operands, blocked for the caches."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.analysis import Access
from relax_mlir.lowering.tir_to_vector.contraction import Contraction
from relax_mlir.lowering.tir_to_vector.emit import Emitter, Index
from relax_mlir.lowering.tir_to_vector.machine import Machine
from relax_mlir.lowering.tir_to_vector.microkernel import Flat, Tile, emit_tile

# A block of B, KC * NC elements, stays in the second-level cache while rows of A pass by.
KC = 384
NC = 512
# Packing B pays when enough rows share it, and it is too big for the first-level cache.
PACK_ROWS = 32
PACK_ELEMENTS = 8192
VECTORS = 2
# A single row has no neighbours to share B with: it takes long runs of B instead.
WIDE = 8


def emit_contraction(found: Contraction, emit: Emitter, machine: Machine) -> None:
    """Write the kernel of a contraction at the insertion point."""
    _Writer(found, emit, machine).write()


class _Writer:
    def __init__(self, found: Contraction, emit: Emitter, machine: Machine) -> None:
        self.found, self.emit, self.machine = found, emit, machine
        self.lanes = machine.lanes(found.element)
        self.width = VECTORS * self.lanes
        self.vector = ir.VectorType.get([self.lanes], found.element)
        nest = found.nest
        self.m = 1 if found.m is None else nest.extent(found.m)
        self.n, self.k = nest.extent(found.n), nest.extent(found.k)
        self.a, self.b, self.c = (_Layout(x, emit) for x in (found.a, found.b, found.c))

    def write(self) -> None:
        emit, found = self.emit, self.found
        unit = self.b.stride(found.n) == 1
        self.pack = self._pack_when(unit)
        self.k_block = min(KC, self.k) if isinstance(self.k, int) else emit.min(KC, self.k)
        self.n_block = min(NC, self.n) if isinstance(self.n, int) else NC
        packed = self._packed_buffer()
        self.rows_buffer = self._rows_buffer()
        self.init = found.init
        if found.init is not None and found.outer_reductions:
            self._fill()
            self.init = None
        with ExitStack() as loops:
            env: dict[int, Index] = {}
            for position in [*found.outer, *found.outer_reductions]:
                env[position] = loops.enter_context(self._outer(position))
            a, b, c = (x.at(env) for x in (self.a, self.b, self.c))
            with self._blocks(self.n, NC) as (j0, j1):
                with self._blocks(self.k, KC) as (k0, k1):
                    panels = self._panels(b, packed, j0, j1, k0, k1)
                    self._rows(a, panels, c, j0, j1, k0, k1)

    def _fill(self) -> None:
        """Set C to its initial value: several reduction loops have no one first block."""
        emit, found = self.emit, self.found
        value = emit.constant_of(found.element, found.init)
        with ExitStack() as loops:
            spatial = [i for i in found.c.iters if i >= 0]
            env = {i: loops.enter_context(self._outer(i)) for i in spatial}
            emit.store(value, found.c.buffer, [env.get(i, 0) for i in found.c.iters])

    @contextmanager
    def _outer(self, position: int) -> Iterator[Index]:
        extent = self.found.nest.extent(position)
        if extent == 1:
            yield 0
            return
        with self.emit.loop(0, extent) as loop:
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
        if not unit:
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
        panels = emit.div(emit.add(emit.min(self.n, NC), self.width - 1), self.width)
        size = emit.mul(emit.mul(self.k_block, self.width), panels)
        if self.pack is not True:
            size = emit.select(self.pack, size, 0)
        return emit.alloc(size, self.found.element)

    def _rows_buffer(self) -> ir.Value | None:
        """Return where rows of A are copied to: at fixed distances, and off the powers of two.

        A register tile reads its rows side by side. With distances known, one register addresses them
        all; at multiples of a page they would evict each other from the first-level cache.
        """
        stride = self.a.stride(self.found.m)
        bytes_ = self.vector.element_type.width // 8
        if self.m == 1 or isinstance(stride, int) and (stride * bytes_ % 1024 or stride <= 256):
            return None
        self.rows_stride = (min(KC, self.k) if isinstance(self.k, int) else KC) + self.lanes
        return self.emit.alloc(self.machine.row_tiles[0] * self.rows_stride, self.found.element)

    def _copy_rows(self, tile: int, a: Flat, steps: Index) -> Flat:
        emit, lanes = self.emit, self.lanes
        m_stride, k_stride = a.stride("m"), a.stride("k")
        width = lanes if k_stride == 1 else 1
        whole = emit.round_down(steps, width)
        with emit.loop(0, whole, width) as p:
            for row in range(tile):
                at = emit.add(a.offset, emit.add(emit.mul(row, m_stride), emit.mul(p.counter, k_stride)))
                to = emit.add(p.counter, row * self.rows_stride)
                if k_stride == 1:
                    value = emit.vector_load(a.base, [at], self.vector)
                    emit.vector_store(value, self.rows_buffer, [to])
                else:
                    emit.store(emit.load(a.base, [at]), self.rows_buffer, [to])
        if whole is not steps and whole != steps:
            mask = emit.mask(emit.sub(steps, whole), lanes)
            for row in range(tile):
                at = emit.add(a.offset, emit.add(emit.mul(row, m_stride), whole))
                value = emit.vector_load(a.base, [at], self.vector, mask)
                to = emit.add(whole, row * self.rows_stride)
                emit.vector_store(value, self.rows_buffer, [to])
        return Flat(self.rows_buffer, 0, {"m": self.rows_stride, "k": 1})

    def _panels(
        self, b: Flat, packed: ir.Value | None, j0: Index, j1: Index, k0: Index, k1: Index
    ) -> "_Panels":
        emit, found = self.emit, self.found
        n_stride, k_stride = b.stride(found.n), b.stride(found.k)
        start = emit.add(b.offset, emit.add(emit.mul(j0, n_stride), emit.mul(k0, k_stride)))
        direct = _Panels(b.base, start, k_stride, self.width, contiguous=True)
        self.direct = direct if n_stride == 1 else None
        if self.pack is False:
            return direct
        size = emit.mul(self.k_block, self.width)
        if self.pack is True:
            self._pack(b.base, start, n_stride, k_stride, packed, j0, j1, k0, k1)
            return _Panels(packed, 0, self.width, size)
        with emit.when(self.pack):
            self._pack(b.base, start, n_stride, k_stride, packed, j0, j1, k0, k1)
        return _Panels(
            emit.select(self.pack, emit.dynamic(packed), emit.dynamic(b.base)),
            emit.select(self.pack, 0, start),
            emit.select(self.pack, self.width, k_stride),
            emit.select(self.pack, size, self.width),
        )

    def _pack(
        self, base: ir.Value, start: Index, n_stride: Index, k_stride: Index, packed: ir.Value,
        j0: Index, j1: Index, k0: Index, k1: Index,
    ) -> None:  # fmt: skip
        emit, lanes = self.emit, self.lanes
        columns, steps = emit.sub(j1, j0), emit.sub(k1, k0)
        size = emit.mul(self.k_block, self.width)
        with emit.loop(0, columns, self.width) as panel:
            left = emit.sub(columns, panel.counter)
            target = emit.mul(emit.div(panel.counter, self.width), size)
            source = emit.add(start, emit.mul(panel.counter, n_stride))
            if n_stride == 1:
                masks = [emit.mask(emit.sub(left, h * lanes), lanes) for h in range(VECTORS)]
            with emit.loop(0, steps) as p:
                to = emit.add(target, emit.mul(p.counter, self.width))
                at = emit.add(source, emit.mul(p.counter, k_stride))
                for h in range(VECTORS if n_stride == 1 else 0):
                    value = emit.vector_load(base, [emit.add(at, h * lanes)], self.vector, masks[h])
                    emit.vector_store(value, packed, [emit.add(to, h * lanes)])
                if n_stride != 1:
                    # Columns beyond the last keep what they held: they are never stored from.
                    with emit.loop(0, emit.min(left, self.width)) as column:
                        element = emit.add(at, emit.mul(column.counter, n_stride))
                        value = emit.load(base, [element])
                        emit.store(value, packed, [emit.add(to, column.counter)])

    def _rows(
        self, a: Flat, panels: "_Panels", c: Flat, j0: Index, j1: Index, k0: Index, k1: Index
    ) -> None:
        emit, found = self.emit, self.found
        done: Index = 0
        for tile in self.machine.row_tiles:
            upto = emit.add(done, emit.round_down(emit.sub(self.m, done), tile))
            if isinstance(upto, int) and upto == done:
                continue
            with emit.loop(done, upto, tile) as row:
                m_stride = a.stride(found.m)
                start = emit.add(a.offset, emit.mul(row.counter, m_stride))
                start = emit.add(start, emit.mul(k0, a.stride(found.k)))
                rows = Flat(a.base, start, {"m": m_stride, "k": a.stride(found.k)})
                steps = emit.sub(k1, k0)
                if self.rows_buffer is not None and tile > 1:
                    rows = self._copy_rows(tile, rows, steps)
                source = self.direct if tile == 1 and self.direct is not None else panels
                place = emit.add(c.offset, emit.add(emit.mul(row.counter, c.stride(found.m)), j0))
                out = Flat(c.base, place, {"m": c.stride(found.m)})
                self._columns(tile, rows, source, out, emit.sub(j1, j0), k0, steps)
            done = upto

    def _columns(
        self, tile: int, a: Flat, panels: "_Panels", c: Flat, columns: Index, k0: Index, steps: Index
    ) -> None:
        emit, init = self.emit, self.init
        first = None if init is None else k0 == 0 if isinstance(k0, int) else emit.compare("eq", k0, 0)
        done: Index = 0
        for vectors in (WIDE, VECTORS) if tile == 1 and panels.contiguous else (VECTORS,):
            kernel = Tile(tile, vectors, self.vector, self.machine.fma)
            width = vectors * self.lanes
            upto = emit.add(done, emit.round_down(emit.sub(columns, done), width))
            if not isinstance(upto, int) or upto != done:
                with emit.loop(done, upto, width) as column:
                    b, to = self._at(panels, c, column.counter)
                    emit_tile(emit, kernel, a, b, to, steps, first, init, [None] * vectors)
            done = upto
        left = emit.sub(columns, done)
        at = self._at(panels, c, done)
        if isinstance(left, int):
            self._tail(kernel, a, at, left, steps, first, init, -(-left // self.lanes))
            return
        with emit.when(emit.compare("sgt", left, self.lanes)):
            self._tail(kernel, a, at, left, steps, first, init, 2)
        narrow = emit.both(emit.compare("sgt", left, 0), emit.compare("sle", left, self.lanes))
        with emit.when(narrow):
            self._tail(kernel, a, at, left, steps, first, init, 1)

    def _at(self, panels: "_Panels", c: Flat, column: Index) -> tuple[Flat, Flat]:
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
            rest = self.emit.sub(left, (vectors - 1) * self.lanes)
            masks[-1] = self.emit.mask(rest, self.lanes)
        narrow = Tile(kernel.rows, vectors, kernel.vector, kernel.fma)
        emit_tile(self.emit, narrow, a, *at, steps, first, init, masks)


@dataclass
class _Panels:
    """Where a panel of B begins: `offset + number * panel_stride`, and where its next row is."""

    base: ir.Value
    offset: Index
    row_stride: Index
    panel_stride: Index
    contiguous: bool = False


class _Layout:
    """A row-major buffer as one dimension, and the stride of each iterator in it."""

    def __init__(self, access: Access, emit: Emitter) -> None:
        self._emit, self._iters = emit, access.iters
        self._strides: dict[int | None, Index] = {None: 0}
        stride: Index = 1
        for position in reversed(range(len(access.iters))):
            self._strides[access.iters[position]] = stride
            stride = emit.mul(stride, emit.dim(access.buffer, position))
        self.base = emit.flatten(access.buffer)

    def stride(self, iterator: int | None) -> Index:
        return self._strides.get(iterator, 0)

    def at(self, env: dict[int, Index]) -> Flat:
        offset: Index = 0
        for iterator, value in env.items():
            offset = self._emit.add(offset, self._emit.mul(value, self.stride(iterator)))
        return Flat(self.base, offset, self._strides)
