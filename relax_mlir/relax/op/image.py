"""`relax.op.image`: the operations on images under the names that TVM gives them."""

from relax_mlir.dialects.relax.op_names import IMAGE
from relax_mlir.relax.op.group import members

__getattr__, __dir__ = members("image", IMAGE)
