"""Nests that each write a part of every row of one buffer, such as padding and concat.

They have the same outer iterators, and the last one of each walks a part of a row. Separate loops
would write the cache lines between parts several times.
"""

from collections.abc import Sequence
from contextlib import ExitStack

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.analysis import Nest, is_adjacent, match_nest
from relax_mlir.lowering.tir_to_vector.data_movement.index_map import IndexMap, match_index_map
from relax_mlir.lowering.tir_to_vector.data_movement.index_map_writer import IndexMapWriter
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.kernel_class import Candidate, KernelClass, Nests, Problem
from relax_mlir.lowering.tir_to_vector.nest_cost import Size, Work, nest_work, total_work


def _row_parts(tops: Sequence[ir.Operation]) -> list[IndexMap]:
    """Return the maps that some operations begin with and that write parts of the same rows."""
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
        rows = [index_map.flat.written, *(it.extent for it in index_map.flat.iters[:-1])]
        if maps and rows != [maps[0].flat.written, *(it.extent for it in maps[0].flat.iters[:-1])]:
            break
        maps.append(index_map)
    return maps


def _writes_rows(nest: Nest) -> bool:
    """Whether each iterator but the last is an index of the store, in order."""
    if len(nest.stores) != 1 or set(nest.types) != {"spatial"}:
        return False
    order = list(range(len(nest.types)))
    return nest.loop_of == order and nest.stores[0].iters[:-1] == order[:-1]


def _is_along_row(index_map: IndexMap) -> bool:
    last = len(index_map.flat.iters) - 1
    written = index_map.flat.accesses[index_map.flat.store]
    return (
        not index_map.ordered
        and index_map.repeats == 1
        and index_map.vector == last
        and written.strides[last] == 1
    )


def _match(nests: Nests) -> Problem | str:
    maps = _row_parts(nests.tops)
    if len(maps) < 2:
        return "not several maps write parts of the same rows"
    return Problem([each.flat.nest for each in maps], maps)


def _candidates(problem: Problem, machine: Machine) -> list[Candidate]:
    maps: list[IndexMap] = problem.form

    def write(emit: Emitter, _: Machine) -> None:
        writers = [IndexMapWriter(each, emit) for each in maps]
        rows = [emit.size(it.extent) for it in maps[0].flat.iters[:-1]]
        work = sum(writer._work() for writer in writers)
        with ExitStack() as loops:
            dims = list(map(emit.shared_evenly, rows))
            ranges = loops.enter_context(emit.parallel_region(dims, work))
            env: dict[int, Index] = {}
            for position, limits in enumerate(ranges):
                env[position] = loops.enter_context(emit.loop(*limits)).counter
            for writer in writers:
                writer._along(env)

    def work(size: Size) -> Work:
        return total_work(nest_work(each.flat, machine, size) for each in maps)

    return [Candidate("row by row", write, work)]


ROW_PARTS = KernelClass("parts of rows", _match, _candidates, one_nest=False)
