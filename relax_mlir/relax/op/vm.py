"""`relax.op.vm`: memory of tensors in programs of the virtual machine."""

from relax_mlir.dialects.relax.op_names import QUALIFIED
from relax_mlir.relax.op.group import members

__getattr__, __dir__ = members("vm", QUALIFIED["vm"], "vm_")
