"""Global pooling: a window as large as the image is a reduction of each image."""

import functools
import math
from dataclasses import dataclass, replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nchw_pattern import DepthwisePool
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess, FlatIter, FlatNest, inner_dims
from relax_mlir.lowering.tir_to_vector.kernel_class import Candidate
from relax_mlir.lowering.tir_to_vector.nest_cost import nest_work
from relax_mlir.lowering.tir_to_vector.row_fusion.fusion import emit_fused, shared_loops

# Taps from which on a window may be a whole image.
_MIN_ELEMENTS = 16


@dataclass
class GlobalPool:
    """Pooling as a reduction, for windows as large as images.

    Attributes:
        sizes: the values that symbols have then.
        nests: the reduction and its epilogue.
        shared: outer loops that they share.
    """

    sizes: dict[str, int]
    nests: list[FlatNest]
    shared: int


def match_global_pool(pool: DepthwisePool) -> GlobalPool | None:
    """Return pooling of dynamic sizes as a reduction, None if it cannot be one."""
    flat = pool.flat
    if pool.weight is not None or pool.padded is not None or flat.init is None:
        return None
    sizes = _window_sizes(pool)
    if not sizes:
        return None
    known = {name: SymExpr.const(size) for name, size in sizes.items()}
    followers = [] if pool.epilogue is None else pool.epilogue.nests
    nests = [_with(nest, known) for nest in (flat, *followers)]
    if math.prod(it.extent.value or 0 for it in nests[0].iters if it.reduction) < _MIN_ELEMENTS:
        return None
    shared = shared_loops(nests) if len(nests) > 1 else 0
    if len(nests) > 1 and not shared:
        return None
    return GlobalPool(sizes, nests, shared)


def _window_sizes(pool: DepthwisePool) -> dict[str, int] | None:
    """Return the symbols of the image's sizes and the sizes of windows."""
    flat, sizes = pool.flat, dict[str, int]()
    dims = [None, *inner_dims(pool.image.buffer)]
    for dim, axis in zip(dims, pool.axes, strict=True):
        taps = [i for i in axis.inner if i in pool.reductions]
        if not taps:
            continue
        extent = flat.iters[taps[0]].extent.value
        if len(taps) > 1 or axis.inner[taps[0]] != 1 or dim is None or extent is None:
            return None
        if dim.value is None and (dim.name is None or sizes.setdefault(dim.name, extent) != extent):
            return None
        if dim.value not in (None, extent):
            return None
    return sizes


def _with(nest: FlatNest, known: dict[str, SymExpr]) -> FlatNest:
    """Return a nest with values for some symbols."""

    def place(access: FlatAccess) -> FlatAccess:
        strides = [stride.substitute(known) for stride in access.strides]
        return replace(access, offset=access.offset.substitute(known), strides=strides)

    own = (*nest.slice, nest.store, nest.total)
    return replace(
        nest,
        iters=[FlatIter(it.extent.substitute(known), it.reduction) for it in nest.iters],
        accesses={op: place(access) for op, access in nest.accesses.items() if op in own},
    )


def global_pool(pool: DepthwisePool, machine: Machine) -> list[Candidate]:
    """Return the candidate for windows as large as images, if there can be such."""
    whole = match_global_pool(pool)
    if whole is None:
        return []

    def is_whole(emit: Emitter) -> ir.Value:
        return functools.reduce(
            emit.both,
            [
                emit.compare("eq", emit.size(SymExpr.var(s)), size)
                for s, size in whole.sizes.items()
            ],
        )

    return [
        Candidate(
            "a reduction",
            lambda emit, machine: emit_fused(whole.nests, whole.shared, emit, machine),
            lambda size: nest_work(whole.nests[0], machine, size),
            when=is_whole,
        )
    ]
