"""Operators on images, as tensor expressions."""

import importlib
from typing import Any

_EXPORTS = {
    **dict.fromkeys(("crop_and_resize", "resize1d", "resize2d", "resize3d"), "resize"),
    **dict.fromkeys(("affine_grid", "grid_sample"), "grids"),
    **dict.fromkeys(("dilation2d_nchw", "dilation2d_nhwc"), "dilation2d"),
}


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        from relax_mlir.topi.unsupported import missing

        raise missing("topi.image", name, __dir__())
    value = getattr(importlib.import_module(f"relax_mlir.topi.image.{_EXPORTS[name]}"), name)
    argument_checks = importlib.import_module("relax_mlir.topi.argument_checks")
    value = globals()[name] = argument_checks.checked(f"topi.image.{name}", value)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_EXPORTS])
