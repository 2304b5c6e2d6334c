"""Fast windows over planes, by what suits their shape and whether they multiply."""

from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.machine import Machine
from relax_mlir.lowering.tir_to_vector.planes import Planes
from relax_mlir.lowering.tir_to_vector.planes_packed import PackedPlanes, packed_rows
from relax_mlir.lowering.tir_to_vector.planes_rows import PlaneRows
from relax_mlir.lowering.tir_to_vector.planes_separable import SeparableRows, is_separable


def emit_planes(found: Planes, emit: Emitter, machine: Machine) -> None:
    """Write the kernel of a window over planes at the insertion point."""
    if packed_rows(found, machine) is not None:
        writer = PackedPlanes
    else:
        writer = SeparableRows if is_separable(found) else PlaneRows
    writer(found, emit, machine).write()
