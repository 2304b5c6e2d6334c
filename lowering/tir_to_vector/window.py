"""Windows over images: the padded copy that one reads, its reduction, and the maps that follow.

A padded copy is a buffer filled with one number, then an image inside it. te functions and scripts
write it as a choice, `T.if_then_else(inside, image, number)`: it is split into a fill and a copy.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import ModuleType
from typing import TypeVar

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.tir_to_vector.analysis import (
    BRANCH,
    Access,
    Nest,
    is_adjacent,
    is_used_only_in,
    match_nest,
    result_of,
    top_level,
)
from relax_mlir.lowering.tir_to_vector.contraction.epilogue import (
    EpilogueEmitter,
    fuse_maps,
    on_iterators,
)
from relax_mlir.lowering.tir_to_vector.contraction.operands import Layout
from relax_mlir.lowering.tir_to_vector.contraction.pattern import Epilogue
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import (
    FlatAccess,
    FlatNest,
    extent_of,
    flattened,
    linear_index,
    plus_constant,
    terms_of,
)
from relax_mlir.lowering.tir_to_vector.index_emit import Index, is_zero
from relax_mlir.lowering.tir_to_vector.symbols import size_value, symbolic
from relax_mlir.lowering.walk import defining_op

arith: ModuleType = submodule("dialects.arith")
memref: ModuleType = submodule("dialects.memref")


@dataclass
class Padded:
    """A temporary buffer that holds an image and its padding.

    Attributes:
        buffer: it.
        source: the image.
        before: for each dimension the padding before the image.
        after: for each dimension the padding after it.
        sizes: the image's dimensions.
        fill: the padding's value.
        nests: the nests that write it.
    """

    buffer: ir.Value
    source: ir.Value
    before: list[int]
    after: list[int]
    sizes: list[SymExpr]
    fill: ir.Attribute
    nests: tuple[Nest, Nest]

    @property
    def is_zero(self) -> bool:
        """Whether the padding is zero."""
        return is_zero(self.fill)


def _match_padded(fill: FlatNest, copy: FlatNest) -> Padded | None:
    """Return the padded copy that two nests make, None if it is none for one use."""
    outer, inner, buffer = fill.nest, copy.nest, fill.written
    if copy.written != buffer or len(copy.slice) != 1 or len(inner.loads) != 1:
        return None
    load, number = inner.loads[0], defining_op(fill.value, "arith.constant")
    if (
        number is None
        or copy.value != load.op.result
        or defining_op(buffer, "memref.alloc") is None
    ):
        return None
    identity = list(range(len(inner.types)))
    if outer.stores[0].iters != list(range(buffer.type.rank)) or load.iters != identity:
        return None
    before = _offsets(inner.stores[0])
    if before is None:
        return None
    sizes = [extent_of(inner.loops[i].operands[1]) for i in inner.loop_of]
    whole = [extent_of(outer.loops[i].operands[1]) for i in outer.loop_of]
    after = [
        (all_ - size - first).value for all_, size, first in zip(whole, sizes, before, strict=True)
    ]
    if any(count is None or count < 0 for count in after):
        return None
    value = number.attributes["value"]
    return Padded(buffer, load.buffer, before, after, sizes, value, (outer, inner))


def _match_padded_use(tops: Sequence[ir.Operation]) -> tuple[Padded, FlatNest] | None:
    """Return a padded copy that two nests make and only the third one reads."""
    flats: list[FlatNest] = []
    for op in tops[:3]:
        flat = flattened(op)
        if flat is None or (flat.total is not None) != (len(flats) == 2):
            return None
        flats.append(flat)
    if len(flats) != 3:
        return None
    padded = _match_padded(flats[0], flats[1])
    if padded is None or not is_used_only_in(padded.buffer, (*padded.nests, flats[2].nest)):
        return None
    # The image must not change between its copy and its use.
    if not all(is_adjacent(a.nest.top, b.nest.top) for a, b in pairwise(flats)):
        return None
    return padded, flats[2]


def _offsets(store: Access) -> list[int] | None:
    """Return the constant of each dimension's iterator, None for other indices."""
    offsets = [plus_constant(expr, position) for position, expr in enumerate(store.exprs)]
    return None if any(offset is None or offset < 0 for offset in offsets) else offsets


# Predicates of `arith.cmpi`, and the same with exchanged operands.
_SLT, _SLE, _SGT, _SGE = 2, 3, 4, 5
_EXCHANGED = {_SLT: _SGT, _SLE: _SGE, _SGT: _SLT, _SGE: _SLE}


@dataclass
class _Guarded:
    """A nest that stores an image's elements where its conditions hold, else a number.

    Attributes:
        nest: it.
        number: the constant.
        low: for each dimension where the image begins.
        size: for each dimension the image's size.
    """

    nest: Nest
    number: ir.Operation
    low: list[int]
    size: list[SymExpr]


def split_paddings(func: ir.OpView) -> None:
    """Split nests that store an image and padding in temporary buffers into two."""
    for op in list(top_level(func)):
        nest = match_nest(op, branches=True)
        match = _match(nest) if isinstance(nest, Nest) else None
        if match is not None:
            with op.location:
                _split(match)


def _match(nest: Nest) -> _Guarded | None:
    if nest.has_init() or set(nest.types) != {"spatial"}:
        return None
    if len(nest.loads) != 1 or len(nest.stores) != 1:
        return None
    load, store = nest.loads[0], nest.stores[0]
    identity = list(range(len(nest.types)))
    if store.iters != identity or len(load.exprs) != len(identity):
        return None
    choice = defining_op(store.op.operands[0], BRANCH)
    if choice is None or defining_op(store.buffer, "memref.alloc") is None:
        return None
    number = defining_op(result_of(choice, 1), "arith.constant")
    if number is None or result_of(choice, 0) != load.op.result:
        return None
    bounds = _bounds(nest, choice.operands[0])
    if bounds is None:
        return None
    lows, highs = bounds
    sizes: list[SymExpr] = []
    for i, expr in enumerate(load.exprs):
        offset = plus_constant(expr, i)
        extent = symbolic(nest.loops[nest.loop_of[i]].operands[1])
        if extent is None or offset != -lows[i]:
            return None
        high = highs.get(i, extent)
        size, after = high - lows[i], (extent - high).value
        if after is None or after < 0 or (size.value is not None and size.value < 0):
            return None
        sizes.append(size)
    return _Guarded(nest, number, lows, sizes)


def _bounds(nest: Nest, condition: ir.Value) -> tuple[list[int], dict[int, SymExpr]] | None:
    """Return the first inside step of each iterator, and the end, None for other conditions."""
    arguments = list(nest.block.regions[0].blocks[0].arguments)
    conditions = _conjuncts(condition)
    if conditions is None:
        return None
    lows, highs = [0] * len(arguments), dict[int, SymExpr]()
    for op in conditions:
        predicate = ir.IntegerAttr(op.attributes["predicate"]).value
        iterator, limit = op.operands
        if iterator not in arguments:
            iterator, limit = limit, iterator
            predicate = _EXCHANGED.get(predicate, -1)
        bound = None if limit in arguments else symbolic(limit)
        if iterator not in arguments or bound is None or predicate not in _EXCHANGED:
            return None
        i = arguments.index(iterator)
        if predicate in (_SGT, _SGE):
            low = (bound + int(predicate == _SGT)).value
            if low is None:
                return None
            lows[i] = max(lows[i], low)
        elif i in highs:
            return None
        else:
            highs[i] = bound + int(predicate == _SLE)
    return lows, highs


def _conjuncts(condition: ir.Value) -> list[ir.Operation] | None:
    """Return the comparisons of a conjunction, by `arith.andi` or by branches."""
    op = defining_op(condition, "arith.cmpi", "arith.andi", BRANCH)
    if op is None or op.name == "arith.cmpi":
        return None if op is None else [op]
    parts = list(op.operands)
    if op.name == BRANCH:
        no = defining_op(result_of(op, 1), "arith.constant")
        if no is None or not is_zero(no.attributes["value"]):
            return None
        parts.append(result_of(op, 0))
    result = [_conjuncts(part) for part in parts]
    return None if None in result else [each for part in result if part for each in part]


def _split(guarded: _Guarded) -> None:
    nest = guarded.nest
    with ir.InsertionPoint(nest.top):
        fill = match_nest(nest.top.clone(), branches=True)
        sizes = [size_value(size) for size in guarded.size]
    assert isinstance(fill, Nest)  # as what it is a copy of
    fill.block.attributes["block_name"] = ir.StringAttr.get(f"{nest.name}_fill")
    _store(fill, guarded, fills=True)
    count = len(nest.types)
    for i, size in enumerate(sizes):
        nest.loops[nest.loop_of[i]].operands[1] = size
        nest.block.operands[count + i] = size
    _store(nest, guarded, fills=False)


def _store(nest: Nest, guarded: _Guarded, *, fills: bool) -> None:
    """Replace a block's body: stores of the number, or of the image."""
    body = nest.block.regions[0].blocks[0]
    *old, end = (view.operation for view in body.operations)
    at = list(body.arguments)
    with ir.InsertionPoint(end):
        if fills:
            value = guarded.number.clone().result
        else:
            value = memref.load(nest.loads[0].buffer, at)
            pairs = zip(at, guarded.low, strict=True)
            at = [arith.addi(i, size_value(low)) if low else i for i, low in pairs]
        memref.store(value, nest.stores[0].buffer, at)
    for op in reversed(old):
        op.erase()


def index_terms(flat: FlatNest, access: FlatAccess) -> list[tuple[SymExpr, dict[int, int]]] | None:
    """Return for each index of a load its constant, and the factors of its iterators.

    None if an index is not linear, or a factor or a known constant is negative.
    """
    load = next(load for load in flat.nest.loads if flat.accesses.get(load.op) is access)
    order, found = flat.nest.order, []
    for index in list(load.op.operands)[1:]:
        form = linear_index(index, terms_of(load.op.block.arguments))
        if form is None or (form[0].value or 0) < 0:
            return None
        terms = {order.index(i): factor.value for i, factor in form[1].items() if factor != 0}
        if any(factor is None or factor < 0 for factor in terms.values()):
            return None
        found.append((form[0], terms))
    return found


@dataclass(kw_only=True)
class Window(ABC):
    """A reduction over windows of an image.

    Attributes:
        flat: the nest; iterators are positions in it.
        padded: the padded copy that the image is, or None.
        epilogue: over the nest's iterators, or None.
    """

    flat: FlatNest
    padded: Padded | None = None
    epilogue: Epilogue | None = None

    @property
    @abstractmethod
    def along(self) -> int:
        """The iterator along which vectors of sums are stored."""

    @property
    def out(self) -> FlatAccess:
        """The access of the results."""
        return self.flat.accesses[self.flat.store]

    @property
    def element(self) -> ir.Type:
        """The type of the sum."""
        return self.flat.written.type.element_type

    @property
    def nests(self) -> list[Nest]:
        """The nests that it replaces: padding, itself, epilogue."""
        before = () if self.padded is None else self.padded.nests
        after = () if self.epilogue is None else self.epilogue.nests
        return [*before, self.flat.nest, *(each.nest for each in after)]


class WindowWriter:
    """What writers of windows share: vectors of sums, sizes, and stores with the epilogue."""

    def __init__(self, form: Window, emit: Emitter) -> None:
        self.form, self.emit, self.machine = form, emit, emit.machine
        self.lanes: int = self.machine.isa.lanes(form.element.width)
        self.vector: ir.VectorType = ir.VectorType.get([self.lanes], form.element)
        self.finish: EpilogueEmitter | None = None
        if form.epilogue is None:
            self.out: Layout = Layout(form.out, emit)
        else:
            buffer = form.out.buffer
            self.finish = EpilogueEmitter(form.epilogue, buffer, form.along, emit)

    def extent(self, position: int | None) -> Index:
        """Return the extent of an iterator, 1 for none."""
        return 1 if position is None else self.emit.size(self.form.flat.iters[position].extent)

    def put(self, value: ir.Value, env: dict[int, Index], mask: ir.Value | None) -> None:
        """Store a vector of sums, or its epilogue, from the place of some counters on."""
        if self.finish is None:
            self.emit.vector_store(value, self.out.base, [self.out.at(env).offset], mask)
            return
        there = dict(env)
        along = there.pop(self.form.along)
        self.finish.at(there)(value, along, mask)


Form = TypeVar("Form", bound=Window)


def find_window(
    tops: Sequence[ir.Operation], match: Callable[[FlatNest, Padded | None], Form | None]
) -> Form | None:
    """Return the window that some nests begin with, or pad an image for, None for no window.

    As many of the next nests as can be are its epilogue. `match` matches the window, given its
    nest, an iterator for each of its loops, and padding.
    """
    padded, flat = _match_padded_use(tops) or (None, flattened(tops[0]))
    if flat is None or flat.total is None:
        return None
    if any(it.reduction and it.extent.value == 0 for it in flat.iters):
        return None  # a window without taps: a reduction of nothing
    window = match(flat, padded)
    if window is None:
        return None
    # Sums that add to memory are not complete in registers.
    if flat.init is None:
        return window

    def join(flat: FlatNest, maps: list[FlatNest]) -> Form | None:
        whole = match(flat, padded)
        if whole is None or not _is_adjacent_along(whole.flat, whole.along):
            return None
        return replace(whole, epilogue=Epilogue(on_iterators(maps, whole.flat)))

    return fuse_maps(flat, tops[1 if padded is None else 3 :], join) or window


def _is_adjacent_along(flat: FlatNest, position: int) -> bool:
    """Whether the epilogue's accesses are adjacent along an iterator, or do not move."""
    own = (*flat.slice, flat.store, flat.total)
    return all(
        access.strides[position] == 1
        or (access.strides[position] == 0 and op.name != "memref.store")
        for op, access in flat.accesses.items()
        if op not in own
    )
