"""Matching attention: products, scores, softmax of rows, and the weighted sum of values.

The nests are those of the legalisation, in order. Nothing else uses the buffers between them, so a
kernel needs only blocks of these.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.analysis import Access, Nest, is_used_only_in, match_nest
from relax_mlir.lowering.tir_to_vector.contraction.pattern import match_product
from relax_mlir.lowering.tir_to_vector.flat import (
    FlatAccess,
    FlatNest,
    NotFlat,
    extent_of,
    flat_access,
    flatten_nest,
)
from relax_mlir.lowering.walk import defining_op, operands_of, root

LOWEST = float("-inf")
_WIDEN = "arith.extf"
# Ordered equality of arith.cmpf, and predicates of arith.cmpi.
_EQUAL = 1
_DIFFERS, _LESS, _AT_MOST = 1, 2, 3


@dataclass
class Scores:
    """The modification of scores, in place.

    Attributes:
        factors: loop-invariant factors.
        added: loads of the biases.
        widened: the conversion of each, or None.
        causal: whether a query sees only keys up to its own number plus `offset`.
        offset: that value, loop-invariant; None for zero.
        window: how many keys before that it sees; None for all.
        seen: the load of a mask; None for none.
        unseen: the score of a masked key.
    """

    factors: list[ir.Value] = field(default_factory=list)
    added: list[Access] = field(default_factory=list)
    widened: list[str | None] = field(default_factory=list)
    causal: bool = False
    offset: ir.Value | None = None
    window: int | None = None
    seen: Access | None = None
    unseen: float = LOWEST


def is_constant(value: ir.Value, number: float) -> bool:
    """Whether a value is a floating-point constant."""
    return _float(value) == number


def _float(value: ir.Value) -> float | None:
    """Return the number of a floating-point constant."""
    op = defining_op(value, "arith.constant")
    attr = None if op is None else op.attributes["value"]
    return attr.value if isinstance(attr, ir.FloatAttr) else None


def match_scores(nest: Nest, buffer: ir.Value) -> Scores | None:
    """Return the modification of scores of a nest, None if it is none.

    Args:
        nest: its last two iterators are queries and keys.
        buffer: of the products, and then of the scores.
    """
    stores = [store for store in nest.stores if store.buffer == buffer]
    loads = {load.op.results[0]: load for load in nest.loads}
    if len(stores) != 1 or len(nest.stores) != 1 or "reduction" in nest.types or nest.has_init():
        return None
    result = Scores()
    value = stores[0].op.operands[0]
    while (hidden := operands_of(value, "arith.select")) is not None:
        condition, value, other = hidden
        if result.seen is not None:
            return None
        number, result.seen = _float(other), _flag(loads, condition)
        if result.seen is not None and number is not None:
            result.unseen = number
        elif result.causal or number != LOWEST or not _visible(result, condition, nest):
            return None
    while (pair := operands_of(value, "arith.addf")) is not None:
        value, summand = pair[0], _summand(loads, pair[1], buffer)
        if summand is None:
            value, summand = pair[1], _summand(loads, pair[0], buffer)
        if summand is None:
            return None
        load, widen = summand
        result.added.insert(0, load)
        result.widened.insert(0, widen)
    while (pair := operands_of(value, "arith.mulf")) is not None:
        if not is_fixed(pair[1], nest):
            pair.reverse()
        if not is_fixed(pair[1], nest):
            return None
        value, factor = pair
        result.factors.append(factor)
    load = loads.get(value)
    if load is None or load.buffer != buffer or load.exprs != stores[0].exprs:
        return None
    return result


def _flag(loads: dict[ir.Value, Access], condition: ir.Value) -> Access | None:
    """Return the load of the byte of a condition, None for other conditions."""
    pair = _comparison(condition, _DIFFERS)
    if pair is None or operands_of(pair[1], "arith.constant") is None:
        return None
    zero = ir.IntegerAttr(pair[1].owner.operation.attributes["value"]).value == 0
    return loads.get(pair[0]) if zero else None


def _summand(
    loads: dict[ir.Value, Access], value: ir.Value, buffer: ir.Value
) -> tuple[Access, str | None] | None:
    wide = operands_of(value, _WIDEN)
    load = loads.get(wide[0] if wide else value)
    if load is None or load.buffer == buffer:
        return None
    return load, _WIDEN if wide else None


def is_fixed(value: ir.Value, nest: Nest) -> bool:
    """Whether a value depends on neither iterators nor memory."""
    op = defining_op(value)
    if op is None:
        return value.owner.owner.operation.name == "func.func"
    if op.name.startswith(("tir.symbol", "arith.constant")):
        return True
    if not op.name.startswith(("arith.", "math.")) or len(op.regions):
        return False
    return all(is_fixed(operand, nest) for operand in op.operands)


def _visible(scores: Scores, condition: ir.Value, nest: Nest) -> bool:
    """Match `key <= query + offset`, and with it `query + offset - key < window`."""
    queries, keys = list(nest.block.regions[0].blocks[0].arguments)[len(nest.types) - 2 :]
    both = operands_of(condition, "arith.andi")
    pair = _comparison(both[0] if both else condition, _AT_MOST)
    if pair is None or _number(pair[0]) != keys:
        return False
    row = pair[1]
    terms = operands_of(row, "arith.addi")
    if terms is not None:
        row, scores.offset = terms
        if not is_fixed(scores.offset, nest):
            return False
    if _number(row) != queries:
        return False
    scores.causal = True
    if both is None:
        return True
    within = _comparison(both[1], _LESS)
    if within is None:
        return False
    distance = operands_of(within[0], "arith.subi")
    if distance is None or distance[0] != pair[1] or _number(distance[1]) != keys:
        return False
    if operands_of(within[1], "arith.constant") is None:
        return False
    scores.window = ir.IntegerAttr(within[1].owner.operation.attributes["value"]).value
    return True


def _comparison(value: ir.Value, predicate: int) -> list[ir.Value] | None:
    op = defining_op(value, "arith.cmpi")
    if op is None or ir.IntegerAttr(op.attributes["predicate"]).value != predicate:
        return None
    return list(op.operands)


def _number(value: ir.Value) -> ir.Value:
    """Return the iterator of a value, or the value itself."""
    cast = operands_of(value, "arith.index_cast")
    return cast[0] if cast else value


@dataclass
class Place:
    """The layout of an operand.

    Attributes:
        buffer: its buffer.
        offset: of its first element.
        outer: strides of the outer loops.
        row: stride from one query or key to the next.
        column: stride along a query, key or value; of a bias, from key to key.
        widen: the conversion to the type of the sum, or None.
    """

    buffer: ir.Value
    offset: SymExpr
    outer: list[SymExpr]
    row: SymExpr
    column: SymExpr
    widen: str | None = None


@dataclass
class Attention:
    """Nests that compute `softmax(scores(Q K)) V` for every step of some outer loops.

    Attributes:
        nests: the nests, in order.
        outer: extents of the outer loops.
        rows, keys, depth, width: numbers of queries and of keys, lengths of a key and of a value.
        query, key, value, out: the operands.
        scores: the modification of scores.
        added: the biases.
        seen: the mask of bytes, or None.
        zeros: whether a query whose keys are all masked gets zeros; else it gets NaN.
        element: the type of the sum.
    """

    nests: list[Nest]
    outer: list[SymExpr]
    rows: SymExpr
    keys: SymExpr
    depth: SymExpr
    width: SymExpr
    query: Place
    key: Place
    value: Place
    out: Place
    scores: Scores
    added: list[Place]
    seen: Place | None
    zeros: bool
    element: ir.Type


class _Differs(Exception):
    """The nests are no attention."""


def match_attention(tops: Sequence[ir.Operation], machine: Machine) -> Attention | None:
    """Return the attention that some loops begin with, None if there is none."""
    try:
        attention = _Matcher(tops).match()
    except (_Differs, NotFlat):
        return None
    return None if machine.lanes(attention.element) is None else attention


def _require(condition: bool) -> None:
    if not condition:
        raise _Differs


def _required_operands(value: ir.Value, name: str) -> list[ir.Value]:
    """Return the operands of the operation of a value, which must have this name."""
    operands = operands_of(value, name)
    if operands is None:
        raise _Differs
    return operands


def _product(flat: FlatNest) -> tuple[list[tuple[FlatAccess, str | None]], FlatAccess]:
    """Return the factors of a sum of products that begins with zero, and the sum."""
    product = match_product(flat)
    if isinstance(product, str):
        raise _Differs
    _require(flat.combiner == "arith.addf")
    _require(flat.init is not None and ir.FloatAttr(flat.init).value == 0.0)
    return product


class _Matcher:
    """Matches nests one by one; S are the scores, with outer loops, query and key as dimensions."""

    def __init__(self, tops: Sequence[ir.Operation]) -> None:
        self._tops = tops
        self.nests: list[Nest] = []
        self._between: list[ir.Value] = []

    def match(self) -> Attention:
        first = self._flat()
        self._scores = first.written
        self._between.append(self._scores)
        dims = _dims(first.nest, self._scores)
        (query, key), depth = self._products(first, dims)
        self._extents = [self._extent(first, dim) for dim in dims]
        scores, places = self._summands()
        peak = self._row_of("arith.maximumf", LOWEST)
        safe = self._powers(peak)
        zeros = self._shares(self._row_of("arith.addf", 0.0))
        _require(safe == zeros)
        value, out, width = self._sum()
        self._only_here(out, [query, key, value, *places])
        *outer, rows, keys = self._extents
        seen = None if scores.seen is None else places.pop()
        return Attention(
            self.nests, outer, rows, keys, depth, width, query, key, value, out, scores, places,
            seen, zeros, first.value.type,
        )  # fmt: skip

    def _next(self) -> Nest:
        _require(len(self.nests) < len(self._tops))
        nest = match_nest(self._tops[len(self.nests)])
        if isinstance(nest, str):
            raise _Differs
        self.nests.append(nest)
        return nest

    def _flat(self) -> FlatNest:
        return flatten_nest(self._next())

    def _extent(self, flat: FlatNest, iterator: int) -> SymExpr:
        return flat.iters[flat.nest.loop_of[iterator]].extent

    def _products(self, flat: FlatNest, dims: list[int]) -> tuple[tuple[Place, Place], SymExpr]:
        sides, _ = _product(flat)
        _require(len(dims) >= 2 and len(flat.iters) == len(dims) + 1)
        *outer, i, j = dims
        (depth,) = set(range(len(flat.iters))) - set(dims)
        for (a, wa), (b, wb) in (sides, sides[::-1]):
            q, k = _strides(flat, a), _strides(flat, b)
            if q[j] == 0 and k[i] == 0 and q[i] != 0 and k[j] != 0:
                query = _place(a, q, [*outer, i, depth], wa)
                key = _place(b, k, [*outer, j, depth], wb)
                return (query, key), self._extent(flat, depth)
        raise _Differs

    def _summands(self) -> tuple[Scores, list[Place]]:
        """Match the modification of scores; return it, and the biases and then the mask."""
        nest = self._next()
        dims = _dims(nest, self._scores)
        _require(dims == list(range(len(nest.types))))
        extents = [extent_of(nest.loops[loop].operands[1]) for loop in nest.loop_of]
        _require(extents == self._extents)
        scores = match_scores(nest, self._scores)
        if scores is None:
            raise _Differs
        places = []
        seen = [] if scores.seen is None else [scores.seen]
        widened = [*scores.widened, *(None for _ in seen)]
        for load, widen in zip([*scores.added, *seen], widened, strict=True):
            flat = flat_access(load, dims)
            _require(flat.strides[-1] in (0, 1))
            places.append(_place(flat, flat.strides, dims, widen))
        return scores, places

    def _same_walk(self, flat: FlatNest) -> list[int]:
        dims = _dims(flat.nest, self._scores)
        _require([self._extent(flat, dim) for dim in dims] == self._extents)
        return dims

    def _row_of(self, combiner: str, init: float) -> ir.Value:
        """Match the reduction of each row of S; return its results."""
        flat = self._flat()
        dims = self._same_walk(flat)
        _require(flat.total is not None and flat.combiner == combiner)
        _require(flat.init is not None and ir.FloatAttr(flat.init).value == init)
        _require(_is_load(flat.value, self._scores))
        _require(_dims(flat.nest, flat.written) == dims[:-1])
        self._between.append(flat.written)
        return flat.written

    def _powers(self, peak: ir.Value) -> bool:
        flat = self._in_place(peak)
        (raised,) = _required_operands(flat.value, "math.exp")
        pair = _required_operands(raised, "arith.subf")
        _require(_is_load(pair[0], self._scores))
        return self._replaced(flat, pair[1], peak, LOWEST, 0.0)

    def _shares(self, total: ir.Value) -> bool:
        flat = self._in_place(total)
        pair = _required_operands(flat.value, "arith.divf")
        _require(_is_load(pair[0], self._scores))
        return self._replaced(flat, pair[1], total, 0.0, 1.0)

    def _in_place(self, rows: ir.Value) -> FlatNest:
        flat = self._flat()
        dims = self._same_walk(flat)
        _require(flat.written == self._scores and flat.total is None)
        _require(_dims(flat.nest, rows) == dims[:-1])
        return flat

    def _replaced(
        self, flat: FlatNest, value: ir.Value, rows: ir.Value, special: float, other: float
    ) -> bool:
        """Whether a special value of the rows is replaced."""
        choice = operands_of(value, "arith.select")
        if choice is None:
            _require(_is_load(value, rows))
            return False
        condition, chosen, kept = choice
        pair = _required_operands(condition, "arith.cmpf")
        _require(_is_load(pair[0], rows))
        predicate = ir.IntegerAttr(condition.owner.operation.attributes["predicate"]).value
        _require(predicate == _EQUAL and is_constant(pair[1], special))
        _require(is_constant(chosen, other) and _is_load(kept, rows))
        return True

    def _sum(self) -> tuple[Place, Place, SymExpr]:
        flat = self._flat()
        sides, out = _product(flat)
        dims = self._same_walk(flat)
        *outer, i, j = dims
        shares = [access.buffer == self._scores for access, _ in sides]
        _require(sum(shares) == 1 and len(flat.iters) == len(dims) + 1)
        access, widen = sides[shares.index(False)]
        (width,) = set(range(len(flat.iters))) - set(dims)
        v, to = _strides(flat, access), _strides(flat, out)
        _require(v[i] == 0 and to[j] == 0)
        value = _place(access, v, [*outer, j, width], widen)
        results = [*outer, i, width]
        target = self._rounded(flat, out.buffer, results) or _place(out, to, results)
        return value, target, self._extent(flat, width)

    def _rounded(self, flat: FlatNest, buffer: ir.Value, roles: list[int]) -> Place | None:
        """Match the conversion of sums to a narrower type, if there is one."""
        count = len(self.nests)
        if defining_op(buffer) is None or count == len(self._tops):
            return None
        where = _dims(flat.nest, buffer)
        try:
            last = self._flat()
            narrow = operands_of(last.value, "arith.truncf")
            _require(narrow is not None and _is_load(narrow[0], buffer))
        except (_Differs, NotFlat):
            del self.nests[count:]
            return None
        dims = _dims(last.nest, buffer)
        _require(len(last.iters) == len(dims) and sorted(where) == sorted(roles))
        extents = [self._extent(flat, dim) for dim in where]
        _require([self._extent(last, dim) for dim in dims] == extents)
        access = last.accesses[last.store]
        self._between.append(buffer)
        return _place(access, _strides(last, access), [dims[where.index(role)] for role in roles])

    def _only_here(self, out: Place, read: list[Place]) -> None:
        """Check that nothing else uses the buffers between, and the result is none of them."""
        for buffer in self._between:
            _require(defining_op(buffer, "memref.alloc") is not None)
            _require(is_used_only_in(buffer, self.nests))
        _require(root(out.buffer) not in self._between)
        _require(all(root(place.buffer) != root(out.buffer) for place in read))
        _require(all(root(place.buffer) not in self._between for place in read))


def _is_load(value: ir.Value, buffer: ir.Value) -> bool:
    operands = operands_of(value, "memref.load")
    return operands is not None and operands[0] == buffer


def _place(
    access: FlatAccess, strides: Sequence[SymExpr], dims: Sequence[int], widen: str | None = None
) -> Place:
    """Return an operand whose outer loops, rows and columns walk strides at these positions."""
    *outer, row, column = (strides[dim] for dim in dims)
    return Place(access.buffer, access.offset, outer, row, column, widen)


def _strides(flat: FlatNest, access: FlatAccess) -> list[SymExpr]:
    """Return the strides of an access by iterator of the block."""
    return [access.strides[loop] for loop in flat.nest.loop_of]


def _dims(nest: Nest, buffer: ir.Value) -> list[int]:
    """Return the iterator of each dimension of a buffer, the same at all accesses."""
    accesses = (*nest.loads, *nest.stores)
    walks = {tuple(access.iters) for access in accesses if access.buffer == buffer}
    _require(len(walks) == 1)
    (iters,) = walks
    plain = [i for i in iters if i is not None and i >= 0]
    _require(len(plain) == len(iters) == len(set(plain)))
    return plain
