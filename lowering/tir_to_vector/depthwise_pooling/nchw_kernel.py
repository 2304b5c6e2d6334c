"""The kernel of depthwise convolution and pooling in NCHW: in place, or by copies of planes."""

from functools import partial

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.channel_in_lane import (
    ChannelInLane,
    channel_in_lane_pays,
    fits_channel_in_lane,
)
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nchw_copied import CopiedRowsNchw
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nchw_in_place import (
    InPlaceNchw,
    PairedRowsNchw,
    max_paired_columns,
    pairing_pays,
    reads_in_place,
)
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nchw_separable import (
    SUMS,
    SeparableNchw,
    is_separable,
)
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.pattern import (
    DepthwisePool,
    Match,
    find_depthwise_pool,
    match_nchw,
)
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.writer import DepthwisePoolWriter
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.kernel_class import (
    Candidate,
    Condition,
    KernelClass,
    Nests,
    Problem,
)
from relax_mlir.lowering.tir_to_vector.nest_cost import nest_work


def match_window(nests: Nests, match: Match) -> Problem | str:
    """Return the window that some nests begin with, or why there is none."""
    result = find_depthwise_pool(nests.tops, nests.machine, match)
    if result is None:
        return "no window slides over planes or over adjacent channels"
    return Problem(result.nests, result, "window", result.flat.nest)


def _candidates(problem: Problem, machine: Machine) -> list[Candidate]:
    pool: DepthwisePool = problem.form
    work = partial(nest_work, pool.flat, machine)

    def kernel(
        name: str, writer: type[DepthwisePoolWriter], when: Condition | None = None
    ) -> Candidate:
        return Candidate(
            name, lambda emit, machine: writer(pool, emit, machine).write(), work, when=when
        )

    def paired(emit: Emitter) -> bool | ir.Value:
        short = pairing_pays(pool, emit, machine)
        # Sums of few pixels are not worth the code for both.
        return short if pool.weight is not None or isinstance(short, bool) else False

    sums = pool.weight is not None or pool.flat.combiner in SUMS
    if (sums or not is_separable(pool)) and reads_in_place(pool, machine):
        if max_paired_columns(pool, machine):
            return [
                kernel("two rows in a vector", PairedRowsNchw, paired),
                kernel("planes in place", InPlaceNchw),
            ]
        return [kernel("planes in place", InPlaceNchw)]
    if is_separable(pool):
        return [kernel("separable", SeparableNchw)]
    copied = kernel("copied planes", CopiedRowsNchw)
    if fits_channel_in_lane(pool, machine):
        pays = partial(channel_in_lane_pays, pool, machine=machine)
        return [kernel("channel in lane", ChannelInLane, pays), copied]
    return [copied]


NCHW_WINDOW = KernelClass(
    "depthwise convolution or pooling, NCHW",
    lambda nests: match_window(nests, match_nchw),
    _candidates,
    one_nest=False,
)
