"""Fast windows over planes: each plane goes to fast memory with its border, then vectors of it."""

from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.windows.planes import Planes
from relax_mlir.lowering.tir_to_vector.windows.planes_direct import DirectPlanes, reads_in_place
from relax_mlir.lowering.tir_to_vector.windows.planes_packed import PackedPlanes, packed_rows
from relax_mlir.lowering.tir_to_vector.windows.planes_pairs import (
    PairedPlanes,
    most_paired,
    pairing_pays,
)
from relax_mlir.lowering.tir_to_vector.windows.planes_rows import PlaneRows
from relax_mlir.lowering.tir_to_vector.windows.planes_separable import (
    SUMS,
    SeparableRows,
    is_separable,
)
from relax_mlir.lowering.tir_to_vector.windows.planes_turned import (
    TurnedPlanes,
    turning_pays,
    turns_planes,
)
from relax_mlir.lowering.tir_to_vector.windows.whole_images import emit_whole_images


def emit_planes(found: Planes, emit: Emitter, machine: Machine) -> None:
    """Write the kernel of a window over planes at the insertion point."""
    emit_whole_images(found, emit, machine, lambda: _emit_windows(found, emit, machine))


def _emit_windows(found: Planes, emit: Emitter, machine: Machine) -> None:
    sums = found.kernel is not None or found.flat.combiner in SUMS
    if (sums or not is_separable(found)) and reads_in_place(found, machine):
        _emit_in_place(found, emit, machine)
        return
    if packed_rows(found, machine) is not None:
        PackedPlanes(found, emit, machine).write()
    elif is_separable(found):
        SeparableRows(found, emit, machine).write()
    else:
        _emit_copied(found, emit, machine)


def _emit_copied(found: Planes, emit: Emitter, machine: Machine) -> None:
    """Write the kernel of a window over copies of planes."""
    emit.choose(
        turns_planes(found, machine) and turning_pays(found, emit, machine),
        lambda: TurnedPlanes(found, emit, machine).write(),
        lambda: PlaneRows(found, emit, machine).write(),
    )


def _emit_in_place(found: Planes, emit: Emitter, machine: Machine) -> None:
    """Write the kernel of a window that is read where it lies."""
    short = False
    if most_paired(found, machine):
        short = pairing_pays(found, emit, machine)
    if found.kernel is None and not isinstance(short, bool):
        # Sums of few pixels are not worth the code for both.
        short = False
    emit.choose(
        short,
        lambda: PairedPlanes(found, emit, machine).write(),
        lambda: DirectPlanes(found, emit, machine).write(),
    )
