"""The right-hand side of a contraction: panels that are packed, read as they lie, or there already.

One object serves one kernel: `decide` first, `allocate` inside the parallel region, and `panels`
for each block of columns and of k.
"""

from dataclasses import replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction.blocking import PAGE
from relax_mlir.lowering.tir_to_vector.contraction.matmul_sizes import Sizes, Span
from relax_mlir.lowering.tir_to_vector.contraction.matmul_zones import Zone, zones
from relax_mlir.lowering.tir_to_vector.contraction.microkernel import Flat
from relax_mlir.lowering.tir_to_vector.contraction.operands import Edge, Panels
from relax_mlir.lowering.tir_to_vector.contraction.packing import Loader, PanelPacker
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# Packing B pays when enough rows share it, and it is too big for the first-level cache.
PACK_ROWS = 32
PACK_ELEMENTS = 8192
# Up to so many rows it does not pay where one unit multiplies and adds, of matrices in the
# second-level cache, and of those in the third, with so many steps of k at least.
_NEAR_ROWS, _MIDDLE_ROWS, _LEAST_STEPS = 256, 128, 64
# Steps of k that B is asked for before its use; those of panels that come from memory are quick.
_AHEAD, _FAR_AHEAD = 8, 24


class RightSide:
    """Where register tiles read B.

    Attributes:
        pack: whether it is packed; an i1 where that is known at run time only.
        element: what panels consist of.
    """

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        self._packed: ir.Value | None = None
        self.pack: bool | ir.Value = False
        self.element: ir.Type = sizes.found.element

    @property
    def as_it_lies(self) -> bool:
        """Whether B is read where it is, without panels."""
        return self.pack is False and not self._sizes.ready

    def decide(self) -> None:
        """Set whether to pack."""
        sizes = self._sizes
        emit, found = sizes.emit, sizes.found
        if sizes.ready:
            # Tiles of many rows would widen what they share once for each.
            self.pack = sizes.load.converts
            return
        if sizes.b.stride(found.n) != 1 or found.widen[1] is not None:
            self.pack = True
            return
        many = emit.mul(sizes.k, sizes.n)
        known = isinstance(many, int) and many <= PACK_ELEMENTS
        if known or (isinstance(sizes.m, int) and sizes.m < PACK_ROWS):
            self.pack = False
            return
        self.pack = emit.all_hold((
            emit.holds("sge", sizes.m, self._least_rows(many)),
            emit.holds("sgt", many, PACK_ELEMENTS),
        ))  # fmt: skip

    def _least_rows(self, many: Index) -> Index:
        """Return how many rows are worth packing so many elements of B.

        A core with one unit for multiply-adds waits for no lines of a matrix in its second-level
        cache, be they adjacent or not, nor for some from the third level that are not in each
        other's way.
        """
        sizes, emit = self._sizes, self._sizes.emit
        machine, size = sizes.machine, sizes.found.element.width // 8
        if machine.fma_units > 1 or (isinstance(sizes.m, int) and sizes.m > _NEAR_ROWS):
            return PACK_ROWS
        stride = emit.mul(sizes.b.stride(sizes.found.k), size)
        apart = emit.holds("ne", emit.round_down(stride, PAGE // 2), stride)
        bytes_ = emit.mul(many, size)
        least: Index = PACK_ROWS
        steps = emit.holds("sge", sizes.k, _LEAST_STEPS)
        for rows, conditions in (
            (_MIDDLE_ROWS, (steps, apart, emit.holds("sle", bytes_, machine.panel_bytes))),
            (_NEAR_ROWS, (steps, emit.holds("sle", bytes_, machine.l2_bytes // 2))),
        ):
            holds = emit.all_hold(conditions)
            if isinstance(holds, ir.Value):
                least = emit.select(holds, rows + 1, least)
            elif holds:
                least = rows + 1
        return least

    def allocate(self) -> None:
        """Make room for the panels of a block."""
        if self.pack is False and not self._has_edge:
            return
        sizes = self._sizes
        emit = sizes.emit
        with emit.outside():
            columns = emit.min(sizes.n, sizes.n_most)
            if sizes.ready:
                # A block may begin and end within panels, which are copied as a whole.
                columns = emit.add(columns, 2 * (sizes.ready - sizes.width))
            panels = emit.div(emit.add(columns, sizes.width - 1), sizes.width)
            if self.pack is not True:
                panels = 1 if self.pack is False else emit.select(self.pack, panels, 1)
            rows = emit.add(emit.mul(self._panel_rows(), panels), sizes.lanes)
            size = emit.mul(rows, sizes.width)
        self._packed = emit.near(size, self.element)

    def zones(self, b: Flat, columns: Span, steps: Span) -> list[tuple[Zone, Panels]]:
        """Pack a block where that is decided, and return where its panels are, by their width.

        Args:
            b: the first element of the matrix.
            columns: the block's range of columns.
            steps: the block's range of k.
        """
        sizes, (first, last) = self._sizes, columns
        emit, count = sizes.emit, sizes.emit.sub(last, first)
        if not sizes.is_zoned:
            return [(Zone(sizes.vectors, 0, count, False), self.panels(b, columns, steps))]
        exact = isinstance(sizes.n, int) and sizes.n % sizes.lanes == 0
        cut = zones(emit, count, sizes.lanes, exact)
        if sizes.is_even:
            cut = [Zone(sizes.vectors, 0, count, not exact)]
        made = []
        for zone in cut:
            here = emit.add(first, zone.first), emit.add(first, zone.last)
            made.append((zone, self._zone(b, zone, here, steps)))
        return made

    def _zone(self, b: Flat, zone: Zone, columns: Span, steps: Span) -> Panels:
        """Return the panels of a zone; where they are packed, each begins after the one before."""
        sizes = self._sizes
        emit, found = sizes.emit, sizes.found
        (j0, j1), (k0, k1) = columns, steps
        n_stride, k_stride = b.stride(found.n), b.stride(found.k)
        start = emit.add(b.offset, emit.add(emit.mul(j0, n_stride), emit.mul(k0, k_stride)))
        width = zone.vectors * sizes.lanes
        if self._packed is None:
            return Panels(b.base, start, k_stride, width, width, ahead=_AHEAD)
        rows = self._panel_rows()
        size, first = emit.mul(rows, width), emit.mul(rows, zone.first)
        load = Loader(emit, b.base, found.widen[1], sizes.vector)
        packer = PanelPacker(load, width, self._packed, size, first)
        if not isinstance(zone.last, int):
            # The few columns of the last tiles are copied by short code.
            rest = zone.vectors < sizes.vectors
            packer = replace(packer, masks=zone.masked, rows=1 if rest else packer.rows)
        block = Flat(b.base, start, {"n": n_stride, "k": k_stride})
        if self.pack is True:
            packer.pack(block, emit.sub(j1, j0), emit.sub(k1, k0))
            return Panels(self._packed, first, width, size, width, padded=True)
        by_masks = sizes.rows.is_narrow(1) and zone.vectors == sizes.vectors
        return self._edged(b, packer, block, emit.sub(j1, j0), emit.sub(k1, k0), by_masks)

    def _edged(
        self, b: Flat, packer: PanelPacker, block: Flat, count: Index, many: Index,
        by_masks: bool = False,
    ) -> Panels:  # fmt: skip
        """Pack what is decided at run time; the last columns are packed in any case.

        So tiles may read all columns of a panel. Others than of two vectors may read them by masks
        where they lie instead: that takes one of two units for multiply-adds, where there are two.
        """
        emit, width, size = self._sizes.emit, packer.width, packer.panel_size
        n_stride, k_stride = block.stride("n"), block.stride("k")
        from_, first = emit.round_down(count, width), packer.first
        used: bool | ir.Value = True
        if self.pack is not False:
            from_, first = emit.select(self.pack, 0, from_), emit.select(self.pack, first, 0)
            used = emit.negated(self.pack)
        else:
            first = 0
        last = Flat(b.base, emit.add(block.offset, emit.mul(from_, n_stride)), block.strides)
        left = emit.sub(count, from_)
        wanted = False if by_masks else self._reads_edge
        if self.pack is not False:
            wanted = emit.either_holds(wanted, self.pack)
        if wanted is not False:
            left = left if wanted is True else emit.select(wanted, left, 0)
            replace(packer, first=first).pack(last, left, many)
        packed, base = emit.dynamic(packer.to), emit.dynamic(b.base)
        if self.pack is False:
            panels = Panels(base, block.offset, k_stride, width, width, ahead=_AHEAD)
        else:
            panels = Panels(
                emit.select(self.pack, packed, base),
                emit.select(self.pack, first, block.offset),
                emit.select(self.pack, width, k_stride),
                emit.select(self.pack, size, width),
                width,
                ahead=0 if self._sizes.is_zoned else _AHEAD,
            )
        panels.padded = not by_masks
        if self._has_edge and not by_masks:
            panels.edge = Edge(packed, used)
        return panels

    def panels(self, b: Flat, columns: Span, steps: Span) -> Panels:
        """Pack a block where that is decided, and return where its panels are.

        Args:
            b: the first element of the matrix.
            columns: the block's range of columns.
            steps: the block's range of k.
        """
        sizes = self._sizes
        emit, found = sizes.emit, sizes.found
        (j0, j1), (k0, k1) = columns, steps
        n_stride, k_stride = b.stride(found.n), b.stride(found.k)
        start = emit.add(b.offset, emit.add(emit.mul(j0, n_stride), emit.mul(k0, k_stride)))
        if sizes.ready:
            start = emit.add(b.offset, emit.mul(emit.div(k0, found.group), k_stride))
            stride, width = b.stride(sizes.panel), sizes.ready
            panels = Panels(b.base, start, k_stride, stride, width, j0, True, _FAR_AHEAD)
            if sizes.dot is not None:
                panels.load = sizes.load
            return self._converted(panels, columns, steps) if self.pack else panels
        if self._packed is None:
            return Panels(b.base, start, k_stride, sizes.width, ahead=_AHEAD)
        packed, size = self._packed, emit.mul(self._panel_rows(), sizes.width)
        load = Loader(emit, b.base, found.widen[1], sizes.vector)
        packer = PanelPacker(load, sizes.width, packed, size)
        count, many = emit.sub(j1, j0), emit.sub(k1, k0)
        if self.pack is True:
            packer.pack(Flat(b.base, start, {"n": n_stride, "k": k_stride}), count, many)
            return Panels(packed, 0, sizes.width, size, sizes.width, padded=True, ahead=_AHEAD)
        block = Flat(b.base, start, {"n": n_stride, "k": k_stride})
        return self._edged(b, packer, block, count, many)

    def _converted(self, panels: Panels, columns: Span, steps: Span) -> Panels:
        """Copy panels of small numbers as what is multiplied."""
        sizes, (first, last) = self._sizes, columns
        emit, lanes, width = sizes.emit, sizes.lanes, sizes.ready
        assert self._packed is not None  # as there is something to convert
        size = emit.mul(self._panel_rows(), width)
        whole = emit.round_down(first, width)
        with emit.loop(whole, last, width) as column:
            number = emit.div(column.counter, width)
            source = emit.add(panels.offset, emit.mul(number, panels.panel_stride))
            to = emit.mul(emit.div(emit.sub(column.counter, whole), width), size)
            load = replace(sizes.load, panel=number)
            with emit.loop(0, emit.sub(steps[1], steps[0])) as row:
                k = emit.add(steps[0], row.counter)
                at = emit.add(source, emit.mul(row.counter, panels.row_stride))
                there = emit.add(to, emit.mul(row.counter, width))
                for start in range(0, width, lanes):
                    place = emit.add(at, start)
                    value = load.vector(emit, panels.base, place, sizes.vector, k, start)
                    emit.vector_store(value, self._packed, [emit.add(there, start)])
        inside = emit.sub(first, whole)
        return Panels(self._packed, 0, width, size, width, inside, padded=True, ahead=_AHEAD)

    @property
    def _has_edge(self) -> bool:
        """Whether B is not always packed, and its last columns may be no whole panel."""
        n, sizes = self._sizes.n, self._sizes
        if self.pack is True or sizes.ready:
            return False
        if sizes.is_zoned:
            # Where threads share columns, or blocks are cut, any tile may be the last one.
            known = self.pack is False and isinstance(n, int) and n % sizes.lanes == 0
            return not known or sizes.emit.is_parallel
        if self.pack is False:
            return not isinstance(n, int)
        return not isinstance(n, int) or n % sizes.width != 0

    @property
    def _reads_edge(self) -> bool | ir.Value:
        """Whether there are tiles of two vectors, for which the last columns are packed."""
        sizes, emit = self._sizes, self._sizes.emit
        if not sizes.rows.is_narrow(1):
            return True
        wide = emit.compare("sge", sizes.m, sizes.rows.most)
        if not sizes.may_be_narrow:
            return wide
        return emit.both(wide, emit.compare("sgt", sizes.n, sizes.lanes))

    def _panel_rows(self) -> Index:
        """Return how many rows of a panel's width it is from one panel to the next.

        One more than its own: at multiples of a page they would evict each other from the caches.
        """
        return self._sizes.emit.add(self._sizes.k_block, 1)
