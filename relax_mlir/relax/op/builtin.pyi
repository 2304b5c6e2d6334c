"""`relax.op.builtin`: what lowered programs are made of."""

# Made by .ci/stubs, do not edit.

from relax_mlir.relax.op import builtin_stop_lift_params as stop_lift_params
from relax_mlir.relax.op.calls import alloc_tensor

__all__ = ["alloc_tensor", "stop_lift_params"]
