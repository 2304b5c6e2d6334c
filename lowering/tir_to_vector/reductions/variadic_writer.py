"""Vector code of variadic reductions."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import UNROLL, Emitter
from relax_mlir.lowering.tir_to_vector.flat import COMBINERS
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.kernel_class import Final, Nests, one_nest
from relax_mlir.lowering.tir_to_vector.nest_cost import bits_of
from relax_mlir.lowering.tir_to_vector.nest_elements import Carried, Lanes
from relax_mlir.lowering.tir_to_vector.reductions.strided import StridedWriter
from relax_mlir.lowering.tir_to_vector.reductions.variadic import (
    IDEMPOTENT,
    Choice,
    Sameness,
    VariadicReduction,
    match_variadic,
)

_EQUAL, _LESS_THAN = 0, 2
# Independent accumulators of each value, which hide latency.
_WIDE = 4
_LESS = 2


class VariadicWriter(StridedWriter):
    """Writes a variadic reduction."""

    def __init__(self, reduction: VariadicReduction, emit: Emitter) -> None:
        super().__init__(reduction.flat, reduction.vector, emit)
        self.reduction = reduction
        widest = max(bits_of(op.operands[0].type) for op in reduction.stores)
        self.lanes: int = max(1, min(self.lanes, emit.machine.vector_bits // widest))
        self._same = Sameness(reduction)
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
        for i, (store, choice) in enumerate(
            zip(self.reduction.stores, self.reduction.chosen, strict=True)
        ):
            if choice is None:
                name = store.operands[0].owner.operation.name
                values[i] = emit.op(name, [first[i], values[i]], values[i].type)

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
        for store, choice, start in zip(
            self.reduction.stores, self.reduction.chosen, first, strict=True
        ):
            name = store.operands[0].owner.operation.name
            type_ = Lanes({}, 0, lanes).typed(start.type)
            if choice is not None or name in IDEMPOTENT:
                begun.append(start if lanes == 1 else self.emit.splat(start, type_))
                continue
            identity = COMBINERS[name]
            number = identity if isinstance(identity, float) else identity(bits_of(start.type))
            begun.append(self.emit.constant(type_, number))
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
        type_ = ir.VectorType.get([lanes], _order_type())
        numbers = [ir.IntegerAttr.get(_order_type(), i) for i in range(lanes)]
        step = emit.constant_of(type_, ir.DenseElementsAttr.get(numbers, type_))
        # The step of a lane's values, and the lane in it.
        places = [place for order in orders for place in (order, step)]
        while lanes > 1:
            lanes //= 2
            dims = [[emit.part(v, at, lanes) for v in (*values, *places)] for at in (0, lanes)]
            low, high = dims
            count = len(values)
            values, places = self._merged(low[:count], high[:count], low[count:], high[count:])
        return [emit.extract(value, 0) for value in values]

    def _merged(
        self, low: Carried, high: Carried, low_places: Carried, high_places: Carried
    ) -> tuple[Carried, Carried]:
        """Combine two vectors of each value, and their steps."""
        emit, chosen = self.emit, self.reduction.chosen
        result = []
        for store, choice, a, b in zip(self.reduction.stores, chosen, low, high, strict=True):
            name = store.operands[0].owner.operation.name
            result.append(a if choice is not None else emit.op(name, [a, b], a.type))
        places = []
        for number, choice in enumerate(self._orders):
            here, there = (each[2 * number : 2 * number + 2] for each in (low_places, high_places))
            is_first = self._is_before(here, there)
            pairs = [self._swapped(is_first, a, b) for a, b in zip(low, high, strict=True)]
            before, after = [p[0] for p in pairs], [p[1] for p in pairs]
            condition = self._decide(choice, before, after)
            for i, other in enumerate(chosen):
                if other is not None and other.key == choice.key:
                    result[i] = self._chosen(choice, condition, before[i], after[i])
            for a, b in zip(here, there, strict=True):
                places.append(self._chosen(choice, condition, *self._swapped(is_first, a, b)))
        return result, places

    def _is_before(self, here: Carried, there: Carried) -> ir.Value:
        """Return whether places precede others: earlier steps, or lower lanes of the same step."""
        emit = self.emit
        (a, lane), (b, other) = here, there
        type_ = ir.VectorType.get(a.type.shape, emit.bool_type)

        def compare(predicate: int, x: ir.Value, y: ir.Value) -> ir.Value:
            attr = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)
            return emit.op("arith.cmpi", [x, y], type_, predicate=attr)

        lower = emit.both(compare(_EQUAL, a, b), compare(_LESS_THAN, lane, other))
        return emit.op("arith.ori", [compare(_LESS_THAN, a, b), lower], type_)

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

        def value_of(value: ir.Value) -> ir.Value:
            if value in held:
                return totals[held[value]]
            number = choice.added.get(self._same.key(value))
            if number is not None:
                return added[number]
            op = value.owner.operation
            like = totals[0].type
            if op.name == "arith.constant":
                single = self._anew(value)
                if not isinstance(like, ir.VectorType):
                    return single
                return self.emit.splat(single, ir.VectorType.get(like.shape, value.type))
            operands = [value_of(operand) for operand in op.operands]
            copy = op.clone()
            for position, operand in enumerate(operands):
                copy.operands[position] = operand
            if isinstance(like, ir.VectorType):
                copy.results[0].set_type(ir.VectorType.get(like.shape, value.type))
            return copy.results[0]

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
    if len(nests.nest.stores) < 2 or "reduction" not in nests.nest.types:
        return "it does not reduce several values"
    reduction = match_variadic(nests.nest)
    return Final(reduction) if isinstance(reduction, str) else reduction


VARIADIC_REDUCTION = one_nest(
    "reduction of several values",
    _match_first,
    lambda reduction, emit: VariadicWriter(reduction, emit).write([]),
)
