"""`relax.op.grad`: gradients of operations, and marks for automatic differentiation."""

from relax_mlir.dialects.relax.op_names import QUALIFIED
from relax_mlir.relax.op.group import members

__getattr__, __dir__ = members("grad", QUALIFIED["grad"], "grad_")
