"""Upsampling of images by factors."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar.axes import Dim, plain
from relax_mlir.topi.image.resize import resize2d, resize3d
from relax_mlir.topi.support import shape_of, tensor


def _sizes(
    data: Tensor, layout: str, letters: str, scales: Sequence[float], output_shape: Any, where: str
) -> list[Dim]:
    if tensor(data, where).ndim != len(layout) or any(x not in layout for x in letters):
        raise ExprError(f"topi.{where}: layout '{layout}' does not fit {data}")
    places = [layout.index(letter) for letter in letters]
    if output_shape:
        dims = shape_of(output_shape, where)
        return [dims[axis] for axis in places]
    result: list[Dim] = []
    for axis, scale in zip(places, scales, strict=True):
        dim = data.shape[axis]
        if scale == int(scale):
            result.append(plain(SymExpr.of(dim) * int(scale)))
        elif isinstance(dim, int):
            result.append(round(dim * scale))
        else:
            raise ExprError(f"topi.{where}: {dim} times {scale} is no whole number; give the shape")
    return result


def upsampling(
    data: Tensor, scale_h: float, scale_w: float, layout: str = "NCHW",
    method: str = "nearest_neighbor", align_corners: bool = False, output_shape: Any = None,
) -> Tensor:  # fmt: skip
    """Return images of so many times the height and width.

    Raises:
        ExprError: the layout or method does not exist, or a size would be no whole number.
    """
    size = _sizes(data, layout, "HW", (scale_h, scale_w), output_shape, "nn.upsampling")
    mode = "align_corners" if align_corners else "asymmetric"
    return resize2d(data, None, size, layout, method, mode)


def upsampling3d(
    data: Tensor, scale_d: float, scale_h: float, scale_w: float, layout: str = "NCDHW",
    method: str = "nearest_neighbor", coordinate_transformation_mode: str = "half_pixel",
    output_shape: Any = None,
) -> Tensor:  # fmt: skip
    """Return volumes of so many times the depth, height and width.

    Raises:
        ExprError: the layout or method does not exist, or a size would be no whole number.
    """
    scales = (scale_d, scale_h, scale_w)
    size = _sizes(data, layout, "DHW", scales, output_shape, "nn.upsampling3d")
    return resize3d(data, None, size, layout, method, coordinate_transformation_mode)
