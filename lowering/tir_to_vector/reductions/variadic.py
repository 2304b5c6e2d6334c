"""Variadic reductions: several values in one block, such as the largest element and its index.

Lanes are results, each of which combines in loop order. Or they are steps of the reduction, whose
values are combined at the end: those of an associative and commutative operation in any order,
those chosen by a condition in the order of the steps, so that of equal values the first one wins.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.analysis import Nest
from relax_mlir.lowering.tir_to_vector.control_flow import UNROLL
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import (
    COMBINERS,
    FlatNest,
    NotFlat,
    check_writes_once,
    collapse,
    counters_of,
    flat_access,
    identity,
    init_of,
    iterators,
    slice_of,
)
from relax_mlir.lowering.tir_to_vector.index_emit import Index, is_constant
from relax_mlir.lowering.tir_to_vector.kernel_class import Final, Nests, one_nest
from relax_mlir.lowering.tir_to_vector.nest_cost import bits_of
from relax_mlir.lowering.tir_to_vector.nest_elements import Carried, Lanes
from relax_mlir.lowering.tir_to_vector.vector_nest import NestWriter, strided_iter
from relax_mlir.lowering.walk import defining_op, root

_SELECT = "arith.select"
_NOT_IDEMPOTENT = {"arith.addf", "arith.mulf", "arith.addi", "arith.muli", "arith.xori"}
# Combiners that may take an element more than once: all lanes may start from the initial value.
IDEMPOTENT = COMBINERS.keys() - _NOT_IDEMPOTENT


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


def _match(nest: Nest) -> VariadicReduction | str:
    order = nest.order
    totals = _totals(nest)
    written = {root(store.buffer) for store in nest.stores}
    if any(load.op not in totals and root(load.buffer) in written for load in nest.loads):
        raise NotFlat("it reads the buffer that it writes")
    iters = iterators(nest)
    accesses = {access.op: flat_access(access, order) for access in (*nest.loads, *nest.stores)}
    for store in nest.stores:
        check_writes_once(iters, accesses[store.op])
    values = [store.op.operands[0] for store in nest.stores]
    needed = {op for value in values for op in slice_of(nest, value)}
    slice_ = [op for op in nest.body() if op in needed and op not in totals]
    first = nest.stores[0].op
    flat = FlatNest(nest, iters, accesses, first, totals[0], values[0], slice_, None)
    flat.counters = counters_of(flat, values)
    stores = [store.op for store in nest.stores]
    reduction = VariadicReduction(collapse(flat), stores, totals, init_of(nest, *nest.stores), 0)
    return _with_lanes(reduction)


def _totals(nest: Nest) -> list[ir.Operation]:
    """Return for each store the load of its buffer."""
    if len({root(store.buffer) for store in nest.stores}) != len(nest.stores):
        raise NotFlat("it stores to a buffer twice")
    totals = []
    body = nest.body()
    for store in nest.stores:
        loads = [load for load in nest.loads if load.buffer == store.buffer]
        if any(load.exprs != store.exprs or None in load.exprs for load in loads):
            raise NotFlat("it reads the buffer that it writes")
        if any(body.index(load.op) > body.index(store.op) for load in loads):
            raise NotFlat("it reads what it has written")
        if len(loads) != 1:
            raise NotFlat("it does not combine what it stores with what it held")
        totals.append(loads[0].op)
    return totals


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
        held, op = total.results[0], defining_op(store.operands[0])
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
    """Which values of a reduction's block are computed in the same way."""

    def __init__(self, reduction: VariadicReduction) -> None:
        self._totals = {op.results[0]: i for i, op in enumerate(reduction.totals)}
        self._body = reduction.flat.nest.block.regions[0].blocks[0]
        self._keys: dict[ir.Value, Any] = {}
        self._numbers: dict[Any, int] = {}

    def key(self, value: ir.Value) -> Any:
        """Return a key that is equal for values that are computed in the same way."""
        if value not in self._keys:
            made: Any = ("value", value)
            op = defining_op(value)
            if op is not None and (op.block == self._body or op.name == "arith.constant"):
                notes = tuple((name, op.attributes[name]) for name in sorted(op.attributes.keys()))
                made = (op.name, value.type, notes, tuple(map(self.key, op.operands)))
            # Numbers keep keys of keys short.
            self._keys[value] = self._numbers.setdefault(made, len(self._numbers))
        return self._keys[value]

    def uses_totals(self, value: ir.Value) -> bool:
        """Whether a value depends on a total."""
        if value in self._totals:
            return True
        op = defining_op(value)
        return op is not None and op.block == self._body and any(map(self.uses_totals, op.operands))

    def is_made_of(self, value: ir.Value, choice: Choice) -> bool:
        """Whether a value depends only on totals and steps that a choice knows."""
        if value in self._totals:
            return self._totals[value] in choice.added.values()
        if self.key(value) in choice.added:
            return True
        if is_constant(value):
            return True
        op = defining_op(value)
        if op is None or op.block != self._body or op.name == "memref.load":
            return False
        return all(self.is_made_of(operand, choice) for operand in op.operands)


# Independent accumulators of each value, which hide latency.
_WIDE = 4
_LESS = 2


class VariadicWriter(NestWriter):
    """Writes a variadic reduction."""

    is_plain = False

    def __init__(self, reduction: VariadicReduction, emit: Emitter) -> None:
        super().__init__(reduction.flat, reduction.vector, emit)
        self.reduction = reduction
        widest = max(bits_of(op.operands[0].type) for op in reduction.stores)
        self.lanes: int = max(1, min(self.lanes, emit.machine.vector_bits // widest))
        self._same = Sameness(reduction)
        self._names = [op.operands[0].owner.operation.name for op in reduction.stores]
        # For values that conditions choose: the step of each lane.
        self._orders = list({c.key: c for c in reduction.chosen if c is not None}.values())

    def write(self, counters: Sequence[Index], row: Index = 0) -> None:
        """Write the loops over results, and the reduction in them."""
        self._write(dict(enumerate(counters)), len(counters))

    def _reduce(self, env: dict[int, Index], reductions: list[int]) -> None:
        if self.reduction.along:
            self._along(env, reductions)
        else:
            self._chunks(lambda lanes: self._across(lanes, reductions), env, _WIDE)

    def _across(self, lanes: Lanes, reductions: list[int]) -> None:
        """Write the reduction of a vector of results."""

        def step(inner: dict[int, Index], carried: Carried) -> Carried:
            return self._step(lanes.where(inner), carried)

        self._store(self._loops(lanes.env, reductions, self._starts(lanes), step), lanes)

    def _along(self, env: dict[int, Index], reductions: list[int]) -> None:
        """Write the reduction of one result: vectors of steps, their lanes, then the tail."""
        emit, count = self.emit, len(self.reduction.stores)
        size = emit.size(self.flat.iters[self.vector or 0].extent)
        wide = self._width(size, reductions)
        upto = emit.round_down(size, wide)
        first = self._starts(Lanes(env))
        begun = self._begun(first, wide)
        if self._orders:
            type_ = Lanes({}, 0, wide).typed(_order_type())
            begun += [emit.constant(type_, -1)] * len(self._orders) + [emit.constant(type_, 0)]

        def run(inner: dict[int, Index], carried: Carried) -> Carried:
            with emit.loop(0, upto, wide, carried, UNROLL) as loop:
                loop.carry(self._ordered(Lanes(inner, loop.counter, wide), loop.carried))
            left = size - upto
            if not self.masked or wide == 1 or left == 0:
                return loop.results
            rest, made = Lanes(inner, upto, wide, emit.mask(left, wide)), loop.results
            if isinstance(left, int):
                return self._ordered(rest, made)
            return emit.either(
                left > 0, [value.type for value in made],
                lambda: self._ordered(rest, made), lambda: made,
            )  # fmt: skip

        made = self._loops(env, reductions, begun, run)
        values = self._single(made[:count], made[count:-1] if self._orders else [])
        values = self._combined(first, values)

        def rest(inner: dict[int, Index], carried: Carried) -> Carried:
            with emit.loop(upto, size, 1, carried) as loop:
                loop.carry(self._step(Lanes(inner, loop.counter), loop.carried))
            return loop.results

        if not self.masked and wide > 1 and upto != size:
            values = self._loops(env, reductions, values, rest)
        self._store(values, Lanes(env))

    def _width(self, size: Index, reductions: list[int]) -> int:
        """Return how many steps go together."""
        many = len(self.reduction.stores) + len(self._orders) > 3
        wide = self.lanes * (_LESS if many else _WIDE)
        while isinstance(size, int) and wide > max(1, size):
            wide //= 2
        # With outer reductions the tail would come after later steps.
        late = self._orders and reductions and not self.masked
        return 1 if late and not (isinstance(size, int) and size % wide == 0) else wide

    def _begun(self, first: Carried, lanes: int) -> Carried:
        """Return the initial values of all lanes, given the result's initial values."""
        begun = []
        for name, choice, start in zip(self._names, self.reduction.chosen, first, strict=True):
            type_ = Lanes({}, 0, lanes).typed(start.type)
            if choice is not None or name in IDEMPOTENT:
                begun.append(start if lanes == 1 else self.emit.splat(start, type_))
                continue
            begun.append(self.emit.constant(type_, identity(name, start.type)))
        return begun

    def _ordered(self, lanes: Lanes, carried: Carried) -> Carried:
        """Return the loop-carried values after a step; they say from which step each lane is."""
        emit, count = self.emit, len(self.reduction.stores)
        made: dict[ir.Value, ir.Value] = {}
        totals, orders = carried[:count], carried[count:-1]
        result = self._step(lanes, totals, made)
        if self._orders:
            now = carried[-1]
            for choice, order in zip(self._orders, orders, strict=True):
                result.append(self._chosen(choice, made[choice.condition], order, now))
        if lanes.mask is not None:
            pairs = zip(result, carried, strict=False)
            result = [emit.select(lanes.mask, new, old) for new, old in pairs]
        if self._orders:
            ones = emit.constant(now.type, 1)
            result.append(emit.op("arith.addi", [now, ones], now.type))
        return result

    def _single(self, values: Carried, orders: Carried) -> Carried:
        """Combine the values of all lanes by halves, in a fixed order."""
        emit = self.emit
        if not isinstance(values[0].type, ir.VectorType):
            return values
        lanes = values[0].type.shape[0]
        step = emit.numbers(ir.VectorType.get([lanes], _order_type()), range(lanes))
        # The step of a lane's values, and the lane in it.
        places = [place for order in orders for place in (order, step)]
        while lanes > 1:
            lanes //= 2
            low, high = ([emit.part(v, at, lanes) for v in (*values, *places)] for at in (0, lanes))
            count = len(values)
            values, places = self._merged(low[:count], high[:count], low[count:], high[count:])
        return [emit.extract(value, 0) for value in values]

    def _combined(self, first: Carried, second: Carried) -> Carried:
        """Combine values by their operations; those that conditions choose are the second ones."""
        parts = zip(self._names, self.reduction.chosen, first, second, strict=True)
        return [
            b if choice is not None else self.emit.op(name, [a, b], b.type)
            for name, choice, a, b in parts
        ]

    def _merged(
        self, low: Carried, high: Carried, low_places: Carried, high_places: Carried
    ) -> tuple[Carried, Carried]:
        """Combine two vectors of each value, and their steps."""
        result, places = self._combined(low, high), []
        for number, choice in enumerate(self._orders):
            here, there = (each[2 * number : 2 * number + 2] for each in (low_places, high_places))
            is_first = self._is_before(here, there)
            pairs = [self._swapped(is_first, a, b) for a, b in zip(low, high, strict=True)]
            before, after = [p[0] for p in pairs], [p[1] for p in pairs]
            condition = self._decide(choice, before, after)
            for i, other in enumerate(self.reduction.chosen):
                if other is not None and other.key == choice.key:
                    result[i] = self._chosen(choice, condition, before[i], after[i])
            for a, b in zip(here, there, strict=True):
                places.append(self._chosen(choice, condition, *self._swapped(is_first, a, b)))
        return result, places

    def _is_before(self, here: Carried, there: Carried) -> ir.Value:
        """Return whether places precede others: earlier steps, or lower lanes of the same step."""
        emit = self.emit
        (a, lane), (b, other) = here, there
        lower = emit.both(emit.compare("eq", a, b), emit.compare("slt", lane, other))
        return emit.either_holds(emit.compare("slt", a, b), lower)

    def _step(
        self, lanes: Lanes, totals: Carried, made: dict[ir.Value, ir.Value] | None = None
    ) -> Carried:
        """Return the totals after a step, scalar or vector."""
        made = {} if made is None else made
        for op, total in zip(self.reduction.totals, totals, strict=True):
            made[op.results[0]] = total
        wanted = [op.operands[0] for op in self.reduction.stores]
        return self._values(wanted, lanes, made)

    def _swapped(self, condition: ir.Value, a: ir.Value, b: ir.Value) -> tuple[ir.Value, ir.Value]:
        return self.emit.select(condition, a, b), self.emit.select(condition, b, a)

    def _chosen(
        self, choice: Choice, condition: ir.Value, total: ir.Value, added: ir.Value
    ) -> ir.Value:
        return self.emit.select(condition, *((total, added) if choice.keeps else (added, total)))

    def _decide(self, choice: Choice, totals: Carried, added: Carried) -> ir.Value:
        """Return a condition on the totals of other steps instead of a step's operands."""
        held = {op.results[0]: i for i, op in enumerate(self.reduction.totals)}
        like = totals[0].type

        def value_of(value: ir.Value) -> ir.Value:
            if value in held:
                return totals[held[value]]
            number = choice.added.get(self._same.key(value))
            if number is not None:
                return added[number]
            op = value.owner.operation
            if op.name == "arith.constant":
                single = self._anew(value)
                if not isinstance(like, ir.VectorType):
                    return single
                return self.emit.splat(single, ir.VectorType.get(like.shape, value.type))
            return self.emit.copied(op, [value_of(operand) for operand in op.operands])

        return value_of(choice.condition)

    def _starts(self, lanes: Lanes) -> Carried:
        """Return the initial values of a result, or of a vector of them."""
        reduction = self.reduction
        if reduction.starts is None:
            return [self._get(store, lanes) for store in reduction.stores]
        return [
            self.emit.constant_of(lanes.typed(store.operands[0].type), start)
            for store, start in zip(reduction.stores, reduction.starts, strict=True)
        ]

    def _store(self, values: Carried, lanes: Lanes) -> None:
        """Store a result, or a vector of them."""
        for op, value in zip(self.reduction.stores, values, strict=True):
            self._put(value, lanes, store=op)


def _order_type() -> ir.Type:
    return ir.IntegerType.get_signless(32)


def _match_first(nests: Nests) -> VariadicReduction | str:
    types = set(nests.nest.types)
    if len(nests.nest.stores) < 2 or "reduction" not in types:
        return "it does not reduce several values"
    if types - {"spatial", "reduction"}:
        return Final("it has an iterator that neither maps nor reduces")
    try:
        reduction = _match(nests.nest)
    except NotFlat as why:
        return Final(why)
    return Final(reduction) if isinstance(reduction, str) else reduction


VARIADIC_REDUCTION = one_nest(
    "reduction of several values",
    _match_first,
    lambda reduction, emit: VariadicWriter(reduction, emit).write([]),
)
