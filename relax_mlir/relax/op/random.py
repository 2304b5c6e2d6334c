"""`relax.op.random`: random numbers that follow from a key."""

from relax_mlir.dialects.relax.op_names import QUALIFIED
from relax_mlir.relax.op.group import members

__getattr__, __dir__ = members("random", QUALIFIED["random"], "random_")
