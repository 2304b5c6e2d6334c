"""The operands of a GEMM: read in place, packed by the kernel, or packed before.

One object of each serves one kernel: `allocate` inside the parallel region, then rows of A for each
tile, and panels of B for each block of columns and of k.
"""

import math
from dataclasses import replace
from functools import partial

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction.blocking import (
    PAGE,
    ColumnTiles,
    GemmBlocking,
    column_tiles,
    has_set_conflicts,
    panel_tiles,
)
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import groups_type
from relax_mlir.lowering.tir_to_vector.contraction.operands import PLAIN_LOAD, Edge, Panels
from relax_mlir.lowering.tir_to_vector.contraction.packing import (
    Packer,
    copy_rows,
    copy_steps,
    write_starts,
)
from relax_mlir.lowering.tir_to_vector.emit import StridedRef
from relax_mlir.lowering.tir_to_vector.index_emit import Bool, Index, Span, ceil_div

# Rows and elements of B from which on packing pays.
PACK_ROWS = 32
PACK_ELEMENTS = 8192
# With one FMA unit: rows up to which packing does not pay for B in L2, and for B in L3 with at
# least that many steps of k.
_L2_ROWS, _L3_ROWS, _MIN_STEPS = 256, 128, 64
# Prefetch distances in steps of k: of B in place or packed by the kernel, and of packed operands.
_PREFETCH_STEPS, _PACKED_PREFETCH_STEPS = 8, 24
# A dynamic block of k is rounded up to a multiple of at most this.
_SPARE = 16
# Tiles up to which adjacent rows are read in place although their lines conflict and come from L3.
_FEW_TILES = 2


class BOperand:
    """Where register tiles read B.

    Attributes:
        pack: whether it is packed; an i1 if only run time knows.
    """

    def __init__(self, blocking: GemmBlocking) -> None:
        self._blocking = blocking
        self._packed: ir.Value | None = None
        self._column: ir.Value | None = None
        self.pack: Bool = False

    @property
    def in_place(self) -> bool:
        """Whether B is read in place."""
        return self.pack is False and not self._blocking.panel_width

    def decide(self) -> None:
        """Decide whether to pack."""
        blocking, gemm = self._blocking, self._blocking.gemm
        few = isinstance(blocking.m, int) and blocking.m < PACK_ROWS
        if blocking.panel_width:
            # Each tile of rows would convert the panels again.
            self.pack = blocking.load.converts
        elif blocking.dot is not None or blocking.b.stride(gemm.n) != 1 or gemm.widen[1]:
            self.pack = True
        elif not few:
            many = blocking.k * blocking.n
            if not isinstance(many, int) or many > PACK_ELEMENTS:
                self.pack = (blocking.m >= self._min_rows(many)) & (many > PACK_ELEMENTS)

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
        steps = blocking.k >= _MIN_STEPS
        for rows, holds in (
            (_L3_ROWS, steps & apart & (bytes_ <= machine.panel_bytes)),
            (_L2_ROWS, steps & (bytes_ <= machine.l2_bytes // 2)),
        ):
            least = emit.select(holds, rows + 1, least)
        return least

    def allocate(self) -> None:
        """Allocate the panels of a block."""
        if self._blocking.ends_in_column:
            with self._blocking.emit.outside():
                size = self._panel_rows + self._blocking.lanes
            self._column = self._blocking.emit.alloc_scratch(size, self._blocking.operand)
        if self.pack is False and not self._has_edge:
            return
        blocking = self._blocking
        emit = blocking.emit
        with emit.outside():
            columns = emit.min(blocking.n, blocking.nc_max)
            if blocking.panel_width:
                # A block may begin and end inside panels, which are copied whole.
                columns += 2 * (blocking.panel_width - blocking.width)
            panels = emit.select(self.pack, ceil_div(columns, blocking.width), 1)
            rows = self._panel_rows * panels + blocking.lanes
            size = rows * blocking.width
        self._packed = emit.alloc_scratch(size, blocking.operand)

    def column_tiles(
        self, b: StridedRef, columns: Span, steps: Span
    ) -> list[tuple[ColumnTiles, Panels]]:
        """Pack a block if that is decided, and return its panels by tile width."""
        blocking, (first, last) = self._blocking, columns
        emit, count = blocking.emit, last - first
        if not blocking.has_n_tail:
            find = self._prepacked if blocking.panel_width else self._panels
            panels = find(b, columns, steps)
            cut = panel_tiles(blocking, count, panels.padded)
            if blocking.ends_in_column:
                one: bool | ir.Value = cut[-1].along_k
                if not isinstance(blocking.n, int):
                    one = emit.holds("eq", count - emit.round_down(count, blocking.width), 1)
                emit.choose(one, partial(self._copy_column, b, steps), lambda: None)
                panels = replace(panels, column=self._column)
            return [(tiles, panels.beginning(tiles.first)) for tiles in cut]
        exact = isinstance(blocking.n, int) and blocking.n % blocking.lanes == 0
        cut = column_tiles(emit, count, blocking.lanes, exact)
        if blocking.is_even:
            cut = [ColumnTiles(blocking.vectors, 0, count, not exact)]
        return [
            (tiles, self._panels(b, (first + tiles.first, first + tiles.last), steps, tiles))
            for tiles in cut
        ]

    def _copy_column(self, b: StridedRef, steps: Span) -> None:
        """Copy the last column so that its steps are adjacent."""
        blocking, gemm, (k0, k1) = self._blocking, self._blocking.gemm, steps
        k_stride = b.stride(gemm.k)
        start = b.offset + ((blocking.n - 1) * b.stride(gemm.n) + k0 * k_stride)
        source = StridedRef(b.base, start, {"k": k_stride})
        assert self._column is not None  # as there is one
        copy_rows(blocking.loader(1, b.base), source, 1, k1 - k0, self._column, 0)

    def _panels(
        self, b: StridedRef, columns: Span, steps: Span, tiles: ColumnTiles | None = None
    ) -> Panels:
        """Pack columns of a block if that is decided, and return their panels.

        The panels of `tiles` follow those of the tiles before; None for one kind of tiles.
        """
        blocking, gemm = self._blocking, self._blocking.gemm
        (j0, j1), (k0, k1) = columns, steps
        n_stride, k_stride = b.stride(gemm.n), b.stride(gemm.k)
        start = b.offset + (j0 * n_stride + k0 * k_stride)
        width = blocking.width if tiles is None else tiles.vectors * blocking.lanes
        distance = _PREFETCH_STEPS
        if self._packed is None:
            # One matrix has no panels; tiles of several widths find their columns by panels.
            own = 0 if tiles is None else width
            return Panels(b.base, start, k_stride, width, own, prefetch_distance=distance)
        size = self._panel_rows * width
        packer = Packer(blocking.loader(1, b.base), width, self._packed, size)
        if tiles is not None:
            packer, distance = replace(packer, first=self._panel_rows * tiles.first), 0
            if not isinstance(tiles.last, int):
                # The N tail is packed by short code.
                rows = 1 if tiles.vectors < blocking.vectors else packer.rows
                packer = replace(packer, masks=tiles.masked, rows=rows)
        count, many = j1 - j0, k1 - k0
        block = StridedRef(b.base, start, {"n": n_stride, "k": k_stride})
        if self.pack is not True:
            return self._edged(packer, block, count, many)
        packer.pack(block, count, many)
        self._clear(columns, steps, size)
        return Panels(
            self._packed, packer.first, width, size, width, padded=True, prefetch_distance=distance
        )

    def _edged(self, packer: Packer, block: StridedRef, count: Index, many: Index) -> Panels:
        """Pack if that is decided at run time; the last columns are packed in any case.

        So tiles read whole panels: with two FMA units masked loads would take one of them.
        """
        emit, width, pack = self._blocking.emit, packer.width, self.pack
        n_stride, k_stride = block.stride("n"), block.stride("k")
        from_ = emit.select(pack, 0, emit.round_down(count, width))
        first, used = emit.select(pack, packer.first, 0), emit.negated(pack)
        last = replace(block, offset=block.offset + from_ * n_stride)
        replace(packer, first=first).pack(last, count - from_, many)
        packed, base = emit.dynamic(packer.to), emit.dynamic(block.base)
        stride, chosen = emit.select(pack, width, k_stride), pack is not False
        if chosen and isinstance(k_stride, int):
            # LLVM would shift by a select of exponents in each step.
            stride = emit.opaque_index(stride)
        return Panels(
            emit.select(pack, packed, base), emit.select(pack, first, block.offset), stride,
            emit.select(pack, packer.panel_size, width), width, padded=True,
            prefetch_distance=0 if chosen and self._blocking.has_n_tail else _PREFETCH_STEPS,
            edge=Edge(packed, used) if self._has_edge else None, chosen=chosen,
        )  # fmt: skip

    def _clear(self, columns: Span, steps: Span, size: Index) -> None:
        """Zero what matrix tiles read past the last group: NaN times zero is NaN."""
        blocking, emit = self._blocking, self._blocking.emit
        if blocking.dot is None or isinstance(blocking.dot.part, ir.IntegerType):
            return
        groups, count = blocking.groups(steps[1] - steps[0]), columns[1] - columns[0]
        upto = blocking.whole(groups)
        if groups == upto:
            return
        none = emit.constant(groups_type(blocking.lanes), 0)
        with emit.loop(0, count, blocking.width) as panel, emit.loop(groups, upto) as row:
            at = panel.counter // blocking.width * size + row.counter * blocking.width
            for start in range(0, blocking.width, blocking.lanes):
                emit.vector_store(none, self._packed, [at + start])

    def _prepacked(self, b: StridedRef, columns: Span, steps: Span) -> Panels:
        """Return the panels of a packed operand, copied if they are to be converted."""
        blocking, gemm = self._blocking, self._blocking.gemm
        k_stride, width = b.stride(gemm.k), blocking.panel_width
        start = b.offset + steps[0] // gemm.group * k_stride
        panels = Panels(
            b.base, start, k_stride, b.stride(blocking.panel), width, columns[0], padded=True,
            prefetch_distance=_PACKED_PREFETCH_STEPS,
            load=PLAIN_LOAD if blocking.dot is None else blocking.load,
        )  # fmt: skip
        return self._converted(panels, columns, steps) if self.pack else panels

    def _converted(self, panels: Panels, columns: Span, steps: Span) -> Panels:
        """Copy the panels of a packed operand in the type that is multiplied."""
        blocking, (first, last) = self._blocking, columns
        emit, lanes, width = blocking.emit, blocking.lanes, blocking.panel_width
        assert self._packed is not None  # as there is something to convert
        size = self._panel_rows * width
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
                    value = load.vector(emit, panels.base, at, blocking.vector, k, start)
                    emit.vector_store(value, self._packed, [there + start])
        return Panels(
            self._packed, 0, width, size, width, first - whole, padded=True,
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
        return not isinstance(n, int) or n % blocking.width > blocking.ends_in_column

    @property
    def _panel_rows(self) -> Index:
        """The distance of panels, in rows of a panel.

        It is one more than a panel has: multiples of a page would conflict in cache sets.
        """
        return self._blocking.whole(self._blocking.groups(self._blocking.kc)) + 1


class AOperand:
    """Where register tiles read A: `allocate` once, then `begin` for each tile."""

    def __init__(self, blocking: GemmBlocking) -> None:
        self._blocking = blocking
        self._copies: ir.Value | None = None
        self._distance = 0
        self._copied: bool | ir.Value = False

    def allocate(self) -> None:
        """Allocate the copies of rows, if needed, at fixed distances without set conflicts.

        A register tile reads its rows side by side. With static distances one register addresses
        them all; else each row has a pointer, if steps are adjacent and the target has register
        barriers.
        """
        blocking, gemm = self._blocking, self._blocking.gemm
        if blocking.dot is None and self._adjacent:
            self._allocate_steps()
            return
        stride = blocking.a.stride(gemm.m)
        fixed = isinstance(stride, int) and isinstance(blocking.m, int)
        by_row = blocking.machine.isa.assembly is not None and blocking.a.stride(gemm.k) == 1
        near = not isinstance(stride, int) or not self._has_set_conflicts(stride)
        in_place = blocking.m == 1 or (near and (fixed or by_row))
        if blocking.dot is None and gemm.widen[0] is None and in_place:
            return
        self._distance = self._steps + blocking.lanes
        count = blocking.whole(blocking.rows.largest) * self._distance
        self._copies = blocking.emit.alloc(count, blocking.operand)

    @property
    def _steps(self) -> int:
        """Steps of k of a block, or groups of them, at the most."""
        blocking = self._blocking
        if isinstance(blocking.kc, int):
            return blocking.groups(blocking.kc)
        return blocking.groups(blocking.kc_max) + _SPARE

    @property
    def _adjacent(self) -> bool:
        """Whether the rows of a step are adjacent, and masks exist for tails."""
        blocking = self._blocking
        bits = blocking.gemm.a.buffer.type.element_type.width
        along, across = (blocking.a.stride(i) for i in (blocking.gemm.m, blocking.gemm.k))
        return along == 1 and across != 1 and blocking.m != 1 and blocking.machine.can_mask(bits)

    def _allocate_steps(self) -> None:
        """Allocate copies of adjacent rows: for partial tiles, and for lines that conflict."""
        blocking = self._blocking
        self._copied = True if blocking.gemm.widen[0] is not None else self._far()
        if self._copied is False and isinstance(blocking.m, int):
            return
        count = self._steps * blocking.rows.largest + blocking.lanes
        self._copies = blocking.emit.alloc(count, blocking.gemm.element)

    def _far(self) -> bool | ir.Value:
        """Return whether few tiles use lines from beyond L2 that conflict in cache sets."""
        blocking, emit = self._blocking, self._blocking.emit
        size = blocking.gemm.element.width // 8
        strides = enumerate(blocking.gemm.a.strides)
        walked = math.prod((blocking.extent(i) for i, step in strides if step != 0), start=size)
        step = blocking.a.stride(blocking.gemm.k) * size
        conflict = emit.holds("eq", step - emit.round_down(step, PAGE // 4), 0)
        few = blocking.n <= _FEW_TILES * blocking.width
        return few & (walked > blocking.machine.l2_bytes) & conflict

    def _has_set_conflicts(self, stride: int) -> bool:
        """Whether the rows of a tile conflict in L1 sets."""
        blocking = self._blocking
        size = blocking.vector.element_type.width // 8
        if blocking.a.stride(blocking.gemm.k) != 1:
            return False
        steps = blocking.kc if isinstance(blocking.kc, int) else blocking.kc_max
        # Lines of a panel of B pass through each set too.
        ways = blocking.machine.l1_bytes // PAGE - blocking.vectors
        return has_set_conflicts(blocking.rows.largest, stride * size, steps * size, ways)

    def begin(
        self, a: StridedRef, row: Index, tile: int, first: Index, steps: Index, last: Index | None
    ) -> StridedRef:
        """Copy the rows of a tile if that pays, and return them; strides "m" and "k".

        The tile has steps of k from `first` on; `last` is the last row that exists, counted from
        the tile's first one, None if all do.
        """
        blocking, emit, gemm = self._blocking, self._blocking.emit, self._blocking.gemm
        m_stride, k_stride = a.stride(gemm.m), a.stride(gemm.k)
        start = a.offset + row * m_stride + first * k_stride
        rows = StridedRef(a.base, start, {"m": m_stride, "k": k_stride}, last)
        if blocking.dot is None:
            alone = tile == 1 and last is None and gemm.widen[0] is None
            if alone or (self._copies is None and last is None and isinstance(m_stride, int)):
                return rows
            if self._copies is None:
                # LLVM would derive pointers at equal distances from each other in each step.
                rows = replace(rows, last=blocking.m - 1 - row)
                places = [start + rows.row(emit, number) for number in range(tile)]
                rows.each = [emit.from_place(a.base, place, steps) for place in places]
                return rows
            if self._adjacent:
                return self._adjacent_rows(rows, tile, steps)
        return copy_of_rows(blocking, rows, tile, steps, self._copies, self._distance)

    def _adjacent_rows(self, rows: StridedRef, tile: int, steps: Index) -> StridedRef:
        """Return adjacent rows: in place for whole tiles, unless their lines conflict."""
        emit, copies, copied = self._blocking.emit, self._copies, self._copied
        load = self._blocking.loader(0, rows.base)
        assert copies is not None
        if copied is not True and rows.last is not None:
            part = rows.last < tile - 1
            copied |= part
        if copied is False:
            return rows
        if copied is True:
            copy_steps(load, rows, tile, steps, copies)
            return StridedRef(copies, 0, {"m": 1, "k": tile})
        with emit.when(copied):
            copy_steps(load, rows, tile, steps, copies)
        base = emit.select(copied, emit.dynamic(copies), emit.dynamic(rows.base))
        first = emit.select(copied, 0, rows.offset)
        stride = emit.select(copied, tile, rows.stride("k"))
        place = emit.from_place(base, first, stride * steps)
        return StridedRef(place, 0, {"m": 1, "k": stride})


def copy_of_rows(
    blocking: GemmBlocking, a: StridedRef, rows: Index, steps: Index, to: ir.Value, distance: int
) -> StridedRef:
    """Copy rows of A in the form that is multiplied; strides "m" and "k", and "start".

    Copies are `distance` groups apart, at least a vector more than `steps` elements need.
    """
    load, dot = blocking.loader(0, a.base), blocking.dot
    copy_rows(load, a, rows, steps, to, distance)
    copies = StridedRef(to, 0, {"m": distance, "k": 1, "start": distance - 1})
    if dot is not None and dot.flips_signs:
        write_starts(blocking.emit, dot, copies, rows, blocking.groups(steps), blocking.lanes)
    return copies
