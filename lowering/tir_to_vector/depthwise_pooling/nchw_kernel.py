"""The kernel of depthwise convolution and pooling in NCHW: in place, or by copies of planes."""

from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.channel_in_lane import (
    ChannelInLane,
    channel_in_lane_pays,
    fits_channel_in_lane,
)
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.global_pool import emit_global_pool
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nchw_copied_rows import CopiedRowsNchw
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nchw_in_place import (
    InPlaceNchw,
    reads_in_place,
)
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nchw_packed_rows import (
    PackedRowsNchw,
    packed_rows,
)
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nchw_paired_rows import (
    PairedRowsNchw,
    max_paired_columns,
    pairing_pays,
)
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nchw_pattern import DepthwisePool
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nchw_separable import (
    SUMS,
    SeparableNchw,
    is_separable,
)
from relax_mlir.lowering.tir_to_vector.emit import Emitter


def emit_nchw(pool: DepthwisePool, emit: Emitter, machine: Machine) -> None:
    """Write the kernel at the insertion point."""
    emit_global_pool(pool, emit, machine, lambda: _emit_windows(pool, emit, machine))


def _emit_windows(pool: DepthwisePool, emit: Emitter, machine: Machine) -> None:
    sums = pool.weight is not None or pool.flat.combiner in SUMS
    if (sums or not is_separable(pool)) and reads_in_place(pool, machine):
        _emit_in_place(pool, emit, machine)
        return
    if packed_rows(pool, machine) is not None:
        PackedRowsNchw(pool, emit, machine).write()
    elif is_separable(pool):
        SeparableNchw(pool, emit, machine).write()
    else:
        _emit_copied(pool, emit, machine)


def _emit_copied(pool: DepthwisePool, emit: Emitter, machine: Machine) -> None:
    """Write a kernel that copies planes."""
    emit.choose(
        fits_channel_in_lane(pool, machine) and channel_in_lane_pays(pool, emit, machine),
        lambda: ChannelInLane(pool, emit, machine).write(),
        lambda: CopiedRowsNchw(pool, emit, machine).write(),
    )


def _emit_in_place(pool: DepthwisePool, emit: Emitter, machine: Machine) -> None:
    """Write a kernel that reads planes in place."""
    short = False
    if max_paired_columns(pool, machine):
        short = pairing_pays(pool, emit, machine)
    if pool.weight is None and not isinstance(short, bool):
        # Sums of few pixels are not worth the code for both.
        short = False
    emit.choose(
        short,
        lambda: PairedRowsNchw(pool, emit, machine).write(),
        lambda: InPlaceNchw(pool, emit, machine).write(),
    )
