"""`relax.op.vision`: the operations on boxes and regions under the names that TVM gives them."""

from relax_mlir.relax.op.group import members
from relax_mlir.script.parser.tables import VISION

__getattr__, __dir__ = members("vision", VISION)
