"""The iterators of a contraction that the iterators of an epilogue correspond to."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.tir_to_vector.analysis import match_nest
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess, FlatNest, NotFlat, flatten_nest

_ONE = SymExpr.const(1)


def wanted_columns(flat: FlatNest, rest: Sequence[ir.Operation]) -> int | None:
    """Return how many columns of panels the next nest uses, None for all.

    Args:
        flat: the contraction's.
        rest: the loops and blocks after it.
    """
    nest = match_nest(rest[0]) if rest else "there is none"
    if isinstance(nest, str):
        return None
    try:
        follower = flatten_nest(nest)
    except NotFlat:
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
    found: list[tuple[int, SymExpr]] = []
    steps = _ONE
    while steps != extent:
        near = [j for j in free if here.strides[j] == stride * steps]
        near = [j for j in near if j not in (position for position, _ in found)]
        # All but the outermost are static.
        inner = next((j for j in near if flat.iters[j].extent * steps == extent), None)
        if inner is None:
            inner = next((j for j in near if (flat.iters[j].extent.value or 0) > 1), None)
        if inner is None:
            return None
        found.insert(0, (inner, steps))
        steps = steps * flat.iters[inner].extent
    return found
