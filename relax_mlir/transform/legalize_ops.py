"""The pass `legalize-ops`: operations as kernels of the lowering, and as those that topi has."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.relax_to_tir import legalize_ops as lowering
from relax_mlir.transform.vision_kernels import VISION


def legalize_ops(module: ir.Operation) -> None:
    """Replace every computation in the module's Relax functions."""
    lowering.legalize_ops(module, VISION)
