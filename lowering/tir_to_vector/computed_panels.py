"""Elements of panels that are computed as they are read: small numbers, scales, zero points."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction import Contraction
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.machine import Machine
from relax_mlir.lowering.tir_to_vector.vector_nest import NestWriter


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
        self._panel, self._k = panel, found.k

    def at(self, panel: Index, step: Index, column: Index, lanes: int) -> ir.Value:
        """Return adjacent columns of a panel, from one on, at a step of k."""
        return self._value({self._panel: panel, self._k: step}, column, lanes, None)
