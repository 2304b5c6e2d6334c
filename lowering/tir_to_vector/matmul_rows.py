"""The left-hand side of a contraction: a register tile's rows, as they lie or copied."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.blocking import PAGE, crowded
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.matmul_sizes import Sizes
from relax_mlir.lowering.tir_to_vector.microkernel import Flat
from relax_mlir.lowering.tir_to_vector.packing import Loader, copy_rows

# A block of k of unknown size is rounded up to a multiple of less.
_SPARE = 16
# Vectors of so many bits only x86 has.
_ORDERED_BITS = 256


class LeftSide:
    """Where register tiles read A: `allocate` once, then `begin` each tile."""

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        self._copies: ir.Value | None = None
        self._distance = 0

    def allocate(self) -> None:
        """Make room for copies of rows where they are needed: at fixed distances, off powers of 2.

        A register tile reads its rows side by side. With distances known, one register addresses
        them all; else each row has one, where steps are adjacent and there is a way to say in which
        order code should be.
        """
        sizes = self._sizes
        stride = sizes.a.stride(sizes.found.m)
        fixed = isinstance(stride, int) and isinstance(sizes.m, int)
        by_row = sizes.machine.vector_bits >= _ORDERED_BITS and sizes.a.stride(sizes.found.k) == 1
        near = not isinstance(stride, int) or not self._crowded(stride)
        if sizes.found.widen[0] is None and (sizes.m == 1 or (near and (fixed or by_row))):
            return
        steps = sizes.k_block if isinstance(sizes.k_block, int) else sizes.k_most + _SPARE
        self._distance = steps + sizes.lanes
        count = sizes.rows.largest * self._distance
        self._copies = sizes.emit.alloc(count, sizes.found.element)

    def _crowded(self, stride: int) -> bool:
        """Whether rows of a tile would evict each other from the first-level cache."""
        sizes = self._sizes
        size = sizes.vector.element_type.width // 8
        if sizes.a.stride(sizes.found.k) != 1:
            return False
        steps = sizes.k_block if isinstance(sizes.k_block, int) else sizes.k_most
        # Lines of a panel of B pass through each set too.
        ways = sizes.machine.l1_bytes // PAGE - sizes.vectors
        return crowded(sizes.rows.largest, stride * size, steps * size, ways)

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
        alone = tile == 1 and last is None and found.widen[0] is None
        if alone or (self._copies is None and last is None and isinstance(m_stride, int)):
            return rows
        if self._copies is None:
            places = [emit.add(start, rows.row(emit, number)) for number in range(tile)]
            rows.each = [emit.from_place(a.base, place, steps) for place in places]
            return rows
        load = Loader(emit, a.base, found.widen[0], sizes.vector)
        copy_rows(load, rows, tile, steps, self._copies, self._distance)
        return Flat(self._copies, 0, {"m": self._distance, "k": 1})
