"""Loads of panels of small dtypes: widened, dequantized, or in VNNI layout."""

import math
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import DotProduct, as_groups
from relax_mlir.lowering.tir_to_vector.contraction.pattern import Contraction
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.vector_nest import NestWriter

# Iterators over groups, if halves of a group share bytes.
_HALVES = 2


class DequantizedPanels(NestWriter):
    """Writes dequantized elements of B.

    Args:
        gemm: the contraction.
        panel: its iterator over panels.
        emit: where to write.
        machine: what for.
    """

    def __init__(self, gemm: Contraction, panel: int, emit: Emitter, machine: Machine) -> None:
        assert gemm.computed is not None
        super().__init__(gemm.computed, gemm.n, emit, machine)
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
            left = left - place[position] * size
        return self._value({**place, self._k: left}, column, lanes, None)


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
    """

    widen: str | None = None
    dot: DotProduct | None = None
    computed: DequantizedPanels | None = None
    panel: Index = 0
    first: Index = 0
    known: tuple[Index, ...] = ()

    @property
    def converts(self) -> bool:
        """Whether elements are converted by more than a bitcast."""
        return self.widen is not None or self.computed is not None

    def vector(
        self, emit: Emitter, base: ir.Value, at: Index, type_: ir.VectorType, step: Index,
        column: Index,
    ) -> ir.Value:  # fmt: skip
        """Return adjacent columns as a vector of a type.

        Args:
            emit: where to write.
            base: the panels.
            at: the place in them.
            type_: the type of a vector that is multiplied.
            step: the step of k.
            column: the first column.
        """
        if self.computed is not None:
            first = self.first + column
            return self.computed.at(self.panel, step, first, type_.shape[0], self.known)
        lanes, element = type_.shape[0], base.type.element_type
        if self.dot is None:
            stored = ir.VectorType.get([lanes], element)
            value = emit.vector_load(base, [at], stored)
            return value if self.widen is None else emit.op(self.widen, [value], type_)
        stored = ir.VectorType.get([lanes * self.dot.group], element)
        place = at * self.dot.group
        return as_groups(emit, self.dot, emit.vector_load(base, [place], stored))

    def bytes(self, base: ir.Value) -> int:
        """Return the bytes that are loaded for a column."""
        width = max(8, base.type.element_type.width) // 8
        return width if self.dot is None else width * self.dot.group

    def prefetch(
        self, emit: Emitter, base: ir.Value, at: Index, columns: int, *, far: bool
    ) -> None:
        """Prefetch the lines of some columns, into L2 with `far`."""
        size = self.bytes(base)
        for start in range(0, columns * size, emit.isa.line_bytes):
            place = at + start // size
            place = place * (1 if self.dot is None else self.dot.group)
            emit.prefetch(base, place, far=far)
