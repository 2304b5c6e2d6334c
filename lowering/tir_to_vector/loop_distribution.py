"""Loop distribution of maps with several elementary functions, each over a block in L1.

A function is a long chain of dependent operations. A core's window covers about one of them for a
few vectors: independent iterations of one function overlap better than dependent functions.
"""

from collections.abc import Callable
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.control_flow import KEEP
from relax_mlir.lowering.tir_to_vector.flat import FlatNest
from relax_mlir.lowering.tir_to_vector.index_emit import Index, Span
from relax_mlir.lowering.tir_to_vector.nest_cost import is_function
from relax_mlir.lowering.tir_to_vector.nest_elements import ElementWriter, Lanes

# Elements of a block, and of a range from which on it pays.
_BLOCK, _MIN = 1024, 256


@dataclass(frozen=True)
class Stage:
    """A part of a map.

    Attributes:
        start: the value of the stage before, None for the first.
        value: its value.
        slice: its operations, in order.
    """

    start: ir.Value | None
    value: ir.Value
    slice: list[ir.Operation]


def find_stages(flat: FlatNest) -> list[Stage]:
    """Return the parts of a map, each with one function, that pass one f32 to the next."""
    if sum(is_function(op.name) for op in flat.slice) < 2:
        return [Stage(None, flat.value, flat.slice)]
    cuts: list[ir.Value] = []
    seen, latest = False, None
    for op, only in zip(flat.slice, _live_values(flat), strict=True):
        if is_function(op.name):
            made = () if latest is None else _between(flat, latest, op.results[0])
            if any(latest in each.operands for each in made):
                cuts.append(latest)
            seen, latest = True, None
        if seen and only is not None and isinstance(only.type, ir.F32Type):
            latest = only
    starts = [None, *cuts]
    return [
        Stage(start, value, _between(flat, start, value))
        for start, value in zip(starts, [*cuts, flat.value], strict=True)
    ]


def _live_values(flat: FlatNest) -> list[ir.Value | None]:
    """Return for each operation the only earlier value, besides loads, that later ones use.

    None if there is not exactly one.
    """
    last = {value: place for place, op in enumerate(flat.slice) for value in op.operands}
    last[flat.value] = len(flat.slice)
    results: list[ir.Value | None] = []
    live: dict[ir.Value, None] = {}
    for place, op in enumerate(flat.slice):
        for value in op.operands:
            if last[value] == place:
                live.pop(value, None)
        result = op.results[0]
        if op not in flat.accesses and last.get(result, place) > place:
            live[result] = None
        results.append(next(iter(live)) if len(live) == 1 else None)
    return results


def _between(flat: FlatNest, start: ir.Value | None, value: ir.Value) -> list[ir.Operation]:
    """Return the operations that compute a value from another one and from loads."""
    needed, results = {value}, list[ir.Operation]()
    for op in reversed(flat.slice):
        result = op.results[0]
        if result not in needed or (start is not None and result == start):
            continue
        results.append(op)
        if op not in flat.accesses:
            needed.update(op.operands)
    return results[::-1]


class LoopDistribution:
    """Writes a map stage by stage.

    It is made at the beginning of a parallel region, if there is one.
    """

    def __init__(self, writer: ElementWriter, stages: list[Stage]) -> None:
        self._writer, self._stages = writer, stages
        emit = writer.emit
        self._block = emit.alloc(_BLOCK, ir.IntegerType.get_signless(32), _BLOCK)

    @staticmethod
    def of(writer: ElementWriter) -> "LoopDistribution | None":
        """Return the loop distribution of a map, None if it does not pay."""
        if writer.vector is None or not (writer.masked and writer.machine.isa.tables):
            return None
        extent = writer.flat.iters[writer.vector].extent.value
        stages = find_stages(writer.flat)
        if len(stages) < 2 or (extent is not None and extent < _MIN):
            return None
        return LoopDistribution(writer, stages)

    def write(
        self, env: dict[int, Index], span: Span, wide: int,
        put: Callable[[ir.Value, Lanes], None], from_memory: bool = False,
    ) -> Index:  # fmt: skip
        """Write loops over a range as far as wide vectors fill it, and return the end.

        `put` stores a vector of results; with `from_memory` the next block is prefetched.
        """
        emit, (first, last) = self._writer.emit, span
        upto = first + emit.round_down(last - first, wide)
        ahead = self._writer._ahead
        fetched = dict.fromkeys(self._read_once(env), _BLOCK) if from_memory else {}
        self._writer._ahead = {**ahead, **fetched}
        with emit.loop(first, upto, _BLOCK) as block:
            begin = block.counter
            end = emit.min(begin + _BLOCK, upto)
            for stage in self._stages:
                with emit.loop(begin, end, wide, hints=KEEP) as loop:
                    self._step(stage, Lanes(env, loop.counter, wide), begin, put)
        self._writer._ahead = ahead
        return upto

    def _read_once(self, env: dict[int, Index]) -> list[ir.Operation]:
        """Return the loads whose elements no other step loads."""
        assert self._writer.vector is not None
        return [
            op
            for op, access in self._writer.flat.accesses.items()
            if op != self._writer.flat.store
            and access.strides[self._writer.vector] == 1
            and all(access.strides[position] != 0 for position in env)
        ]

    def _step(
        self, stage: Stage, lanes: Lanes, begin: Index, put: Callable[[ir.Value, Lanes], None]
    ) -> None:
        place = lanes.at - begin
        made: dict[ir.Value, ir.Value] = {}
        if stage.start is not None:
            made[stage.start] = self._kept(place, lanes.count)
        (value,) = self._writer._values([stage.value], lanes, made, stage.slice)
        if stage is self._stages[-1]:
            put(value, lanes)
        else:
            self._keep(value, place)

    def value(self, lanes: Lanes) -> ir.Value:
        """Return the map's value for some lanes, by the same operations as in stages.

        A stage must not know the range of the value of the stage before.
        """
        made: dict[ir.Value, ir.Value] = {}
        for stage in self._stages[:-1]:
            (value,) = self._writer._values([stage.value], lanes, made, stage.slice)
            made = {stage.value: self._writer.emit.register_barrier([value])[0]}
        last = self._stages[-1]
        return self._writer._values([last.value], lanes, made, last.slice)[0]

    def _keep(self, value: ir.Value, place: Index) -> None:
        """Store floats as bits: `expand_math` has a less accurate `exp` for stored floats."""
        emit = self._writer.emit
        bits = emit.op("arith.bitcast", [value], self._bits(value.type.shape[0]))
        emit.vector_store(bits, self._block, [place])

    def _kept(self, place: Index, lanes: int) -> ir.Value:
        emit = self._writer.emit
        bits = emit.vector_load(self._block, [place], self._bits(lanes))
        return emit.op("arith.bitcast", [bits], ir.VectorType.get([lanes], ir.F32Type.get()))

    def _bits(self, lanes: int) -> ir.VectorType:
        return ir.VectorType.get([lanes], self._block.type.element_type)
