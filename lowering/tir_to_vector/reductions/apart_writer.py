"""Vector code of reductions whose lanes are read apart."""

from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import FlatNest
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.reductions.apart import load_apart
from relax_mlir.lowering.tir_to_vector.vector_nest import NestWriter


@dataclass
class Apart:
    """A reduction no loop of which walks adjacent elements of all that it reads.

    Attributes:
        flat: the nest.
        vector: the iterator whose steps are lanes.
    """

    flat: FlatNest
    vector: int

    @property
    def element(self) -> ir.Type:
        """The type of what is combined."""
        return self.flat.value.type


class ApartWriter(NestWriter):
    """Writes a nest some of whose lanes may lie apart; those there are all loaded."""

    def __init__(self, flat: FlatNest, vector: int | None, emit: Emitter, machine: Machine) -> None:
        super().__init__(flat, vector, emit, machine)
        if vector is not None:
            loads = [flat.accesses[op] for op in flat.slice if op in flat.accesses]
            self.masked &= all(load.strides[vector] in (0, 1) for load in loads)

    def _address(self, op: ir.Operation, env: dict[int, Index], at: Index) -> tuple[Index, bool]:
        place, walks = super()._address(op, env, at)
        if walks or self.vector is None:
            return place, walks
        by = self.emit.size(self.flat.accesses[op].strides[self.vector])
        return self.emit.add(place, self.emit.mul(at, by)), False

    def _get(
        self, op: ir.Operation, env: dict[int, Index], at: Index, lanes: int, mask: ir.Value | None
    ) -> ir.Value:
        stride = None if self.vector is None else self.flat.accesses[op].strides[self.vector]
        if lanes == 1 or stride is None or stride in (0, 1):
            return super()._get(op, env, at, lanes, mask)
        place, _ = self._address(op, env, at)
        return load_apart(self.emit, self.bases[op], place, stride, lanes, self.lanes)


def emit_apart(found: Apart, emit: Emitter, machine: Machine) -> None:
    """Write such a reduction."""
    ApartWriter(found.flat, found.vector, emit, machine).write([])
