"""Nests that each write a part of every row of one buffer, such as padding and concat."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.analysis import Nest, is_adjacent, match_nest
from relax_mlir.lowering.tir_to_vector.data_movement.index_map import IndexMap, match_index_map
from relax_mlir.lowering.tir_to_vector.data_movement.index_map_writer import IndexMapWriter
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.kernel_class import Candidate, KernelClass, Nests, Problem
from relax_mlir.lowering.tir_to_vector.nest_cost import Size, Work, nest_work, total_work


@dataclass
class RowParts:
    """Maps with the same outer iterators, the last of which walks a part of a row.

    Separate loops would write the cache lines between parts several times.
    """

    maps: list[IndexMap]

    @property
    def nests(self) -> list[Nest]:
        """The nests, in order."""
        return [each.flat.nest for each in self.maps]

    @property
    def element(self) -> ir.Type:
        """The type of the elements."""
        return self.maps[0].element


def find_row_parts(tops: Sequence[ir.Operation]) -> RowParts | None:
    """Return the row parts that some operations begin with, None if they are none."""
    maps: list[IndexMap] = []
    for op in tops:
        nest = match_nest(op)
        if isinstance(nest, str) or len(nest.loops) < 2 or not _writes_rows(nest):
            break
        if maps and not is_adjacent(maps[-1].flat.nest.top, op):
            break
        index_map = match_index_map(nest)
        if isinstance(index_map, str) or not _is_along_row(index_map):
            break
        if maps and not _belong(maps[0], index_map):
            break
        maps.append(index_map)
    return RowParts(maps) if len(maps) > 1 else None


def _writes_rows(nest: Nest) -> bool:
    """Whether each iterator but the last is an index of the store, in order."""
    if len(nest.stores) != 1 or set(nest.types) != {"spatial"}:
        return False
    outer = len(nest.types) - 1
    return nest.loop_of == list(range(outer + 1)) and nest.stores[0].iters[:-1] == list(
        range(outer)
    )


def _is_along_row(index_map: IndexMap) -> bool:
    last = len(index_map.flat.iters) - 1
    written = index_map.flat.accesses[index_map.flat.store]
    return (
        not index_map.ordered
        and index_map.repeats == 1
        and index_map.vector == last
        and written.strides[last] == 1
    )


def _belong(first: IndexMap, index_map: IndexMap) -> bool:
    """Whether two maps write the same rows, and neither reads them."""
    rows = [[it.extent for it in each.flat.iters[:-1]] for each in (first, index_map)]
    return first.flat.written == index_map.flat.written and rows[0] == rows[1]


def _match(nests: Nests) -> Problem | str:
    result = find_row_parts(nests.tops)
    return (
        "not several maps write parts of the same rows"
        if result is None
        else Problem(result.nests, result)
    )


def _candidates(problem: Problem, machine: Machine) -> list[Candidate]:
    parts: RowParts = problem.form

    def write(emit: Emitter, _: Machine) -> None:
        writers = [IndexMapWriter(each, emit) for each in parts.maps]
        rows = [emit.size(it.extent) for it in parts.maps[0].flat.iters[:-1]]
        work: Index = 0
        for writer in writers:
            work += writer.work()
        with ExitStack() as loops:
            dims = list(map(emit.shared_evenly, rows))
            ranges = loops.enter_context(emit.parallel_region(dims, work))
            env: dict[int, Index] = {}
            for position, limits in enumerate(ranges):
                env[position] = loops.enter_context(emit.loop(*limits)).counter
            for writer in writers:
                writer.write_row(env)

    def work(size: Size) -> Work:
        return total_work(nest_work(each.flat, machine, size) for each in parts.maps)

    return [Candidate("row by row", write, work)]


ROW_PARTS = KernelClass("parts of rows", _match, _candidates, one_nest=False)
