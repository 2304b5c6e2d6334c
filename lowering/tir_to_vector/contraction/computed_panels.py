"""Elements of panels that are computed as they are read: small numbers, scales, zero points."""

import math

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.contraction.pattern import Contraction
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.vector_nest import NestWriter

# Iterators over groups where halves of each share bytes.
_HALVES = 2


class ComputedPanels(NestWriter):
    """Writes elements of B.

    Args:
        found: the contraction.
        panel: its iterator over panels.
        emit: where to write.
        machine: what for.
    """

    def __init__(self, found: Contraction, panel: int, emit: Emitter, machine: Machine) -> None:
        assert found.computed is not None
        super().__init__(found.computed, found.n, emit, machine)
        self._panel, self._k, self._grouped = panel, found.k, found.grouped
        sizes = [found.computed.iters[i].extent.value or 1 for i in (*found.grouped, found.k)]
        self._sizes = [math.prod(sizes[i + 1 :]) for i in range(len(found.grouped))]

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
