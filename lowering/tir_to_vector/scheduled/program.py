"""Scheduled programs: loops run in their order and kind.

Predicates become bounds, vectorized loops vector code, unrolled loops copies, parallel loops a
parallel region; sums stay in registers.
"""

from collections.abc import Callable
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.analysis import ELEMENTWISE, kind_of_loop, make_loop
from relax_mlir.lowering.tir_to_vector.control_flow import UNROLL
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import COMBINERS, identity
from relax_mlir.lowering.tir_to_vector.generic import inline
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.nest_cost import bits_of
from relax_mlir.lowering.tir_to_vector.scheduled.index import (
    Access,
    Copier,
    Lin,
    integer_of,
    varies,
)
from relax_mlir.lowering.tir_to_vector.scheduled.lanes import Along, LaneCopier, NotVectorizable
from relax_mlir.lowering.tir_to_vector.scheduled.partition import partition
from relax_mlir.lowering.tir_to_vector.scheduled.threads import (
    MARK,
    is_parallel,
    shares_writes,
    sink_allocs,
    unroll,
)
from relax_mlir.lowering.walk import ancestors, collect, defining_op, first_below, root

# Loops of more vectors than this stay loops over vectors.
_MAX_VECTORS = 16


@dataclass(frozen=True)
class _Sum:
    """A place that every step combines a value with."""

    load: ir.Operation
    combine: ir.Operation
    store: ir.Operation
    value: ir.Value


def vectorize(loop: ir.Operation, emit: Emitter, machine: Machine) -> str:
    """Replace a `tir.for` by code over vectors.

    Returns:
        Why it was not replaced, then it is as before; empty when it was.
    """
    with loop.location, ir.InsertionPoint(loop):
        mark = ir.Operation.create("ub.poison", results=[emit.bool_type])
        try:
            _Vectorizer(loop, emit, machine).write()
        except NotVectorizable as why:
            written = [view.operation for view in loop.block.operations]
            first, last = (next(i for i, op in enumerate(written) if op == x) for x in (mark, loop))
            for op in reversed(written[first:last]):
                op.erase()
            return str(why)
    mark.erase()
    loop.erase()
    return ""


# Writes steps from a place on, of which a mask says which run, given what they carry.
_Chunk = Callable[[Index, int, ir.Value | None, list[ir.Value]], list[ir.Value]]


class _Vectorizer:
    def __init__(self, loop: ir.Operation, emit: Emitter, machine: Machine) -> None:
        self.loop, self.emit, self.machine = loop, emit, machine
        self.body = loop.regions[0].blocks[0]
        self.counter = self.body.arguments[0]
        self.lower, self.extent = (integer_of(value) for value in loop.operands)
        inner = collect(loop, lambda op: op != loop)
        if any(op.name.startswith("vector.") for op in inner):
            raise NotVectorizable("vectors inside")
        self.varying = _varying(inner, self.counter)
        known: dict[ir.Value, Lin] = {}
        self.accesses = [Access.of(op, known) for op in inner if op.name in _MEMORY]
        self.sum = self._find_sum()
        self._check_order()
        types = [access.buffer.type.element_type for access in self.accesses]
        types += [
            result.type
            for op in inner
            for result in op.results
            if op.name.startswith(ELEMENTWISE) and result in self.varying
            and not isinstance(result.type, ir.IndexType)
        ]  # fmt: skip
        widths = [bits_of(type_) for type_ in types if str(type_) != "i1"] or [32]
        self.lanes = max(1, machine.vector_bits // max(widths))
        self.masked = machine.can_mask(min(widths))
        if self.lanes < 2:
            raise NotVectorizable("a vector register holds one element")

    def write(self) -> None:
        """Write the chunks, and the horizontal sum."""
        emit = self.emit
        if self.sum is None:
            self._chunks([], lambda at, lanes, mask, _: self._chunk(at, lanes, mask))
            return
        # A fixed width: how the sum is ordered does not hang on the extent.
        element = self.sum.value.type
        number = identity(self.sum.combine.name, element)
        neutral = emit.constant(ir.VectorType.get([self.lanes], element), number)
        total = self._chunks([neutral], self._add)[0]
        single = Copier(emit, {})
        before = single.pull(self.sum.load.results[0], self.loop)
        made = self._join(before, emit.extract(emit.folded(total, self._join), 0))
        buffer, *indices = (single.pull(each, self.loop) for each in self.sum.store.operands[1:])
        emit.store(made, buffer, indices)

    def _chunk(self, at: Index, lanes: int, mask: ir.Value | None) -> list[ir.Value]:
        one = lanes == 1
        copier = Copier(self.emit, {self.counter: at}) if one else self._copier(at, lanes, mask)
        copier.body(self.body)
        return []

    def _add(
        self, at: Index, lanes: int, mask: ir.Value | None, totals: list[ir.Value]
    ) -> list[ir.Value]:
        assert self.sum is not None
        skipped = (self.sum.load, self.sum.combine, self.sum.store)
        copier = self._copier(at, lanes, mask)
        ops = [view.operation for view in self.body.operations]
        copier.ops(op for op in ops if op not in skipped)
        more = self._join(totals[0], copier.wide(self.sum.value))
        if mask is not None:
            more = self.emit.select(mask, more, totals[0])
        return [more]

    def _join(self, a: ir.Value, b: ir.Value) -> ir.Value:
        assert self.sum is not None
        return self.emit.op(self.sum.combine.name, [a, b], a.type)

    def _copier(self, at: Index, lanes: int, mask: ir.Value | None) -> LaneCopier:
        return LaneCopier(
            self.emit, {self.counter: Along(at, 1)}, lanes, mask,
            fma=self.machine.fma, varying=self.varying,
        )  # fmt: skip

    def _chunks(self, carried: list[ir.Value], chunk: _Chunk) -> list[ir.Value]:
        """Write whole vectors, then the tail."""
        emit, extent = self.emit, self.extent
        lanes = self.lanes
        if isinstance(extent, int) and not carried:
            # A short loop needs no register that is mostly empty.
            while lanes > 2 and lanes // 2 >= extent:
                lanes //= 2
        if isinstance(extent, int):
            whole: Index = extent // lanes
        else:
            whole = emit.op("arith.divsi", [extent, emit.index(lanes)], emit.index_type)
        if isinstance(whole, int) and whole <= _MAX_VECTORS:
            for number in range(whole):
                carried = chunk(emit.add(self.lower, number * lanes), lanes, None, carried)
        elif carried:
            with emit.loop(0, whole, 1, carried, UNROLL) as loop:
                at = emit.add(self.lower, emit.mul(loop.counter, lanes))
                loop.carry(chunk(at, lanes, None, loop.carried))
            carried = loop.results
        else:
            self._loop(whole, lambda turn: chunk(
                emit.add(self.lower, emit.mul(turn, lanes)), lanes, None, []))  # fmt: skip
        done = emit.mul(whole, lanes)
        return self._rest(emit.add(self.lower, done), emit.sub(extent, done), lanes, carried, chunk)

    def _rest(
        self, at: Index, left: Index, lanes: int, carried: list[ir.Value], chunk: _Chunk
    ) -> list[ir.Value]:
        emit = self.emit
        if isinstance(left, int) and left <= 0:
            return carried
        if carried:
            if not self.masked:
                raise NotVectorizable("a sum that does not fill vectors, without masks")
            return chunk(at, lanes, emit.mask(left, lanes), carried)
        if isinstance(left, int) and (left.bit_count() < 2 or not self.masked):
            while left:
                part = 1 << (left.bit_length() - 1)
                chunk(at, part, None, [])
                at, left = emit.add(at, part), left - part
        elif isinstance(left, int):
            width = 1 << (left - 1).bit_length()
            chunk(at, width, emit.mask(left, width), [])
        elif self.masked:
            mask = emit.mask(left, lanes)
            with emit.when(emit.compare("sgt", left, 0)):
                chunk(at, lanes, mask, [])
        else:
            self._loop(left, lambda turn: chunk(emit.add(at, turn), 1, None, []))
        return carried

    def _loop(self, extent: Index, body: Callable[[ir.Value], object]) -> None:
        _, counter, point = make_loop(self.emit.index(0), self.emit.index(extent), "serial")
        with point:
            body(counter)

    def _find_sum(self) -> _Sum | None:
        """Return the place that all steps combine with, None if there is none."""
        stores = [
            access for access in self.accesses
            if access.stores and not any(i in self.varying for i in access.indices)
        ]  # fmt: skip
        if not stores:
            return None
        store = stores[0].op
        if len(stores) > 1 or store.block != self.body:
            raise NotVectorizable("all steps store to one place")
        combine = defining_op(store.operands[0], *COMBINERS)
        if combine is None or len(list(combine.results[0].uses)) > 1:
            raise NotVectorizable("all steps store to one place and do not combine into it")
        for load, value in (combine.operands, reversed(list(combine.operands))):
            inner = defining_op(load, "memref.load")
            if inner is None:
                continue
            touching = [a for a in self.accesses if a.buffer == stores[0].buffer]
            same = [a for a in touching if a.op == inner]
            if (
                len(touching) == 2
                and same
                and len(list(load.uses)) == 1
                and inner.block == self.body
                and same[0].where == stores[0].where
            ):
                return _Sum(inner, combine, store, value)
        raise NotVectorizable("all steps store to one place and do not combine into it")

    def _check_order(self) -> None:
        """Raise unless no step touches what another one writes."""
        stores = [a for a in self.accesses if a.stores]
        for store in stores:
            if self.sum is not None and store.op == self.sum.store:
                continue
            for other in self.accesses:
                if root(other.buffer) != root(store.buffer):
                    continue
                if other.buffer != store.buffer or not self._are_disjoint(store, other):
                    raise NotVectorizable("a step may touch what another one writes")

    def _are_disjoint(self, a: Access, b: Access) -> bool:
        """Whether two accesses never alias in different lanes."""
        for x, y in zip(a.where, b.where, strict=True):
            difference = x.plus(y, -1)
            others = [v for v in {**x.terms, **y.terms} if v != self.counter]
            if any(varies(value, self.loop, _PURE) for value in others):
                continue
            # Lanes differ in this dimension, or the accesses do in every lane.
            if not difference.terms and bool(x.factor(self.counter)) == (difference.const == 0):
                return True
        return False


_PURE = (*ELEMENTWISE, "tir.symbol", "memref.dim")
_MEMORY = ("memref.load", "memref.store")


def _varying(ops: list[ir.Operation], counter: ir.Value) -> set[ir.Value]:
    """Return the values that depend on a loop's counter, those of conditions included."""
    result, before = {counter}, 0
    while len(result) > before:
        before = len(result)
        for op in ops:
            operands = list(op.operands)
            for region in op.regions:
                for block in region.blocks:
                    operands += [v for view in block.operations for v in view.operation.operands]
            if any(operand in result for operand in operands):
                result.update(op.results)
    return result


SCHEDULED = ("vectorized", "unrolled", "parallel")


def is_scheduled(op: ir.Operation) -> bool:
    """Whether an operation is, or contains, a loop of a kind that somebody chose, or vectors."""
    return first_below(op, _has_kind) is not None


def apply_kinds(func: ir.OpView, emit: Emitter, machine: Machine) -> None:
    """Carry out the kinds of a prim func's loops, parallel ones left to `lower_block`.

    Blocks of the nests concerned are inlined; they have no init regions any more.
    """
    nests = collect(func.operation, lambda op: op.name in ("tir.for", "tir.block"))
    outermost = (op for op in nests if op.parent.operation.name not in ("tir.for", "tir.block"))
    tops = [op for op in outermost if is_scheduled(op)]
    if not tops:
        return
    for top in tops:
        for loop in collect(top, lambda op: op.name == "tir.for"):
            loop.attributes[MARK] = ir.UnitAttr.get()
        for block in reversed(collect(top, lambda op: op.name == "tir.block")):
            inline(block)
    loops = collect(func.operation, lambda op: op.name == "tir.for" and MARK in op.attributes)
    for loop in loops:
        if loop.parent.operation.name != "tir.for":
            partition(loop, emit)
    _keep_outer_threads(func)
    for loop in _loops(func, "vectorized"):
        why = vectorize(loop, emit, machine)
        if why:
            set_kind(loop, "serial")
    for loop in _loops(func, "unrolled"):
        if not unroll(loop, emit):
            set_kind(loop, "serial")


def set_kind(loop: ir.Operation, kind: str) -> None:
    """Give a `tir.for` another kind."""
    loop.attributes["kind"] = ir.StringAttr.get(kind)


def _keep_outer_threads(func: ir.OpView) -> None:
    """Make parallel loops serial that are nested, or whose steps may write the same place."""
    for loop in collect(func.operation, is_parallel):
        sink_allocs(loop)
        if shares_writes(loop) or any(map(is_parallel, ancestors(loop))):
            set_kind(loop, "serial")


def _loops(func: ir.OpView, kind: str) -> list[ir.Operation]:
    """Return the loops of a kind, inner ones first."""
    return list(reversed(collect(func.operation, lambda op: kind_of_loop(op) == kind)))


def _has_kind(op: ir.Operation) -> bool:
    return kind_of_loop(op) in SCHEDULED or op.name.startswith("vector.")
