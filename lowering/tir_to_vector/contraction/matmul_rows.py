"""The left-hand side of a contraction: a register tile's rows, as they lie or copied."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction.blocking import PAGE, crowded
from relax_mlir.lowering.tir_to_vector.contraction.matmul_sizes import Sizes
from relax_mlir.lowering.tir_to_vector.contraction.microkernel import Flat
from relax_mlir.lowering.tir_to_vector.contraction.packing import Loader, copy_rows, copy_steps
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# A block of k of unknown size is rounded up to a multiple of less.
_SPARE = 16
# Tiles side by side that read adjacent rows where they lie, though lines that are far apart in ways
# that evict each other come from the last-level cache.
_FEW_TILES = 2


class LeftSide:
    """Where register tiles read A: `allocate` once, then `begin` each tile."""

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        self._copies: ir.Value | None = None
        self._distance = 0
        # Whether adjacent rows are copied.
        self._copied: bool | ir.Value = False

    def allocate(self) -> None:
        """Make room for copies of rows where they are needed: at fixed distances, off powers of 2.

        A register tile reads its rows side by side. With distances known, one register addresses
        them all; else each row has one, where steps are adjacent and there is a way to say in which
        order code should be.
        """
        sizes = self._sizes
        if self._adjacent:
            self._allocate_steps()
            return
        stride = sizes.a.stride(sizes.found.m)
        fixed = isinstance(stride, int) and isinstance(sizes.m, int)
        by_row = sizes.machine.isa.assembly is not None and sizes.a.stride(sizes.found.k) == 1
        near = not isinstance(stride, int) or not self._crowded(stride)
        if sizes.found.widen[0] is None and (sizes.m == 1 or (near and (fixed or by_row))):
            return
        steps = sizes.k_block if isinstance(sizes.k_block, int) else sizes.k_most + _SPARE
        self._distance = steps + sizes.lanes
        count = sizes.rows.largest * self._distance
        self._copies = sizes.emit.alloc(count, sizes.found.element)

    @property
    def _adjacent(self) -> bool:
        """Whether the rows of a step are adjacent, and masks say which there are."""
        sizes = self._sizes
        bits = sizes.found.a.buffer.type.element_type.width
        along, across = (sizes.a.stride(i) for i in (sizes.found.m, sizes.found.k))
        return along == 1 and across != 1 and sizes.m != 1 and sizes.machine.can_mask(bits)

    def _allocate_steps(self) -> None:
        """Make room for copies of adjacent rows: of tiles that are not whole, and of far ones."""
        sizes = self._sizes
        self._copied = True if sizes.found.widen[0] is not None else self._far()
        if self._copied is False and isinstance(sizes.m, int) and not sizes.rows.fine:
            return
        steps = sizes.k_block if isinstance(sizes.k_block, int) else sizes.k_most + _SPARE
        count = steps * sizes.rows.largest + sizes.lanes
        self._copies = sizes.emit.alloc(count, sizes.found.element)

    def _far(self) -> bool | ir.Value:
        """Return whether few tiles use lines that come from far away and evict each other."""
        sizes, emit = self._sizes, self._sizes.emit
        size = sizes.found.element.width // 8
        walked: Index = size
        for position, stride in enumerate(sizes.found.a.strides):
            if stride != 0:
                walked = emit.mul(walked, sizes.extent(position))
        step = emit.mul(sizes.a.stride(sizes.found.k), size)
        return emit.all_hold(
            emit.holds(*each)
            for each in (
                ("sle", sizes.n, _FEW_TILES * sizes.width),
                ("sgt", walked, sizes.machine.l2_bytes),
                ("eq", emit.sub(step, emit.round_down(step, PAGE // 4)), 0),
            )
        )

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
        if self._adjacent:
            return self._steps(load, rows, tile, steps)
        copy_rows(load, rows, tile, steps, self._copies, self._distance)
        return Flat(self._copies, 0, {"m": self._distance, "k": 1})

    def _steps(self, load: Loader, rows: Flat, tile: int, steps: Index) -> Flat:
        """Return where adjacent rows are; of whole tiles that is where they lie, unless far."""
        emit, copies, copied = self._sizes.emit, self._copies, self._copied
        assert copies is not None
        if copied is not True and rows.last is not None:
            part = emit.compare("slt", rows.last, tile - 1)
            copied = part if copied is False else emit.op("arith.ori", [copied, part], part.type)
        if copied is False:
            return rows
        if copied is True:
            copy_steps(load, rows, tile, steps, copies)
            return Flat(copies, 0, {"m": 1, "k": tile})
        with emit.when(copied):
            copy_steps(load, rows, tile, steps, copies)
        base = emit.select(copied, emit.dynamic(copies), emit.dynamic(rows.base))
        first = emit.select(copied, 0, rows.offset)
        stride = emit.select(copied, tile, rows.stride("k"))
        place = emit.from_place(base, first, emit.mul(stride, steps))
        return Flat(place, 0, {"m": 1, "k": stride})
