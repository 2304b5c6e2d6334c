"""Scans, in vectors of columns or along rows.

Along an axis that is not the last, lanes are columns, scanned in order. Along the last axis a
vector is scanned in itself, each lane with those 1, 2, 4... before it, and then combined with all
before the vector. So float sums are grouped by vectors from the start of the row, which depends on
the target only.
"""

from contextlib import ExitStack
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.analysis import Access, Nest
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import (
    COMBINERS,
    FlatNest,
    NotFlat,
    counters_of,
    flat_access,
    identity,
    iterators,
    slice_of,
)
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.kernel_class import Final, Nests, one_nest
from relax_mlir.lowering.tir_to_vector.nest_cost import bits_of, scan_cycles
from relax_mlir.lowering.tir_to_vector.nest_elements import Lanes, work_of
from relax_mlir.lowering.tir_to_vector.vector_nest import NestWriter
from relax_mlir.lowering.walk import defining_op, root

# The cost of an element, in FMAs.
_ELEMENT = 16
# Vectors of columns that are scanned side by side.
_WIDE = 4
# Rows that go together if there are more columns; four conflict in cache sets at strides of 4 KB.
_ROWS = 2


@dataclass
class Scan:
    """A scan.

    Attributes:
        flat: computes an element, and has the place of the result.
        along: the scanned iterator.
        before: the load of the prefix.
        combine: the operation that combines it with an element.
        finish: unary operations from there to the stored value.
        exclusive: whether the prefix leaves the element itself out.
        vector: the iterator of lanes: `along`, or that of columns.
    """

    flat: FlatNest
    along: int
    before: ir.Operation
    combine: ir.Operation
    finish: list[ir.Operation]
    exclusive: bool
    vector: int

    @property
    def element(self) -> ir.Type:
        """The type in which elements are combined."""
        return self.combine.results[0].type


def _match(nest: Nest) -> Scan:
    order = nest.order
    along = order.index(nest.types.index("scan"))
    kept, out, before = _parts(nest)
    combine = kept.op.operands[0].owner.operation
    value = next(v for v in combine.operands if v != before.op.results[0])
    finish, last = [], out.op.operands[0]
    while last not in (combine.results[0], before.op.results[0]):
        op = defining_op(last)
        if op is None or not op.name.startswith("arith.") or len(op.operands) != 1:
            raise NotFlat("what it stores is not what it combined")
        finish.insert(0, op)
        last = op.operands[0]
    slice_ = slice_of(nest, value)
    if before.op in slice_:
        raise NotFlat("it combines more than once")
    accesses = {access.op: flat_access(access, order) for access in (*nest.loads, *nest.stores)}
    store, running = accesses[out.op], accesses[before.op]
    if running.strides[along] != 0 or accesses[kept.op].strides != running.strides:
        raise NotFlat("its running value is not one for a row")
    for op in slice_:
        load = accesses.get(op)
        if load is None:
            continue
        if root(load.buffer) == root(running.buffer):
            raise NotFlat("it reads its running value twice")
        same = (load.offset, load.strides) == (store.offset, store.strides)
        if root(load.buffer) == root(store.buffer) and not same:
            raise NotFlat("it reads the buffer that it writes")
    flat = FlatNest(nest, iterators(nest), accesses, out.op, None, value, slice_, None)
    if counters_of(flat, [value]):
        raise NotFlat("it computes with its position")
    vector = _vector(flat, along, before.op)
    return Scan(flat, along, before.op, combine, finish, last != combine.results[0], vector)


def _parts(nest: Nest) -> tuple[Access, Access, Access]:
    """Return the store of the prefix, that of the result, and the load of the prefix."""
    for kept, out in (nest.stores, nest.stores[::-1]):
        combine, buffer = defining_op(kept.op.operands[0], *COMBINERS), kept.buffer
        if combine is None:
            continue
        for load in nest.loads:
            if (
                load.op.results[0] in list(combine.operands)
                and load.buffer == buffer != out.buffer
                and load.exprs == kept.exprs
                and _is_private(buffer, nest)
            ):
                return kept, out, load
    raise NotFlat("it is no scan of one running value")


def _is_private(buffer: ir.Value, nest: Nest) -> bool:
    """Whether only the nest uses a buffer."""
    if defining_op(buffer, "memref.alloc") is None:
        return False
    for use in buffer.uses:
        op = use.owner.operation
        if op.name == "memref.load" and op.parent.operation != nest.block:
            return False
        if op.name not in ("memref.load", "memref.store", "tir.reads", "tir.writes"):
            return False
    return True


def _vector(flat: FlatNest, along: int, before: ir.Operation) -> int:
    store, running = flat.accesses[flat.store], flat.accesses[before]
    loads = [flat.accesses[op] for op in flat.slice if op.name == "memref.load"]
    for position in reversed(range(len(flat.iters))):
        walks = position == along or running.strides[position] == 1
        adjacent = all(load.strides[position] in (0, 1) for load in loads)
        if walks and adjacent and store.strides[position] == 1:
            return position
    raise NotFlat("no loop walks adjacent elements of all it reads and writes")


class ScanWriter(NestWriter):
    """Writes a scan."""

    is_plain = False

    def __init__(self, scan: Scan, emit: Emitter) -> None:
        super().__init__(scan.flat, scan.vector, emit)
        bits = max(8, scan.element.width)
        self.lanes: int = max(1, min(self.lanes, emit.machine.vector_bits // bits))
        self._scan = scan
        self.inner: set[int] = {scan.along, scan.vector}

    def _work(self) -> Index:
        return work_of(self.emit, self.flat, _ELEMENT)

    def _split_inside(self) -> list[int]:
        """Return the columns, which threads may share as they do rows."""
        return [i for i in self.inner if i != self._scan.along]

    def _maps(self, env: dict[int, Index], free: list[int]) -> None:
        """Write the scan with its loops over rows."""
        with ExitStack() as loops:
            for position in free:
                env[position] = loops.enter_context(self.emit.loop(*self._ranges[position])).counter
            if self._scan.vector == self._scan.along:
                self._row(env)
            elif self._is_narrow():
                self._chunks(self._column, env, _WIDE)
            else:
                self._rows(env)

    def _column(self, lanes: Lanes) -> None:
        """Write the scan of a vector of columns."""
        extent = self.emit.size(self.flat.iters[self._scan.along].extent)
        with self.emit.loop(0, extent, 1, [self._get(self._scan.before, lanes)]) as loop:
            loop.carry([self._next(loop.carried[0], lanes.where({self._scan.along: loop.counter}))])

    def _next(self, before: ir.Value, lanes: Lanes) -> ir.Value:
        """Write one step of the scan; returns what is combined so far."""
        after = self._combined(before, self._value(lanes))
        self._put(self._finished(before if self._scan.exclusive else after), lanes)
        return after

    def _is_narrow(self) -> bool:
        """Whether all columns fit registers."""
        count = self.flat.iters[self._scan.vector].extent.value
        return count is not None and count <= self.lanes * _WIDE

    def _rows(self, env: dict[int, Index]) -> None:
        """Write the scan of columns row by row, in memory order.

        Prefixes stay in the nest's buffer, and are read once for several rows.
        """
        emit, scan = self.emit, self._scan
        rows = emit.size(self.flat.iters[scan.along].extent)

        def walk(first: Index, count: int) -> None:
            def chunk(lanes: Lanes) -> None:
                total = self._get(scan.before, lanes)
                for row in range(count):
                    total = self._next(total, lanes.where({scan.along: first + row}))
                self._put(total, lanes, store=scan.before)

            self._chunks(chunk, env, _WIDE)

        emit.in_groups(0, rows, _ROWS, walk)

    def _row(self, env: dict[int, Index]) -> None:
        """Write the scan of one row: a vector at a time, then the rest."""
        emit, scan, lanes = self.emit, self._scan, self.lanes
        extent = emit.size(self.flat.iters[scan.along].extent)
        first = self._get(scan.before, Lanes(env))
        upto = emit.round_down(extent, lanes)
        carried = first
        if lanes > 1 and upto != 0:
            vector = ir.VectorType.get([lanes], scan.element)
            with emit.loop(0, upto, lanes, [emit.splat(first, vector)]) as loop:
                loop.carry([self._step(loop.carried[0], Lanes(env, loop.counter, lanes))])
            carried = loop.results[0]
        left = extent - upto
        if left == 0:
            return
        if lanes > 1 and self.masked:
            if upto == 0:
                carried = emit.splat(first, ir.VectorType.get([lanes], scan.element))
            emit.if_any(
                left, lambda: self._step(carried, Lanes(env, upto, lanes, emit.mask(left, lanes)))
            )
            return
        if carried is not first:
            carried = emit.extract(carried, lanes - 1)
        with emit.loop(upto, extent, 1, [carried]) as loop:
            loop.carry([self._next(loop.carried[0], Lanes(env, loop.counter))])

    def _step(self, before: ir.Value, here: Lanes) -> ir.Value:
        """Write a vector of a row; returns what was combined so far, in every lane."""
        emit, lanes = self.emit, here.count
        value = self._value(here)
        nothing = self._identity(value.type)
        width = 1
        while width < lanes:
            # Lanes of the second vector are numbered after those of the first.
            moved = [lanes + i - width if i >= width else i for i in range(lanes)]
            value = self._combined(emit.shuffle(nothing, value, moved), value)
            width *= 2
        every = [lanes - 1] * lanes
        # What goes on to the next vector need not wait for a shuffle. With one unit for whole
        # vectors the time is that of all operations, and one more costs more than the wait: Zen 4,
        # `benchmarks/kernels.py --only cumsum`, 1.35 times as fast with AVX2, 0.93 with AVX-512.
        after = None
        if emit.machine.fma_units > 1:
            after = self._combined(before, emit.shuffle(value, value, every))
        value = self._combined(before, value)
        stored = value
        if self._scan.exclusive:
            stored = emit.shuffle(before, value, [0, *range(lanes, 2 * lanes - 1)])
        self._put(self._finished(stored), here)
        return emit.shuffle(value, value, every) if after is None else after

    def _identity(self, type_: ir.VectorType) -> ir.Value:
        name = self._scan.combine.name
        # With +0 a sum of negative zeros would be +0.
        number = -0.0 if name == "arith.addf" else identity(name, type_.element_type)
        return self.emit.constant(type_, number)

    def _combined(self, before: ir.Value, value: ir.Value) -> ir.Value:
        return self.emit.op(self._scan.combine.name, [before, value], value.type)

    def _finished(self, value: ir.Value) -> ir.Value:
        for op in self._scan.finish:
            value = self.emit.copied(op, [value])
        return value


def _match_first(nests: Nests) -> Scan | str:
    nest = nests.nest
    if "scan" not in nest.types:
        return "it has no scanned iterator"
    if nest.types.count("scan") != 1 or set(nest.types) - {"scan", "spatial"}:
        return Final("it has an iterator that neither maps nor reduces")
    if len(nest.stores) != 2 or nest.has_init():
        return Final("it is no scan of one running value")
    try:
        return _match(nest)
    except NotFlat as why:
        return Final(why)


def _shuffles(scan: Scan, machine: Machine) -> float:
    if scan.vector != scan.along:
        return 0
    return scan_cycles(machine.isa.lanes(bits_of(scan.element)))


SCAN = one_nest(
    "scan", _match_first, lambda scan, emit: ScanWriter(scan, emit).write([]), more=_shuffles
)
