"""`relax.op.vision`: the operations on boxes and regions under the names that TVM gives them."""

from relax_mlir.dialects.relax.op_names import VISION
from relax_mlir.relax.op.group import members

__getattr__, __dir__ = members("vision", VISION)
