"""GEMM: register tiles over packed or in-place operands, blocked for the caches."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.contraction.blocking import (
    ColumnTiles,
    GemmBlocking,
    balanced_nc,
)
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import (
    ask_permission,
    emit_matrix_sums,
    registers,
)
from relax_mlir.lowering.tir_to_vector.contraction.epilogue import EpilogueEmitter
from relax_mlir.lowering.tir_to_vector.contraction.gemm_operands import AOperand, BOperand
from relax_mlir.lowering.tir_to_vector.contraction.microkernel import (
    Put,
    Store,
    emit_tile,
    store_kept,
)
from relax_mlir.lowering.tir_to_vector.contraction.operands import Layout, Panels
from relax_mlir.lowering.tir_to_vector.contraction.pattern import Contraction
from relax_mlir.lowering.tir_to_vector.contraction.skinny_gemm import (
    PackedGemv,
    SkinnyGemm,
    is_packed_gemv,
    panels_at_once,
)
from relax_mlir.lowering.tir_to_vector.emit import Emitter, StridedRef
from relax_mlir.lowering.tir_to_vector.index_emit import Index, Span, ceil_div, larger, steps_of
from relax_mlir.lowering.tir_to_vector.nest_elements import work_of
from relax_mlir.lowering.tir_to_vector.parallel_region import ParallelDim

# With fewer rows B is read in place, also if tiles would need it transposed.
DOT_MIN_ROWS = 4
# Rows up to which a large B is read in order: tiles would read a little of each of its rows.
SKINNY_MAX_ROWS = 8
# Panels for each thread from which on threads share columns.
_PANELS_EACH = 2
# The cost of a product of operands from memory, in products of operands in registers.
_MEMORY_WORK = 8
# Sums that are on the stack: an allocation takes as long as a small GEMM.
_SUMS = 512
# Tiles of columns up to which rows of A are not reused enough to hide where they come from.
_FEW_TILES = 16
PanelsOfTiles = Sequence[tuple[ColumnTiles, Panels]]


class GemmWriter:
    """Writes a contraction: `skinny` if few rows share B, else `tiles`."""

    gemm: Contraction
    emit: Emitter
    machine: Machine
    init: ir.Attribute | None

    def __init__(self, gemm: Contraction, emit: Emitter) -> None:
        self.gemm, self.emit, self.machine = gemm, emit, emit.machine
        self.blocking: GemmBlocking = GemmBlocking(gemm, emit)
        self.finish: EpilogueEmitter | None = None
        epilogue = gemm.epilogue
        if epilogue is not None:
            self.finish = EpilogueEmitter(epilogue, gemm.c.buffer, gemm.n, emit)
            self.blocking.has_long_epilogue = self.finish.is_long
        if (
            not self.blocking.outer
            and isinstance(self.blocking.n, int)
            and self.blocking.n < self._min_columns
        ):
            self.blocking.rows = replace(self.blocking.rows, threads=emit.threads)
        whole = self.blocking.is_one_block and (
            self.blocking.panel_width or self.is_skinny() is False
        )
        self.c: Layout | None = Layout(gemm.c, emit)
        if epilogue is not None:
            self.c = None if whole else Layout(epilogue.partial or gemm.c, emit)

    def is_skinny(self) -> bool | ir.Value:
        """Return whether few rows share B, so that it is read in order, once."""
        gemm, m = self.gemm, self.blocking.m
        if self.blocking.panel_width:
            return is_packed_gemv(self.blocking)
        along_k = gemm.b.strides[gemm.k] == 1 and gemm.b.strides[gemm.n] != 1
        if (gemm.a.strides[gemm.k] if along_k else gemm.b.strides[gemm.n]) != 1:
            return False
        most: Index = DOT_MIN_ROWS - 1
        if not along_k:
            # More rows pay only if B comes from beyond L2.
            size = max(8, gemm.b.buffer.type.element_type.width) // 8
            far = self.blocking.k * self.blocking.n * size > self.machine.l2_bytes
            most = self.emit.select(far, SKINNY_MAX_ROWS, most)
        if isinstance(m, int) and not DOT_MIN_ROWS <= m <= SKINNY_MAX_ROWS:
            return m < DOT_MIN_ROWS
        return m <= most

    def skinny(self) -> None:
        """Write the kernel that reads B once, in order."""
        blocking = self.blocking
        if blocking.panel_width:
            self._packed_gemv()
            return
        # Memory is the limit: threads pay earlier than the products suggest.
        with self._loops(_MEMORY_WORK, whole_rows=True) as (env, columns, _):
            a, b, c = (x.at(env) for x in (blocking.a, blocking.b, self._sums))
            SkinnyGemm(blocking, self.init, a, b, c).write(*columns)
            if self.finish is not None:
                self._finish_skinny(self.finish, env, c, columns)

    def _packed_gemv(self) -> None:
        with self._loops(_MEMORY_WORK, whole_rows=True) as (env, columns, _):
            kernel = PackedGemv(self.blocking)
            a, b = (x.at(env) for x in (self.blocking.a, self.blocking.b))
            out = None if self.c is None else self.c.at(env)
            if out is not None:
                out = replace(out, strides={"m": out.stride(self.gemm.m)})
            first = None if self.init is None else True
            store = Store(out, first, self.init, finish=self._finish_of(env, 0))
            kernel.write(a, b, columns, store)

    def _finish_skinny(
        self, finish: EpilogueEmitter, env: dict[int, Index], c: StridedRef, columns: Span
    ) -> None:
        emit, m, lanes = self.emit, self.gemm.m, self.blocking.lanes
        with emit.loop(0, self.blocking.m) as row:
            start = c.offset + row.counter * c.stride(m)
            put = finish.at({**env, **({} if m is None else {m: row.counter})})

            def one(column: Index, mask: ir.Value | None) -> None:
                sums = emit.vector_load(c.base, [start + column], self.blocking.vector, mask)
                put(sums, column, mask)

            emit.each_vector(*columns, lanes, one)

    @property
    def _min_columns(self) -> int:
        """With fewer columns threads share rows."""
        return _PANELS_EACH * self.emit.threads * self.blocking.width

    @property
    def _sums(self) -> Layout:
        assert self.c is not None
        return self.c

    def tiles(self) -> None:
        """Write the kernel of register tiles."""
        emit, blocking = self.emit, self.blocking
        right = BOperand(blocking)
        right.decide()
        if blocking.matrices:
            ask_permission(emit)
        with self._loops(1) as (env, columns, rows):
            right.allocate()
            self._allocate()
            with ExitStack() as loops:
                if blocking.matrices:
                    loops.enter_context(registers(emit))
                a, b = (x.at(env) for x in (blocking.a, blocking.b))
                c = None if self.c is None else self.c.at(env)
                block = loops.enter_context(self._columns_of(columns, right.in_place))
                steps = loops.enter_context(self._blocks_of_k())
                column_tiles = right.column_tiles(b, block, steps)
                following = self._following(columns, block, steps)
                self._block(env, a, column_tiles, c, rows, block, steps, following)

    def _allocate(self) -> None:
        """Allocate copies of A, and room for the sums of a tile that are stored in a loop.

        That is so for long epilogues, sums of several blocks, and partial tiles: one copy of the
        store code instead of one for each vector.
        """
        blocking, finish = self.blocking, self.finish
        self._left, self._scratch = AOperand(blocking), None
        self._left.allocate()
        is_deferred = finish is not None and (finish.is_long or not blocking.is_one_block)
        if is_deferred or blocking.matrices or not isinstance(blocking.m, int):
            count = blocking.whole(blocking.rows.largest) * blocking.width
            self._scratch = self.emit.alloc(count, blocking.gemm.element, _SUMS)

    def _finish_of(self, env: dict[int, Index], first: Index) -> Callable[[Index], Put] | None:
        """Return the epilogue by row, counted from a tile's first one; None to store sums."""
        finish, m = self.finish, self.gemm.m
        if finish is None:
            return None
        return lambda row: finish.at({**env, **({} if m is None else {m: first + row})})

    @contextmanager
    def _loops(
        self, each: int, whole_rows: bool = False
    ) -> Iterator[tuple[dict[int, Index], Span, Span]]:
        """Write the loops around rows and columns; yields counters and a piece's ranges."""
        gemm = self.gemm
        self.init = gemm.flat.init
        if self.init is not None and gemm.outer_reductions:
            self._fill()
            self.init = None
        with ExitStack() as loops:
            spans, columns, rows = loops.enter_context(self._parallel_region(each, whole_rows))
            env: dict[int, Index] = {}
            for position in self.blocking.outer:
                env[position] = loops.enter_context(self.emit.each_step(*spans[position]))
            inner = [self.blocking.k, *map(self.blocking.extent, reversed(gemm.outer_reductions))]
            for position in gemm.outer_reductions:
                steps = steps_of(self.emit, inner.pop(), inner)
                env[position] = loops.enter_context(self.emit.each_step(0, steps))
            yield env, columns, rows

    @contextmanager
    def _parallel_region(
        self, each: int, whole_rows: bool
    ) -> Iterator[tuple[dict[int, Span], Span, Span]]:
        """Split outer loops, else columns, else rows; yields the ranges.

        Each piece packs the panels of its own columns. No tile is split, and sums do not depend on
        a tile's place, so results have the same bits in any split.
        """
        emit, blocking = self.emit, self.blocking
        work = work_of(emit, self.gemm.flat, each)
        dims = [ParallelDim(blocking.extent(i), 1, 2 * emit.threads) for i in blocking.outer]
        unit = blocking.unit
        if blocking.panel_width:
            unit = blocking.panel_width * (panels_at_once(blocking) if whole_rows else 1)
        dims.append(ParallelDim(blocking.n, unit, 0 if whole_rows else self._min_columns))
        if not whole_rows:
            dims.append(ParallelDim(blocking.rows.count, 1, 2 * emit.threads))
            dims.append(ParallelDim(blocking.n, blocking.unit))
        with emit.parallel_region(dims, work) as ranges:
            by_position = dict(zip(blocking.outer, ranges, strict=False))
            wide, *more = ranges[len(blocking.outer) :]
            if whole_rows:
                yield by_position, wide, (0, blocking.m)
                return
            rows, narrow = more
            columns = emit.max(wide[0], narrow[0]), emit.min(wide[1], narrow[1])
            yield by_position, columns, rows

    @contextmanager
    def _columns_of(self, columns: Span, in_place: bool) -> Iterator[Span]:
        """Loop over blocks of columns; one block if B is read in place."""
        (first, last), most = columns, self.blocking.nc_max
        known = first == 0 and isinstance(last, int) and isinstance(most, int)
        if in_place or (known and last <= most):
            yield columns
            return
        emit = self.emit
        size = balanced_nc(last - first, most, self.blocking.width)
        with emit.blocks(first, last, size) as block:
            yield block

    def _following(self, columns: Span, block: Span, steps: Span) -> Index | None:
        """Return how far the next block's panels are, None if they are not to be prefetched."""
        emit, blocking = self.emit, self.blocking
        if not blocking.prefetches:
            return None
        to_k = steps[0] * blocking.panel_width
        wide = (block[1] - block[0]) // blocking.panel_width
        far = wide * blocking.b.stride(blocking.panel) - to_k
        # After the last block nothing is left to prefetch.
        following = emit.select(block[1] < columns[1], far, 0)
        if blocking.is_one_block:
            return following
        more = steps[1] < blocking.k
        return emit.select(more, blocking.kc * blocking.panel_width, following)

    def _fill(self) -> None:
        """Store the initial value of C: with several reduction loops no block of k is the first."""
        emit, gemm = self.emit, self.gemm
        value = emit.constant_of(gemm.element, self.init)
        with ExitStack() as loops:
            env = {
                i: loops.enter_context(emit.each_step(0, self.blocking.extent(i)))
                for i in (*gemm.outer, gemm.m, gemm.n)
                if i is not None
            }
            emit.store(value, self._sums.base, [self._sums.at(env).offset])

    @contextmanager
    def _blocks_of_k(self) -> Iterator[Span]:
        """Loop over blocks of k; an empty k still gives one iteration, which stores C."""
        emit, blocking = self.emit, self.blocking
        if blocking.is_one_block:
            yield 0, blocking.k
            return
        upper = blocking.k if isinstance(blocking.k, int) else emit.max(blocking.k, 1)
        with emit.loop(0, upper, blocking.kc) as loop:
            yield loop.counter, emit.min(loop.counter + blocking.kc, blocking.k)

    def _block(
        self, env: dict[int, Index], a: StridedRef, column_tiles: PanelsOfTiles,
        c: StridedRef | None, rows: Span, columns: Span, steps: Span, following: Index | None,
    ) -> None:  # fmt: skip
        """Write the tiles of a block.

        Args:
            env: counters of the outer iterators.
            a: the first element of A.
            column_tiles: the panels of B by tile width.
            c: the first element of C; None if sums are never incomplete.
            rows: the range of tile numbers.
            columns: the range of columns.
            steps: the range of k.
            following: the distance from the block's panels to those of the next block, of which
                each tile prefetches a share; None for no prefetch.
        """
        emit, gemm, blocking = self.emit, self.gemm, self.blocking
        (j0, _), (k0, k1) = columns, steps
        first = None if self.init is None else emit.holds("eq", k0, 0)
        is_last = self.finish is None or isinstance(k0, int)
        last = is_last or emit.compare("eq", k1, blocking.k)
        many = k1 - k0
        for loop_ in blocking.rows.loops(*rows):
            share: Index = 0
            if following is not None:
                count = emit.max(loop_.last - loop_.first, 1)
                share = (blocking.width - 1 + count) // count
            with emit.loop(loop_.first, loop_.last) as number:
                tile = loop_.rows
                panels = column_tiles
                if following is not None:
                    done = (number.counter - loop_.first) * (share * many)
                    ahead = following + done, share
                    panels = [(zone, replace(each, ahead=ahead)) for zone, each in column_tiles]
                row = number.counter * tile + loop_.base
                there = emit.min(blocking.m - row, tile) if loop_.partial else None
                end = None if there is None else there - 1
                source = self._left.begin(a, row, tile, k0, many, end)
                source = replace(source, ahead=self._next_rows(a, row + tile, tile, columns, many))
                out = None
                if c is not None:
                    place = c.offset + (row * c.stride(gemm.m) + j0)
                    out = StridedRef(c.base, place, {"m": c.stride(gemm.m)})
                finish = self._finish_of(env, row)
                # Only the largest tiles are worth long code.
                short = not blocking.rows.full and tile < blocking.rows.largest
                store = Store(out, first, self.init, last, finish, j0, self._scratch, there, short)
                self._columns(tile, source, panels, store, many)

    def _next_rows(
        self, a: StridedRef, row: Index, rows: int, columns: Span, steps: Index
    ) -> StridedRef | None:
        """Return what the tiles of some columns prefetch of the next rows, None for nothing.

        Each tile takes a share. `row` is the first of those rows.
        """
        blocking, gemm = self.blocking, self.gemm
        n, k, width = blocking.n, blocking.k, blocking.width
        contiguous = isinstance(k, int) and a.stride(gemm.k) == 1 and a.stride(gemm.m) == k
        reused = isinstance(n, int) and n > _FEW_TILES * width
        if blocking.panel_width or reused or not contiguous:
            return None
        tiles = larger((columns[1] - columns[0]) // width, 1)
        share = ceil_div(rows * k, tiles * larger(blocking.groups(steps), 1))
        return StridedRef(a.base, a.offset + row * k, {"k": share})

    def _columns(
        self, rows: int, a: StridedRef, column_tiles: PanelsOfTiles, store: Store, steps: Index
    ) -> None:
        emit, blocking = self.emit, self.blocking
        zones = list(column_tiles)
        if rows >= blocking.rows.largest - 1 and blocking.may_be_narrow:
            # The last columns, if no more than a vector is left of them.
            zone, panels = zones.pop()
            count, width = zone.last - zone.first, zone.vectors * blocking.lanes
            left = count - emit.round_down(count, width)
            done = emit.select(left <= blocking.lanes, count - left, count)
            zones.append((replace(zone, last=zone.first + done), panels))
            alone, after = replace(zone, vectors=1, first=zone.first + done), panels.beginning(done)
            single = after.column is not None and emit.holds("eq", left, 1)
            vector, column = (
                partial(self._tiles_of_width, rows, a, each, after, store, steps)
                for each in (alone, replace(alone, left=1, along_k=True))
            )
            emit.choose(single, column, vector)
        for zone, panels in zones:
            self._tiles_of_width(rows, a, zone, panels, store, steps)

    def _tiles_of_width(
        self, rows: int, a: StridedRef, zone: ColumnTiles, panels: Panels, store: Store,
        steps: Index,
    ) -> None:  # fmt: skip
        emit, blocking = self.emit, self.blocking
        lanes, width = blocking.lanes, zone.vectors * blocking.lanes
        # Only the largest tiles are worth long code.
        main = isinstance(blocking.m, int) or rows == blocking.rows.largest
        widest = isinstance(blocking.m, int) or zone.vectors == blocking.vectors
        tile = replace(
            blocking.tile, rows=rows, vectors=zone.vectors, load=panels.load,
            k_unroll=2 if main and widest and blocking.dot is None else 1,
            short=blocking.has_n_tail and not main,
            along_k=zone.along_k,
            prefetch_distance=panels.prefetch_distance if rows > 1 else 0,
        )  # fmt: skip
        narrow = zone.left is None and zone.vectors < blocking.vectors
        if blocking.has_n_tail or narrow:
            store = replace(store, short=not main or narrow)
        groups = blocking.groups(steps)
        with emit.each_step(zone.first, zone.last, width) as column:
            left = zone.left
            if left is None:
                left = zone.last - column if zone.masked else width
            if tile.along_k:
                b = StridedRef(panels.column, 0, {"k": 1})
            else:
                b = self._at(panels, column - zone.first, left, zone.vectors)
            if panels.ahead is not None:
                distance, apart = panels.ahead
                b.ahead = StridedRef(b.base, b.offset + distance, {"k": apart})
            elif a.ahead is not None:
                done = column // blocking.width * (groups * a.ahead.stride("k"))
                b.ahead = replace(a.ahead, offset=a.ahead.offset + done)
            to = store.at(column)
            masks = [self._mask(left, i * lanes) for i in range(zone.vectors)]
            if not isinstance(left, int) and zone.whole:
                to = replace(to, whole=left >= width)
            if blocking.matrices:
                emit_matrix_sums(emit, tile.dot, rows, zone.vectors, a, b, groups, to.scratch)
                store_kept(tile, to, masks)
            else:
                emit_tile(tile, a, b, to, groups, masks, panels.padded, blocking.may_be_odd)

    def _mask(self, left: Index, first: int) -> ir.Value | None:
        """Return the mask of a vector that begins `first` columns after a tile's first one."""
        lanes = self.blocking.lanes
        if isinstance(left, int) and left >= first + lanes:
            return None
        return self.emit.mask(left - first, lanes)

    def _at(self, panels: Panels, column: Index, left: Index, vectors: int) -> StridedRef:
        """Return the first element of B of a tile, whose column is relative to the panels.

        `left` columns exist from it on.
        """
        emit, width = self.emit, vectors * self.blocking.lanes
        place: Index = column
        if panels.width:
            at = panels.first + column
            number = at // panels.width
            place = number * panels.panel_stride
            if panels.width != width:
                place += at - number * panels.width
        base, offset, stride = panels.base, panels.offset + place, panels.row_stride
        if panels.edge is not None and left != width:
            edge = (left < width) & panels.edge.used
            base = emit.select(edge, panels.edge.base, base)
            # A row of the copy is as wide as the panels, however few vectors the tile reads.
            offset, stride = emit.select(edge, 0, offset), emit.select(edge, panels.width, stride)
        if panels.edge is not None or panels.chosen:
            # LLVM sinks a select of pointers into the loops that use it, unless it is a buffer.
            base, offset = emit.from_place(base, offset, stride * self.blocking.kc), 0
        return StridedRef(base, offset, {"k": stride})
