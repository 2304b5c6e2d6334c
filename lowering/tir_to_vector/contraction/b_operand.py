"""Operand B of a GEMM: packed, read in place, or a packed operand.

One object serves one kernel: `decide` first, `allocate` inside the parallel region, and `panels`
for each block of columns and of k.
"""

from dataclasses import replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction.blocking import PAGE
from relax_mlir.lowering.tir_to_vector.contraction.gemm_blocking import (
    ColumnTiles,
    GemmBlocking,
    Span,
    column_tiles,
    panel_tiles,
)
from relax_mlir.lowering.tir_to_vector.contraction.operands import Edge, Loader, Panels, VnniLoader
from relax_mlir.lowering.tir_to_vector.contraction.packing import Packer
from relax_mlir.lowering.tir_to_vector.emit import StridedRef
from relax_mlir.lowering.tir_to_vector.index_emit import Index, ceil_div

# Rows and elements of B from which on packing pays.
PACK_ROWS = 32
PACK_ELEMENTS = 8192
# With one FMA unit: rows up to which packing does not pay for B in L2, and for B in L3 with at
# least that many steps of k.
_L2_ROWS, _L3_ROWS, _MIN_STEPS = 256, 128, 64
# Prefetch distances in steps of k: of B in place or packed by the kernel, and of packed operands.
_PREFETCH_STEPS, _PACKED_PREFETCH_STEPS = 8, 24


class BOperand:
    """Where register tiles read B.

    Attributes:
        pack: whether it is packed; an i1 if only run time knows.
        element: the type of a panel's elements.
    """

    def __init__(self, blocking: GemmBlocking) -> None:
        self._blocking = blocking
        self._packed: ir.Value | None = None
        self.pack: bool | ir.Value = False
        self.element: ir.Type = blocking.gemm.element

    @property
    def in_place(self) -> bool:
        """Whether B is read in place."""
        return self.pack is False and not self._blocking.panel_width

    def decide(self) -> None:
        """Decide whether to pack."""
        blocking = self._blocking
        emit, gemm = blocking.emit, blocking.gemm
        if blocking.panel_width:
            # Each tile of rows would convert the panels again.
            self.pack = blocking.load.converts
            return
        if blocking.b.stride(gemm.n) != 1 or gemm.widen[1] is not None:
            self.pack = True
            return
        many = blocking.k * blocking.n
        known = isinstance(many, int) and many <= PACK_ELEMENTS
        if known or (isinstance(blocking.m, int) and blocking.m < PACK_ROWS):
            self.pack = False
            return
        self.pack = emit.all_hold((
            emit.holds("sge", blocking.m, self._min_rows(many)),
            emit.holds("sgt", many, PACK_ELEMENTS),
        ))  # fmt: skip

    def _min_rows(self, many: Index) -> Index:
        """Return the number of rows from which on packing B pays.

        A core with one FMA unit does not wait for lines of a matrix in its L2, nor for those from
        L3 that have no set conflicts.
        """
        blocking, emit = self._blocking, self._blocking.emit
        machine, size = blocking.machine, blocking.gemm.element.width // 8
        if machine.fma_units > 1 or (isinstance(blocking.m, int) and blocking.m > _L2_ROWS):
            return PACK_ROWS
        stride = blocking.b.stride(blocking.gemm.k) * size
        apart = emit.holds("ne", emit.round_down(stride, PAGE // 2), stride)
        bytes_ = many * size
        least: Index = PACK_ROWS
        steps = emit.holds("sge", blocking.k, _MIN_STEPS)
        for rows, conditions in (
            (_L3_ROWS, (steps, apart, emit.holds("sle", bytes_, machine.panel_bytes))),
            (_L2_ROWS, (steps, emit.holds("sle", bytes_, machine.l2_bytes // 2))),
        ):
            holds = emit.all_hold(conditions)
            if isinstance(holds, ir.Value):
                least = emit.select(holds, rows + 1, least)
            elif holds:
                least = rows + 1
        return least

    def allocate(self) -> None:
        """Allocate the panels of a block."""
        if self.pack is False and not self._has_edge:
            return
        blocking = self._blocking
        emit = blocking.emit
        with emit.outside():
            columns = emit.min(blocking.n, blocking.nc_max)
            if blocking.panel_width:
                # A block may begin and end inside panels, which are copied whole.
                columns = columns + 2 * (blocking.panel_width - blocking.width)
            panels = ceil_div(columns, blocking.width)
            if self.pack is not True:
                panels = 1 if self.pack is False else emit.select(self.pack, panels, 1)
            rows = self._panel_rows() * panels + blocking.lanes
            size = rows * blocking.width
        self._packed = emit.alloc_scratch(size, self.element)

    def column_tiles(
        self, b: StridedRef, columns: Span, steps: Span
    ) -> list[tuple[ColumnTiles, Panels]]:
        """Pack a block if that is decided, and return its panels by tile width.

        Args:
            b: the first element of the matrix.
            columns: the block's range of columns.
            steps: the block's range of k.
        """
        blocking, (first, last) = self._blocking, columns
        emit, count = blocking.emit, last - first
        if not blocking.has_n_tail:
            panels = self.panels(b, columns, steps)
            cut = panel_tiles(blocking, count, panels.padded)
            return [(tiles, panels.beginning(tiles.first)) for tiles in cut]
        exact = isinstance(blocking.n, int) and blocking.n % blocking.lanes == 0
        cut = column_tiles(emit, count, blocking.lanes, exact)
        if blocking.is_even:
            cut = [ColumnTiles(blocking.vectors, 0, count, not exact)]
        made = []
        for zone in cut:
            here = first + zone.first, first + zone.last
            made.append((zone, self._tiles_of_width(b, zone, here, steps)))
        return made

    def _tiles_of_width(
        self, b: StridedRef, zone: ColumnTiles, columns: Span, steps: Span
    ) -> Panels:
        """Return the panels of columns with one tile width; packed ones follow each other."""
        blocking, gemm = self._blocking, self._blocking.gemm
        (j0, j1), (k0, k1) = columns, steps
        n_stride, k_stride = b.stride(gemm.n), b.stride(gemm.k)
        start = b.offset + (j0 * n_stride + k0 * k_stride)
        width = zone.vectors * blocking.lanes
        if self._packed is None:
            return Panels(b.base, start, k_stride, width, width, prefetch_distance=_PREFETCH_STEPS)
        rows = self._panel_rows()
        size, first = rows * width, rows * zone.first
        packer = Packer(self._loader(b.base), width, self._packed, size, first)
        if not isinstance(zone.last, int):
            # The N tail is packed by short code.
            rest = zone.vectors < blocking.vectors
            packer = replace(packer, masks=zone.masked, rows=1 if rest else packer.rows)
        block = StridedRef(b.base, start, {"n": n_stride, "k": k_stride})
        if self.pack is True:
            packer.pack(block, j1 - j0, k1 - k0)
            return Panels(self._packed, first, width, size, width, padded=True)
        by_masks = blocking.rows.is_narrow(1) and zone.vectors == blocking.vectors
        return self._edged(b, packer, block, j1 - j0, k1 - k0, by_masks)

    def _edged(
        self, b: StridedRef, packer: Packer, block: StridedRef, count: Index, many: Index,
        by_masks: bool = False,
    ) -> Panels:  # fmt: skip
        """Pack if that is decided at run time; the last columns are packed in any case.

        So tiles read whole panels. `by_masks` reads the last columns in place with masks instead;
        with two FMA units masked loads would take one of them.
        """
        emit, width, size = self._blocking.emit, packer.width, packer.panel_size
        n_stride, k_stride = block.stride("n"), block.stride("k")
        from_, first = emit.round_down(count, width), packer.first
        used: bool | ir.Value = True
        if self.pack is not False:
            from_, first = emit.select(self.pack, 0, from_), emit.select(self.pack, first, 0)
            used = emit.negated(self.pack)
        else:
            first = 0
        last = StridedRef(b.base, block.offset + from_ * n_stride, block.strides)
        left = count - from_
        wanted = False if by_masks else self._reads_edge
        if self.pack is not False:
            wanted = emit.either_holds(wanted, self.pack)
        if wanted is not False:
            left = left if wanted is True else emit.select(wanted, left, 0)
            replace(packer, first=first).pack(last, left, many)
        packed, base = emit.dynamic(packer.to), emit.dynamic(b.base)
        if self.pack is False:
            panels = Panels(
                base, block.offset, k_stride, width, width, prefetch_distance=_PREFETCH_STEPS
            )
        else:
            stride = emit.select(self.pack, width, k_stride)
            if isinstance(k_stride, int):
                # LLVM would shift by a select of exponents in each step.
                stride = emit.opaque_index(stride)
            panels = Panels(
                emit.select(self.pack, packed, base),
                emit.select(self.pack, first, block.offset),
                stride,
                emit.select(self.pack, size, width),
                width,
                prefetch_distance=0 if self._blocking.has_n_tail else _PREFETCH_STEPS,
                chosen=True,
            )
        panels.padded = not by_masks
        if self._has_edge and not by_masks:
            panels.edge = Edge(packed, used)
        return panels

    def panels(self, b: StridedRef, columns: Span, steps: Span) -> Panels:
        """Pack a block if that is decided, and return its panels.

        Args:
            b: the first element of the matrix.
            columns: the block's range of columns.
            steps: the block's range of k.
        """
        blocking, gemm = self._blocking, self._blocking.gemm
        (j0, j1), (k0, k1) = columns, steps
        n_stride, k_stride = b.stride(gemm.n), b.stride(gemm.k)
        start = b.offset + (j0 * n_stride + k0 * k_stride)
        if blocking.panel_width:
            start = b.offset + k0 // gemm.group * k_stride
            stride, width = b.stride(blocking.panel), blocking.panel_width
            panels = Panels(
                b.base, start, k_stride, stride, width, j0, True, _PACKED_PREFETCH_STEPS
            )
            if blocking.dot is not None:
                panels.load = blocking.load
            return self._converted(panels, columns, steps) if self.pack else panels
        if self._packed is None:
            return Panels(
                b.base, start, k_stride, blocking.width, prefetch_distance=_PREFETCH_STEPS
            )
        packed, size = self._packed, self._panel_rows() * blocking.width
        packer = Packer(self._loader(b.base), blocking.width, packed, size)
        count, many = j1 - j0, k1 - k0
        block = StridedRef(b.base, start, {"n": n_stride, "k": k_stride})
        if self.pack is not True:
            return self._edged(b, packer, block, count, many)
        packer.pack(block, count, many)
        return Panels(
            packed, 0, blocking.width, size, blocking.width, padded=True,
            prefetch_distance=_PREFETCH_STEPS,
        )  # fmt: skip

    def _loader(self, base: ir.Value) -> Loader | VnniLoader:
        """Return what loads B."""
        blocking = self._blocking
        return Loader(blocking.emit, base, blocking.gemm.widen[1], blocking.vector)

    def _converted(self, panels: Panels, columns: Span, steps: Span) -> Panels:
        """Copy the panels of a packed operand in the type that is multiplied."""
        blocking, (first, last) = self._blocking, columns
        emit, lanes, width = blocking.emit, blocking.lanes, blocking.panel_width
        assert self._packed is not None  # as there is something to convert
        size = self._panel_rows() * width
        whole = emit.round_down(first, width)
        with emit.loop(whole, last, width) as column:
            number = column.counter // width
            source = panels.offset + number * panels.panel_stride
            to = (column.counter - whole) // width * size
            load = replace(blocking.load, panel=number)
            with emit.loop(0, steps[1] - steps[0]) as row:
                k = steps[0] + row.counter
                at = source + row.counter * panels.row_stride
                there = to + row.counter * width
                for start in range(0, width, lanes):
                    place = at + start
                    value = load.vector(emit, panels.base, place, blocking.vector, k, start)
                    emit.vector_store(value, self._packed, [there + start])
        inside = first - whole
        return Panels(
            self._packed, 0, width, size, width, inside, padded=True,
            prefetch_distance=_PREFETCH_STEPS,
        )  # fmt: skip

    @property
    def _has_edge(self) -> bool:
        """Whether B may be read in place and its last columns may fill no panel."""
        n, blocking = self._blocking.n, self._blocking
        if self.pack is True or blocking.panel_width:
            return False
        if blocking.has_n_tail:
            # If threads share columns, any tile may be a piece's last one.
            known = self.pack is False and isinstance(n, int) and n % blocking.lanes == 0
            return not known or blocking.emit.is_parallel
        if self.pack is False:
            return not isinstance(n, int)
        return not isinstance(n, int) or n % blocking.width != 0

    @property
    def _reads_edge(self) -> bool | ir.Value:
        """Whether there are tiles of two vectors, which read packed last columns."""
        blocking, emit = self._blocking, self._blocking.emit
        if not blocking.rows.is_narrow(1):
            return True
        wide = emit.compare("sge", blocking.m, blocking.rows.most)
        if not blocking.may_be_narrow:
            return wide
        return emit.both(wide, emit.compare("sgt", blocking.n, blocking.lanes))

    def _panel_rows(self) -> Index:
        """Return the distance of panels, in rows of a panel.

        It is one more than a panel has: multiples of a page would conflict in cache sets.
        """
        return self._blocking.kc + 1
