"""Epilogues: maps over the sums of a contraction, computed in registers."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.analysis import DIVIDES, Nest, is_adjacent, is_used_only_in
from relax_mlir.lowering.tir_to_vector.contraction.pattern import (
    Contraction,
    Epilogue,
    match_packed_contraction,
    product_tile,
)
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import (
    FlatAccess,
    FlatNest,
    collapse,
    flatten_nest,
    flattened,
)
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.nest_elements import Lanes
from relax_mlir.lowering.tir_to_vector.vector_nest import NestWriter
from relax_mlir.lowering.walk import defining_op, root

_ONE = SymExpr.const(1)
_T = TypeVar("_T")


def wanted_columns(flat: FlatNest, rest: Sequence[ir.Operation]) -> int | None:
    """Return how many columns of panels the nest after a contraction uses, None for all."""
    follower = flattened(rest[0]) if rest else None
    if follower is None:
        return None
    made = flat.accesses[flat.store]
    read = [x for x in follower.accesses.values() if x.buffer == made.buffer]
    free = [i for i, it in enumerate(flat.iters) if not it.reduction]
    for it, stride in zip(follower.iters, read[0].strides if read else [], strict=False):
        count = it.extent.value
        if count is not None and _panels(flat, made, free, count, stride) is not None:
            return count
    return None


def shared_iterators(
    flat: FlatNest, here: FlatAccess, follower: FlatNest, there: FlatAccess, columns: int | None
) -> list[list[tuple[int, SymExpr]]] | None:
    """Return for each iterator of a map the contraction's iterators, and the factor of each.

    One may be several of the contraction's: panels, and columns of a panel.

    Args:
        flat: the contraction's.
        here: the contraction's store.
        follower: the map's.
        there: the map's load of it.
        columns: how many columns of panels the map uses, None for all.
    """
    free = [i for i, it in enumerate(flat.iters) if not it.reduction]

    def walks(position: int, extent: SymExpr, stride: SymExpr) -> bool:
        return flat.iters[position].extent == extent and here.strides[position] == stride

    result: list[list[tuple[int, SymExpr]]] = []
    for i, it in enumerate(follower.iters):
        stride = there.strides[i]
        same = next(([(j, _ONE)] for j in free if walks(j, it.extent, stride)), None)
        if same is None and columns is not None and it.extent.value == columns:
            same = _panels(flat, here, free, columns, stride)
        if same is None:
            same = _chained(flat, here, free, it.extent, stride)
        if same is None:
            return None
        result.append(same)
        free = [j for j in free if j not in (position for position, _ in same)]
    return None if any(flat.iters[j].extent != 1 for j in free) else result


def _panels(
    flat: FlatNest, here: FlatAccess, free: list[int], columns: int, stride: SymExpr
) -> list[tuple[int, SymExpr]] | None:
    """Return the iterators over panels and columns that cover `columns`, the last panel in part."""
    for inner in free:
        width = flat.iters[inner].extent.value
        if width is None or width < 2 or here.strides[inner] != stride:
            continue
        for outer in free:
            count = flat.iters[outer].extent.value
            if count is None or count < 2 or here.strides[outer] != stride * width:
                continue
            if 0 < count * width - columns < width:
                return [(outer, SymExpr.const(width)), (inner, _ONE)]
    return None


def _chained(
    flat: FlatNest, here: FlatAccess, free: list[int], extent: SymExpr, stride: SymExpr
) -> list[tuple[int, SymExpr]] | None:
    """Return iterators that together walk an extent with a stride, the innermost last."""
    result: list[tuple[int, SymExpr]] = []
    steps = _ONE
    while steps != extent:
        near = [j for j in free if here.strides[j] == stride * steps]
        near = [j for j in near if j not in (position for position, _ in result)]
        # All but the outermost are static.
        inner = next((j for j in near if flat.iters[j].extent * steps == extent), None)
        if inner is None:
            inner = next((j for j in near if (flat.iters[j].extent.value or 0) > 1), None)
        if inner is None:
            return None
        result.insert(0, (inner, steps))
        steps *= flat.iters[inner].extent
    return result


# Operations of an element from which on a loop is better than inline code.
_LONG = 8
_ZERO = SymExpr.const(0)


def take_epilogue(nest: Nest, rest: Sequence[ir.Operation], machine: Machine) -> Contraction | None:
    """Return a contraction with as many of the nests after it as can be its epilogue, or None."""
    flat = flatten_nest(nest)
    columns = wanted_columns(flat, rest)
    return fuse_maps(flat, rest, partial(_join, columns=columns, machine=machine), columns)


def fuse_maps(
    flat: FlatNest, rest: Sequence[ir.Operation],
    join: Callable[[FlatNest, list[FlatNest]], _T | None], columns: int | None = None,
) -> _T | None:  # fmt: skip
    """Return what `join` makes of a reduction and as many maps after it as it takes, or None.

    The reduction has an iterator for each of its loops; `join` gets it with the accesses of the
    maps too. `columns` are those of panels that the maps use, None for all.
    """
    maps = _follow(flat, rest, columns)
    while maps:
        accesses = dict(flat.accesses)
        for each in maps:
            accesses.update(each.accesses)
        made = join(replace(flat, accesses=accesses), maps)
        if made is not None:
            return made
        maps = maps[:-1]
    return None


def on_iterators(maps: Sequence[FlatNest], whole: FlatNest) -> list[FlatNest]:
    """Return maps over the iterators of a nest that has their accesses."""
    return [
        replace(each, iters=whole.iters, accesses={op: whole.accesses[op] for op in each.accesses})
        for each in maps
    ]


def _follow(flat: FlatNest, rest: Sequence[ir.Operation], columns: int | None) -> list[FlatNest]:
    """Return the nests after a reduction that map its results elementwise, on its iterators."""
    inputs = {root(access.buffer) for op, access in flat.accesses.items() if op in flat.slice}
    made = [flat.accesses[flat.store]]
    maps: list[FlatNest] = []
    before = flat.nest.top
    for op in rest:
        follower = flattened(op)
        if follower is None or not is_adjacent(before, op):
            break
        buffer, nests = made[-1].buffer, [each.nest for each in (flat, *maps, follower)]
        if defining_op(buffer, "memref.alloc") is None or not is_used_only_in(buffer, nests):
            break
        aligned = _aligned(flat, follower, made, columns)
        if aligned is None or root(aligned.written) in inputs:
            break
        maps.append(aligned)
        made.append(aligned.accesses[aligned.store])
        before = op
    return maps


def _aligned(
    flat: FlatNest, follower: FlatNest, made: list[FlatAccess], columns: int | None
) -> FlatNest | None:
    """Return a map over a contraction's results, on the contraction's iterators."""
    if follower.total is not None or any(op.name in DIVIDES for op in follower.slice):
        return None
    # Merged iterators would need the counters one by one.
    if follower.counters:
        return None
    known = [access.buffer for access in made]
    loads = [op for op in follower.slice if op.name == "memref.load"]
    fed = [op for op in loads if follower.accesses[op].buffer in known]
    if not fed:
        return None
    # Iterators correspond if they have the same stride in the buffer between the nests.
    there = follower.accesses[fed[0]]
    here = made[known.index(there.buffer)]
    to = shared_iterators(flat, here, follower, there, columns)
    if to is None:
        return None
    accesses = {}
    for op, access in follower.accesses.items():
        strides = [_ZERO] * len(flat.iters)
        for targets, stride in zip(to, access.strides, strict=True):
            for position, steps in targets:
                strides[position] = stride * steps
        accesses[op] = FlatAccess(access.buffer, access.offset, strides)
    for op in fed:
        place = made[known.index(accesses[op].buffer)]
        if (accesses[op].offset, accesses[op].strides) != (place.offset, place.strides):
            return None
    return replace(follower, iters=flat.iters, accesses=accesses)


def _join(
    whole: FlatNest, maps: list[FlatNest], columns: int | None, machine: Machine
) -> Contraction | None:
    """Return a contraction and its epilogue on shared iterators."""
    merged = collapse(whole)
    gemm = match_packed_contraction(merged, machine)
    if isinstance(gemm, str) or gemm.outer_reductions:
        return None
    merged = gemm.flat
    if columns is not None:
        # The unused columns are at the end of the last panel.
        panel = product_tile(gemm, machine).panel
        if panel is None:
            return None
        width, count = merged.iters[gemm.n].extent.value, merged.iters[panel].extent.value
        if width is None or count is None or not 0 < count * width - columns < width:
            return None
        gemm = replace(gemm, columns=columns)
    n = gemm.n
    for follower in maps:
        for op in follower.accesses:
            stride = merged.accesses[op].strides[n]
            if stride != 1 and (stride != 0 or op == follower.store):
                return None
    nests = on_iterators(maps, merged)
    return replace(gemm, epilogue=Epilogue(nests, _partial(gemm, nests)))


def _partial(gemm: Contraction, nests: list[FlatNest]) -> FlatAccess | None:
    """Return the last nest's result, if incomplete sums may be stored there."""
    last = nests[-1]
    out = last.accesses[last.store]
    if out.buffer.type.element_type != gemm.element:
        return None
    read = [nest.accesses[op] for nest in nests for op in nest.slice if op in nest.accesses]
    if any(root(access.buffer) == root(out.buffer) for access in read):
        return None
    return out


class _Map(NestWriter):
    """Writes a nest's computation on values in registers."""

    def __init__(self, flat: FlatNest, n: int, made: set[ir.Value], emit: Emitter) -> None:
        self._made = {op: a.buffer for op, a in flat.accesses.items() if a.buffer in made}
        left = {op: access for op, access in flat.accesses.items() if op not in self._made}
        super().__init__(replace(flat, accesses=left), n, emit)
        self.written = flat.written
        self.known: dict[ir.Value, ir.Value] = {}

    def _get(self, op: ir.Operation, lanes: Lanes) -> ir.Value:
        if op in self._made:
            return self.known[self._made[op]]
        return super()._get(op, lanes)


class EpilogueEmitter:
    """Writes an epilogue; `is_long` says that one copy, in a loop, is better than inline code.

    Args:
        epilogue: what to write.
        sums: the buffer that would hold the sums.
        n: the iterator that vectors run along.
        emit: where to write.
    """

    emit: Emitter

    def __init__(self, epilogue: Epilogue, sums: ir.Value, n: int, emit: Emitter) -> None:
        self.emit, self._buffer = emit, sums
        made = {sums, *(nest.written for nest in epilogue.nests[:-1])}
        self._maps = [_Map(nest, n, made, emit) for nest in epilogue.nests]
        operations = [op.name for nest in epilogue.nests for op in nest.slice]
        self.is_long: bool = len(operations) > _LONG or any(
            x.startswith("math.") for x in operations
        )

    def at(self, env: dict[int, Index]) -> Callable[[ir.Value, Index, ir.Value | None], None]:
        """Return a function of a vector of sums, its first column and a mask, at given counters."""

        def put(value: ir.Value, column: Index, mask: ir.Value | None) -> None:
            lanes = Lanes(env, column, value.type.shape[0], mask)
            known = {self._buffer: value}
            for each in self._maps:
                each.known = known
                value = each._value(lanes)
                known[each.written] = value
            self._maps[-1]._put(value, lanes)

        return put
