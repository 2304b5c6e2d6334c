"""`relax.op.builtin`: what lowered programs are made of."""

from relax_mlir.dialects.relax.op_names import QUALIFIED
from relax_mlir.relax.op.group import members

__getattr__, __dir__ = members("builtin", QUALIFIED["builtin"], "builtin_")
