"""Gathers of runs: copies of adjacent elements from computed places.

The outer loops compute where a run begins, as in take, gather_nd, tile and flip along other axes
than the last; the run itself is vector code.
"""

from dataclasses import dataclass, field
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.analysis import Access, Nest, is_within
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import (
    FlatAccess,
    FlatIter,
    FlatNest,
    NotFlat,
    collapse,
    extent_of,
    inner_dims,
    root,
    slice_of,
)
from relax_mlir.lowering.tir_to_vector.index_emit import Index, constant_or_value
from relax_mlir.lowering.tir_to_vector.kernel_class import Nests, one_nest
from relax_mlir.lowering.tir_to_vector.symbols import symbolic
from relax_mlir.lowering.tir_to_vector.vector_nest import NestWriter, vector_iter

_ZERO, _ONE = SymExpr.const(0), SymExpr.const(1)
_DIVISIONS = ("arith.floordivsi", "arith.divsi", "arith.divui")

Linear = tuple[SymExpr, dict[int, SymExpr]]
# Indices that are no linear function of the iterators, and what one step of each is in memory.
Found = list[tuple[ir.Value, SymExpr]]


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

    @property
    def whole(self) -> dict[ir.Value, int]:
        """For each argument that is one iterator, its position."""
        return {value: next(iter(parts)) for value, parts in self.terms.items() if len(parts) == 1}

    def linear(self, value: ir.Value) -> Linear | None:
        """Return an index as a symbolic constant and factors, None if it is not linear."""
        if value in self.terms:
            return _ZERO, self.terms[value]
        known = symbolic(value)
        if known is not None:
            return known, {}
        if isinstance(value.owner, ir.Block):
            return None
        op = value.owner.operation
        if op.name in _DIVISIONS:
            by, position = self.quotients.get(op.operands[0], (0, 0))
            same = by != 0 and constant_or_value(op.operands[1]) == by
            return (_ZERO, {position: _ONE}) if same else None
        if op.name not in ("arith.addi", "arith.subi", "arith.muli"):
            return None
        lhs, rhs = (self.linear(operand) for operand in op.operands)
        if lhs is None or rhs is None:
            return None
        (a, left), (b, right) = lhs, rhs
        if op.name == "arith.muli":
            if left and right:
                return None
            factor, terms = (b, left) if left else (a, right)
            return a * b, {i: factor * each for i, each in terms.items()}
        if op.name == "arith.subi":
            b, right = -b, {i: -each for i, each in right.items()}
        merged = {i: left.get(i, _ZERO) + right.get(i, _ZERO) for i in {**left, **right}}
        return a + b, {i: each for i, each in merged.items() if each != 0}

    def access(self, access: Access) -> tuple[FlatAccess, Found]:
        """Return the linear part of an address, and the indices that are not linear.

        Raises:
            NotFlat: a dimension of the buffer has no name.
        """
        offset, strides, stride = _ZERO, [_ZERO] * len(self.iters), _ONE
        result: Found = []
        count = len(access.exprs)
        indices = list(access.op.operands)[-count:] if count else []
        dims = [_ONE, *inner_dims(access.buffer)][:count]
        for dim, index in zip(reversed(dims), reversed(indices), strict=True):
            known = self.linear(index)
            if known is None:
                result.append((index, stride))
            else:
                offset = offset + stride * known[0]
                for position, factor in known[1].items():
                    strides[position] = strides[position] + stride * factor
            stride = stride * dim
        return FlatAccess(access.buffer, offset, strides), result


def spaces(nest: Nest) -> list[IndexSpace]:
    """Return the space of a nest's iterators, and that with split iterators, if any.

    Raises:
        NotFlat: a loop's extent has no name.
    """
    arguments = list(nest.block.regions[0].blocks[0].arguments)
    order = sorted(range(len(arguments)), key=lambda i: nest.loop_of[i])
    extents = {i: extent_of(nest.loops[nest.loop_of[i]].operands[1]) for i in order}
    plain = [FlatIter(extents[i], False) for i in order]
    whole = IndexSpace(plain, {arguments[i]: {n: _ONE} for n, i in enumerate(order)})
    by = _divisors(nest, arguments)
    by = {i: c for i, c in by.items() if extents[i] % c == 0}
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


def _divisors(nest: Nest, arguments: list[ir.Value]) -> dict[int, int]:
    """Return the divisors of arguments that one number divides."""
    result: dict[int, set[int]] = {}
    for op in nest.body():
        if op.name in _DIVISIONS and op.operands[0] in arguments:
            by = constant_or_value(op.operands[1])
            result.setdefault(arguments.index(op.operands[0]), set()).add(
                by if isinstance(by, int) else 0
            )
    return {i: min(by) for i, by in result.items() if len(by) == 1 and min(by) > 1}


# Elements of a static run from which on it is worth a loop.
_SHORT = 8


@dataclass
class Gather:
    """A nest whose outer loops compute where it reads.

    Attributes:
        flat: the nest, with the linear part of addresses.
        vector: the iterator along runs.
        space: what the block's arguments are.
        nonlinear: for each load the computed indices, and the stride of each.
    """

    flat: FlatNest
    vector: int
    space: IndexSpace
    nonlinear: dict[ir.Operation, Found] = field(default_factory=dict)

    @property
    def element(self) -> ir.Type:
        """The type of the elements."""
        return self.flat.written.type.element_type


def match_gather(nest: Nest) -> Gather | str:
    """Return the gather that a nest is, or why it is none."""
    if len(nest.stores) != 1 or set(nest.types) - {"spatial"} or nest.has_init():
        return "it is no copy from computed places"
    why = ""
    try:
        for space in spaces(nest):
            gather = _match(nest, space)
            if isinstance(gather, Gather):
                return gather
            why = why or gather
    except NotFlat as not_flat:
        return str(not_flat)
    return why


def _match(nest: Nest, space: IndexSpace) -> Gather | str:
    store = nest.stores[0]
    accesses = {}
    accesses[store.op], unknown = space.access(store)
    if unknown:
        raise NotFlat("it writes where data or a quotient says")
    value = store.op.operands[0]
    slice_ = slice_of(nest, value)
    nonlinear: dict[ir.Operation, Found] = {}
    loads = {load.op: load for load in nest.loads}
    if any(root(load.buffer) == root(store.buffer) for load in nest.loads):
        raise NotFlat("it reads the buffer that it writes")
    for op in slice_:
        if op in loads:
            accesses[op], nonlinear[op] = space.access(loads[op])
    iters, written = space.iters, accesses[store.op].strides
    if any(s == 0 and it.extent != 1 for s, it in zip(written, iters, strict=True)):
        raise NotFlat("it writes an element more than once")
    whole = space.whole
    counted = {v for op in slice_ if op not in loads for v in op.operands if v in space.terms}
    counted |= {value} & set(space.terms)
    if not counted <= set(whole):
        return "it computes with its position"
    indexed = {a for pairs in nonlinear.values() for v, _ in pairs for a in uses(v, nest)}
    used = {position for a in indexed | counted for position in space.terms[a]}
    keep = max(used, default=-1) + 1
    flat = FlatNest(nest, iters, accesses, store.op, None, value, slice_, None)
    flat.counters = {a: p for a, p in whole.items() if p < keep}
    merged = collapse(flat, keep)
    vector = vector_iter(merged, keep)
    if not isinstance(vector, int):
        return "it computes an index from data, or with a quotient"
    extent = merged.iters[vector].extent.value
    if space.quotients and extent is not None and extent < _SHORT:
        return "its runs are short"
    return Gather(merged, vector, space, nonlinear)


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
    if op.name != "memref.load" and not op.name.startswith(("arith.", "math.")):
        raise NotFlat(f"'{op.name}' in an index")
    operands: list[Any] = list(op.operands)[1 if op.name == "memref.load" else 0 :]
    return set().union(*(uses(operand, nest) for operand in operands))


class GatherWriter(NestWriter):
    """Writes a gather; the place of a run is computed once."""

    def __init__(self, gather: Gather, emit: Emitter, machine: Machine) -> None:
        super().__init__(gather.flat, gather.vector, emit, machine)
        self._gather = gather
        self._begins: dict[ir.Operation, Index] = {}

    def _map(self, env: dict[int, Index]) -> None:
        emit = self.emit
        made: dict[ir.Value, ir.Value] = {}
        for op, pairs in self._gather.nonlinear.items():
            begin: Index = 0
            for value, stride in pairs:
                here = self._evaluate(value, env, made)
                begin = emit.add(begin, emit.mul(here, emit.size(stride)))
            self._begins[op] = begin
        super()._map(env)

    def _evaluate(
        self, value: ir.Value, env: dict[int, Index], made: dict[ir.Value, ir.Value]
    ) -> ir.Value:
        if value in made:
            return made[value]
        if value in self._gather.space.terms:
            result = self._argument(value, env)
        elif isinstance(value.owner, ir.Block):
            return value
        elif value.owner.operation.block != self.flat.nest.block.regions[0].blocks[0]:
            result = self._anew(value)
        else:
            op = value.owner.operation
            operands = [
                v if isinstance(v.type, ir.MemRefType) else self._evaluate(v, env, made)
                for v in op.operands
            ]
            copy = op.clone()
            for position, operand in enumerate(operands):
                copy.operands[position] = operand
            result = copy.results[0]
        made[value] = result
        return result

    def _argument(self, value: ir.Value, env: dict[int, Index]) -> ir.Value:
        total: Index = 0
        for position, factor in self._gather.space.terms[value].items():
            counter = env.get(position, 0)
            total = self.emit.add(total, self.emit.mul(counter, self.emit.size(factor)))
        return self.emit.index(total)

    def _address(self, op: ir.Operation, env: dict[int, Index], at: Index) -> tuple[Index, bool]:
        place, walks = super()._address(op, env, at)
        begin = self._begins.get(op, 0)
        return self.emit.add(place, begin), walks


def _match_first(nests: Nests) -> Gather | str:
    return match_gather(nests.nest) if isinstance(nests.flat, str) else "its addresses are affine"


GATHER = one_nest(
    "gather of runs",
    _match_first,
    lambda gather, emit, machine: GatherWriter(gather, emit, machine).write([]),
)
