"""Variadic reductions: several values in one block, such as the largest element and its index.

Lanes are results, each of which combines in loop order. Or they are steps of the reduction, whose
values are combined at the end: those of an associative and commutative operation in any order,
those chosen by a condition in the order of the steps, so that of equal values the first one wins.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.analysis import Access, Nest, affine_of
from relax_mlir.lowering.tir_to_vector.flat import (
    COMBINERS,
    FlatNest,
    NotFlat,
    collapse,
    counters_of,
    flat_access,
    iterators,
    root,
    slice_of,
)
from relax_mlir.lowering.tir_to_vector.reductions.strided import strided_iter

_SELECT = "arith.select"
# Idempotent combiners: all lanes may start from the initial value.
IDEMPOTENT = frozenset(COMBINERS) - {
    "arith.addf",
    "arith.mulf",
    "arith.addi",
    "arith.muli",
    "arith.xori",
}


@dataclass
class VariadicReduction:
    """A variadic reduction.

    Attributes:
        flat: the nest with its first store only; its accesses are those of all.
        stores: the stores.
        totals: for each store the load of its buffer.
        starts: for each value its initial value, None for what the buffers hold.
        vector: the iterator whose steps are lanes.
        chosen: for each value the condition that chooses it, None if one operation combines it;
            only for lanes along the reduction.
        added: for each value the operand that a step combines with its total, there.
    """

    flat: FlatNest
    stores: list[ir.Operation]
    totals: list[ir.Operation]
    starts: list[ir.Attribute] | None
    vector: int
    chosen: list["Choice | None"] = field(default_factory=list)
    added: list[ir.Value] = field(default_factory=list)

    @property
    def element(self) -> ir.Type:
        """The type of the last value."""
        return self.stores[-1].operands[0].type

    @property
    def along(self) -> bool:
        """Whether lanes are steps of the reduction."""
        return self.flat.iters[self.vector].reduction


@dataclass
class Choice:
    """A condition that chooses values.

    Attributes:
        condition: the condition.
        keeps: whether the total stays if it holds.
        key: equal for values that are chosen alike.
        added: the values whose total and step it knows, by the key of a step's operand.
    """

    condition: ir.Value
    keeps: bool
    key: Any
    added: dict[Any, int] = field(default_factory=dict)


def match_variadic(nest: Nest) -> VariadicReduction | str:
    """Return the variadic reduction that a nest is, or why it is none."""
    if len(nest.stores) < 2 or "reduction" not in nest.types:
        return f"it stores {len(nest.stores)} times"
    if set(nest.types) - {"spatial", "reduction"}:
        return "it has an iterator that neither maps nor reduces"
    try:
        return _match(nest)
    except NotFlat as why:
        return str(why)


def _match(nest: Nest) -> VariadicReduction | str:
    order = nest.order
    totals = _totals(nest)
    written = {root(store.buffer) for store in nest.stores}
    if any(load.op not in totals and root(load.buffer) in written for load in nest.loads):
        raise NotFlat("it reads the buffer that it writes")
    iters = iterators(nest)
    accesses = {access.op: flat_access(access, order) for access in (*nest.loads, *nest.stores)}
    for store in nest.stores:
        for it, stride in zip(iters, accesses[store.op].strides, strict=True):
            if not it.reduction and stride == 0 and it.extent != 1:
                raise NotFlat("it writes an element more than once")
    values = [store.op.operands[0] for store in nest.stores]
    needed = {op for value in values for op in slice_of(nest, value)}
    slice_ = [op for op in nest.body() if op in needed and op not in totals]
    first = nest.stores[0].op
    flat = FlatNest(nest, iters, accesses, first, totals[0], values[0], slice_, None)
    flat.counters = counters_of(flat, values)
    stores = [store.op for store in nest.stores]
    reduction = VariadicReduction(collapse(flat), stores, totals, _starts(nest), 0)
    return _with_lanes(reduction)


def _totals(nest: Nest) -> list[ir.Operation]:
    """Return for each store the load of its buffer."""
    if len({root(store.buffer) for store in nest.stores}) != len(nest.stores):
        raise NotFlat("it stores to a buffer twice")
    totals = []
    body = nest.body()
    for store in nest.stores:
        loads = [load for load in nest.loads if load.buffer == store.buffer]
        if any(load.exprs != store.exprs or not load.is_affine for load in loads):
            raise NotFlat("it reads the buffer that it writes")
        if any(body.index(load.op) > body.index(store.op) for load in loads):
            raise NotFlat("it reads what it has written")
        if len(loads) != 1:
            raise NotFlat("it does not combine what it stores with what it held")
        totals.append(loads[0].op)
    return totals


def _starts(nest: Nest) -> list[ir.Attribute] | None:
    """Return each value's initial value, None without an init.

    Raises:
        NotFlat: those are not constants, or are stored elsewhere than the values.
    """
    if not nest.has_init():
        return None
    block = nest.block.regions[1].blocks[0]
    ops = [view.operation for view in block.operations]
    made = {op.operands[1]: op for op in ops if op.name == "memref.store"}
    known = {"memref.store", "tir.yield", "tir.writes", "tir.symbol", "arith.constant"}
    if len(made) != len(nest.stores) or any(
        op.name not in known and op.name not in ("arith.addi", "arith.subi", "arith.muli")
        for op in ops
    ):
        raise NotFlat("its init is not one store of a constant for each value")
    return [_start(store, made, list(block.arguments)) for store in nest.stores]


def _start(
    store: Access, made: dict[ir.Value, ir.Operation], arguments: list[ir.Value]
) -> ir.Attribute:
    if store.buffer not in made:
        raise NotFlat("its init writes elsewhere than its body")
    value, _, *indices = made[store.buffer].operands
    if [affine_of(index, arguments) for index in indices] != store.exprs:
        raise NotFlat("its init writes elsewhere than its body")
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != "arith.constant":
        raise NotFlat("its init is not one store of a constant for each value")
    return value.owner.operation.attributes["value"]


def _with_lanes(reduction: VariadicReduction) -> VariadicReduction | str:
    """Return the reduction with lanes, if it can have some."""
    flat = reduction.flat
    loads = [flat.accesses[op] for op in flat.slice if op in flat.accesses]
    written = [flat.accesses[op] for op in reduction.stores]
    steps: list[int] = []
    for position, it in enumerate(flat.iters):
        near = all(load.strides[position] in (0, 1) for load in loads)
        if not it.reduction and near and all(w.strides[position] == 1 for w in written):
            return replace(reduction, vector=position)
        if it.reduction and near and any(load.strides[position] == 1 for load in loads):
            steps.append(position)
    why = _combined(reduction)
    if steps and why is None:
        return replace(reduction, vector=steps[-1])
    strided = strided_iter(flat, reduction.stores, results=why is not None)
    if strided is None:
        return why or "no loop walks adjacent elements of all it reads and writes"
    return replace(reduction, vector=strided)


def _combined(reduction: VariadicReduction) -> str | None:
    """Find how values of different steps are combined; return why that is unknown."""
    same = Sameness(reduction)
    for store, total in zip(reduction.stores, reduction.totals, strict=True):
        value, held = store.operands[0], total.results[0]
        op = None if isinstance(value.owner, ir.Block) else value.owner.operation
        if op is not None and op.name in COMBINERS and held in list(op.operands):
            left, right = op.operands
            reduction.added.append(right if left == held else left)
            reduction.chosen.append(None)
        elif op is not None and op.name == _SELECT and held in list(op.operands)[1:]:
            condition, yes, no = op.operands
            keeps = yes == held
            reduction.added.append(no if keeps else yes)
            reduction.chosen.append(Choice(condition, keeps, (same.key(condition), keeps)))
        else:
            return "it combines several values in a way of its own"
    keys = [same.key(value) for value in reduction.added]
    if any(same.uses_totals(value) for value in reduction.added):
        return "it combines several values in a way of its own"
    for choice in reduction.chosen:
        if choice is None:
            continue
        mine = {i for i, other in enumerate(reduction.chosen) if other and other.key == choice.key}
        free = {
            i
            for i, store in enumerate(reduction.stores)
            if reduction.chosen[i] is None and store.operands[0].owner.operation.name in IDEMPOTENT
        }
        known = sorted(mine | free)
        choice.added = {keys[i]: i for i in known}
        # Two totals with the same operand could not be distinguished.
        if len(choice.added) < len(known) or not same.is_made_of(choice.condition, choice):
            return "it chooses several values by what it does not keep"
    return None


class Sameness:
    """Which values of a block are computed in the same way.

    Args:
        reduction: the reduction.
    """

    def __init__(self, reduction: VariadicReduction) -> None:
        self._totals = {op.results[0]: i for i, op in enumerate(reduction.totals)}
        self._body = reduction.flat.nest.block.regions[0].blocks[0]
        self._keys: dict[ir.Value, Any] = {}
        self._numbers: dict[Any, int] = {}

    def key(self, value: ir.Value) -> Any:
        """Return a key that is equal for values that are computed in the same way."""
        if value not in self._keys:
            made: Any = ("value", value)
            if not isinstance(value.owner, ir.Block):
                op = value.owner.operation
                if op.block == self._body or op.name == "arith.constant":
                    notes = tuple(
                        (name, op.attributes[name]) for name in sorted(op.attributes.keys())
                    )
                    operands = tuple(self.key(operand) for operand in op.operands)
                    made = (op.name, value.type, notes, operands)
            # Numbers keep keys of keys short.
            self._keys[value] = self._numbers.setdefault(made, len(self._numbers))
        return self._keys[value]

    def uses_totals(self, value: ir.Value) -> bool:
        """Whether a value depends on a total."""
        if value in self._totals:
            return True
        if isinstance(value.owner, ir.Block) or value.owner.operation.block != self._body:
            return False
        return any(self.uses_totals(operand) for operand in value.owner.operation.operands)

    def is_made_of(self, value: ir.Value, choice: Choice) -> bool:
        """Whether a value depends only on totals and steps that a choice knows."""
        if value in self._totals:
            return self._totals[value] in choice.added.values()
        if self.key(value) in choice.added:
            return True
        if isinstance(value.owner, ir.Block):
            return False
        op = value.owner.operation
        if op.name == "arith.constant":
            return True
        if op.block != self._body or op.name == "memref.load":
            return False
        return all(self.is_made_of(operand, choice) for operand in op.operands)
