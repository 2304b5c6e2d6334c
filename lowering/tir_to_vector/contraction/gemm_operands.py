"""The operands of a GEMM by dot-product instructions: copied in VNNI layout."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction.b_operand import BOperand
from relax_mlir.lowering.tir_to_vector.contraction.blocking import PAGE, has_set_conflicts
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import DotProduct, groups_type
from relax_mlir.lowering.tir_to_vector.contraction.gemm_blocking import GemmBlocking, Span
from relax_mlir.lowering.tir_to_vector.contraction.operands import Loader, Panels, VnniLoader
from relax_mlir.lowering.tir_to_vector.contraction.packing import (
    copy_groups,
    copy_rows,
    copy_steps,
    write_starts,
)
from relax_mlir.lowering.tir_to_vector.emit import StridedRef
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# A dynamic block of k is rounded up to a multiple of at most this.
_SPARE = 16
# Tiles up to which adjacent rows are read in place although their lines conflict and come from L3.
_FEW_TILES = 2


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
        blocking = self._blocking
        if self._adjacent:
            self._allocate_steps()
            return
        stride = blocking.a.stride(blocking.gemm.m)
        fixed = isinstance(stride, int) and isinstance(blocking.m, int)
        by_row = (
            blocking.machine.isa.assembly is not None and blocking.a.stride(blocking.gemm.k) == 1
        )
        near = not isinstance(stride, int) or not self._has_set_conflicts(stride)
        if blocking.gemm.widen[0] is None and (blocking.m == 1 or (near and (fixed or by_row))):
            return
        steps = blocking.kc if isinstance(blocking.kc, int) else blocking.kc_max + _SPARE
        self._distance = steps + blocking.lanes
        count = blocking.rows.largest * self._distance
        self._copies = blocking.emit.alloc(count, blocking.gemm.element)

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
        if self._copied is False and isinstance(blocking.m, int) and not blocking.rows.fine:
            return
        steps = blocking.kc if isinstance(blocking.kc, int) else blocking.kc_max + _SPARE
        count = steps * blocking.rows.largest + blocking.lanes
        self._copies = blocking.emit.alloc(count, blocking.gemm.element)

    def _far(self) -> bool | ir.Value:
        """Return whether few tiles use lines from beyond L2 that conflict in cache sets."""
        blocking, emit = self._blocking, self._blocking.emit
        size = blocking.gemm.element.width // 8
        walked: Index = size
        for position, stride in enumerate(blocking.gemm.a.strides):
            if stride != 0:
                walked = walked * blocking.extent(position)
        step = blocking.a.stride(blocking.gemm.k) * size
        return emit.all_hold(
            emit.holds(*each)
            for each in (
                ("sle", blocking.n, _FEW_TILES * blocking.width),
                ("sgt", walked, blocking.machine.l2_bytes),
                ("eq", step - emit.round_down(step, PAGE // 4), 0),
            )
        )

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
        self,
        a: StridedRef,
        row: Index,
        tile: int,
        first: Index,
        steps: Index,
        last: Index | None = None,
    ) -> StridedRef:
        """Copy the rows of a tile if that pays, and return them; strides "m" and "k".

        Args:
            a: the first element of the matrix.
            row: the tile's first row.
            tile: how many rows it has.
            first: the first step of k.
            steps: how many steps of k.
            last: the last row that exists, counted from the tile's first; None for all.
        """
        blocking = self._blocking
        emit, gemm = blocking.emit, blocking.gemm
        rows = self._rows(a, row, first, last)
        m_stride, start = rows.stride("m"), rows.offset
        alone = tile == 1 and last is None and gemm.widen[0] is None
        if alone or (self._copies is None and last is None and isinstance(m_stride, int)):
            return rows
        if self._copies is None:
            places = [start + rows.row(emit, number) for number in range(tile)]
            rows.each = [emit.from_place(a.base, place, steps) for place in places]
            return rows
        load = Loader(emit, a.base, gemm.widen[0], blocking.vector)
        if self._adjacent:
            return self._steps(load, rows, tile, steps)
        copy_rows(load, rows, tile, steps, self._copies, self._distance)
        return StridedRef(self._copies, 0, {"m": self._distance, "k": 1})

    def _rows(self, a: StridedRef, row: Index, first: Index, last: Index | None) -> StridedRef:
        """Return the rows of a tile where they are."""
        gemm = self._blocking.gemm
        m_stride, k_stride = a.stride(gemm.m), a.stride(gemm.k)
        start = a.offset + row * m_stride + first * k_stride
        return StridedRef(a.base, start, {"m": m_stride, "k": k_stride}, last)

    def _steps(self, load: Loader, rows: StridedRef, tile: int, steps: Index) -> StridedRef:
        """Return adjacent rows: in place for whole tiles, unless their lines conflict."""
        emit, copies, copied = self._blocking.emit, self._copies, self._copied
        assert copies is not None
        if copied is not True and rows.last is not None:
            part = emit.compare("slt", rows.last, tile - 1)
            copied = part if copied is False else emit.op("arith.ori", [copied, part], part.type)
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


def operands(blocking: GemmBlocking) -> tuple[BOperand, AOperand]:
    """Return what reads B and what reads A."""
    if blocking.dot is None:
        return BOperand(blocking), AOperand(blocking)
    right = BOperand(blocking) if blocking.panel_width else _VnniBOperand(blocking, blocking.dot)
    return right, _VnniAOperand(blocking, blocking.dot)


class _VnniBOperand(BOperand):
    """Panels in VNNI layout; `element` holds a group."""

    def __init__(self, blocking: GemmBlocking, dot: DotProduct) -> None:
        super().__init__(blocking)
        self._dot = dot
        self.element = groups_type(blocking.lanes).element_type

    def decide(self) -> None:
        self.pack = True

    def panels(self, b: StridedRef, columns: Span, steps: Span) -> Panels:
        panels, sub = super().panels(b, columns, steps), self._blocking.emit.sub
        groups = self._blocking.groups(sub(steps[1], steps[0]))
        self._clear(sub(columns[1], columns[0]), groups, panels.panel_stride)
        return panels

    def _loader(self, base: ir.Value) -> VnniLoader:
        blocking, dot = self._blocking, self._dot
        return VnniLoader(blocking.emit, base, dot, dot.widen[1], dot.flips_signs, blocking.lanes)

    def _panel_rows(self) -> Index:
        blocking = self._blocking
        return blocking.whole(blocking.groups(blocking.kc)) + 1

    def _clear(self, columns: Index, groups: Index, size: Index) -> None:
        """Zero what matrix tiles read past the last group: NaN times zero is NaN."""
        blocking = self._blocking
        emit, upto = blocking.emit, blocking.whole(groups)
        known = groups == upto
        if known or isinstance(self._dot.part, ir.IntegerType):
            return
        none = emit.constant(groups_type(blocking.lanes), 0)
        with emit.loop(0, columns, blocking.width) as panel, emit.loop(groups, upto) as row:
            at = panel.counter // blocking.width * size
            at = at + row.counter * blocking.width
            for start in range(0, blocking.width, blocking.lanes):
                emit.vector_store(none, self._packed, [at + start])


class _VnniAOperand(AOperand):
    """Rows of groups; always copied."""

    def __init__(self, blocking: GemmBlocking, dot: DotProduct) -> None:
        super().__init__(blocking)
        self._dot = dot

    def allocate(self) -> None:
        blocking = self._blocking
        known = isinstance(blocking.kc, int)
        steps = blocking.groups(blocking.kc) if known else blocking.groups(blocking.kc_max) + _SPARE
        self._distance = steps + blocking.lanes
        count = blocking.whole(blocking.rows.largest) * self._distance
        self._copies = blocking.emit.alloc(count, groups_type(blocking.lanes).element_type)

    def begin(
        self,
        a: StridedRef,
        row: Index,
        tile: int,
        first: Index,
        steps: Index,
        last: Index | None = None,
    ) -> StridedRef:
        blocking, dot = self._blocking, self._dot
        emit, rows = blocking.emit, self._rows(a, row, first, last)
        load = VnniLoader(emit, a.base, dot, dot.widen[0], False, blocking.lanes)
        copy_groups(load, rows, tile, steps, self._copies, self._distance)
        copies = StridedRef(
            self._copies, 0, {"m": self._distance, "k": 1, "start": self._distance - 1}
        )
        if dot.flips_signs:
            write_starts(emit, dot, copies, tile, blocking.groups(steps), blocking.lanes)
        return copies
