"""Nests that read along one dimension and write along another, by square tiles in registers."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import FlatNest
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.machine import Machine
from relax_mlir.lowering.tir_to_vector.vector_nest import NestWriter

_ONE = SymExpr.const(1)
# Wider tiles would not fit the registers.
_MOST_LANES = 16


def transposed_iters(flat: FlatNest) -> tuple[int, int] | str:
    """Return the iterators that the store and the loads walk along, or why there are none."""
    if flat.total is not None:
        return "it reduces over elements that are not adjacent"
    store = flat.accesses[flat.store]
    loads = [flat.accesses[op] for op in flat.slice if op.name == "memref.load"]
    if _ONE not in store.strides:
        return "it does not write adjacent elements"
    along = store.strides.index(_ONE)
    crossing = [load for load in loads if load.strides[along] not in (0, 1)]
    others = {load.strides.index(_ONE) for load in crossing if _ONE in load.strides}
    if len(others) != 1 or any(_ONE not in load.strides for load in crossing):
        return "it reads elements that are not adjacent"
    return along, others.pop()


class TransposeWriter(NestWriter):
    """Writes a nest that transposes: tiles of vectors, and single elements at the edges."""

    def __init__(
        self, flat: FlatNest, along: tuple[int, int], emit: Emitter, machine: Machine
    ) -> None:
        super().__init__(flat, along[0], emit, machine)
        self.lanes = min(self.lanes, _MOST_LANES)
        self.along, self.across = along
        self.inner = set(along)
        self._tiles: dict[ir.Operation, list[ir.Value]] = {}
        self._row = 0

    def _map(self, env: dict[int, Index]) -> None:
        emit, lanes = self.emit, self.lanes
        columns = emit.size(self.flat.iters[self.along].extent)
        first, last = self._span(self.across)
        whole = emit.round_down(columns, lanes)
        upto = emit.add(first, emit.round_down(emit.sub(last, first), lanes))
        with emit.loop(first, upto, lanes) as down, emit.loop(0, whole, lanes) as right:
            self._tile(env, right.counter, down.counter)
        self._single(env, (0, whole), (upto, last))
        self._single(env, (whole, columns), (first, last))

    def _split_inside(self) -> list[int]:
        return [self.across]

    def _tile(self, env: dict[int, Index], column: Index, row: Index) -> None:
        emit, lanes = self.emit, self.lanes
        self._tiles = {}
        for op, access in self.flat.accesses.items():
            if op.name != "memref.load" or access.strides[self.along] in (0, 1):
                continue
            base = self.bases[op]
            type_ = ir.VectorType.get([lanes], base.type.element_type)
            vectors = []
            for lane in range(lanes):
                where = {**env, self.across: row, self.along: emit.add(column, lane)}
                place, _ = self._address(op, where, 0)
                vectors.append(emit.vector_load(base, [place], type_))
            self._tiles[op] = transpose(emit, vectors)
        for self._row in range(lanes):
            inner = {**env, self.across: emit.add(row, self._row)}
            self._put(self._value(inner, column, lanes, None), inner, column, None)
        self._tiles = {}

    def _single(
        self, env: dict[int, Index], columns: tuple[Index, Index], rows: tuple[Index, Index]
    ) -> None:
        emit = self.emit
        if columns[0] == columns[1] or rows[0] == rows[1]:
            return
        with emit.loop(*rows) as down, emit.loop(*columns) as right:
            inner = {**env, self.across: down.counter}
            self._put(self._value(inner, right.counter, 1, None), inner, right.counter, None)

    def _get(
        self, op: ir.Operation, env: dict[int, Index], at: Index, lanes: int, mask: ir.Value | None
    ) -> ir.Value:
        if op in self._tiles:
            return self._tiles[op][self._row]
        if self.flat.accesses[op].strides[self.along] not in (0, 1):
            env = {**env, self.along: at}
        return super()._get(op, env, at, lanes, mask)


def transpose(emit: Emitter, vectors: list[ir.Value]) -> list[ir.Value]:
    """Return the columns of a square of vectors, swapping blocks off the diagonal, size by size."""
    lanes = len(vectors)
    width = 1
    while width < lanes:
        low = [i if not i & width else lanes + i - width for i in range(lanes)]
        high = [i + width if not i & width else lanes + i for i in range(lanes)]
        result = list(vectors)
        for i in range(lanes):
            if not i & width:
                pair = (vectors[i], vectors[i + width])
                result[i] = emit.shuffle(*pair, low)
                result[i + width] = emit.shuffle(*pair, high)
        vectors = result
        width *= 2
    return vectors
