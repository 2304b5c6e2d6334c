"""Operands of contractions: where they are in memory, and how their elements are loaded."""

import math
from dataclasses import dataclass, replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import (
    DotProduct,
    flipped_zeros,
    groups_type,
    like,
)
from relax_mlir.lowering.tir_to_vector.contraction.pattern import Contraction
from relax_mlir.lowering.tir_to_vector.emit import Emitter, StridedRef
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.nest_elements import Lanes
from relax_mlir.lowering.tir_to_vector.vector_nest import NestWriter


@dataclass(frozen=True)
class Loader:
    """Loads elements of one operand in the type of the sum, in groups of one.

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

    @property
    def group(self) -> int:
        """Elements of a group."""
        return 1

    @property
    def lanes(self) -> int:
        """Elements of a vector."""
        return self.vector.shape[0]

    def along_k(self, at: Index, mask: ir.Value | None) -> ir.Value:
        """Load adjacent elements."""
        return self.vectors(at, mask)

    def across_k(self, places: list[Index], masks: list[ir.Value | None]) -> ir.Value:
        """Load an element for each of adjacent columns."""
        return self.vectors(places[0], masks[0])

    def one(self, at: Index, k_stride: Index = 0, live: Index | None = None) -> ir.Value:
        """Load one element."""
        value = self._widened(self.emit.load(self.base, [at]), self.vector.element_type)
        scale = None if self.scale is None else self.emit.extract(self.scale, 0)
        return self._scaled(value, scale)

    def adjacent(self, at: Index, count: int) -> list[ir.Value]:
        """Load adjacent elements one by one or as a short vector, and return each."""
        if count == 1:
            return [self.one(at)]
        element = self.base.type.element_type
        loaded = self.emit.vector_load(self.base, [at], ir.VectorType.get([count], element))
        wanted = ir.VectorType.get([count], self.vector.element_type)
        values = self._widened(loaded, wanted)
        return [self.emit.extract(values, lane) for lane in range(count)]

    def _widened(self, value: ir.Value, type_: ir.Type) -> ir.Value:
        return value if self.widen is None else self.emit.op(self.widen, [value], type_)

    def _scaled(self, value: ir.Value, scale: ir.Value | None) -> ir.Value:
        return value if scale is None else self.emit.op("arith.mulf", [value, scale], value.type)


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
        rows = [*rows, *[none] * (self.dot.group - len(rows))]
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
        emit, one = self.emit, replace(self, lanes=1)
        count = live if isinstance(live, int) else self.dot.group
        places = [at + k_stride * i for i in range(count)]
        masks: list[ir.Value | None] = [None] * count
        if isinstance(live, ir.Value):
            masks = [emit.mask(live - i, 1) for i in range(count)]
        return emit.extract(one.across_k(places, masks), 0)

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


# Iterators over groups, if halves of a group share bytes.
_HALVES = 2


class DequantizedPanels(NestWriter):
    """Writes dequantized elements of B.

    Args:
        gemm: the contraction.
        panel: its iterator over panels.
        emit: where to write.
    """

    def __init__(self, gemm: Contraction, panel: int, emit: Emitter) -> None:
        assert gemm.computed is not None
        super().__init__(gemm.computed, gemm.n, emit)
        self._panel, self._k, self._grouped = panel, gemm.k, gemm.grouped
        sizes = [gemm.computed.iters[i].extent.value or 1 for i in (*gemm.grouped, gemm.k)]
        self._sizes = [math.prod(sizes[i + 1 :]) for i in range(len(gemm.grouped))]

    @property
    def group(self) -> int | None:
        """Steps of k that share scales, None without groups."""
        return self._sizes[0] if self._sizes else None

    @property
    def half(self) -> int | None:
        """The distance of the two steps of k that share bytes (int4), None for others."""
        return self._sizes[1] if len(self._sizes) == _HALVES else None

    def at(
        self, panel: Index, step: Index, column: Index, lanes: int, known: tuple[Index, ...] = ()
    ) -> ir.Value:
        """Return adjacent columns of a panel at a step of k.

        Args:
            panel: the panel's number.
            step: the step of k.
            column: the first column.
            lanes: how many.
            known: the step's group, and its part of the group, as far as they are known.
        """
        place = {self._panel: panel}
        left = step
        for i, (position, size) in enumerate(zip(self._grouped, self._sizes, strict=True)):
            place[position] = known[i] if i < len(known) else left // size
            left -= place[position] * size
        return self._value(Lanes({**place, self._k: left}, column, lanes))


@dataclass(frozen=True)
class PanelLoad:
    """Loads vectors of panels, at places that count groups in VNNI layout.

    Attributes:
        widen: the conversion to the type of the sum, or None.
        dot: the dot-product instruction of a VNNI layout, or None.
        computed: writes dequantized elements, or None.
        panel: the panel's number, for that.
        first: the column that columns are relative to.
        known: the group of the step, and its part of the group, as far as they are known.
        width, apart: columns of a panel, and elements from one panel to the next; 0 for no panels.
    """

    widen: str | None = None
    dot: DotProduct | None = None
    computed: DequantizedPanels | None = None
    panel: Index = 0
    first: int = 0
    known: tuple[Index, ...] = ()
    width: int = 0
    apart: Index = 0

    @property
    def converts(self) -> bool:
        """Whether elements are converted by more than a bitcast."""
        return self.widen is not None or self.computed is not None

    def vector(
        self, emit: Emitter, base: ir.Value, at: Index, type_: ir.VectorType, step: Index,
        column: int, mask: ir.Value | None = None,
    ) -> ir.Value:  # fmt: skip
        """Return adjacent columns as a vector of a type.

        Args:
            emit: where to write.
            base: the panels.
            at: the place of column 0 in them.
            type_: the type of a vector that is multiplied.
            step: the step of k.
            column: the first column.
            mask: which columns are there, None for all; not for other layouts than rows.
        """
        lanes = type_.shape[0]
        if self.computed is not None:
            number, first = divmod(column, self.width) if self.width else (0, column)
            panel, first = self.panel + number, self.first + first
            return self.computed.at(panel, step, first, lanes, self.known)
        at += self._place(column)
        if self.dot is None:
            return Loader(emit, base, self.widen, type_).vectors(at, mask)
        dot = self.dot
        load = VnniLoader(emit, base, dot, dot.widen[1], dot.flips_signs, lanes)
        return load.along_k(at * dot.group, None)

    def _place(self, column: int) -> Index:
        if not self.width:
            return column
        number, first = divmod(column, self.width)
        return number * self.apart + first

    def bytes(self, base: ir.Value) -> int:
        """Return the bytes that are loaded for a column."""
        width = max(8, base.type.element_type.width) // 8
        return width if self.dot is None else width * self.dot.group

    def prefetch(
        self, emit: Emitter, base: ir.Value, at: Index, columns: int, *, far: bool = False
    ) -> None:
        """Prefetch the lines of some columns, into L2 with `far`."""
        size, group = self.bytes(base), 1 if self.dot is None else self.dot.group
        width = min(columns, self.width or columns)
        for first in range(0, columns, width):
            for start in range(0, width * size, emit.isa.line_bytes):
                place = at + self._place(first) + start // size
                emit.prefetch(base, place * group, far=far)


# Elements are loaded as they are.
PLAIN_LOAD = PanelLoad()


@dataclass
class Edge:
    """A packed copy of the last panel, if the other panels are read in place.

    Attributes:
        base: the buffer that begins with it.
        used: whether it is used; an i1 if only run time knows.
    """

    base: ir.Value
    used: ir.Value | bool


@dataclass
class Panels:
    """The panels of B of one block: panel i begins at `offset + i * panel_stride`.

    Attributes:
        base: the buffer.
        offset: where panel 0 begins.
        row_stride: elements from one step of k to the next.
        panel_stride: elements from one panel to the next.
        width: columns of a panel; 0 if B is one row-major matrix.
        first: the block's first column, counted from panel 0.
        padded: whether the last panel is as wide as the others, so that it can be read whole.
        prefetch_distance: steps of k that elements are prefetched ahead; 0 for no prefetch.
        edge: a copy of the last panel, if the others are read in place.
        chosen: whether run time chooses the buffer.
        load: loads their elements.
        column: a copy of a last column that no whole tile has, by steps of k, or None.
        ahead: what tiles prefetch: the distance from a tile's first element, and elements for each
            step of k; None for nothing.
    """

    base: ir.Value
    offset: Index
    row_stride: Index
    panel_stride: Index
    width: int = 0
    first: Index = 0
    padded: bool = False
    prefetch_distance: int = 0
    edge: Edge | None = None
    chosen: bool = False
    load: PanelLoad = PLAIN_LOAD
    column: ir.Value | None = None
    ahead: tuple[Index, Index] | None = None

    def beginning(self, column: Index) -> "Panels":
        """Return the panels from a column of the block on."""
        if self.width:
            return replace(self, first=self.first + column)
        return replace(self, offset=self.offset + column)


class Layout:
    """The offset and the strides of an access, as values."""

    def __init__(self, access: FlatAccess, emit: Emitter) -> None:
        self._emit = emit
        self._offset = emit.size(access.offset)
        self._strides: dict[object, Index] = {
            position: emit.size(stride) for position, stride in enumerate(access.strides)
        }
        self.base: ir.Value = emit.flatten_once(access.buffer)

    def stride(self, iterator: int | None) -> Index:
        """Return the stride of an iterator, 0 for none."""
        return self._strides.get(iterator, 0)

    def at(self, env: dict[int, Index]) -> StridedRef:
        """Return the element at given counters."""
        offset = self._offset
        for iterator, value in env.items():
            offset += value * self.stride(iterator)
        return StridedRef(self.base, offset, self._strides)
