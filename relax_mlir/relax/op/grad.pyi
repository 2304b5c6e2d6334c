"""`relax.op.grad`: gradients of operations, and marks for automatic differentiation."""

# Made by .ci/stubs, do not edit.

from relax_mlir.relax.op import grad_avg_pool2d_backward as avg_pool2d_backward
from relax_mlir.relax.op import grad_end_checkpoint as end_checkpoint
from relax_mlir.relax.op import grad_max_pool2d_backward as max_pool2d_backward
from relax_mlir.relax.op import grad_nll_loss_backward as nll_loss_backward
from relax_mlir.relax.op import grad_no_grad as no_grad
from relax_mlir.relax.op import grad_start_checkpoint as start_checkpoint
from relax_mlir.relax.op import grad_take_backward as take_backward

__all__ = [
    "avg_pool2d_backward",
    "end_checkpoint",
    "max_pool2d_backward",
    "nll_loss_backward",
    "no_grad",
    "start_checkpoint",
    "take_backward",
]
