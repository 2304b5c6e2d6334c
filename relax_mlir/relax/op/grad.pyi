"""`relax.op.grad`: gradients of operations, and marks for automatic differentiation."""

# Made by .ci/stubs, do not edit.

from relax_mlir.relax.op import end_checkpoint, no_grad, start_checkpoint

__all__ = ["end_checkpoint", "no_grad", "start_checkpoint"]
