"""Maps whose lanes have places of their own: reversed, strided, repeated, or gathered.

The store is adjacent along one iterator. Loads with linear places there are vectors that a shuffle
rearranges, others gathers. Runs of adjacent elements, as in take, tile and flip along other axes
than the last, are vectors whose place the outer loops compute. Stores to computed places keep the
order of iterators along which they may collide.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.tir_to_vector.analysis import (
    BRANCH,
    ELEMENTWISE,
    QUOTIENTS,
    Access,
    Nest,
    divisors,
    guard_of,
    is_within,
    result_of,
)
from relax_mlir.lowering.tir_to_vector.flat import (
    FlatAccess,
    FlatIter,
    FlatNest,
    Nonlinear,
    NotFlat,
    collapse,
    extent_of,
    linear_address,
    plus_constant,
    slice_of,
)
from relax_mlir.lowering.tir_to_vector.shuffles import MAX_STEP
from relax_mlir.lowering.tir_to_vector.vector_nest import vector_iter
from relax_mlir.lowering.walk import root

_ZERO, _ONE = SymExpr.const(0), SymExpr.const(1)

# The maximal repeats of lanes: more are runs.
_MAX_REPEATS = 8
# Elements of a static run from which on it is worth a loop.
_SHORT = 8


@dataclass
class IndexSpace:
    """The iterators of a nest, in loop order, some of them split.

    Attributes:
        iters: outermost first.
        terms: for each of the block's arguments the iterators that it is a sum of.
        quotients: for each divided argument the divisor, and the iterator of the quotient.
    """

    iters: list[FlatIter]
    terms: dict[ir.Value, dict[int, SymExpr]]
    quotients: dict[ir.Value, tuple[int, int]] = field(default_factory=dict)

    def access(self, access: Access) -> tuple[FlatAccess, Nonlinear]:
        """Return the linear part of an address, and the indices that are not linear.

        Raises:
            NotFlat: a dimension of the buffer has no name.
        """
        return linear_address(access, self.terms, self.quotients, len(self.iters))


def spaces(nest: Nest) -> list[IndexSpace]:
    """Return the space of a nest's iterators, and that with split iterators, if any.

    Raises:
        NotFlat: a loop's extent has no name.
    """
    arguments = list(nest.block.regions[0].blocks[0].arguments)
    order = nest.order
    extents = {i: extent_of(nest.loops[nest.loop_of[i]].operands[1]) for i in order}
    plain = [FlatIter(extents[i], False) for i in order]
    whole = IndexSpace(plain, {arguments[i]: {n: _ONE} for n, i in enumerate(order)})
    by = {i: c for i, c in divisors(nest, QUOTIENTS).items() if extents[i] % c == 0}
    if not by:
        return [whole]
    parts = IndexSpace([], {})
    for i in order:
        here = len(parts.iters)
        if i not in by:
            parts.iters.append(FlatIter(extents[i], False))
            parts.terms[arguments[i]] = {here: _ONE}
            continue
        width = SymExpr.const(by[i])
        parts.iters += [FlatIter(extents[i] // width, False), FlatIter(width, False)]
        parts.terms[arguments[i]] = {here: width, here + 1: _ONE}
        parts.quotients[arguments[i]] = (by[i], here)
    return [whole, parts]


def uses(value: ir.Value, nest: Nest) -> set[ir.Value]:
    """Return the block's arguments that an index depends on.

    Raises:
        NotFlat: it is computed by something else than arithmetic and loads of the block.
    """
    body = nest.block.regions[0].blocks[0]
    owner = value.owner
    if isinstance(owner, ir.Block):
        if owner == body:
            return {value}
        if owner.owner.operation.name != "func.func":
            raise NotFlat("it computes with a counter of its loops")
        return set()
    op = owner.operation
    if not is_within(op, body):
        if op.parent.operation.name != "func.func" and op.name != "arith.constant":
            raise NotFlat("it computes with a value of its loops")
        return set()
    if op.name != "memref.load" and not op.name.startswith(ELEMENTWISE):
        raise NotFlat(f"'{op.name}' in an index")
    operands: list[Any] = list(op.operands)[1 if op.name == "memref.load" else 0 :]
    return set().union(*(uses(operand, nest) for operand in operands))


@dataclass
class IndexMap:
    """A nest whose lanes have places of their own.

    Attributes:
        flat: the nest, with the linear part of addresses.
        vector: the iterator of lanes, None for scalars.
        repeats: the extent of the inner iterator whose steps are lanes too, or 1.
        space: what the block's arguments are.
        nonlinear: for each access, also those of indices, the indices that are not linear.
        ordered: the iterators whose steps may write the same element.
        branches: whether some lanes do not load or store.
    """

    flat: FlatNest
    vector: int | None
    repeats: int
    space: IndexSpace
    nonlinear: dict[ir.Operation, Nonlinear] = field(default_factory=dict)
    ordered: list[int] = field(default_factory=list)
    branches: bool = False

    @property
    def kind(self) -> str:
        """The kind of the block in reports, nothing for what its accesses say."""
        return "scatter" if self.ordered else ""

    @property
    def inner(self) -> set[int]:
        """The iterators of lanes."""
        return set() if self.vector is None else set(range(self.vector, self.vector + self.width))

    @property
    def width(self) -> int:
        """The number of those."""
        return 1 if self.repeats == 1 else 2


def match_index_map(nest: Nest, *, runs: bool = False) -> IndexMap | str:
    """Return the index map that a nest of one store is, or why it is none.

    With `runs`, iterators along which all accesses are adjacent may be merged.
    """
    if len(nest.stores) != 1 or set(nest.types) - {"spatial", "opaque"} or nest.has_init():
        return "it is no map with one store"
    try:
        choices = spaces(nest)
        for space in choices if runs else ():
            index_map = _match(nest, space, runs=True)
            if isinstance(index_map, IndexMap):
                return index_map
        if len(choices) == 2:
            index_map = _match(nest, choices[1])
            if isinstance(index_map, IndexMap) and index_map.repeats > 1:
                return index_map
        return _match(nest, choices[0])
    except NotFlat as why:
        return str(why)


def _along_runs(index_map: IndexMap) -> IndexMap | None:
    """Return an index map along runs of adjacent elements, None if it has none."""
    flat, space, nonlinear = index_map.flat, index_map.space, index_map.nonlinear
    if index_map.ordered or nonlinear[flat.store]:
        return None
    values = {v for op in flat.slice if op.name != "memref.load" for v in op.operands}
    values |= {flat.value}
    values |= {a for pairs in nonlinear.values() for v, _ in pairs for a in uses(v, flat.nest)}
    used = {position for v in values for position in space.terms.get(v, ())}
    keep = max(used, default=-1) + 1
    merged = collapse(flat, keep)
    vector = vector_iter(merged, keep)
    if not isinstance(vector, int):
        return None
    extent = merged.iters[vector].extent.value
    if space.quotients and extent is not None and extent < _SHORT:
        return None
    return replace(index_map, flat=merged, vector=vector)


def match_branches(nest: Nest) -> IndexMap | str:
    """Return the index map of a nest whose block has branches, or why it has none."""
    if len(nest.stores) != 1 or set(nest.types) != {"spatial"} or nest.has_init():
        return "it branches, and is no map with one store"
    try:
        index_map = _match(nest, spaces(nest)[0], branches=True)
    except NotFlat as why:
        return str(why)
    if isinstance(index_map, str):
        return index_map
    body = nest.block.regions[0].blocks[0]
    guarded = [op for op in index_map.nonlinear if guard_of(op, body) is not None]
    if any(index_map.nonlinear[op] for op in guarded):
        return "it computes an index inside a branch"
    last = index_map.flat.accesses[index_map.flat.store].strides
    if index_map.vector is None or last[index_map.vector] != 1:
        return "it does not write adjacent elements"
    return index_map


def _match(
    nest: Nest, space: IndexSpace, *, branches: bool = False, runs: bool = False
) -> IndexMap | str:
    store = nest.stores[0]
    accesses: dict[ir.Operation, FlatAccess] = {}
    nonlinear: dict[ir.Operation, Nonlinear] = {}
    slice_ = slice_of(nest, store.op.operands[0], branches=branches)
    for access in (*nest.loads, store):
        accesses[access.op], nonlinear[access.op] = space.access(access)
        for index, _ in nonlinear[access.op]:
            uses(index, nest)
        # The old value may be read: the same place, by the same indices.
        here = list(access.op.operands) == list(store.op.operands)[1:]
        if access is not store and root(access.buffer) == root(store.buffer) and not here:
            return "it reads the buffer that it writes"
    ordered = _ordered(nest, space, store, bool(nonlinear[store.op]))
    if isinstance(ordered, str):
        return ordered
    flat = FlatNest(nest, space.iters, accesses, store.op, None, store.op.operands[0], slice_, None)
    index_map = IndexMap(flat, None, 1, space, nonlinear, ordered, branches)
    if runs:
        return _along_runs(index_map) or "it has no runs of adjacent elements"
    written = accesses[store.op].strides
    free = [i for i in range(len(written)) if i not in ordered]
    vector = next((i for i in reversed(free) if written[i] == 1), None)
    if vector is None and not ordered:
        # Every n-th element, as in a stack along the last axis.
        spaced = [i for i in reversed(free) if written[i].value in range(2, MAX_STEP + 1)]
        if not spaced or space.quotients:
            return "it does not write adjacent elements"
        vector = spaced[0]
    repeats = 1
    if vector is not None and (vector - 1) in [at for _, at in space.quotients.values()]:
        repeats = space.iters[vector].extent.value or 1
        vector -= 1
        if not 1 < repeats <= _MAX_REPEATS or written[vector] != repeats or ordered:
            return "it repeats elements another number of times"
    return replace(index_map, vector=vector, repeats=repeats)


def _ordered(
    nest: Nest, space: IndexSpace, store: Access, computed: bool
) -> list[int] | str:  # fmt: skip
    """Return the iterators that keep their order, or why all would have to.

    Each of the others is an index of its own, so that no two of its steps write the same element.
    """
    order = nest.order
    arguments = list(nest.block.regions[0].blocks[0].arguments)
    strides, ordered = space.access(store)[0].strides, []
    for i in order:
        parts = list(space.terms[arguments[i]])
        if nest.types[i] == "opaque":
            ordered += parts
            continue
        alone = any(plus_constant(expr, i) is not None for expr in store.exprs)
        moving = [part for part in parts if space.iters[part].extent != 1]
        reaches = not computed and all(strides[part] != 0 for part in moving)
        if moving and not alone and not reaches:
            return "it writes an element more than once"
    return ordered


class Varying:
    """Whether a value differs from lane to lane."""

    def __init__(self, index_map: IndexMap) -> None:
        self._index_map = index_map
        self._inner = index_map.inner
        self._known: dict[ir.Value, bool] = {}

    def __call__(self, value: ir.Value) -> bool:
        """Return it for one value."""
        if value not in self._known:
            self._known[value] = self._find(value)
        return self._known[value]

    def _find(self, value: ir.Value) -> bool:
        terms = self._index_map.space.terms.get(value)
        if terms is not None:
            return bool(self._inner & set(terms))
        if isinstance(value.owner, ir.Block):
            return False
        op = value.owner.operation
        if op in self._index_map.nonlinear:
            strides = self._index_map.flat.accesses[op].strides
            return any(strides[i] != 0 for i in self._inner) or any(
                self(index) for index, _ in self._index_map.nonlinear[op]
            )
        body = self._index_map.flat.nest.block.regions[0].blocks[0]
        if op.name == BRANCH:
            sides = [result_of(op, 0), result_of(op, 1)]
            return any(self(each) for each in (op.operands[0], *sides))
        return is_within(op, body) and any(self(operand) for operand in op.operands)
