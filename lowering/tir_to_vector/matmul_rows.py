"""The left-hand side of a contraction: a register tile's rows, as they lie or copied."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.matmul_sizes import Sizes
from relax_mlir.lowering.tir_to_vector.microkernel import VECTORS, Flat
from relax_mlir.lowering.tir_to_vector.packing import Loader, copy_rows

_PAGE = 4096
# A block of k of unknown size is rounded up to a multiple of less.
_SPARE = 16
# Smaller tiles are done before rows that are asked for would arrive.
_LEAST_AHEAD = 4


class LeftSide:
    """Where register tiles read A: `allocate` once, then `begin` each tile."""

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        self._copies: ir.Value | None = None
        self._distance = 0
        self._ahead: Flat | None = None

    def allocate(self) -> None:
        """Make room for copies of rows where they are needed: at fixed distances, off powers of 2.

        A register tile reads its rows side by side. With distances known, one register addresses
        them all; at multiples of a page they would evict each other from the first-level cache.
        """
        sizes = self._sizes
        stride = sizes.a.stride(sizes.found.m)
        bytes_ = sizes.vector.element_type.width // 8
        # At multiples of a page each row needs a way of the cache, and so do those of a panel.
        ways = sizes.machine.l1_bytes // _PAGE
        crowded = sizes.rows.largest + sizes.vectors > ways
        fixed = isinstance(stride, int)
        fixed = fixed and (not crowded or stride * bytes_ % 1024 != 0 or stride <= 256)
        fixed = fixed and isinstance(sizes.m, int)
        if sizes.found.widen[0] is None and (sizes.m == 1 or fixed):
            return
        steps = sizes.k_block if isinstance(sizes.k_block, int) else sizes.k_most + _SPARE
        self._distance = steps + sizes.lanes
        count = sizes.rows.largest * self._distance
        self._copies = sizes.emit.alloc(count, sizes.found.element)

    def begin(
        self, a: Flat, row: Index, tile: int, first: Index, steps: Index, last: Index | None = None
    ) -> Flat:
        """Copy a tile's rows where that pays, and return where they are; strides "m" and "k".

        Args:
            a: the first element of the matrix.
            row: the tile's first row.
            tile: how many rows it has.
            first: the first step of k.
            steps: how many steps of k.
            last: the number of the tile's last row that is there; None for all.
        """
        sizes = self._sizes
        emit, found = sizes.emit, sizes.found
        m_stride, k_stride = a.stride(found.m), a.stride(found.k)
        start = emit.add(a.offset, emit.mul(row, m_stride))
        start = emit.add(start, emit.mul(first, k_stride))
        rows = Flat(a.base, start, {"m": m_stride, "k": k_stride}, last)
        self._ahead = None
        if k_stride == 1 and tile >= _LEAST_AHEAD and not sizes.is_zoned:
            next_ = emit.add(start, emit.mul(tile, m_stride))
            self._ahead = Flat(a.base, next_, rows.strides)
        alone = tile == 1 and last is None and found.widen[0] is None
        if self._copies is None or alone:
            return rows
        load = Loader(emit, a.base, found.widen[0], sizes.vector)
        copy_rows(load, rows, tile, steps, self._copies, self._distance)
        return Flat(self._copies, 0, {"m": self._distance, "k": 1})

    def prefetch(self, tile: int, column: Index, steps: Index) -> None:
        """Ask for some of the next tile's rows: each panel of B for other lines of them."""
        ahead = self._ahead
        if ahead is None:
            return
        sizes = self._sizes
        emit = sizes.emit
        with emit.when(emit.compare("slt", column, steps)):
            along = emit.add(ahead.offset, column)
            with emit.loop(0, tile) as row:
                place = emit.add(along, emit.mul(row.counter, ahead.stride("m")))
                for number in range(VECTORS):
                    emit.prefetch(ahead.base, emit.add(place, number * sizes.lanes))
