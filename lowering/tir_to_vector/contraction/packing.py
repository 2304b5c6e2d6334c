"""Packing of the operands of a contraction."""

from collections.abc import Callable
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import (
    DotProduct,
    flipped_zeros,
    groups_type,
)
from relax_mlir.lowering.tir_to_vector.contraction.operands import Loader, VnniLoader
from relax_mlir.lowering.tir_to_vector.emit import Emitter, StridedRef
from relax_mlir.lowering.tir_to_vector.index_emit import Index, ceil_div, steps_of
from relax_mlir.lowering.tir_to_vector.shuffles import transpose_tile

# Rows of B that are copied side by side, so that each panel gets runs of lines.
_ROWS = 4
# Rows of A that are copied side by side: the first of these that divides a tile's rows, or all.
_SIDE_BY_SIDE = (4, 3)


def copy_rows(
    load: Loader | VnniLoader, a: StridedRef, rows: Index, steps: Index, to: ir.Value,
    distance: Index, first: Index = 0,
) -> None:  # fmt: skip
    """Copy rows of A by groups, each `distance` groups after the one before.

    Up to a vector past a row's whole vectors is written, before the next row is.

    Args:
        load: loads A.
        a: its first element; strides "m" and "k".
        rows: how many.
        steps: elements of each.
        to: where to.
        distance: groups from one row to the next.
        first: where the first row goes.
    """
    emit, lanes, k_stride = load.emit, load.lanes, a.stride("k")
    adjacent = k_stride == 1
    step = lanes if adjacent else 1
    whole = emit.round_down(steps // load.group, step)
    left = steps - whole * load.group
    mask = emit.mask(left, lanes * load.group) if adjacent else None
    together: int = 1
    if isinstance(rows, int):
        # LLVM would turn the copy of a single row into a call of memcpy.
        together = next((n for n in _SIDE_BY_SIDE if rows % n == 0), rows)
    with emit.loop(0, rows, together) as some:
        numbers = [some.counter + i for i in range(together)]
        starts = [a.offset + a.row(emit, number) for number in numbers]
        targets = [first + number * distance for number in numbers]

        def copy(at: Index, mask: ir.Value | None, live: Index | None = None) -> None:
            for start, target in zip(starts, targets, strict=True):
                place = start + at * load.group * k_stride
                if adjacent:
                    emit.vector_store(load.along_k(place, mask), to, [target + at])
                else:
                    emit.store(load.one(place, k_stride, live), to, [target + at])

        with emit.loop(0, whole, step) as p:
            copy(p.counter, None)
        if adjacent and left != 0:
            copy(whole, mask)
        elif load.group > 1:
            emit.if_any(left, lambda: copy(whole, None, left))
    if isinstance(load, VnniLoader) and load.dot.matrices and not adjacent:
        # Whole matrix tiles are read, and B is undefined there.
        end = ceil_div(steps, load.group) + first
        none = emit.constant(groups_type(lanes), 0)
        with emit.loop(0, rows) as row:
            emit.vector_store(none, to, [end + row.counter * distance])


def copy_steps(load: Loader, a: StridedRef, rows: int, steps: Index, to: ir.Value) -> None:
    """Copy adjacent rows of A, stride "m" of 1: for each step, `rows` elements.

    Elements past a step's rows are overwritten by the next step; the buffer is a vector longer. The
    next rows, which share lines with these, are prefetched.
    """
    emit, lanes = load.emit, load.vector.shape[0]
    there = rows if a.last is None else a.last + 1
    starts = range(0, rows, lanes)
    masks = [emit.mask(there - start, lanes) for start in starts]
    with emit.loop(0, steps) as p:
        source = a.offset + p.counter * a.stride("k")
        target = p.counter * rows
        emit.prefetch(a.base, source + rows)
        for start, mask in zip(starts, masks, strict=True):
            value = load.vectors(source + start, mask)
            emit.vector_store(value, to, [target + start])


# For each vector of a panel, for each row of a group, the mask of its columns; None for all.
Masks = list[list[ir.Value | None]]


@dataclass(frozen=True)
class Packer:
    """Packs a block of B into panels: for each group of steps of k, those of `width` columns.

    The order of its loops suits the strides of B. Columns past the last are undefined, and not
    stored from. Up to a vector's number of rows past a panel is written, before the next panel is;
    the buffer is that much longer.

    Attributes:
        load: loads B.
        width: columns of a panel.
        to: the panels.
        panel_size: groups from one panel to the next.
        first: the offset of the first panel.
        rows: rows that are copied side by side if B's rows are contiguous.
        masks: whether all panels use masks; False if all are whole; None for separate code for the
            last panel.
    """

    load: Loader | VnniLoader
    width: int
    to: ir.Value
    panel_size: Index
    first: Index = 0
    rows: int = _ROWS
    masks: bool | None = None

    def pack(self, b: StridedRef, columns: Index, steps: Index) -> None:
        """Pack a block that begins at `b`; strides "n" and "k", `steps` of k."""
        emit = self.load.emit
        if b.stride("n") == 1:
            self._along_n(b, columns, steps)
            return
        with emit.loop(0, columns, self.width) as panel:
            left = columns - panel.counter
            source = b.offset + panel.counter * b.stride("n")
            place = StridedRef(b.base, source, b.strides)
            target = self._target(panel.counter)
            if b.stride("k") == 1:
                self._along_k(place, target, left, steps)
            else:
                self._singly(place, target, left, steps)

    def _target(self, column: Index) -> Index:
        return self.first + column // self.width * self.panel_size

    def _last_group(self, steps: Index, write: Callable[[Index, Index], None]) -> None:
        """Write the last group, if it is partial, by its number and elements."""
        emit, group = self.load.emit, self.load.group
        if group > 1:
            groups = steps // group
            left = steps - groups * group
            emit.if_any(left, lambda: write(groups, left))

    def _along_n(self, b: StridedRef, columns: Index, steps: Index) -> None:
        """Read a few rows at a time from end to end, and prefetch the next few."""
        emit, load = self.load.emit, self.load
        apart = self.masks is None
        whole = emit.round_down(columns, self.width) if apart else columns
        groups, together = steps // load.group, max(1, self.rows // load.group)
        # Without whole panels, the loop over rows would be overhead for small GEMMs.
        read = groups if isinstance(groups, int) else steps_of(emit, groups, [whole])
        many = emit.round_down(read, together)

        def panels(number: Index, count: int, live: Index | None = None) -> None:
            with emit.loop(0, whole, self.width) as column:
                left = columns - column.counter if self.masks else None
                self._copy(b, column.counter, number, count, self._masks(left, live))

        for first, last, count in ((0, many, together), (many, read, 1)):
            if first != last:
                with emit.loop(first, last, count) as p:
                    panels(p.counter, count)
        left = columns - whole
        if apart and left != 0:
            masks = self._masks(left, None)
            # If the last panel is whole there is no tail: the next place is beyond the buffer.
            upto = groups
            if not isinstance(left, int):
                upto = emit.select(left > 0, groups, 0)
            with emit.loop(0, upto) as p:
                self._copy(b, whole, p.counter, 1, masks)

        def last_group(number: Index, live: Index) -> None:
            panels(number, 1, live)
            if apart:
                emit.if_any(left, lambda: self._copy(b, whole, number, 1, self._masks(left, live)))

        self._last_group(steps, last_group)

    def _masks(self, left: Index | None, live: Index | None) -> Masks:
        """Return the masks of a panel's first `left` columns and a group's first `live` rows."""
        emit, lanes = self.load.emit, self.load.lanes
        masks: Masks = []
        for start in range(0, self.width, lanes):
            masks.append([])
            for i in range(live if isinstance(live, int) else self.load.group):
                there: Index = lanes if left is None else left - start
                if isinstance(live, ir.Value):
                    there = emit.select(i < live, there, 0)
                masks[-1].append(None if there == lanes else emit.mask(there, lanes))
        return masks

    def _copy(self, b: StridedRef, column: Index, number: Index, count: int, masks: Masks) -> None:
        """Copy adjacent groups of a panel."""
        emit, load = self.load.emit, self.load
        k_stride, rows = b.stride("k"), count * load.group
        target = self._target(column)
        for i in range(count):
            group = number + i
            to = target + group * self.width
            first = group * load.group * k_stride
            at = b.offset + column + first
            for start, here in zip(range(0, self.width, load.lanes), masks, strict=True):
                place = at + start
                places = [place + row * k_stride for row in range(len(here))]
                value = load.across_k(places, here)
                for place in places if rows > 1 else ():
                    emit.prefetch(b.base, place + rows * k_stride)
                emit.vector_store(value, self.to, [to + start])

    def _along_k(self, b: StridedRef, target: Index, left: Index, steps: Index) -> None:
        emit, lanes = self.load.emit, self.load.lanes
        last, reach = left - 1, lanes * self.load.group
        with emit.loop(0, emit.min(left, self.width), lanes) as part:
            # Columns past the last one repeat it.
            columns = [emit.min(part.counter + i, last) for i in range(lanes)]
            starts = [b.offset + c * b.stride("n") for c in columns]

            def copy(k: Index, mask: ir.Value | None) -> None:
                rows = [self.load.along_k(start + k, mask) for start in starts]
                first = k // self.load.group
                for i, value in enumerate(transpose_tile(emit, rows)):
                    row = (first + i) * self.width
                    there = target + (row + part.counter)
                    emit.vector_store(value, self.to, [there])

            emit.each_vector(0, steps, reach, copy)

    def _singly(self, b: StridedRef, target: Index, left: Index, steps: Index) -> None:
        emit, load, k_stride = self.load.emit, self.load, b.stride("k")

        def row(number: Index, live: Index | None) -> None:
            first = b.offset + number * load.group * k_stride
            to = target + number * self.width
            with emit.loop(0, emit.min(left, self.width)) as column:
                at = first + column.counter * b.stride("n")
                value = load.one(at, k_stride, live)
                emit.store(value, self.to, [to + column.counter])

        with emit.loop(0, steps // load.group) as p:
            row(p.counter, None)
        self._last_group(steps, row)


def write_starts(
    emit: Emitter, dot: DotProduct, rows: StridedRef, count: Index, groups: Index, lanes: int
) -> None:
    """Write what the sums of each row of A start from, to correct for flipped signs of B.

    `rows` are copies with strides "m" and "k", and "start" to where the number goes.
    """
    type_ = groups_type(lanes)
    nothing, none = emit.constant(type_, 0), flipped_zeros(emit, dot, type_)
    whole = emit.round_down(groups, lanes)
    left = groups - whole
    with emit.loop(0, count) as row:
        first = rows.offset + row.counter * rows.stride("m")
        with emit.loop(0, whole, lanes, [nothing]) as p:
            value = emit.vector_load(rows.base, [first + p.counter], type_)
            p.carry([dot.multiply_add(emit, value, none, p.carried[0])])
        total = p.results[0]
        if left != 0:
            at = [first + whole]
            value = emit.vector_load(rows.base, at, type_, emit.mask(left, lanes))
            total = dot.multiply_add(emit, value, none, total)
        zero = emit.constant(type_.element_type, 0)
        number = emit.op("arith.subi", [zero, emit.reduced(total, "add")], type_.element_type)
        emit.store(number, rows.base, [first + rows.stride("start")])
