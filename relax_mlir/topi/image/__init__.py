"""Operators on images, as tensor expressions."""

from relax_mlir.topi.exports import checked_exports

_EXPORTS = {
    "topi.image.dilation2d": ("dilation2d_nchw", "dilation2d_nhwc"),
    "topi.image.grids": ("affine_grid", "grid_sample"),
    "topi.image.resize": ("crop_and_resize", "resize1d", "resize2d", "resize3d"),
}  # fmt: skip
__getattr__, __dir__ = checked_exports(__name__, _EXPORTS)
