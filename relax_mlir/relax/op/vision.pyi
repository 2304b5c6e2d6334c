"""`relax.op.vision`: the operations on boxes and regions under the names that TVM gives them."""

# Made by .ci/stubs, do not edit.

from relax_mlir.relax.op import (
    all_class_non_max_suppression,
    get_valid_counts,
    multibox_transform_loc,
    non_max_suppression,
    roi_align,
    roi_pool,
)

__all__ = [
    "all_class_non_max_suppression",
    "get_valid_counts",
    "multibox_transform_loc",
    "non_max_suppression",
    "roi_align",
    "roi_pool",
]
