"""Nests over flat memory: each access is an offset and a stride for each iterator."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.lowering.tir_to_llvm.expand_copy import is_row_major
from relax_mlir.lowering.tir_to_vector.analysis import (
    BRANCH,
    ELEMENTWISE,
    QUOTIENTS,
    Access,
    Affine,
    Nest,
    affine_forms,
    is_within,
    known_nests,
    match_nest,
    operations,
    result_of,
)
from relax_mlir.lowering.tir_to_vector.index_emit import constant_or_value, is_constant
from relax_mlir.lowering.tir_to_vector.symbols import symbolic
from relax_mlir.lowering.walk import defining_op, root

_INDEX_OPS = ("arith.constant", "arith.addi", "arith.subi", "arith.muli", "tir.symbol")
_ZERO, _ONE = SymExpr.const(0), SymExpr.const(1)
# Arguments of a block as sums of iterators, each with its factor.
Terms = Mapping[ir.Value, dict[int, SymExpr]]
# Indices that are no linear function of the iterators, and what one step of each is in memory.
Nonlinear = list[tuple[ir.Value, SymExpr]]
# How two values are combined, the identity of floats, and of integers given their width.
COMBINERS = {
    "arith.addf": 0.0, "arith.mulf": 1.0,
    "arith.maximumf": float("-inf"), "arith.minimumf": float("inf"),
    "arith.maxnumf": float("-inf"), "arith.minnumf": float("inf"),
    "arith.addi": lambda _: 0, "arith.muli": lambda _: 1,
    "arith.maxsi": lambda width: -(1 << (width - 1)), "arith.minsi": lambda w: (1 << (w - 1)) - 1,
    "arith.maxui": lambda _: 0, "arith.minui": lambda _: -1,
    "arith.andi": lambda _: -1, "arith.ori": lambda _: 0, "arith.xori": lambda _: 0,
}  # fmt: skip


def identity(combiner: str, element: ir.Type) -> float:
    """Return the identity of a combiner for elements of a type."""
    number = COMBINERS[combiner]
    if isinstance(number, float):
        return number
    return number(64 if isinstance(element, ir.IndexType) else element.width)


class NotFlat(Exception):
    """A nest that has no flat form; the message says why."""


@dataclass
class FlatAccess:
    """The place of an access: `offset + sum(strides[i] * i)` in a row-major buffer.

    With `in_rows` the buffer has a block of rows, counted from the block's first.
    """

    buffer: ir.Value
    offset: SymExpr
    strides: list[SymExpr]
    in_rows: bool = False


@dataclass
class FlatIter:
    """An iterator: its extent, and whether it reduces."""

    extent: SymExpr
    reduction: bool


@dataclass
class FlatNest:
    """A block over flat memory.

    Attributes:
        nest: the original nest.
        iters: outermost first.
        accesses: for each load and store operation.
        store: the store.
        total: for a reduction the load of the sum.
        value: for a reduction the operand of the combiner, else what is stored.
        slice: the operations that compute the value, in order.
        init: a reduction's initial value, None for the buffer's contents.
        counters: for iterators whose value is computed with, their position; None for the constant
            0.
        final: whether the caller sees what it writes, and nothing else in the function uses it.
    """

    nest: Nest
    iters: list[FlatIter]
    accesses: dict[ir.Operation, FlatAccess]
    store: ir.Operation
    total: ir.Operation | None
    value: ir.Value
    slice: list[ir.Operation]
    init: ir.Attribute | None
    counters: dict[ir.Value, int | None] = field(default_factory=dict)
    final: bool = False

    def slice_of(self, value: ir.Value) -> list[ir.Operation]:
        """Return the operations that compute a value from loads, including these, in order."""
        needed = {value}
        for op in reversed(self.slice):
            if op.results[0] in needed and op not in self.accesses:
                needed.update(op.operands)
        return [op for op in self.slice if op.results[0] in needed]

    def walked(
        self, strides: Callable[[FlatAccess], list[SymExpr]], iters: list[FlatIter], **changes: Any
    ) -> "FlatNest":
        """Return the nest over other iterators, given the strides of accesses, with changes."""
        accesses = {op: replace(x, strides=strides(x)) for op, x in self.accesses.items()}
        return replace(self, iters=iters, accesses=accesses, **changes)

    @property
    def combiner(self) -> str:
        """The name of the operation that combines."""
        return self.store.operands[0].owner.operation.name

    @property
    def written(self) -> ir.Value:
        """The buffer that it writes."""
        return self.accesses[self.store].buffer


def flatten_nest(nest: Nest) -> FlatNest:
    """Return the flat form of a nest; the same one for the same nest while nothing changes.

    Raises:
        NotFlat: it has several stores, an address computed from data, or a size without a name.
    """
    known = known_nests()
    if known is None:
        return _flatten(nest)
    if id(nest) not in known.flat:
        try:
            known.flat[id(nest)] = nest, _flatten(nest)
        except NotFlat as why:
            known.flat[id(nest)] = nest, str(why)
    _, flat = known.flat[id(nest)]
    if isinstance(flat, str):
        raise NotFlat(flat)
    return flat


def flattened(op: ir.Operation) -> FlatNest | None:
    """Return the flat form of the nest that an operation is, None if it has none."""
    nest = match_nest(op)
    if isinstance(nest, str):
        return None
    try:
        return flatten_nest(nest)
    except NotFlat:
        return None


def _flatten(nest: Nest) -> FlatNest:
    if len(nest.stores) != 1:
        raise NotFlat(f"it stores {len(nest.stores)} times")
    if any(kind not in ("spatial", "reduction") for kind in nest.types):
        raise NotFlat("it has an iterator that neither maps nor reduces")
    store = nest.stores[0]
    order = nest.order
    iters = iterators(nest)
    accesses = {access.op: flat_access(access, order) for access in (*nest.loads, store)}
    value, total, init = store.op.operands[0], None, None
    if "reduction" in nest.types:
        total, value = split_reduction(nest, store)
        inits = init_of(nest, store)
        init = inits and inits[0]
    elif nest.has_init():
        raise NotFlat("it has an init region and no reduction")
    flat = FlatNest(nest, iters, accesses, store.op, total, value, slice_of(nest, value), init)
    _check_writes(flat)
    flat.counters = counters_of(flat, [value])
    flat.final = _is_final(flat)
    return flat


def iterators(nest: Nest) -> list[FlatIter]:
    """Return a nest's iterators, in the order of its loops.

    Raises:
        NotFlat: an extent has no name.
    """
    return [
        FlatIter(extent_of(nest.loops[nest.loop_of[i]].operands[1]), nest.types[i] == "reduction")
        for i in nest.order
    ]


def counters_of(flat: FlatNest, values: Sequence[ir.Value]) -> dict[ir.Value, int | None]:
    """Return the block's arguments that these values are computed with, and their positions."""
    arguments = list(flat.nest.block.regions[0].blocks[0].arguments)
    used = {value for op in flat.slice if op not in flat.accesses for value in op.operands}
    used.update(values)
    return {arguments[i]: n for n, i in enumerate(flat.nest.order) if arguments[i] in used}


def _is_final(flat: FlatNest) -> bool:
    buffer, block = flat.written, flat.nest.block
    if not isinstance(buffer.owner, ir.Block):
        return False
    users = (use.owner.operation for use in buffer.uses)
    return all(op.parent is not None and op.parent.operation == block for op in users)


def extent_of(value: ir.Value) -> SymExpr:
    """Return a loop's extent.

    Raises:
        NotFlat: it has no name.
    """
    result = symbolic(value)
    if result is None:
        raise NotFlat("a loop's extent is no expression of the function's symbols")
    return result


def inner_dims(buffer: ir.Value) -> list[SymExpr]:
    """Return the dimensions of a row-major buffer after the first.

    Raises:
        NotFlat: one has no name, or the buffer has gaps.
    """
    type_ = buffer.type
    if not is_row_major(type_):
        raise NotFlat("a buffer is not row-major")
    if type_.rank <= 1:
        return []
    owner = buffer.owner
    known = owner.owner.attributes if isinstance(owner, ir.Block) else owner.operation.attributes
    if isinstance(owner, ir.Block):
        number = list(owner.arguments).index(buffer)
        known = known["arg_attrs"][number] if "arg_attrs" in known else {}
    if "tir.shape" in known:
        return list(known["tir.shape"].dims)[1:]
    if any(type_.is_dynamic_dim(i) for i in range(1, type_.rank)):
        raise NotFlat("a buffer's dimension has no name")
    return [SymExpr.const(dim) for dim in type_.shape[1:]]


def row_major_strides(buffer: ir.Value) -> list[SymExpr]:
    """Return the strides of a row-major buffer.

    Raises:
        NotFlat: as `inner_dims`.
    """
    dims = inner_dims(buffer)
    return [product(dims[axis:]) for axis in range(len(dims) + 1)]


def flat_access(access: Access, order: list[int]) -> FlatAccess:
    """Return where an access is, with strides for iterators in the given order.

    Raises:
        NotFlat: its address is no linear function of them.
    """
    arguments = list(access.op.block.arguments)
    flat, rest = linear_address(access, {arguments[i]: {n: _ONE} for n, i in enumerate(order)})
    if rest:
        raise NotFlat("it computes an index from data, or with a quotient")
    return flat


def linear_address(
    access: Access, terms: Terms, quotients: Mapping[ir.Value, tuple[int, int]] | None = None,
    count: int | None = None,
) -> tuple[FlatAccess, Nonlinear]:  # fmt: skip
    """Return the linear part of an address, and the indices that are not linear.

    `terms` and `quotients` are those of `linear_index`, `count` the number of iterators, if they
    are more than the block's.

    Raises:
        NotFlat: a dimension of the buffer has no name.
    """
    offset, strides, stride = _ZERO, [_ZERO] * (len(terms) if count is None else count), _ONE
    rest: Nonlinear = []
    rank = len(access.exprs)
    indices = list(access.op.operands)[-rank:] if rank else []
    dims = [_ONE, *inner_dims(access.buffer)][:rank]
    for dim, index in zip(reversed(dims), reversed(indices), strict=True):
        known = linear_index(index, terms, quotients)
        if known is None:
            rest.append((index, stride))
        else:
            offset = offset + stride * known[0]
            for position, factor in known[1].items():
                strides[position] = strides[position] + stride * factor
        stride = stride * dim
    return FlatAccess(access.buffer, offset, strides), rest


def linear_index(
    value: ir.Value, terms: Terms, quotients: Mapping[ir.Value, tuple[int, int]] | None = None
) -> tuple[SymExpr, dict[int, SymExpr]] | None:
    """Return an index as a symbolic constant and factors of iterators, None if it is not linear.

    `terms` are for each of the block's arguments the iterators that it is a sum of, `quotients` for
    divided ones the divisor and the iterator of the quotient.
    """
    if value in terms:
        return _ZERO, terms[value]
    known = symbolic(value)
    if known is not None:
        return known, {}
    op = defining_op(value)
    if op is None:
        return None
    if op.name in QUOTIENTS:
        by, position = (quotients or {}).get(op.operands[0], (0, 0))
        same = by != 0 and constant_or_value(op.operands[1]) == by
        return (_ZERO, {position: _ONE}) if same else None
    if op.name not in ("arith.addi", "arith.subi", "arith.muli"):
        return None
    lhs, rhs = (linear_index(operand, terms, quotients) for operand in op.operands)
    if lhs is None or rhs is None:
        return None
    (a, left), (b, right) = lhs, rhs
    if op.name == "arith.muli":
        if left and right:
            return None
        factor, factors = (b, left) if left else (a, right)
        return a * b, {i: factor * each for i, each in factors.items()}
    if op.name == "arith.subi":
        b, right = -b, {i: -each for i, each in right.items()}
    merged = {i: left.get(i, _ZERO) + right.get(i, _ZERO) for i in {**left, **right}}
    return a + b, {i: each for i, each in merged.items() if each != 0}


def terms_of(arguments: Iterable[ir.Value]) -> Terms:
    """Return the terms of a block's arguments that are the iterators themselves."""
    return {argument: {i: _ONE} for i, argument in enumerate(arguments)}


def plus_constant(expr: Affine | None, position: int) -> int | None:
    """Return the constant that an index adds to an iterator, None for other indices."""
    return expr[0] if expr is not None and expr[1] == {position: 1} else None


def split_reduction(nest: Nest, store: Access) -> tuple[ir.Operation, ir.Value]:
    """Return the load of a reduction's sum, and what is combined with it.

    Raises:
        NotFlat: what is stored is no such combination.
    """
    combine = defining_op(store.op.operands[0], *COMBINERS)
    if combine is None:
        raise NotFlat("it does not combine what it stores with one operation")
    loads = {load.op.results[0]: load for load in nest.loads}
    left, right = combine.operands
    for total, value in ((left, right), (right, left)):
        load = loads.get(total)
        if load is not None and load.buffer == store.buffer and load.exprs == store.exprs:
            return load.op, value
    raise NotFlat("it does not combine what it stores with what it held")


def init_of(nest: Nest, *stores: Access) -> list[ir.Attribute] | None:
    """Return the initial values of a reduction's sums, None for the buffers' contents.

    Raises:
        NotFlat: the init region does more than store a constant in the place of each sum.
    """
    if not nest.has_init():
        return None
    block = nest.block.regions[1].blocks[0]
    ops, arguments = [view.operation for view in block.operations], list(block.arguments)
    stored = [op for op in ops if op.name == "memref.store"]
    made = {op.operands[1]: op for op in stored}
    others = {op.name for op in ops} - {"memref.store", "tir.yield", "tir.writes", *_INDEX_OPS}
    if others or len(stored) != len(stores) or made.keys() != {x.buffer for x in stores}:
        raise NotFlat("its init is not one store of a constant for each value")
    values = []
    for store in stores:
        value, _, *indices = made[store.buffer].operands
        if affine_forms(indices, arguments) != store.exprs:
            raise NotFlat("its init writes elsewhere than its body")
        if not is_constant(value):
            raise NotFlat("its init is not one store of a constant for each value")
        values.append(value.owner.operation.attributes["value"])
    return values


def slice_of(nest: Nest, value: ir.Value, *, branches: bool = False) -> list[ir.Operation]:
    """Return the operations that compute a value: loads too, but neither addresses nor constants.

    With `branches`, the operations inside branches too.

    Raises:
        NotFlat: something of it has no vector form, or is not of the block.
    """
    needed: set[ir.Operation] = set()
    body = nest.block.regions[0].blocks[0]
    todo = [value]
    while todo:
        owner = todo.pop().owner
        if isinstance(owner, ir.Block):
            if owner != body and owner.owner.operation.name != "func.func":
                raise NotFlat("it computes with a counter of its loops")
            continue
        op = owner.operation
        # Constants are made anew where they are used.
        if op in needed or op.name == "arith.constant":
            continue
        if op.block != body and not (branches and is_within(op, body)):
            if op.parent.operation.name != "func.func":
                raise NotFlat("it computes with a value of its loops")
            continue
        if branches and op.name == BRANCH:
            todo += [op.operands[0], result_of(op, 0), result_of(op, 1)]
            continue
        if op.name != "memref.load":
            if not op.name.startswith(ELEMENTWISE) or len(op.results) != 1:
                raise NotFlat(f"'{op.name}' has no vector form")
            todo.extend(op.operands)
        needed.add(op)
    return [op for top in nest.body() for op in operations(top) if op in needed]


def _check_writes(flat: FlatNest) -> None:
    store = flat.accesses[flat.store]
    written = root(store.buffer)
    for op in flat.slice:
        load = flat.accesses.get(op)
        if load is None or root(load.buffer) != written:
            continue
        if flat.total is not None or (load.offset, load.strides) != (store.offset, store.strides):
            raise NotFlat("it reads the buffer that it writes")
    check_writes_once(flat.iters, store)


def check_writes_once(iters: Sequence[FlatIter], store: FlatAccess) -> None:
    """Check that no two steps write one element: vectors would change their order.

    Raises:
        NotFlat: they may.
    """
    for it, stride in zip(iters, store.strides, strict=True):
        if not it.reduction and stride == 0 and it.extent != 1:
            raise NotFlat("it writes an element more than once")


def collapse(flat: FlatNest, keep: int = 0) -> FlatNest:
    """Drop iterators of one step, and merge neighbours that every access walks as one.

    The first `keep` iterators stay.
    """
    chosen = [i for i, it in enumerate(flat.iters) if i < keep or it.extent != 1]
    counters = {
        value: chosen.index(i) if i in chosen else None for value, i in flat.counters.items()
    }
    iters = [flat.iters[i] for i in chosen]
    flat = flat.walked(lambda x: [x.strides[i] for i in chosen], iters, counters=counters)
    for position in reversed(range(keep, len(chosen) - 1)):
        outer, inner = flat.iters[position : position + 2]
        if outer.reduction == inner.reduction and is_one_walk(flat, position):
            flat = merge(flat, position)
    return flat


def is_one_walk(flat: FlatNest, position: int, *, rows: bool = False) -> bool:
    """Whether all accesses walk two iterators as one; with `rows`, but those of kept rows."""
    extent = flat.iters[position + 1].extent
    return not {position, position + 1} & set(flat.counters.values()) and all(
        (rows and access.in_rows)
        or access.strides[position] == access.strides[position + 1] * extent
        for access in flat.accesses.values()
    )


def merge(flat: FlatNest, position: int) -> FlatNest:
    """Make an iterator and the next one one."""
    outer, inner = flat.iters[position : position + 2]
    iters = list(flat.iters)
    iters[position : position + 2] = [FlatIter(outer.extent * inner.extent, outer.reduction)]
    counters = {v: i - 1 if i and i > position else i for v, i in flat.counters.items()}
    after = position + 1
    return flat.walked(lambda x: x.strides[:position] + x.strides[after:], iters, counters=counters)
