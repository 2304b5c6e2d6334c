"""Packing of the operands of a contraction."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction.microkernel import StridedRef
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.shuffles import transpose_tile
from relax_mlir.lowering.tir_to_vector.zero_trip_loops import steps_of

# Rows of B that are copied side by side, so that each panel gets runs of lines.
_ROWS = 4
# Rows of A that are copied side by side: the first of these that divides a tile's rows, or all.
_SIDE_BY_SIDE = (4, 3)


@dataclass(frozen=True)
class Loader:
    """Loads elements of one operand in the type of the sum.

    Attributes:
        emit: where to write.
        base: the operand.
        widen: the conversion to the type of the sum, or None.
        vector: the type of a vector of sums.
        scale: a vector of one factor that elements are multiplied by, or None.
    """

    emit: Emitter
    base: ir.Value
    widen: str | None
    vector: ir.VectorType
    scale: ir.Value | None = None

    def vectors(self, at: Index, mask: ir.Value | None) -> ir.Value:
        """Load adjacent elements."""
        type_ = ir.VectorType.get(self.vector.shape, self.base.type.element_type)
        value = self._widened(self.emit.vector_load(self.base, [at], type_, mask), self.vector)
        return self._scaled(value, self.scale)

    def one(self, at: Index) -> ir.Value:
        """Load one element."""
        value = self._widened(self.emit.load(self.base, [at]), self.vector.element_type)
        scale = None if self.scale is None else self.emit.extract(self.scale, 0)
        return self._scaled(value, scale)

    def _widened(self, value: ir.Value, type_: ir.Type) -> ir.Value:
        return value if self.widen is None else self.emit.op(self.widen, [value], type_)

    def _scaled(self, value: ir.Value, scale: ir.Value | None) -> ir.Value:
        return value if scale is None else self.emit.op("arith.mulf", [value, scale], value.type)


def copy_rows(
    load: Loader,
    a: StridedRef,
    rows: int,
    steps: Index,
    to: ir.Value,
    distance: int,
    first: Index = 0,
) -> None:
    """Copy rows of A, each `distance` elements after the one before.

    Args:
        load: loads A.
        a: its first element; strides "m" and "k".
        rows: the number of rows.
        steps: elements of each.
        to: where to.
        distance: elements from one row to the next, at least a vector more than `steps`.
        first: the offset of the first row's copy.
    """
    emit, lanes = load.emit, load.vector.shape[0]
    k_stride = a.stride("k")
    adjacent = k_stride == 1
    whole = emit.round_down(steps, lanes) if adjacent else steps

    left = emit.sub(steps, whole)
    mask = emit.mask(left, lanes) if adjacent else None
    # LLVM would turn the copy of a single row into a call of memcpy.
    together = next((n for n in _SIDE_BY_SIDE if rows % n == 0), rows)
    with emit.loop(0, rows, together) as group:
        numbers = [emit.add(group.counter, i) for i in range(together)]
        starts = [emit.add(a.offset, a.row(emit, number)) for number in numbers]
        targets = [emit.add(first, emit.mul(number, distance)) for number in numbers]
        with emit.loop(0, whole, lanes if adjacent else 1) as p:
            for start, target in zip(starts, targets, strict=True):
                place = emit.add(start, emit.mul(p.counter, k_stride))
                there = [emit.add(target, p.counter)]
                if adjacent:
                    emit.vector_store(load.vectors(place, None), to, there)
                else:
                    emit.store(load.one(place), to, there)
        if adjacent and left != 0:
            for start, target in zip(starts, targets, strict=True):
                value = load.vectors(emit.add(start, whole), mask)
                emit.vector_store(value, to, [emit.add(target, whole)])


def copy_steps(load: Loader, a: StridedRef, rows: int, steps: Index, to: ir.Value) -> None:
    """Copy adjacent rows of A: for each step, `rows` elements.

    Elements past a step's rows are overwritten by the next step; the buffer is a vector longer. The
    next rows, which share lines with these, are prefetched.

    Args:
        load: loads A.
        a: its first element; strides "m", which is 1, and "k".
        rows: how many.
        steps: steps of k.
        to: where to.
    """
    emit, lanes = load.emit, load.vector.shape[0]
    there = rows if a.last is None else emit.add(a.last, 1)
    starts = range(0, rows, lanes)
    masks = [emit.mask(emit.sub(there, start), lanes) for start in starts]
    with emit.loop(0, steps) as p:
        source = emit.add(a.offset, emit.mul(p.counter, a.stride("k")))
        target = emit.mul(p.counter, rows)
        emit.prefetch(a.base, emit.add(source, rows))
        for start, mask in zip(starts, masks, strict=True):
            value = load.vectors(emit.add(source, start), mask)
            emit.vector_store(value, to, [emit.add(target, start)])


class _Writes(Protocol):
    @property
    def emit(self) -> Emitter: ...


Load = TypeVar("Load", bound=_Writes)


@dataclass(frozen=True)
class Packer(ABC, Generic[Load]):
    """Packs a block of B into panels, with a loop order that suits its strides.

    Attributes:
        load: loads B.
        width: columns of a panel.
        to: the panels.
        panel_size: elements, or groups, from one panel to the next.
        first: the offset of the first panel.
    """

    load: Load
    width: int
    to: ir.Value
    panel_size: Index
    first: Index = 0

    def pack(self, b: StridedRef, columns: Index, steps: Index) -> None:
        """Pack a block that begins at `b`; strides "n" and "k", `steps` of k."""
        emit = self.load.emit
        if b.stride("n") == 1:
            self._along_n(b, columns, steps)
            return
        with emit.loop(0, columns, self.width) as panel:
            left = emit.sub(columns, panel.counter)
            source = emit.add(b.offset, emit.mul(panel.counter, b.stride("n")))
            place = StridedRef(b.base, source, b.strides)
            target = self._target(panel.counter)
            if b.stride("k") == 1:
                self._along_k(place, target, left, steps)
            else:
                self._singly(place, target, left, steps)

    def _target(self, column: Index) -> Index:
        emit = self.load.emit
        return emit.add(self.first, emit.mul(emit.div(column, self.width), self.panel_size))

    @abstractmethod
    def _along_n(self, b: StridedRef, columns: Index, steps: Index) -> None: ...

    @abstractmethod
    def _along_k(self, b: StridedRef, target: Index, left: Index, steps: Index) -> None: ...

    @abstractmethod
    def _singly(self, b: StridedRef, target: Index, left: Index, steps: Index) -> None: ...


@dataclass(frozen=True)
class PanelPacker(Packer[Loader]):
    """Packs a block of B into panels: for each step of k, `width` columns.

    Columns past the last are undefined, and not stored from. Up to a vector's number of rows past a
    panel is written, before the next panel is; the buffer is that much longer.

    Attributes:
        rows: rows that are copied side by side if B's rows are contiguous.
        masks: whether all panels use masks; False if all are whole; None for separate code for the
            last panel.
    """

    rows: int = _ROWS
    masks: bool | None = None

    def _along_n(self, b: StridedRef, columns: Index, steps: Index) -> None:
        """Read a few rows at a time from end to end, and prefetch the next few."""
        emit = self.load.emit
        apart = self.masks is None
        whole = emit.round_down(columns, self.width) if apart else columns
        # Without whole panels, the loop over rows would be overhead for small GEMMs.
        read = steps if isinstance(steps, int) else steps_of(emit, steps, [whole])
        many = emit.round_down(read, self.rows)
        for first, last, rows in ((0, many, self.rows), (many, read, 1)):
            if first == last:
                continue
            with emit.loop(first, last, rows) as p, emit.loop(0, whole, self.width) as column:
                masks = None
                if self.masks:
                    masks = self._masks(emit.sub(columns, column.counter))
                self._copy(b, column.counter, p.counter, rows, masks)
        left = emit.sub(columns, whole)
        if not apart or left == 0:
            return
        masks = self._masks(left)
        # If the last panel is whole there is no tail: the next place is beyond the buffer.
        upto = steps
        if not isinstance(left, int):
            upto = emit.select(emit.compare("sgt", left, 0), steps, 0)
        with emit.loop(0, upto) as p:
            self._copy(b, whole, p.counter, 1, masks)

    def _masks(self, left: Index) -> list[ir.Value]:
        emit, lanes = self.load.emit, self.load.vector.shape[0]
        return [emit.mask(emit.sub(left, at), lanes) for at in range(0, self.width, lanes)]

    def _copy(
        self, b: StridedRef, column: Index, k: Index, rows: int, masks: list[ir.Value] | None
    ) -> None:
        emit, lanes = self.load.emit, self.load.vector.shape[0]
        target = self._target(column)
        for row in range(rows):
            step = emit.add(k, row)
            to = emit.add(target, emit.mul(step, self.width))
            at = emit.add(emit.add(b.offset, column), emit.mul(step, b.stride("k")))
            for number, start in enumerate(range(0, self.width, lanes)):
                place = emit.add(at, start)
                value = self.load.vectors(place, masks[number] if masks else None)
                if rows > 1:
                    emit.prefetch(b.base, emit.add(place, emit.mul(rows, b.stride("k"))))
                emit.vector_store(value, self.to, [emit.add(to, start)])

    def _along_k(self, b: StridedRef, target: Index, left: Index, steps: Index) -> None:
        emit, lanes = self.load.emit, self.load.vector.shape[0]
        last = emit.sub(left, 1)
        with emit.loop(0, self.width, lanes) as part:
            # Columns past the last one repeat it.
            columns = [emit.min(emit.add(part.counter, i), last) for i in range(lanes)]
            starts = [emit.add(b.offset, emit.mul(c, b.stride("n"))) for c in columns]
            with emit.loop(0, steps, lanes) as p:
                mask = emit.tail(steps, p.counter, lanes)
                rows = [self.load.vectors(emit.add(s, p.counter), mask) for s in starts]
                for i, value in enumerate(transpose_tile(emit, rows)):
                    row = emit.mul(emit.add(p.counter, i), self.width)
                    there = emit.add(target, emit.add(row, part.counter))
                    emit.vector_store(value, self.to, [there])

    def _singly(self, b: StridedRef, target: Index, left: Index, steps: Index) -> None:
        emit = self.load.emit
        with emit.loop(0, steps) as p, emit.loop(0, emit.min(left, self.width)) as column:
            along = emit.add(b.offset, emit.mul(p.counter, b.stride("k")))
            value = self.load.one(emit.add(along, emit.mul(column.counter, b.stride("n"))))
            to = emit.add(target, emit.mul(p.counter, self.width))
            emit.store(value, self.to, [emit.add(to, column.counter)])
