"""Fast contractions: register tiles over packed or direct operands, blocked for the caches."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.blocking import RowTiles, k_block, k_limit, n_limit
from relax_mlir.lowering.tir_to_vector.contraction import Contraction
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.epilogue import Epilogue, Finish
from relax_mlir.lowering.tir_to_vector.few_rows import FewRows
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.machine import Machine
from relax_mlir.lowering.tir_to_vector.microkernel import VECTORS, Flat, Put, Store, Tile, emit_tile
from relax_mlir.lowering.tir_to_vector.operands import Layout, Panels
from relax_mlir.lowering.tir_to_vector.packing import Loader, PanelPacker, copy_rows
from relax_mlir.lowering.tir_to_vector.team import Part
from relax_mlir.lowering.tir_to_vector.vector_nest import work_of

# Packing B pays when enough rows share it, and it is too big for the first-level cache.
PACK_ROWS = 32
PACK_ELEMENTS = 8192
# With fewer rows, an operand that would have to be transposed is better read as it lies; and one
# that lies well is read from end to end where all rows fit into registers at once.
DOT_ROWS = 4
# Where each thread has so many panels, columns are split between threads.
_PANELS_EACH = 4
# Products of numbers read from memory, in those of numbers that are in registers.
_MEMORY_WORK = 8
# A block of k of unknown size is rounded up to a multiple of less.
_SPARE = 16
Span = tuple[Index, Index]


def panel_iter(found: Contraction, width: int) -> int | None:
    """Return the iterator over panels that B consists of, None where it does not.

    Panels have a number of columns that register tiles divide, beside each other for each step of
    k; and whatever else sees them walks their columns as if there were no panels.
    """
    columns = found.flat.iters[found.n].extent.value
    if columns is None or columns % width or found.widen[1] is not None:
        return None
    if found.b.strides[found.n] != 1 or found.b.strides[found.k] != columns:
        return None
    read = (found.a, found.b)
    others = [x for x in found.flat.accesses.values() if x not in read]
    for position in found.outer:
        if found.a.strides[position] == 0 and all(
            x.strides[position] == x.strides[found.n] * columns for x in others
        ):
            return position
    return None


def is_matrix_product(found: Contraction, machine: Machine) -> bool:
    """Whether a contraction is one of matrices: a sum over one iterator, columns adjacent.

    A window over an image is not, though it may be a contraction; nor are kernels in other blocks
    than the panels that register tiles take.
    """
    lanes = machine.lanes(found.element)
    if lanes is None or found.outer_reductions or found.c.strides[found.n] != 1:
        return False
    panel = panel_iter(found, VECTORS * lanes)
    batch = [i for i in found.outer if i != panel]
    return all(found.a.strides[i] != 0 and found.b.strides[i] != 0 for i in batch)


def emit_contraction(
    found: Contraction, emit: Emitter, machine: Machine, epilogue: Epilogue | None = None
) -> None:
    """Write the kernel of a contraction at the insertion point.

    Args:
        found: the contraction.
        emit: where to write.
        machine: what for.
        epilogue: what happens to every sum before it is stored.
    """
    writer = _Writer(found, emit, machine, epilogue)
    few = writer.few_rows()
    if few is False:
        writer.tiles()
    elif few is True:
        writer.few()
    else:
        with emit.when(few) as branch:
            writer.few()
        with emit.otherwise(branch):
            writer.tiles()


class _Writer:
    def __init__(
        self, found: Contraction, emit: Emitter, machine: Machine, epilogue: Epilogue | None
    ) -> None:
        self.found, self.emit, self.machine = found, emit, machine
        lanes = machine.lanes(found.element)
        assert lanes is not None  # contractions of other elements are left to plain loops
        self.lanes = lanes
        self.width = VECTORS * self.lanes
        self.vector = ir.VectorType.get([self.lanes], found.element)
        self.m = 1 if found.m is None else self._extent(found.m)
        self.n, self.k = self._extent(found.n), self._extent(found.k)
        self.outer = list(found.outer)
        # Panels that B consists of already, in elements; 0 where columns lie beside each other.
        self.ready = 0
        panel = panel_iter(found, self.width)
        if panel is not None and isinstance(self.n, int):
            self.ready, self.outer = self.n, [i for i in self.outer if i != panel]
            self.n = emit.mul(self._extent(panel), self.ready)
            self.panel = panel
        size = max(8, found.element.width) // 8
        self.k_most = k_limit(machine, self.width * size, machine.row_tiles[0] * size)
        self.k_block = k_block(emit, self.k, self.k_most)
        steps = self.k_block if isinstance(self.k_block, int) else self.k_most
        self.n_most = n_limit(machine, max(1, steps), self.width, size)
        self.a, self.b = (Layout(x, emit) for x in (found.a, found.b))
        self.rows = RowTiles(emit, self.m, machine.row_tiles[0], machine.row_tiles[1:])
        # Sums need a place of their own unless each is complete when it is first stored.
        self.finish = None if epilogue is None else Finish(epilogue, found, emit, machine)
        whole = isinstance(self.k, int) and self.k <= self.k_most and self.few_rows() is False
        self.c: Layout | None = Layout(found.c, emit)
        if epilogue is not None:
            self.c = None if whole else Layout(epilogue.partial or found.c, emit)

    def _extent(self, position: int) -> Index:
        return self.emit.size(self.found.flat.iters[position].extent)

    def few_rows(self) -> bool | ir.Value:
        """Return whether so few rows share B that it is best read as it lies, once."""
        found, m = self.found, self.m
        if self.ready:
            return False
        along_k = found.b.strides[found.k] == 1 and found.b.strides[found.n] != 1
        if along_k and found.a.strides[found.k] != 1:
            return False
        if not along_k and found.b.strides[found.n] != 1:
            return False
        if isinstance(m, int):
            return m < DOT_ROWS
        if along_k:
            return self.emit.compare("slt", m, DOT_ROWS)
        return self.emit.compare("eq", m, 1)

    def few(self) -> None:
        """Write the kernel that reads B once, as it lies."""
        emit, found = self.emit, self.found
        # Memory is what limits it: threads pay earlier than the products alone would tell.
        with self._loops(_MEMORY_WORK, whole_rows=True) as (env, columns, _):
            a, b, c = (x.at(env) for x in (self.a, self.b, self._sums))
            kernel = FewRows(emit, self.machine, found, self.vector, self.init)
            rows = 1 if kernel.along_n and not isinstance(self.m, int) else self.m
            kernel.write(a, b, c, rows, columns, self.k)
            if self.finish is not None:
                self._finish_few(env, c, rows, columns)

    def _finish_few(self, env: dict[int, Index], c: Flat, rows: Index, columns: Span) -> None:
        emit, lanes = self.emit, self.lanes
        whole = emit.add(columns[0], emit.round_down(emit.sub(columns[1], columns[0]), lanes))
        with emit.loop(0, rows) as row:
            start = emit.add(c.offset, emit.mul(row.counter, c.stride(self.found.m)))
            put = self.finish.at({**env, **self._row_env(row.counter)})

            def one(column: Index, mask: ir.Value | None) -> None:
                value = emit.vector_load(c.base, [emit.add(start, column)], self.vector, mask)
                put(value, column, mask)

            with emit.loop(columns[0], whole, lanes) as column:
                one(column.counter, None)
            left = emit.sub(columns[1], whole)
            if not (isinstance(left, int) and left == 0):
                one(whole, emit.mask(left, lanes))

    def _finish_of(self, env: dict[int, Index], first: Index) -> Callable[[Index], Put]:
        """Return what finishes the sums of a row, counted from a tile's first."""
        finish = self.finish
        assert finish is not None
        return lambda i: finish.at({**env, **self._row_env(self.emit.add(first, i))})

    def _row_env(self, row: Index) -> dict[int, Index]:
        return {} if self.found.m is None else {self.found.m: row}

    @property
    def _sums(self) -> Layout:
        assert self.c is not None
        return self.c

    def tiles(self) -> None:
        """Write the kernel of register tiles."""
        emit, found = self.emit, self.found
        self.pack = self._pack_when(self.b.stride(found.n) == 1)
        with self._loops(1) as (env, columns, self.span):
            packed = self._packed_buffer()
            self.rows_buffer = self._rows_buffer()
            self.scratch = None
            # A tile that may have to wait for more has both ways in its code: one of them is short.
            known = isinstance(self.k, int) and self.k <= self.k_most
            if self.finish is not None and (self.finish.is_long or not known):
                self.scratch = emit.alloc(self.rows.largest * self.width, found.element)
            with ExitStack() as loops:
                a, b = (x.at(env) for x in (self.a, self.b))
                c = None if self.c is None else self.c.at(env)
                j0, j1 = loops.enter_context(self._columns_of(columns))
                k0, k1 = loops.enter_context(self._blocks_of_k())
                panels = self._panels(b, packed, j0, j1, k0, k1)
                self._rows(env, a, panels, c, j0, j1, k0, k1)

    @contextmanager
    def _loops(
        self, each: int, whole_rows: bool = False
    ) -> Iterator[tuple[dict[int, Index], Span, Span]]:
        """Write the loops outside of rows and columns; yields counters and a thread's ranges."""
        found = self.found
        self.init = found.flat.init
        if self.init is not None and found.outer_reductions:
            self._fill()
            self.init = None
        with ExitStack() as loops:
            spans, columns, rows = loops.enter_context(self._team(each, whole_rows))
            env: dict[int, Index] = {}
            for position in self.outer:
                env[position] = loops.enter_context(self._outer(position, spans[position]))
            for position in found.outer_reductions:
                env[position] = loops.enter_context(self._outer(position))
            yield env, columns, rows

    @contextmanager
    def _team(self, each: int, whole_rows: bool) -> Iterator[tuple[dict[int, Span], Span, Span]]:
        """Split the work: between outer steps, else columns, else rows; yields the ranges.

        Threads that share out columns each pack what they need of B. No tile is cut, and where it
        lies does not change in which order it sums: bits are the same in any split.
        """
        emit, outer = self.emit, self.outer
        work = work_of(emit, self.found.flat, each)
        parts = [Part(self._extent(position), 1, 2 * emit.threads) for position in outer]
        least = 0 if whole_rows else _PANELS_EACH * emit.threads * self.width
        parts.append(Part(self.n, self.width, least))
        if not whole_rows:
            parts.append(Part(self.rows.count, 1, 2 * emit.threads))
            parts.append(Part(self.n, self.width))
        with emit.team(parts, work) as ranges:
            by_position = dict(zip(outer, ranges, strict=False))
            wide, *more = ranges[len(outer) :]
            if whole_rows:
                yield by_position, wide, (0, self.m)
                return
            rows, narrow = more
            columns = emit.max(wide[0], narrow[0]), emit.min(wide[1], narrow[1])
            yield by_position, columns, rows

    @contextmanager
    def _columns_of(self, columns: Span) -> Iterator[Span]:
        """Loop over blocks of columns; none where B is read as it lies."""
        first, last = columns
        most = self.n_most
        as_it_lies = self.pack is False and not self.ready
        if as_it_lies or (first == 0 and isinstance(last, int) and last <= most):
            yield columns
            return
        with self.emit.loop(first, last, most) as loop:
            yield loop.counter, self.emit.min(self.emit.add(loop.counter, most), last)

    def _fill(self) -> None:
        """Set C to its initial value: several reduction loops have no one first block."""
        emit, found = self.emit, self.found
        value = emit.constant_of(found.element, self.init)
        with ExitStack() as loops:
            spatial = [i for i in (*found.outer, found.m, found.n) if i is not None]
            env = {i: loops.enter_context(self._outer(i)) for i in spatial}
            emit.store(value, self._sums.base, [self._sums.at(env).offset])

    @contextmanager
    def _outer(self, position: int, span: Span | None = None) -> Iterator[Index]:
        span = span or (0, self._extent(position))
        if span == (0, 1):
            yield 0
            return
        with self.emit.loop(*span) as loop:
            yield loop.counter

    @contextmanager
    def _blocks_of_k(self) -> Iterator[Span]:
        """Loop over blocks of k; where there may be no k, there still is one step."""
        emit = self.emit
        if isinstance(self.k, int) and self.k <= self.k_most:
            yield 0, self.k
            return
        upper = self.k if isinstance(self.k, int) else emit.max(self.k, 1)
        with emit.loop(0, upper, self.k_block) as loop:
            yield loop.counter, emit.min(emit.add(loop.counter, self.k_block), self.k)

    def _pack_when(self, unit: bool) -> bool | ir.Value:
        if self.ready:
            return False
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

    def _panel_rows(self) -> Index:
        """Return how many rows of a panel's width it is from one panel to the next.

        One more than its own: at multiples of a page they would evict each other from the caches.
        """
        return self.emit.add(self.k_block, 1)

    def _packed_buffer(self) -> ir.Value | None:
        if self.pack is False:
            return None
        emit = self.emit
        with emit.outside():
            columns = emit.min(self.n, self.n_most)
            panels = emit.div(emit.add(columns, self.width - 1), self.width)
            rows = emit.add(emit.mul(self._panel_rows(), panels), self.lanes)
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
        steps = self.k_block if isinstance(self.k_block, int) else self.k_most + _SPARE
        self.rows_stride = steps + self.lanes
        return self.emit.alloc(self.rows.largest * self.rows_stride, self.found.element)

    def _panels(
        self, b: Flat, packed: ir.Value | None, j0: Index, j1: Index, k0: Index, k1: Index
    ) -> Panels:
        emit, found = self.emit, self.found
        n_stride, k_stride = b.stride(found.n), b.stride(found.k)
        start = emit.add(b.offset, emit.add(emit.mul(j0, n_stride), emit.mul(k0, k_stride)))
        if self.ready:
            start = emit.add(b.offset, emit.mul(k0, k_stride))
            return Panels(b.base, start, k_stride, b.stride(self.panel), self.ready, j0)
        if self.pack is False:
            return Panels(b.base, start, k_stride, self.width)
        size = emit.mul(self._panel_rows(), self.width)
        load = Loader(emit, b.base, found.widen[1], self.vector)
        packer = PanelPacker(load, self.width, packed, size)
        block = Flat(b.base, start, {"n": n_stride, "k": k_stride})
        columns, steps = emit.sub(j1, j0), emit.sub(k1, k0)
        if self.pack is True:
            packer.pack(block, columns, steps)
            return Panels(packed, 0, self.width, size, self.width)
        with emit.when(self.pack):
            packer.pack(block, columns, steps)
        return Panels(
            emit.select(self.pack, emit.dynamic(packed), emit.dynamic(b.base)),
            emit.select(self.pack, 0, start),
            emit.select(self.pack, self.width, k_stride),
            emit.select(self.pack, size, self.width),
            self.width,
        )

    def _rows(
        self, env: dict[int, Index], a: Flat, panels: Panels, c: Flat | None,
        j0: Index, j1: Index, k0: Index, k1: Index,
    ) -> None:  # fmt: skip
        emit, found = self.emit, self.found
        first: bool | ir.Value | None = None
        if self.init is not None:
            first = k0 == 0 if isinstance(k0, int) else emit.compare("eq", k0, 0)
        last: bool | ir.Value = True
        if self.finish is not None and not isinstance(k0, int):
            last = emit.compare("eq", k1, self.k)
        m_stride, steps = a.stride(found.m), emit.sub(k1, k0)
        for loop_ in self.rows.loops(*self.span):
            with emit.loop(loop_.first, loop_.last) as number:
                tile = loop_.rows
                row = emit.add(emit.mul(number.counter, tile), loop_.base)
                start = emit.add(a.offset, emit.mul(row, m_stride))
                start = emit.add(start, emit.mul(k0, a.stride(found.k)))
                rows = Flat(a.base, start, {"m": m_stride, "k": a.stride(found.k)})
                self.ahead = None
                if rows.stride("k") == 1:
                    next_ = emit.add(start, emit.mul(tile, m_stride))
                    self.ahead = Flat(a.base, next_, rows.strides)
                if self.rows_buffer is not None and (tile > 1 or found.widen[0] is not None):
                    load = Loader(emit, a.base, found.widen[0], self.vector)
                    copy_rows(load, rows, tile, steps, self.rows_buffer, self.rows_stride)
                    rows = Flat(self.rows_buffer, 0, {"m": self.rows_stride, "k": 1})
                out = None
                if c is not None:
                    place = emit.add(c.offset, emit.add(emit.mul(row, c.stride(found.m)), j0))
                    out = Flat(c.base, place, {"m": c.stride(found.m)})
                store = Store(out, first, self.init, last)
                if self.finish is not None:
                    finish = self._finish_of(env, row)
                    store = replace(store, column=j0, scratch=self.scratch, finish=finish)
                self._columns(tile, rows, panels, store, emit.sub(j1, j0), steps)

    def _columns(
        self, tile: int, a: Flat, panels: Panels, store: Store, columns: Index, steps: Index
    ) -> None:
        emit, vectors = self.emit, VECTORS
        kernel = Tile(tile, vectors, self.vector, self.machine.fma)
        done = emit.round_down(columns, self.width)
        if not isinstance(done, int) or done:
            with emit.loop(0, done, self.width) as column:
                self._prefetch_rows(tile, column.counter, steps)
                b, to = self._at(panels, store, column.counter)
                emit_tile(emit, kernel, a, b, to, steps, [None] * vectors)
        left = emit.sub(columns, done)
        at = self._at(panels, store, done)
        if isinstance(left, int):
            self._tail(kernel, a, at, left, steps, -(-left // self.lanes))
            return
        if tile != self.rows.largest:
            # What few rows waste on a vector without columns is less than another kernel costs.
            with emit.when(emit.compare("sgt", left, 0)):
                self._tail(kernel, a, at, left, steps, vectors)
            return
        with emit.when(emit.compare("sgt", left, self.lanes)):
            self._tail(kernel, a, at, left, steps, vectors)
        narrow = emit.both(emit.compare("sgt", left, 0), emit.compare("sle", left, self.lanes))
        with emit.when(narrow):
            self._tail(kernel, a, at, left, steps, 1)

    def _prefetch_rows(self, tile: int, column: Index, steps: Index) -> None:
        """Ask for some of the next tile's rows of A: each panel for other lines of them."""
        if self.ahead is None or tile < DOT_ROWS:
            return
        emit, ahead = self.emit, self.ahead
        with emit.when(emit.compare("slt", column, steps)):
            along = emit.add(ahead.offset, column)
            for row in range(tile):
                place = emit.add(along, emit.mul(row, ahead.stride("m")))
                for number in range(VECTORS):
                    emit.prefetch(ahead.base, emit.add(place, number * self.lanes))

    def _at(self, panels: Panels, store: Store, column: Index) -> tuple[Flat, Store]:
        emit = self.emit
        place: Index = column
        if panels.width:
            at = emit.add(panels.first, column)
            number = emit.div(at, panels.width)
            place = emit.mul(number, panels.panel_stride)
            if panels.width != self.width:
                place = emit.add(place, emit.sub(at, emit.mul(number, panels.width)))
        source = Flat(panels.base, emit.add(panels.offset, place), {"k": panels.row_stride})
        return source, store.at(emit, column)

    def _tail(
        self, kernel: Tile, a: Flat, at: tuple[Flat, Store], left: Index, steps: Index,
        vectors: int,
    ) -> None:  # fmt: skip
        if not vectors:
            return
        masks: list[ir.Value | None] = [None] * vectors
        if not (isinstance(left, int) and left == vectors * self.lanes):
            # All but the last are full, where it is known how many there are.
            known = isinstance(left, int) or kernel.rows == self.rows.largest
            for number in range(vectors - 1 if known else 0, vectors):
                rest = self.emit.sub(left, number * self.lanes)
                masks[number] = self.emit.mask(rest, self.lanes)
        narrow = Tile(kernel.rows, vectors, kernel.vector, kernel.fma)
        emit_tile(self.emit, narrow, a, *at, steps, masks)
