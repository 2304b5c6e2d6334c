"""Operators on boxes and regions of images, as tensor expressions."""

# Made by .ci/stubs, do not edit.

from relax_mlir.topi.vision.boxes import get_valid_counts, multibox_transform_loc
from relax_mlir.topi.vision.pooled_regions import roi_pool, roi_pool_nchw
from relax_mlir.topi.vision.regions import roi_align, roi_align_nchw, roi_align_nhwc
from relax_mlir.topi.vision.suppression import all_class_non_max_suppression, non_max_suppression

__all__ = [
    "all_class_non_max_suppression",
    "get_valid_counts",
    "multibox_transform_loc",
    "non_max_suppression",
    "roi_align",
    "roi_align_nchw",
    "roi_align_nhwc",
    "roi_pool",
    "roi_pool_nchw",
]
