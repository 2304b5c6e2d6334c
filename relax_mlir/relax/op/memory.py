"""`relax.op.memory`: memory of tensors before programs are lowered to the virtual machine."""

from relax_mlir.dialects.relax.op_names import QUALIFIED
from relax_mlir.relax.op.group import members

__getattr__, __dir__ = members("memory", QUALIFIED["memory"], "memory_")
