"""Both sides of a contraction by dot-product instructions: copied, in groups along k."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import DotProduct, groups_type
from relax_mlir.lowering.tir_to_vector.contraction.dot_product_pack import (
    GroupLoader,
    GroupPacker,
    copy_groups,
    write_starts,
)
from relax_mlir.lowering.tir_to_vector.contraction.matmul_panels import RightSide
from relax_mlir.lowering.tir_to_vector.contraction.matmul_rows import LeftSide
from relax_mlir.lowering.tir_to_vector.contraction.matmul_sizes import Sizes, Span
from relax_mlir.lowering.tir_to_vector.contraction.microkernel import Flat
from relax_mlir.lowering.tir_to_vector.contraction.operands import Panels
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# A block of k of unknown size is rounded up to a multiple of less.
_SPARE = 16
# Steps of groups that B is asked for before its use.
_AHEAD = 8


def sides(sizes: Sizes) -> tuple[RightSide, LeftSide]:
    """Return what reads B and what reads A."""
    if sizes.dot is None:
        return RightSide(sizes), LeftSide(sizes)
    right = RightSide(sizes) if sizes.ready else _GroupedRight(sizes, sizes.dot)
    return right, _GroupedLeft(sizes, sizes.dot)


class _GroupedRight(RightSide):
    """Panels of groups: `element` is what holds one."""

    def __init__(self, sizes: Sizes, dot: DotProduct) -> None:
        super().__init__(sizes)
        self._dot = dot
        self.element = groups_type(sizes.lanes).element_type

    def decide(self) -> None:
        self.pack = True

    def panels(self, b: Flat, columns: Span, steps: Span) -> Panels:
        sizes, dot = self._sizes, self._dot
        emit, found = sizes.emit, sizes.found
        (j0, j1), (k0, k1) = columns, steps
        n_stride, k_stride = b.stride(found.n), b.stride(found.k)
        start = emit.add(b.offset, emit.add(emit.mul(j0, n_stride), emit.mul(k0, k_stride)))
        size = emit.mul(self._panel_rows(), sizes.width)
        load = GroupLoader(emit, b.base, dot, dot.widen[1], dot.turned, sizes.lanes)
        block = Flat(b.base, start, {"n": n_stride, "k": k_stride})
        packer = GroupPacker(load, sizes.width, self._packed, size)
        packer.pack(block, emit.sub(j1, j0), emit.sub(k1, k0))
        self._clear(emit.sub(j1, j0), sizes.groups(emit.sub(k1, k0)), size)
        return Panels(self._packed, 0, sizes.width, size, sizes.width, padded=True, ahead=_AHEAD)

    def _panel_rows(self) -> Index:
        sizes = self._sizes
        return sizes.emit.add(sizes.whole(sizes.groups(sizes.k_block)), 1)

    def _clear(self, columns: Index, groups: Index, size: Index) -> None:
        """Fill what registers read beyond the last group: a zero times that must be zero."""
        sizes = self._sizes
        emit, upto = sizes.emit, sizes.whole(groups)
        known = isinstance(groups, int) and groups == upto
        if known or isinstance(self._dot.part, ir.IntegerType):
            return
        none = emit.constant(groups_type(sizes.lanes), 0)
        with emit.loop(0, columns, sizes.width) as panel, emit.loop(groups, upto) as row:
            at = emit.mul(emit.div(panel.counter, sizes.width), size)
            at = emit.add(at, emit.mul(row.counter, sizes.width))
            for start in range(0, sizes.width, sizes.lanes):
                emit.vector_store(none, self._packed, [emit.add(at, start)])


class _GroupedLeft(LeftSide):
    """Rows of groups; always copied, as instructions read a group at a time."""

    def __init__(self, sizes: Sizes, dot: DotProduct) -> None:
        super().__init__(sizes)
        self._dot = dot

    def allocate(self) -> None:
        sizes = self._sizes
        known = isinstance(sizes.k_block, int)
        steps = sizes.groups(sizes.k_block) if known else sizes.groups(sizes.k_most) + _SPARE
        self._distance = steps + sizes.lanes
        count = sizes.whole(sizes.rows.largest) * self._distance
        self._copies = sizes.emit.alloc(count, groups_type(sizes.lanes).element_type)

    def begin(
        self, a: Flat, row: Index, tile: int, first: Index, steps: Index, last: Index | None = None
    ) -> Flat:
        sizes, dot = self._sizes, self._dot
        emit, found = sizes.emit, sizes.found
        m_stride, k_stride = a.stride(found.m), a.stride(found.k)
        start = emit.add(a.offset, emit.add(emit.mul(row, m_stride), emit.mul(first, k_stride)))
        rows = Flat(a.base, start, {"m": m_stride, "k": k_stride}, last)
        load = GroupLoader(emit, a.base, dot, dot.widen[0], False, sizes.lanes)
        copy_groups(load, rows, tile, steps, self._copies, self._distance)
        copies = Flat(self._copies, 0, {"m": self._distance, "k": 1, "start": self._distance - 1})
        if dot.turned:
            write_starts(emit, dot, copies, tile, sizes.groups(steps), sizes.lanes)
        return copies
