"""`relax.op.grad`: gradients of operations, and marks for automatic differentiation."""

# Made by .ci/stubs, do not edit.

from relax_mlir.relax.op import grad_end_checkpoint as end_checkpoint
from relax_mlir.relax.op import grad_no_grad as no_grad
from relax_mlir.relax.op import grad_start_checkpoint as start_checkpoint

__all__ = ["end_checkpoint", "no_grad", "start_checkpoint"]
