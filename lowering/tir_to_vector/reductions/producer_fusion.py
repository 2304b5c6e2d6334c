"""Producer-fused reductions: a reduction in the loop that computes its operand."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.flat import FlatNest
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.vector_nest import NestWriter


def fuse_producers(writers: Sequence[NestWriter]) -> list[NestWriter]:
    """Return equivalent writers in which maps are fused into the reductions over their results."""
    result: list[NestWriter] = []
    for writer in writers:
        if result and _is_fusible_producer(result[-1], writer):
            made = result[-1].flat.accesses[result[-1].flat.store]
            others = [other.flat for other in writers if other not in (writer, result[-1])]
            read = any(_loads_of(flat, made.buffer) for flat in others)
            result[-1] = ProducerFusedReduction(writer, result[-1], stores=read or not made.in_rows)
        else:
            result.append(writer)
    return result


class ProducerFusedReduction(NestWriter):
    """Writes a reduction that computes a map instead of loading its results.

    Args:
        reduction: writes it alone.
        producer: writes the map alone.
        stores: whether the map's results are used elsewhere, and stored.
    """

    def __init__(self, reduction: NestWriter, producer: NestWriter, *, stores: bool) -> None:
        super().__init__(reduction.flat, reduction.vector, reduction.emit, reduction.machine)
        self._producer, self._stores = producer, stores
        self._producer_loads = _loads_of(self.flat, producer.flat.written)

    @property
    def computes_functions(self) -> bool:
        """Whether it or the map computes elementary functions."""
        return super().computes_functions or self._producer.computes_functions

    def fetch_result(self, position: int) -> None:
        """Prefetch what the map writes."""
        self._producer.fetch_result(position)

    def fetches(self, buffer: ir.Value, position: int) -> bool:
        """Prefetch a buffer, for the map too."""
        found = self._producer.fetches(buffer, position)
        return found or super().fetches(buffer, position)

    def begin_row(self, position: int, row: Index) -> None:
        """Set the row in a block of rows, for the map too."""
        super().begin_row(position, row)
        self._producer.begin_row(position, row)

    def _value(
        self, env: dict[int, Index], at: Index, lanes: int, mask: ir.Value | None
    ) -> ir.Value:
        value = self._producer._value(env, at, lanes, mask)
        if self._stores:
            self._producer._put(value, env, at, mask)
        self._known = dict.fromkeys(self._producer_loads, value)
        try:
            return super()._value(env, at, lanes, mask)
        finally:
            self._known = {}

    def _get(
        self, op: ir.Operation, env: dict[int, Index], at: Index, lanes: int, mask: ir.Value | None
    ) -> ir.Value:
        known = self._known.get(op)
        return super()._get(op, env, at, lanes, mask) if known is None else known


def _loads_of(flat: FlatNest, buffer: ir.Value) -> list[ir.Operation]:
    return [op for op in flat.slice if op in flat.accesses and flat.accesses[op].buffer == buffer]


def _is_fusible_producer(producer: NestWriter, reduction: NestWriter) -> bool:
    """Whether each step of a reduction loads what the same step of a map stores."""
    made, used = producer.flat, reduction.flat
    if type(producer) is not NestWriter or made.total is not None or used.total is None:
        return False
    vector = reduction.vector
    if vector is None or vector != producer.vector or not used.iters[vector].reduction:
        return False
    steps = [it.extent for it in made.iters] == [it.extent for it in used.iters]
    same = (producer.lanes, producer.masked) == (reduction.lanes, reduction.masked)
    if (
        not steps
        or not same
        or any(made.accesses[op].buffer == used.written for op in made.slice if op in made.accesses)
    ):
        return False
    loads, store = _loads_of(used, made.written), made.accesses[made.store]
    return bool(loads) and all(
        (used.accesses[op].offset, used.accesses[op].strides) == (store.offset, store.strides)
        for op in loads
    )
