"""Fast windows over planes: each plane goes to fast memory with its border, then vectors of it."""

from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.machine import Machine
from relax_mlir.lowering.tir_to_vector.planes import Planes
from relax_mlir.lowering.tir_to_vector.planes_packed import PackedPlanes, packed_rows
from relax_mlir.lowering.tir_to_vector.planes_rows import PlaneRows


def emit_planes(found: Planes, emit: Emitter, machine: Machine) -> None:
    """Write the kernel of a window over planes at the insertion point."""
    writer = PlaneRows if packed_rows(found, machine) is None else PackedPlanes
    writer(found, emit, machine).write()
