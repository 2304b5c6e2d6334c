"""Reductions with branches or computed places: windows that end at borders, sums of gathered rows.

Lanes are adjacent results, which share branches and places; sums are taken in loop order.
"""

from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.analysis import BRANCH, Nest, guard_of, operations
from relax_mlir.lowering.tir_to_vector.data_movement.index_map import IndexMap, Varying, spaces
from relax_mlir.lowering.tir_to_vector.data_movement.index_map_writer import Chunk, IndexMapWriter
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import (
    FlatNest,
    NotFlat,
    init_of,
    slice_of,
    split_reduction,
)
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.kernel_class import Nests, one_nest
from relax_mlir.lowering.tir_to_vector.reductions.reduction import Sums
from relax_mlir.lowering.walk import root


@dataclass
class IndexedReduction(IndexMap):
    """A reduction as a map, whose ordered iterators are those of the sums.

    Attributes:
        total: the load of the sum.
    """

    total: ir.Operation | None = None
    kind = "reduction"


def _match(nests: Nests) -> IndexedReduction | str:
    if isinstance(nests.first, Nest) and not isinstance(nests.flat, str):
        return "it has no branches, and its addresses are affine"
    nest = nests.opened
    if isinstance(nest, str):
        return nest
    if set(nest.types) != {"spatial", "reduction"} or len(nest.stores) != 1:
        return "it reduces nothing, or several values"
    try:
        return _match_nest(nest)
    except NotFlat as why:
        return str(why)


def _match_nest(nest: Nest) -> IndexedReduction | str:
    store, space = nest.stores[0], spaces(nest)[0]
    if guard_of(store.op, nest.block.regions[0].blocks[0]) is not None:
        return "it stores inside a branch"
    total, value = split_reduction(nest, store)
    places = {access.op: space.access(access) for access in (*nest.loads, store)}
    written, computed = places[store.op]
    reads = [load for load in nest.loads if load.op != total]
    if computed or any(root(load.buffer) == root(store.buffer) for load in reads):
        return "it writes a computed place, or reads what it writes"
    order = nest.order
    reduced = [n for n, i in enumerate(order) if nest.types[i] == "reduction"]
    for position, it in enumerate(space.iters):
        moves = written.strides[position] != 0
        if it.extent != 1 and moves == (position in reduced):
            return "it writes an element in several sums"
    adjacent = [i for i, stride in enumerate(written.strides) if stride == 1 and i not in reduced]
    if not adjacent:
        return "it does not write adjacent elements"
    accesses = {op: access for op, (access, _) in places.items()}
    slice_ = slice_of(nest, value, branches=True)
    inits = init_of(nest, store)
    init = inits and inits[0]
    flat = FlatNest(nest, space.iters, accesses, store.op, None, value, slice_, init)
    nonlinear = {op: nonaffine for op, (_, nonaffine) in places.items()}
    form = IndexedReduction(flat, adjacent[-1], 1, space, nonlinear, reduced, True, total)
    body = [op for top in nest.body() for op in operations(top)]
    own = [op.operands[0] for op in body if op.name == BRANCH]
    own += [index for nonaffine in nonlinear.values() for index, _ in nonaffine]
    if any(map(Varying(form), own)):
        return "adjacent results have branches or computed places of their own"
    return form


class _Writer(IndexMapWriter):
    def __init__(self, reduction: IndexedReduction, emit: Emitter) -> None:
        super().__init__(reduction, emit)
        self._total, self._sums = reduction.total, Sums(reduction.flat, emit, 1, shared=False)

    def _map(self, env: dict[int, Index]) -> None:
        self._along(env)

    def _chunk(self, env: dict[int, Index], at: Index, lanes: int, live: Index | None) -> None:
        """Write the sums of some steps, of which the first `live` exist."""
        emit, self.row = self.emit, {}
        chunk = Chunk(self, env, at, lanes, live)

        def step(env: dict[int, Index], carried: list[ir.Value]) -> list[ir.Value]:
            inner = Chunk(self, env, at, lanes, live)
            value = inner.vector(inner.value(self.flat.value))
            return [self._sums.added(carried[0], value)]

        if self.flat.init is None:
            assert self._total is not None
            start = chunk.vector(chunk.value(self._total.results[0]))
        else:
            start = chunk.vector(emit.constant_of(self.flat.value.type, self.flat.init))
        (total,) = self._loops(env, self.index_map.ordered, [start], step)
        chunk.store(total)


INDEXED_REDUCTION = one_nest(
    "reduction of computed places",
    _match,
    lambda reduction, emit: _Writer(reduction, emit).write([]),
)
