"""`relax.op.inspect`: properties of tensors in memory."""

from relax_mlir.dialects.relax.op_names import QUALIFIED
from relax_mlir.relax.op.group import members

__getattr__, __dir__ = members("inspect", QUALIFIED["inspect"], "inspect_")
