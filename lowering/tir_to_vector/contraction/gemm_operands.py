"""The operands of a GEMM by dot-product instructions: copied in VNNI layout."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction.a_operand import AOperand
from relax_mlir.lowering.tir_to_vector.contraction.b_operand import BOperand
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import DotProduct, groups_type
from relax_mlir.lowering.tir_to_vector.contraction.gemm_blocking import GemmBlocking, Span
from relax_mlir.lowering.tir_to_vector.contraction.microkernel import StridedRef
from relax_mlir.lowering.tir_to_vector.contraction.operands import Panels
from relax_mlir.lowering.tir_to_vector.contraction.vnni_packing import (
    VnniLoader,
    VnniPacker,
    copy_groups,
    write_starts,
)
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# A dynamic block of k is rounded up to a multiple of at most this.
_SPARE = 16
# The prefetch distance of B, in groups of k.
_PREFETCH_STEPS = 8


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
        blocking, dot = self._blocking, self._dot
        emit, gemm = blocking.emit, blocking.gemm
        (j0, j1), (k0, k1) = columns, steps
        n_stride, k_stride = b.stride(gemm.n), b.stride(gemm.k)
        start = emit.add(b.offset, emit.add(emit.mul(j0, n_stride), emit.mul(k0, k_stride)))
        size = emit.mul(self._panel_rows(), blocking.width)
        load = VnniLoader(emit, b.base, dot, dot.widen[1], dot.flips_signs, blocking.lanes)
        block = StridedRef(b.base, start, {"n": n_stride, "k": k_stride})
        packer = VnniPacker(load, blocking.width, self._packed, size)
        packer.pack(block, emit.sub(j1, j0), emit.sub(k1, k0))
        self._clear(emit.sub(j1, j0), blocking.groups(emit.sub(k1, k0)), size)
        return Panels(
            self._packed,
            0,
            blocking.width,
            size,
            blocking.width,
            padded=True,
            prefetch_distance=_PREFETCH_STEPS,
        )

    def _panel_rows(self) -> Index:
        blocking = self._blocking
        return blocking.emit.add(blocking.whole(blocking.groups(blocking.kc)), 1)

    def _clear(self, columns: Index, groups: Index, size: Index) -> None:
        """Zero what matrix tiles read past the last group: NaN times zero is NaN."""
        blocking = self._blocking
        emit, upto = blocking.emit, blocking.whole(groups)
        known = isinstance(groups, int) and groups == upto
        if known or isinstance(self._dot.part, ir.IntegerType):
            return
        none = emit.constant(groups_type(blocking.lanes), 0)
        with emit.loop(0, columns, blocking.width) as panel, emit.loop(groups, upto) as row:
            at = emit.mul(emit.div(panel.counter, blocking.width), size)
            at = emit.add(at, emit.mul(row.counter, blocking.width))
            for start in range(0, blocking.width, blocking.lanes):
                emit.vector_store(none, self._packed, [emit.add(at, start)])


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
        emit, gemm = blocking.emit, blocking.gemm
        m_stride, k_stride = a.stride(gemm.m), a.stride(gemm.k)
        start = emit.add(a.offset, emit.add(emit.mul(row, m_stride), emit.mul(first, k_stride)))
        rows = StridedRef(a.base, start, {"m": m_stride, "k": k_stride}, last)
        load = VnniLoader(emit, a.base, dot, dot.widen[0], False, blocking.lanes)
        copy_groups(load, rows, tile, steps, self._copies, self._distance)
        copies = StridedRef(
            self._copies, 0, {"m": self._distance, "k": 1, "start": self._distance - 1}
        )
        if dot.flips_signs:
            write_starts(emit, dot, copies, tile, blocking.groups(steps), blocking.lanes)
        return copies
