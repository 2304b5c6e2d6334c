"""Operators on boxes and regions of images, as tensor expressions."""

import importlib
from typing import Any

_EXPORTS = {
    **dict.fromkeys(("roi_align", "roi_align_nchw", "roi_align_nhwc"), "regions"),
    **dict.fromkeys(("roi_pool", "roi_pool_nchw"), "pooled_regions"),
    **dict.fromkeys(("get_valid_counts", "multibox_transform_loc"), "boxes"),
    **dict.fromkeys(("all_class_non_max_suppression", "non_max_suppression"), "suppression"),
}


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        from relax_mlir.topi.unsupported import missing

        raise missing("topi.vision", name, __dir__())
    value = getattr(importlib.import_module(f"relax_mlir.topi.vision.{_EXPORTS[name]}"), name)
    argument_checks = importlib.import_module("relax_mlir.topi.argument_checks")
    value = globals()[name] = argument_checks.checked(f"topi.vision.{name}", value)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_EXPORTS])
