"""`relax.op.image`: the operations on images under the names that TVM gives them."""

# Made by .ci/stubs, do not edit.

from relax_mlir.relax.op import resize2d

__all__ = ["resize2d"]
