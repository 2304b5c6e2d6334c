"""The register tiles of a block of a GEMM, and its edges."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import emit_matrix_sums
from relax_mlir.lowering.tir_to_vector.contraction.epilogue import EpilogueEmitter
from relax_mlir.lowering.tir_to_vector.contraction.gemm_blocking import (
    ColumnTiles,
    GemmBlocking,
    Span,
)
from relax_mlir.lowering.tir_to_vector.contraction.gemm_operands import AOperand
from relax_mlir.lowering.tir_to_vector.contraction.microkernel import (
    Put,
    Store,
    emit_tile,
    store_kept,
)
from relax_mlir.lowering.tir_to_vector.contraction.operands import Panels
from relax_mlir.lowering.tir_to_vector.emit import StridedRef
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# Sums that are on the stack: an allocation takes as long as a small GEMM.
_SUMS = 512
PanelsOfTiles = Sequence[tuple[ColumnTiles, Panels]]


def rows_of(
    finish: EpilogueEmitter, env: dict[int, Index], first: Index, m: int | None
) -> Callable[[Index], Put]:
    """Return the epilogue of a row, counted from a tile's first.

    Args:
        finish: the epilogue.
        env: counters of the outer iterators.
        first: the tile's first row.
        m: the iterator over rows; None for one row.
    """

    def at(row: Index) -> Put:
        here = {} if m is None else {m: first + row}
        return finish.at({**env, **here})

    return at


class TileWriter:
    """Writes the tiles of blocks.

    Args:
        blocking: of the contraction.
        left: its rows of A.
        init: the initial value of C; None adds to C.
        finish: the epilogue; None stores sums.
    """

    def __init__(
        self,
        blocking: GemmBlocking,
        left: AOperand,
        init: ir.Attribute | None,
        finish: EpilogueEmitter | None,
    ) -> None:
        self._blocking, self._emit, self._left = blocking, blocking.emit, left
        self._init, self._finish = init, finish
        self._scratch: ir.Value | None = None

    def allocate(self) -> None:
        """Allocate room for the sums of a tile that are stored in a loop.

        That is so for long epilogues, sums of several blocks, and partial tiles: one copy of the
        store code instead of one for each vector.
        """
        blocking = self._blocking
        is_deferred = self._finish is not None and (
            self._finish.is_long or not blocking.is_one_block
        )
        if is_deferred or blocking.matrices or not isinstance(blocking.m, int):
            count = blocking.whole(blocking.rows.largest) * blocking.width
            self._scratch = self._emit.alloc(count, blocking.gemm.element, _SUMS)

    def block(
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
        emit, gemm, blocking = self._emit, self._blocking.gemm, self._blocking
        (j0, _), (k0, k1) = columns, steps
        first: bool | ir.Value | None = None
        if self._init is not None:
            first = k0 == 0 if isinstance(k0, int) else emit.compare("eq", k0, 0)
        last: bool | ir.Value = True
        if self._finish is not None and not isinstance(k0, int):
            last = emit.compare("eq", k1, blocking.k)
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
                out = None
                if c is not None:
                    place = c.offset + (row * c.stride(gemm.m) + j0)
                    out = StridedRef(c.base, place, {"m": c.stride(gemm.m)})
                finish = None
                if self._finish is not None:
                    finish = rows_of(self._finish, env, row, gemm.m)
                # Only the largest tiles are worth long code.
                short = not blocking.rows.full and tile < blocking.rows.largest
                store = Store(out, first, self._init, last, finish, j0, self._scratch, there, short)
                self._columns(tile, source, panels, store, many)

    def _columns(
        self, rows: int, a: StridedRef, column_tiles: PanelsOfTiles, store: Store, steps: Index
    ) -> None:
        emit, blocking = self._emit, self._blocking
        with ExitStack() as branch:
            if rows == blocking.rows.largest and blocking.may_be_narrow:
                zone, panels = column_tiles[-1]
                with emit.when(zone.last <= blocking.lanes) as made:
                    self._tiles_of_width(rows, a, replace(zone, vectors=1), panels, store, steps)
                branch.enter_context(emit.otherwise(made))
            for zone, panels in column_tiles:
                self._tiles_of_width(rows, a, zone, panels, store, steps)

    def _tiles_of_width(
        self, rows: int, a: StridedRef, zone: ColumnTiles, panels: Panels, store: Store,
        steps: Index,
    ) -> None:  # fmt: skip
        emit, blocking = self._emit, self._blocking
        lanes, width = blocking.lanes, zone.vectors * blocking.lanes
        # Only the largest tiles are worth long code.
        main = isinstance(blocking.m, int) or rows == blocking.rows.largest
        widest = isinstance(blocking.m, int) or zone.vectors == blocking.vectors
        tile = replace(
            blocking.tile, rows=rows, vectors=zone.vectors, load=panels.load,
            k_unroll=2 if main and widest and blocking.dot is None else 1,
            short=blocking.has_n_tail and not main,
            prefetch_distance=panels.prefetch_distance if rows > 1 else 0,
        )  # fmt: skip
        if blocking.has_n_tail:
            store = replace(store, short=not main or zone.vectors < blocking.vectors)
        with emit.each_step(zone.first, zone.last, width) as column:
            left = zone.left
            if left is None:
                left = zone.last - column if zone.masked else width
            b = self._at(panels, column - zone.first, left, zone.vectors)
            if panels.ahead is not None:
                distance, apart = panels.ahead
                b.ahead = b.offset + distance, apart
            to = store.at(column)
            masks = [self._mask(left, i * lanes) for i in range(zone.vectors)]
            if not isinstance(left, int) and zone.whole:
                to = replace(to, whole=left >= width)
            groups = blocking.groups(steps)
            if blocking.matrices:
                emit_matrix_sums(emit, tile.dot, rows, zone.vectors, a, b, groups, to.scratch)
                store_kept(tile, to, masks)
            else:
                emit_tile(tile, a, b, to, groups, masks, panels.padded, blocking.may_be_odd)

    def _mask(self, left: Index, first: int) -> ir.Value | None:
        """Return the mask of a vector that begins `first` columns after a tile's first one."""
        lanes = self._blocking.lanes
        if isinstance(left, int) and left >= first + lanes:
            return None
        return self._emit.mask(left - first, lanes)

    def _at(self, panels: Panels, column: Index, left: Index, vectors: int) -> StridedRef:
        """Return the first element of B of a tile.

        Args:
            panels: where B is.
            column: the tile's first column, relative to the panels.
            left: columns from it on.
            vectors: of a row of the tile.
        """
        emit, width = self._emit, vectors * self._blocking.lanes
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
            base, offset = emit.from_place(base, offset, stride * self._blocking.kc), 0
        return StridedRef(base, offset, {"k": stride})
