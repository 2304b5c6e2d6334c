"""How vectors of panels are read that hold small numbers: widened, computed, or as groups."""

import math
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import DotProduct, as_groups
from relax_mlir.lowering.tir_to_vector.contraction.pattern import Contraction
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.vector_nest import NestWriter

# Iterators over groups where halves of each share bytes.
_HALVES = 2


class DequantizedPanels(NestWriter):
    """Writes elements of B.

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
        """How many steps of k are a group that has its own scales, None where there are none."""
        return self._sizes[0] if self._sizes else None

    @property
    def half(self) -> int | None:
        """How many steps of k lie between the two that share bytes, None where none do."""
        return self._sizes[1] if len(self._sizes) == _HALVES else None

    def at(
        self, panel: Index, step: Index, column: Index, lanes: int, known: tuple[Index, ...] = ()
    ) -> ir.Value:
        """Return adjacent columns of a panel, from one on, at a step of k.

        Args:
            panel: the panel's number.
            step: which of k it is.
            column: the first one.
            lanes: how many.
            known: the number of the group that the step is in, and which part of that it is in, as
                far as they are known.
        """
        emit = self.emit
        place = {self._panel: panel}
        left = step
        for i, (position, size) in enumerate(zip(self._grouped, self._sizes, strict=True)):
            place[position] = known[i] if i < len(known) else emit.div(left, size)
            left = emit.sub(left, emit.mul(place[position], size))
        return self._value({**place, self._k: left}, column, lanes, None)


@dataclass(frozen=True)
class PanelLoad:
    """Loads vectors of panels, at places that count groups where there are any.

    Attributes:
        widen: the conversion of an element to what is added, None for none.
        dot: the instruction whose groups panels consist of, None where they do not.
        computed: writes what elements are computed to, None where they are what is multiplied.
        panel: the number of the panel, for that.
        first: where in the panel the columns are counted from.
        known: the number of the group that steps of k are in, and of the part of it, where known.
    """

    widen: str | None = None
    dot: DotProduct | None = None
    computed: DequantizedPanels | None = None
    panel: Index = 0
    first: Index = 0
    known: tuple[Index, ...] = ()

    @property
    def converts(self) -> bool:
        """Whether elements become what is multiplied by more than a register's view of them."""
        return self.widen is not None or self.computed is not None

    def vector(
        self, emit: Emitter, base: ir.Value, at: Index, type_: ir.VectorType, step: Index,
        column: Index,
    ) -> ir.Value:  # fmt: skip
        """Return what adjacent columns multiply by, as a vector of that type.

        Args:
            emit: where to write.
            base: the panels.
            at: the place in them.
            type_: a vector of what is multiplied.
            step: which of k it is.
            column: which column it begins with.
        """
        if self.computed is not None:
            first = emit.add(self.first, column)
            return self.computed.at(self.panel, step, first, type_.shape[0], self.known)
        lanes, element = type_.shape[0], base.type.element_type
        if self.dot is None:
            stored = ir.VectorType.get([lanes], element)
            value = emit.vector_load(base, [at], stored)
            return value if self.widen is None else emit.op(self.widen, [value], type_)
        stored = ir.VectorType.get([lanes * self.dot.group], element)
        place = emit.mul(at, self.dot.group)
        return as_groups(emit, self.dot, emit.vector_load(base, [place], stored))

    def bytes(self, base: ir.Value) -> int:
        """Return how many bytes what is loaded for a column has."""
        width = max(8, base.type.element_type.width) // 8
        return width if self.dot is None else width * self.dot.group

    def prefetch(
        self, emit: Emitter, base: ir.Value, at: Index, columns: int, *, far: bool
    ) -> None:
        """Ask for the lines of some columns side by side; `far` ones for the second level."""
        size = self.bytes(base)
        for start in range(0, columns * size, emit.isa.line_bytes):
            place = emit.add(at, start // size)
            place = emit.mul(place, 1 if self.dot is None else self.dot.group)
            emit.prefetch(base, place, far=far)
