"""Blocks of rows of fused nests, and buffers for them."""

import functools
from dataclasses import replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import FlatIter, FlatNest
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.nest_cost import has_functions
from relax_mlir.lowering.tir_to_vector.row_fusion.row_memory import Overwritten
from relax_mlir.lowering.tir_to_vector.row_fusion.software_pipelining import MIN_PIPELINED_ELEMENTS

# The maximal rows of a block, and elements of a buffer on the stack.
_MAX_ROWS = 16
_SMALL = 256


def row_length(group: list[FlatNest], count: int, emit: Emitter) -> Index:
    """Return the bytes of a row of all buffers of the nests."""
    lengths: dict[ir.Value, Index] = {}
    for flat in group:
        for access in flat.accesses.values():
            stride = emit.size(access.strides[count - 1])
            if stride != 0 and access.buffer not in lengths:
                width = max(8, access.buffer.type.element_type.width) // 8
                lengths[access.buffer] = emit.mul(stride, width)
    total: Index = 1
    for length in lengths.values():
        total = emit.add(total, length)
    return total


def come_from_memory(
    group: list[FlatNest], count: int, length: Index, over: list[Overwritten], emit: Emitter,
    machine: Machine,
) -> bool | ir.Value:  # fmt: skip
    """Return whether rows come from beyond all caches, and go one at a time.

    Slow functions hide plain stores, as long as the cache has a part of them. Nests that overwrite
    their result store it once then, with a buffer of one row.
    """
    total = length
    for it in group[0].iters[:count]:
        total = emit.mul(total, emit.size(it.extent))
    slow = any(map(has_functions, group))
    limits = [(machine.min_non_temporal_bytes(True, slow=slow), total)]
    for each in over:
        limits += [(length, machine.l2_bytes), (MIN_PIPELINED_ELEMENTS, emit.size(each.size))]
    unknown = []
    for low, high in limits:
        if not (isinstance(low, int) and isinstance(high, int)):
            unknown.append(emit.compare("sle", low, high))
        elif low > high:
            return False
    return functools.reduce(emit.both, unknown) if unknown else True


def rows_together(group: list[FlatNest], length: Index, emit: Emitter, machine: Machine) -> Index:
    """Return how many rows go together: as many as fit half of L1.

    Rows from memory go one at a time, so that memory is always busy.
    """
    if not any(flat.total is not None for flat in group):
        return 1
    return emit.max(emit.min(emit.div(machine.l1_bytes // 2, length), _MAX_ROWS), 1)


def size_of_rows(row: SymExpr, block: Index, emit: Emitter) -> Index:
    """Return the size of a buffer for a block of rows; it is static if it fits the stack."""
    size = emit.size(row)
    known = isinstance(size, int) and size * _MAX_ROWS <= _SMALL
    return emit.mul(size, _MAX_ROWS if known else block)


def merge_shared(group: list[FlatNest], count: int) -> tuple[list[FlatNest], int]:
    """Merge shared loops that all accesses walk as one."""
    for position in reversed(range(count - 1)):
        extent = group[0].iters[position + 1].extent
        if all(
            not {position, position + 1} & set(flat.counters.values())
            and all(
                access.in_rows or access.strides[position] == access.strides[position + 1] * extent
                for access in flat.accesses.values()
            )
            for flat in group
        ):
            group = [_merged(flat, position) for flat in group]
            count -= 1
    return group, count


def _merged(flat: FlatNest, position: int) -> FlatNest:
    outer, inner = flat.iters[position : position + 2]
    iters = list(flat.iters)
    iters[position : position + 2] = [FlatIter(outer.extent * inner.extent, False)]
    accesses = {
        op: replace(access, strides=access.strides[:position] + access.strides[position + 1 :])
        for op, access in flat.accesses.items()
    }
    counters = {v: i - 1 if i and i > position else i for v, i in flat.counters.items()}
    return replace(flat, iters=iters, accesses=accesses, counters=counters)
