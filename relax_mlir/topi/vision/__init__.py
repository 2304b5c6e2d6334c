"""Operators on boxes and regions of images, as tensor expressions."""

from relax_mlir.topi.exports import checked_exports

_EXPORTS = {
    "topi.vision.boxes": ("get_valid_counts", "multibox_transform_loc"),
    "topi.vision.pooled_regions": ("roi_pool", "roi_pool_nchw"),
    "topi.vision.regions": ("roi_align", "roi_align_nchw", "roi_align_nhwc"),
    "topi.vision.suppression": ("all_class_non_max_suppression", "non_max_suppression"),
}  # fmt: skip
__getattr__, __dir__ = checked_exports(__name__, _EXPORTS)
