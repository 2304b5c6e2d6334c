"""`relax.op.image`: the operations on images under the names that TVM gives them."""

from relax_mlir.relax.op.group import members
from relax_mlir.script.parser.tables import IMAGE

__getattr__, __dir__ = members("image", IMAGE)
