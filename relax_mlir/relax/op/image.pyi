"""`relax.op.image`: the operations on images under the names that TVM gives them."""

# Made by .ci/stubs, do not edit.

from relax_mlir.relax.op import affine_grid, grid_sample, resize2d, resize3d

__all__ = ["affine_grid", "grid_sample", "resize2d", "resize3d"]
