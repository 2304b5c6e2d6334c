"""Packing in VNNI layout: groups of steps of k side by side."""

from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import (
    DotProduct,
    flipped_zeros,
    groups_type,
    like,
)
from relax_mlir.lowering.tir_to_vector.contraction.microkernel import StridedRef
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index, ceil_div


@dataclass(frozen=True)
class VnniLoader:
    """Loads groups of one operand; elements past the last are zeros.

    Attributes:
        emit: where to write.
        base: the operand.
        dot: the instruction.
        widen: the conversion to a group's elements, or None.
        flips_signs: whether sign bits are flipped.
        lanes: groups of a vector.
        word: the type of a group; None for integers.
    """

    emit: Emitter
    base: ir.Value
    dot: DotProduct
    widen: str | None
    flips_signs: bool
    lanes: int
    word: ir.Type | None = None

    @property
    def group(self) -> int:
        """Elements of a group."""
        return self.dot.group

    def along_k(self, at: Index, mask: ir.Value | None) -> ir.Value:
        """Load a vector of groups along k."""
        emit, count = self.emit, self.lanes * self.dot.group
        type_ = ir.VectorType.get([count], self.base.type.element_type)
        value = self._part(emit.vector_load(self.base, [at], type_, mask))
        return self._groups(value)

    def across_k(self, places: list[Index], masks: list[ir.Value | None]) -> ir.Value:
        """Load a group for each of adjacent columns, from the places of its rows."""
        emit = self.emit
        type_ = ir.VectorType.get([self.lanes], self.base.type.element_type)
        rows = [
            self._part(emit.vector_load(self.base, [place], type_, mask))
            for place, mask in zip(places, masks, strict=True)
        ]
        return self.together(rows)

    def together(self, rows: list[ir.Value]) -> ir.Value:
        """Return a group for each of adjacent columns; missing rows are zeros."""
        emit = self.emit
        none = emit.constant(ir.VectorType.get([self.lanes], self.dot.part), 0)
        rows = rows + [none] * (self.dot.group - len(rows))
        while len(rows) > 1:
            # Interleaving halves leaves the rows in order.
            half = len(rows) // 2
            rows = [self._between(*pair) for pair in zip(rows[:half], rows[half:], strict=True)]
        return self._groups(rows[0])

    def in_order(self, at: Index, live: Index | None) -> ir.Value:
        """Load a group for each of `lanes` columns whose rows follow each other in memory.

        The first `live` rows exist, None for all.
        """
        emit, group = self.emit, self.dot.group
        mask = None if live is None else emit.mask(live * self.lanes, self.lanes * group)
        type_ = ir.VectorType.get([self.lanes * group], self.base.type.element_type)
        value = self._part(emit.vector_load(self.base, [at], type_, mask))
        places = [row * self.lanes + lane for lane in range(self.lanes) for row in range(group)]
        value = emit.shuffle(value, value, places)
        return self._groups(value)

    def _between(self, a: ir.Value, b: ir.Value) -> ir.Value:
        count = a.type.shape[0]
        return self.emit.shuffle(a, b, [n for i in range(count) for n in (i, count + i)])

    def one(self, at: Index, k_stride: Index, live: Index | None) -> ir.Value:
        """Load one group, whose first `live` elements exist, None for all."""
        emit, bits = self.emit, self.dot.part.width
        values = []
        for i in range(self.dot.group):
            if isinstance(live, int) and i >= live:
                break
            if live is None or isinstance(live, int):
                values.append(emit.load(self.base, [at + k_stride * i]))
                continue
            there = emit.compare("slt", i, live)
            step = emit.select(there, i, 0)
            value = emit.load(self.base, [at + k_stride * step])
            none = emit.constant(self.base.type.element_type, 0)
            values.append(emit.op("arith.select", [there, value, none], value.type))
        small, wide = (ir.IntegerType.get_signless(n) for n in (bits, bits * self.dot.group))
        total: ir.Value | None = None
        for i, loaded in enumerate(values):
            value = self._part(loaded)
            if value.type != small:
                value = emit.op("arith.bitcast", [value], small)
            value = emit.op("arith.extui", [value], wide)
            if i:
                count = emit.constant(wide, i * bits)
                value = emit.op("arith.shli", [value, count], wide)
            total = value if total is None else emit.op("arith.ori", [total, value], wide)
        assert total is not None
        return self._turn(total)

    def _groups(self, elements: ir.Value) -> ir.Value:
        type_ = groups_type(self.lanes)
        type_ = type_ if self.word is None else like(type_, self.word)
        return self._turn(self.emit.op("vector.bitcast", [elements], type_))

    def _part(self, value: ir.Value) -> ir.Value:
        if self.widen is None:
            return value
        return self.emit.op(self.widen, [value], like(value.type, self.dot.part))

    def _turn(self, groups: ir.Value) -> ir.Value:
        if not self.flips_signs:
            return groups
        none = flipped_zeros(self.emit, self.dot, groups.type)
        return self.emit.op("arith.xori", [groups, none], groups.type)


def copy_groups(
    load: VnniLoader, a: StridedRef, rows: int, steps: Index, to: ir.Value, distance: int,
    first: Index = 0,
) -> None:  # fmt: skip
    """Copy rows of A as groups, each `distance` groups after the one before.

    Args:
        load: loads A.
        a: its first element; strides "m" and "k".
        rows: how many.
        steps: elements of each.
        to: where to.
        distance: groups from one row to the next, at least a vector more than `steps` needs.
        first: where the first row goes.
    """
    emit, group = load.emit, load.dot.group
    k_stride = a.stride("k")
    step = load.lanes if k_stride == 1 else 1
    whole = emit.round_down(steps // group, step)

    def copy(at: Index, left: Index | None) -> None:
        start = a.offset + at * group * k_stride
        for row in range(rows):
            there = [at + row * distance + first]
            place = start + a.row(emit, row)
            if k_stride == 1:
                mask = None if left is None else emit.mask(left, group * load.lanes)
                emit.vector_store(load.along_k(place, mask), to, there)
            else:
                emit.store(load.one(place, k_stride, left), to, there)

    with emit.loop(0, whole, step) as p:
        copy(p.counter, None)
    left = steps - whole * group
    emit.if_any(left, lambda: copy(whole, left))
    if k_stride != 1 and load.dot.matrices:
        # Whole matrix tiles are read, and B is undefined there.
        end = ceil_div(steps, group) + first
        none = emit.constant(groups_type(load.lanes), 0)
        for row in range(rows):
            emit.vector_store(none, to, [end + row * distance])


def write_starts(
    emit: Emitter, dot: DotProduct, rows: StridedRef, count: int, groups: Index, lanes: int
) -> None:
    """Write what the sums of each row of A start from, to correct for flipped signs of B.

    Args:
        emit: where to write.
        dot: the instruction.
        rows: copied rows; strides "m" and "k", and "start" to where the number goes.
        count: how many rows.
        groups: how many of each.
        lanes: groups of a vector.
    """
    type_ = groups_type(lanes)
    nothing, none = emit.constant(type_, 0), flipped_zeros(emit, dot, type_)
    whole = emit.round_down(groups, lanes)
    left = groups - whole
    for row in range(count):
        first = rows.offset + row * rows.stride("m")
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
