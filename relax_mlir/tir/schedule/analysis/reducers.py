"""Reduction blocks: the operation, its operands and identity, for one value or a tuple."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.tir.view import tree
from relax_mlir.tir.view.index import Indices


@dataclass(frozen=True)
class Update:
    """`B[...] = B[...] op value` of a reduction block.

    Attributes:
        load: the load of the element.
        combine: the operation.
        value: what is combined with it.
        store: the store.
        begin: the store of the init region.
        identity: the number that changes nothing.
    """

    load: ir.Operation
    combine: ir.Operation
    value: ir.Value
    store: ir.Operation
    begin: ir.Operation
    identity: ir.Attribute


def _integer(number: Callable[[int], int]) -> Callable[[ir.Type], ir.Attribute]:
    return lambda type_: ir.IntegerAttr.get(type_, number(type_.width))


def _float(number: float) -> Callable[[ir.Type], ir.Attribute]:
    return lambda type_: ir.FloatAttr.get(type_, number)


IDENTITIES: dict[str, Callable[[ir.Type], ir.Attribute]] = {
    "arith.addf": _float(0.0),
    "arith.mulf": _float(1.0),
    "arith.maximumf": _float(-math.inf),
    "arith.minimumf": _float(math.inf),
    "arith.addi": _integer(lambda width: 0),
    "arith.muli": _integer(lambda width: 1),
    "arith.maxsi": _integer(lambda width: -(1 << (width - 1))),
    "arith.minsi": _integer(lambda width: (1 << (width - 1)) - 1),
    "arith.maxui": _integer(lambda width: 0),
    "arith.minui": _integer(lambda width: -1),
    "arith.andi": _integer(lambda width: -1),
    "arith.ori": _integer(lambda width: 0),
}


def update_of(block: ir.Operation) -> Update | str:
    """Return how a reduction block reduces, or why that is not known."""
    body = [v.operation for v in tree.body_of(block).operations]
    begin = [v.operation for v in block.regions[1].blocks[0].operations]
    stores = [op for op in body if op.name == "memref.store"]
    starts = [op for op in begin if op.name == "memref.store"]
    if len(stores) != 1 or len(starts) != 1 or any(len(op.regions) for op in body):
        return "it does not store one element and begin with one store"
    store, start = stores[0], starts[0]
    value = store.operands[0]
    if isinstance(value.owner, ir.Block) or value.owner.operation.name not in IDENTITIES:
        return "what it stores is no sum, product, maximum or minimum"
    combine = value.owner.operation
    indices = Indices(tree.function_of(block))
    own = [store.operands[1], *map(indices.lift, list(store.operands)[2:])]
    for position, operand in enumerate(combine.operands):
        load = None if isinstance(operand.owner, ir.Block) else operand.owner.operation
        if load is None or load.name != "memref.load":
            continue
        if [load.operands[0], *map(indices.lift, list(load.operands)[1:])] != own:
            continue
        if len(list(operand.uses)) == 1 and len(list(value.uses)) == 1:
            identity = IDENTITIES[combine.name](value.type)
            other = combine.operands[1 - position]
            if _is_made_of(other, store.operands[1]):
                return "what it combines the element with is made of what it stores"
            return Update(load, combine, other, store, start, identity)
    return "what it stores is not the element combined with something"


def _is_made_of(value: ir.Value, buffer: ir.Value) -> bool:
    """Whether a value is computed of elements of a buffer."""
    seen: set[ir.Value] = set()
    pending = [value]
    while pending:
        each = pending.pop()
        if each in seen or isinstance(each.owner, ir.Block):
            continue
        seen.add(each)
        op = each.owner.operation
        if op.name == "memref.load" and op.operands[0] == buffer:
            return True
        pending += [inner for nested in tree.walk(op) for inner in nested.operands]
    return False


memref: ModuleType = submodule("dialects.memref")

Place = tuple[ir.Value, ...]


@dataclass(frozen=True)
class Part:
    """One of the elements of a reduction.

    Attributes:
        store: the store of the element.
        value: what is combined with it.
        begin: the store of the init region.
        identity: the number that changes nothing; None where what it begins with, taken in once
            more, changes nothing.
    """

    store: ir.Operation
    value: ir.Value
    begin: ir.Operation
    identity: ir.Attribute | None

    @property
    def buffer(self) -> ir.Value:
        """What holds the element."""
        return self.store.operands[1]


@dataclass(frozen=True)
class Leaf:
    """An operand, in what combines, that is an element or what is combined with it.

    Attributes:
        user: the operation, maybe inside a region.
        operand: the position.
        part: the number of the element.
        new: whether it is what is combined with the element.
    """

    user: ir.Operation
    operand: int
    part: int
    new: bool


@dataclass(frozen=True)
class Reducer:
    """`B0[...], B1[...] = f((B0[...], B1[...]), (value0, value1))` of a reduction block.

    Attributes:
        parts: its elements, in the order of their stores.
        leaves: where what combines them takes them.
    """

    parts: tuple[Part, ...]
    leaves: tuple[Leaf, ...]

    def combine(self, block: ir.Block, old: Sequence[Place], new: Sequence[Place]) -> None:
        """Write `f(old, new)` and its stores to `old` at the current insertion point.

        Args:
            block: the body of the reduction, of which the operations are copied.
            old: for each part a buffer and the indices of its element.
            new: likewise of what is combined with it.
        """
        at = ir.InsertionPoint.current
        places = {(leaf.user, leaf.operand): leaf for leaf in self.leaves}
        users = {leaf.user for leaf in self.leaves}
        values: dict[ir.Value, ir.Value] = {}
        for view in block.operations:
            op = view.operation
            if not any(each in users for each in tree.walk(op)):
                continue
            copy = op.clone(ip=at)
            pairs = list(zip(tree.walk(op), tree.walk(copy), strict=True))
            for source, target in pairs:
                for number, operand in enumerate(list(source.operands)):
                    leaf = places.get((source, number))
                    if leaf is not None:
                        buffer, *items = (new if leaf.new else old)[leaf.part]
                        with ir.InsertionPoint(target), ir.Location.unknown():
                            target.operands[number] = memref.load(buffer, items)
                    elif operand in values:
                        target.operands[number] = values[operand]
            for _, target in reversed(pairs[1:]):
                if _is_plain(target) and not any(list(v.uses) for v in target.results):
                    target.erase()
            values.update(zip(op.results, copy.results, strict=True))
        for part, (buffer, *items) in zip(self.parts, old, strict=True):
            memref.store(values[part.store.operands[0]], buffer, items)


def reducer_of(block: ir.Operation) -> Reducer | str:
    """Return how a reduction block reduces its elements, or why that is not known.

    Each element is a sum, a product, a minimum or a maximum by itself; or two of them are the place
    and the number of a minimum or a maximum, as TVM's reducers of two values have them.
    """
    body = [v.operation for v in tree.body_of(block).operations]
    stores = [op for op in body if op.name == "memref.store"]
    begin = [v.operation for v in block.regions[1].blocks[0].operations]
    starts = {op.operands[1]: op for op in begin if op.name == "memref.store"}
    buffers = [op.operands[1] for op in stores]
    if (
        not stores
        or len(set(buffers)) != len(stores)
        or set(buffers) != set(starts)
        or len(starts) != sum(op.name == "memref.store" for op in begin)
        or (len(stores) == 1 and any(len(op.regions) for op in body))
    ):
        return "it does not store one element of each buffer and begin with one store of each"
    if any(op.name == "memref.store" for top in body for op in tree.walk(top) if op not in stores):
        return "it stores under a condition"
    match = _Match(block, body, stores)
    if match.places is None:
        return "what it stores has different indices"
    parts: dict[int, Part] = {}
    for number, store in enumerate(stores):
        if number in parts:
            continue
        scalar = match.scalar(number)
        if scalar is not None:
            value, identity = scalar
            parts[number] = Part(store, value, starts[store.operands[1]], identity)
            continue
        free = [n for n in range(len(stores)) if n not in parts and n != number]
        other = next((n for n in free if match.pair(number, n) or match.pair(n, number)), None)
        for each in () if other is None else (number, other):
            own = stores[each]
            value = own.operands[0].owner.operation.operands[2]
            parts[each] = Part(own, value, starts[own.operands[1]], None)
    if len(parts) != len(stores):
        return "what it stores is no sum, product, maximum or minimum"
    if not match.all_used():
        return "what it stores is not the element combined with something"
    return Reducer(tuple(parts[n] for n in range(len(stores))), tuple(match.leaves))


_EQUAL = {"arith.cmpf": (1,), "arith.cmpi": (0,)}
_MORE = {"arith.cmpf": (2, 9), "arith.cmpi": (4, 8)}
_MORE_OR_EQUAL = {"arith.cmpf": (3, 10), "arith.cmpi": (5, 9)}
_LESS = {"arith.cmpf": (4, 11), "arith.cmpi": (2, 6)}
_LESS_OR_EQUAL = {"arith.cmpf": (5, 12), "arith.cmpi": (3, 7)}


class _Match:
    """Finds what the stores of a reduction's body combine."""

    def __init__(
        self, block: ir.Operation, body: list[ir.Operation], stores: list[ir.Operation]
    ) -> None:
        self.indices = Indices(tree.function_of(block))
        self.body, self.stores = body, stores
        self.leaves: list[Leaf] = []
        own = [[*map(self.indices.lift, list(op.operands)[2:])] for op in stores]
        self.places = own[0] if all(each == own[0] for each in own) else None

    def scalar(self, number: int) -> tuple[ir.Value, ir.Attribute] | None:
        """Return what is combined with an element alone, and the number that changes nothing."""
        value = self.stores[number].operands[0]
        op = _owner(value)
        if op is None or op.name not in IDENTITIES:
            return None
        for position, operand in enumerate(op.operands):
            if self._old(operand) == number:
                self.leaves.append(Leaf(op, position, number, False))
                self.leaves.append(Leaf(op, 1 - position, number, True))
                return op.operands[1 - position], IDENTITIES[op.name](value.type)
        return None

    def pair(self, place: int, number: int) -> bool:
        """Whether two elements are the place and the number of a minimum or a maximum."""
        chosen = [_owner(self.stores[each].operands[0]) for each in (place, number)]
        for each, op in zip((place, number), chosen, strict=True):
            if op is None or op.name != "arith.select" or self._old(op.operands[1]) != each:
                return False
        first, second = (op for op in chosen if op is not None)
        self._new = {place: first.operands[2], number: second.operands[2]}
        leaves: list[Leaf] = []
        for each, op in ((place, first), (number, second)):
            leaves += [Leaf(op, 1, each, False), Leaf(op, 2, each, True)]
        for more, more_or_equal in ((_MORE, _MORE_OR_EQUAL), (_LESS, _LESS_OR_EQUAL)):
            more_own: list[Leaf] = []
            simple = self._compares(first.operands[0], number, more_or_equal, more_own)
            if not simple:
                more_own = []
                if not self._first(first.operands[0], place, number, more, more_own):
                    continue
            kinds = (more_or_equal,) if simple else (more_or_equal, more)
            for kind in kinds:
                last: list[Leaf] = []
                if self._compares(second.operands[0], number, kind, last):
                    self.leaves += [*leaves, *more_own, *last]
                    return True
            if not simple:
                last = []
                if self._first(second.operands[0], place, number, more, last):
                    self.leaves += [*leaves, *more_own, *last]
                    return True
        return False

    def all_used(self) -> bool:
        """Whether the elements are read only where they are combined, before they are stored."""
        taken = {(leaf.user, leaf.operand) for leaf in self.leaves if not leaf.new}
        own = {op.operands[1] for op in self.stores}
        for position, top in enumerate(self.body):
            for op in tree.walk(top):
                if op.name in ("tir.reads", "tir.writes", "memref.store"):
                    continue
                if not any(operand in own for operand in op.operands):
                    continue
                number = self._old(op.results[0]) if op.name == "memref.load" else None
                if number is None or position > self.body.index(self.stores[number]):
                    return False
                if any(
                    (u.owner.operation, u.operand_number) not in taken for u in op.results[0].uses
                ):
                    return False
        results = [op.operands[0] for op in self.stores]
        return all(len(list(value.uses)) == 1 for value in results)

    def _old(self, value: ir.Value) -> int | None:
        """Return of which element a value is the load, if it is."""
        op = _owner(value)
        if op is None or op.name != "memref.load" or self.places is None:
            return None
        for number, store in enumerate(self.stores):
            if op.operands[0] == store.operands[1]:
                items = [*map(self.indices.lift, list(op.operands)[1:])]
                return number if items == self.places else None
        return None

    def _compares(
        self, value: ir.Value, number: int, kinds: dict[str, tuple[int, ...]], leaves: list[Leaf]
    ) -> bool:
        """Whether a condition compares an element with what is combined with it."""
        op = _owner(value)
        if op is None or op.name not in kinds:
            return False
        if ir.IntegerAttr(op.attributes["predicate"]).value not in kinds[op.name]:
            return False
        if self._old(op.operands[0]) != number or not self._same(op.operands[1], self._new[number]):
            return False
        leaves += [Leaf(op, 0, number, False), Leaf(op, 1, number, True)]
        return True

    def _first(
        self, value: ir.Value, place: int, number: int, more: dict[str, tuple[int, ...]],
        leaves: list[Leaf],
    ) -> bool:  # fmt: skip
        """Whether a condition is `x1 > y1 or x1 == y1 and x0 < y0`."""
        either = _branches(value)
        if either is None or not self._compares(either[0], number, more, leaves):
            return False
        both = _branches(either[2])
        return (
            _is_bool(either[1], True)
            and both is not None
            and _is_bool(both[2], False)
            and self._compares(both[0], number, _EQUAL, leaves)
            and self._compares(both[1], place, _LESS, leaves)
        )

    def _same(self, value: ir.Value, other: ir.Value) -> bool:
        """Whether two values are computed alike; elements stored here are not among them."""
        if value == other:
            return True
        op, twin = _owner(value), _owner(other)
        if value.type != other.type or op is None or twin is None:
            return False
        if isinstance(value.type, ir.IndexType):
            return self.indices.lift(value) == self.indices.lift(other)
        return (
            op.name == twin.name
            and _is_plain(op)
            and _attributes(op) == _attributes(twin)
            and len(op.operands) == len(twin.operands)
            and all(map(self._same, op.operands, twin.operands))
        )


def _owner(value: ir.Value) -> ir.Operation | None:
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def _is_plain(op: ir.Operation) -> bool:
    """Whether an operation only computes or loads."""
    return op.name == "memref.load" or op.name.split(".")[0] in ("arith", "math")


def _branches(value: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value] | None:
    """Return the condition of an `scf.if` with one result, and what its branches give."""
    op = _owner(value)
    if op is None or op.name != "scf.if" or len(op.results) != 1:
        return None
    yields = [list(region.blocks[0].operations)[-1].operation for region in op.regions]
    return op.operands[0], yields[0].operands[0], yields[1].operands[0]


def _is_bool(value: ir.Value, wanted: bool) -> bool:
    op = _owner(value)
    if op is None or op.name != "arith.constant":
        return False
    return bool(ir.BoolAttr(op.attributes["value"]).value) == wanted


def _attributes(op: ir.Operation) -> dict[str, ir.Attribute]:
    return {name: op.attributes[name] for name in op.attributes}
