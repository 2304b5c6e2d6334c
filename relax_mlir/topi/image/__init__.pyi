"""Operators on images, as tensor expressions."""

# Made by .ci/stubs, do not edit.

from relax_mlir.topi.image.dilation2d import dilation2d_nchw, dilation2d_nhwc
from relax_mlir.topi.image.grids import affine_grid, grid_sample
from relax_mlir.topi.image.resize import crop_and_resize, resize1d, resize2d, resize3d

__all__ = [
    "affine_grid",
    "crop_and_resize",
    "dilation2d_nchw",
    "dilation2d_nhwc",
    "grid_sample",
    "resize1d",
    "resize2d",
    "resize3d",
]
