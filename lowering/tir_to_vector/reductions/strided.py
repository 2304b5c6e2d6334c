"""Strided reductions: lanes load every n-th element, backwards, or one by one."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess, FlatNest
from relax_mlir.lowering.tir_to_vector.kernel_class import NestForm, Nests, one_nest
from relax_mlir.lowering.tir_to_vector.shuffles import MAX_STEP
from relax_mlir.lowering.tir_to_vector.vector_nest import NestWriter


def strided_iter(
    flat: FlatNest, stores: Sequence[ir.Operation] = (), *, results: bool = False
) -> int | None:
    """Return the iterator whose steps become lanes of a reduction with strided loads.

    `stores` are those of a variadic reduction; with `results`, lanes have to be results.
    """
    written = [flat.accesses[op] for op in stores or [flat.store]]
    loads = [flat.accesses[op] for op in flat.slice if op in flat.accesses]
    reduction: list[tuple[bool, bool, int]] = []
    for position, it in enumerate(flat.iters):
        if not it.reduction and any(access.strides[position] != 1 for access in written):
            continue
        if it.reduction and not any(access.strides[position] != 0 for access in loads):
            continue
        near = all(_is_near(access, position) for access in loads)
        # Results in distant rows have cache set conflicts.
        if results and (it.reduction or not near):
            continue
        reduction.append((near, not it.reduction, position))
    return max(reduction)[2] if reduction else None


def _is_near(access: FlatAccess, position: int) -> bool:
    return access.strides[position].value in range(-1, MAX_STEP + 1)


def _match_first(nests: Nests) -> NestForm | str:
    flat = nests.merged
    if isinstance(flat, str) or flat.total is None:
        return flat if isinstance(flat, str) else "it reduces nothing"
    vector = strided_iter(flat)
    return "its loads have no iterator of lanes" if vector is None else NestForm(flat, vector)


STRIDED_REDUCTION = one_nest(
    "reduction of strided elements",
    _match_first,
    lambda form, emit: NestWriter(form.flat, form.along, emit).write([]),
)
