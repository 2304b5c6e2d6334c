"""Image resizing."""

import math
from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.conv_geometry import layout_axes
from relax_mlir.dialects.relax.infer import InferError
from relax_mlir.dialects.relax.ops.base import Param, declare

METHODS = ("nearest_neighbor", "linear", "cubic")
CROP = "tf_crop_and_resize"
MODES = (
    "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn", CROP,
)  # fmt: skip
ROUNDINGS = ("", "round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
# Beyond it places in the image could become infinite, which is no index.
_FARTHEST = 1e6


def rounding_of(attrs: dict[str, Any]) -> str:
    """Return which pixel is the nearest one; what is not said follows from the mode."""
    default = "round" if attrs["coordinate_transformation_mode"] == "align_corners" else "floor"
    return attrs["rounding_method"] or default


def _check(attrs: dict[str, Any]) -> None:
    choices = (
        ("method", METHODS), ("coordinate_transformation_mode", MODES),
        ("rounding_method", ROUNDINGS),
    )  # fmt: skip
    for name, known in choices:
        if attrs[name] not in known:
            words = ", ".join(filter(None, known))
            raise InferError(f"{name} must be one of {words}, got '{attrs[name]}'")
    roi, alpha = attrs["roi"], attrs["cubic_alpha"]
    if roi is not None and len(roi) != 4:
        raise InferError(f"roi needs 4 numbers, top, left, bottom and right, got {roi}")
    if roi is not None and not all(abs(item) <= _FARTHEST for item in roi):
        raise InferError(f"roi is a part of an image from 0 to 1, got {roi}")
    if roi is None and attrs["coordinate_transformation_mode"] == CROP:
        raise InferError(f"{CROP} needs the roi that it takes")
    if not math.isfinite(alpha):
        raise InferError(f"cubic_alpha must be a finite number, got {alpha}")


def _resize2d(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    data, size = types
    _, _, *places = layout_axes(attrs["layout"], "NCHW")
    _check(attrs)
    if T.tensor_ndim(data) not in (-1, 4):
        raise InferError(f"data must have 4 dimensions, got {T.tensor_ndim(data)}")
    source = T.tensor_dtype(data)
    try:
        dtype = T.normalize_dtype(attrs["out_dtype"]) or source
    except ValueError as error:
        raise InferError(str(error)) from error
    if attrs["method"] != "nearest_neighbor" and "bool" in (source, dtype):
        raise InferError(f"pixels of dtype bool have no {attrs['method']} interpolation")
    if T.shape_ndim(size) not in (-1, 1, 2):
        raise InferError(f"size needs one or two numbers, got {T.shape_ndim(size)}")
    dims, wanted = T.tensor_dims(data), T.shape_dims(size)
    if dims is None or wanted is None:
        return T.tensor_type(None, dtype, 4)
    for axis, dim in zip(places, (wanted[0], wanted[-1]), strict=True):
        if dims[axis] == 0 and dim != 0 and dim.is_const:
            raise InferError(f"there are no pixels for {dim} along axis {axis}, which is 0")
        dims[axis] = dim
    return T.tensor_type(dims, dtype)


declare(
    "resize2d",
    "Images in another size: nearest pixels, linear or cubic interpolation; `R.image.resize2d`.",
    [
        Param("data", "tensor"),
        Param("size", "shape"),
        Param("roi", "floats", None),
        Param("layout", "str", "NCHW"),
        Param("method", "str", "linear"),
        Param("coordinate_transformation_mode", "str", "half_pixel"),
        Param("rounding_method", "str", "round"),
        Param("cubic_alpha", "float", -0.75),
        Param("cubic_exclude", "int", 0),
        Param("extrapolation_value", "float", 0.0),
        Param("out_dtype", "dtype", None),
    ],
    _resize2d,
)
