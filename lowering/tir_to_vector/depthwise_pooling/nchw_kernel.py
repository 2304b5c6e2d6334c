"""The kernel of depthwise convolution and pooling in NCHW: in place, or by copies of planes."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nchw_copied import CopiedNchw
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nchw_in_place import (
    InPlaceNchw,
    PairedRowsNchw,
    max_paired_columns,
    pairing_pays,
    reads_in_place,
)
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.pattern import DepthwisePool, match_nchw
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.separable import (
    SUMS,
    SeparableNchw,
    is_separable,
)
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.writer import DepthwisePoolWriter
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess, FlatIter, FlatNest, inner_dims
from relax_mlir.lowering.tir_to_vector.kernel_class import (
    Candidate,
    Condition,
    KernelClass,
    Nests,
    Problem,
)
from relax_mlir.lowering.tir_to_vector.nest_cost import Size, Work, bits_of, nest_work, tile_work
from relax_mlir.lowering.tir_to_vector.row_fusion.fusion import emit_fused, shared_loops
from relax_mlir.lowering.tir_to_vector.window import Padded, find_window

Match = Callable[[FlatNest, Padded | None, Machine], DepthwisePool | None]
# Taps from which on a window may be a whole image.
_MIN_ELEMENTS = 16
# Cycles of an FMA unit for a vector of a tap, with loads and shuffles, and what skipped pixels add,
# with permutes from tables and without; how many times as much a tap of two rows in a vector is,
# and one of adjacent pixels in rows shorter than a vector, where masks are not free. They fit
# `benchmarks/kernels.py --only depthwise` on Zen 4, with vectors of 64 and of 32 bytes.
_TAP, _SKIPPED, _PAIRED, _MASKED = (1.1, 1.3), (0.65, 1.5), 1.5, 1.25


def global_pool(pool: DepthwisePool, machine: Machine) -> list[Candidate]:
    """Return the candidate for windows as large as images of dynamic size, if there can be such.

    It is a reduction.
    """
    if pool.weight is not None or pool.padded is not None or pool.flat.init is None:
        return []
    sizes = _window_sizes(pool)
    if not sizes:
        return []
    known = {name: SymExpr.const(size) for name, size in sizes.items()}
    followers = [] if pool.epilogue is None else pool.epilogue.nests
    nests = [_with(nest, known) for nest in (pool.flat, *followers)]
    shared = shared_loops(nests) if followers else 0
    taps = math.prod(it.extent.value or 0 for it in nests[0].iters if it.reduction)
    if taps < _MIN_ELEMENTS or (followers and not shared):
        return []

    def is_whole(emit: Emitter) -> bool | ir.Value:
        return emit.all_hold(
            emit.holds("eq", emit.size(SymExpr.var(name)), size) for name, size in sizes.items()
        )

    return [
        Candidate(
            "a reduction",
            lambda emit, machine: emit_fused(nests, shared, emit),
            lambda size: nest_work(nests[0], machine, size),
            when=is_whole,
        )
    ]


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


def match_window(nests: Nests, match: Match) -> Problem | str:
    """Return the window that some nests begin with, or why there is none."""
    result = find_window(nests.tops, lambda flat, padded: match(flat, padded, nests.machine))
    if result is None:
        return "no window slides over planes or over adjacent channels"
    return Problem(result.nests, result, "window", result.flat.nest)


def _work(pool: DepthwisePool, machine: Machine, rows: int, size: Size) -> Work:
    """Return the work of a window, given the rows of outputs that share a vector."""
    if pool.weight is None:
        return nest_work(pool.flat, machine, size)
    columns = rows * max(1, size(pool.flat.iters[pool.col].extent))
    lanes = machine.isa.lanes(bits_of(pool.flat.value.type))
    filled = columns / (-(-columns // lanes) * lanes)
    each, skipped = (kinds[0 if machine.isa.tables else 1] for kinds in (_TAP, _SKIPPED))
    tap = each * (_PAIRED if rows > 1 else 1) + skipped * (pool.stride - 1)
    if columns < lanes and pool.stride == 1 and not machine.isa.free_masks:
        tap *= _MASKED
    return tile_work(pool.flat, machine, size, tap / filled)


def _candidates(problem: Problem, machine: Machine) -> list[Candidate]:
    pool: DepthwisePool = problem.form

    def kernel(
        name: str, writer: type[DepthwisePoolWriter], when: Condition | None = None,
        rows: int = 1,
    ) -> Candidate:  # fmt: skip
        work = partial(_work, pool, machine, rows)
        return Candidate(name, lambda emit, machine: writer(pool, emit).write(), work, when=when)

    def paired(emit: Emitter) -> bool | ir.Value:
        short = pairing_pays(pool, emit)
        # Sums of few pixels are not worth the code for both.
        return short if pool.weight is not None or isinstance(short, bool) else False

    result = global_pool(pool, machine)
    sums = pool.weight is not None or pool.flat.combiner in SUMS
    if (sums or not is_separable(pool)) and reads_in_place(pool, machine):
        if max_paired_columns(pool, machine):
            result.append(kernel("two rows in a vector", PairedRowsNchw, paired, 2))
        return [*result, kernel("planes in place", InPlaceNchw)]
    if is_separable(pool):
        return [*result, kernel("separable", SeparableNchw)]
    return [*result, kernel("copied planes", CopiedNchw)]


NCHW_WINDOW = KernelClass(
    "depthwise convolution or pooling, NCHW",
    lambda nests: match_window(nests, match_nchw),
    _candidates,
    one_nest=False,
)
