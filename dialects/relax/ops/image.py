"""Images in another size, and read at computed points."""

import math
from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.blocked_layout import BlockedLayout
from relax_mlir.dialects.relax.conv_geometry import SPATIAL, layout_axes
from relax_mlir.dialects.relax.infer import InferError
from relax_mlir.dialects.relax.ops.base import Param, declare
from relax_mlir.dialects.relax.ops.elementwise import expect_kind
from relax_mlir.dialects.symbolic.prover import can_prove_different
from relax_mlir.resampling import CROP, METHODS, MODES, ROUNDINGS

SAMPLING = ("nearest", "bilinear", "bicubic")
PADDINGS = ("zeros", "border", "reflection")
# Beyond it places in the image could become infinite, which is no index.
_FARTHEST = 1e6


def rounding_of(attrs: dict[str, Any]) -> str:
    """Return which pixel is the nearest one; what is not said follows from the mode."""
    default = "round" if attrs["coordinate_transformation_mode"] == "align_corners" else "floor"
    return attrs["rounding_method"] or default


def _one_of(attrs: dict[str, Any], choices: Sequence[tuple[str, Sequence[str]]]) -> None:
    for name, known in choices:
        if attrs[name] not in known:
            words = ", ".join(filter(None, known))
            raise InferError(f"{name} must be one of {words}, got '{attrs[name]}'")


def out_dtype_of(attrs: dict[str, Any]) -> str:
    """Return the attribute `out_dtype` as TVM's long name, `""` where it is left out.

    Raises:
        InferError: there is no such dtype.
    """
    try:
        return T.normalize_dtype(attrs["out_dtype"])
    except ValueError as error:
        raise InferError(str(error)) from error


def _check(attrs: dict[str, Any], rank: int) -> None:
    _one_of(
        attrs,
        (
            ("method", METHODS),
            ("coordinate_transformation_mode", MODES),
            ("rounding_method", ("", *ROUNDINGS)),
        ),
    )
    roi, alpha = attrs["roi"], attrs["cubic_alpha"]
    if roi is not None and len(roi) != 2 * rank:
        raise InferError(f"roi needs {2 * rank} numbers, the first and the last corner, got {roi}")
    if roi is not None and not all(abs(item) <= _FARTHEST for item in roi):
        raise InferError(f"roi is a part of an image from 0 to 1, got {roi}")
    if roi is None and attrs["coordinate_transformation_mode"] == CROP:
        raise InferError(f"{CROP} needs the roi that it takes")
    if not math.isfinite(alpha):
        raise InferError(f"cubic_alpha must be a finite number, got {alpha}")


def _resize(rank: int) -> Any:
    letters = f"NC{SPATIAL[rank]}"

    def infer(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
        data, size = types
        layout = BlockedLayout.parse(attrs["layout"], letters)
        _check(attrs, rank)
        ndim = layout.rank
        if T.tensor_ndim(data) not in (-1, ndim):
            raise InferError(f"data must have {ndim} dimensions, got {T.tensor_ndim(data)}")
        source = T.tensor_dtype(data)
        dtype = out_dtype_of(attrs) or source
        if attrs["method"] != "nearest_neighbor" and "bool" in (source, dtype):
            raise InferError(f"pixels of dtype bool have no {attrs['method']} interpolation")
        if T.shape_ndim(size) not in (-1, 1, rank):
            raise InferError(f"size needs one or {rank} numbers, got {T.shape_ndim(size)}")
        dims, wanted = T.tensor_dims(data), T.shape_dims(size)
        if dims is None or wanted is None:
            return T.tensor_type(None, dtype, ndim)
        sizes = wanted * rank if len(wanted) == 1 else wanted
        old = layout.sizes(dims)
        for axis, before, dim in zip(layout.axes[2:], old[2:], sizes, strict=True):
            if before == 0 and dim != 0 and dim.is_const:
                raise InferError(f"there are no pixels for {dim} along axis {axis}, which is 0")
        return T.tensor_type(layout.dims([*old[:2], *sizes]), dtype)

    return infer


for _rank, _what in ((2, "Images"), (3, "Volumes")):
    declare(
        f"resize{_rank}d",
        f"{_what} in another size: nearest pixels, linear or cubic interpolation.",
        [
            Param("data", "tensor"),
            Param("size", "shape"),
            Param("roi", "floats", None),
            Param("layout", "str", f"NC{SPATIAL[_rank]}"),
            Param("method", "str", "linear"),
            Param("coordinate_transformation_mode", "str", "half_pixel"),
            Param("rounding_method", "str", "round" if _rank == 2 else ""),
            Param("cubic_alpha", "float", -0.75),
            Param("cubic_exclude", "int", 0),
            Param("extrapolation_value", "float", 0.0),
            Param("out_dtype", "dtype", None),
        ],
        _resize(_rank),
    )


def _affine_grid(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    data, size = types
    expect_kind(data, "floating-point", "data")
    rank = T.shape_ndim(size)
    if rank not in (-1, 2, 3):
        raise InferError(f"size needs 2 or 3 numbers, got {rank}")
    if T.tensor_ndim(data) not in (-1, 3):
        raise InferError(f"data must have 3 dimensions, got {T.tensor_ndim(data)}")
    dims, wanted = T.tensor_dims(data), T.shape_dims(size)
    for axis, count in ((1, rank), (2, rank + 1)):
        if dims is not None and rank > 0 and can_prove_different(dims[axis], count):
            raise InferError(f"dimension {axis} of data must be {count}, got {dims[axis]}")
    if dims is None or wanted is None:
        return T.tensor_type(None, T.tensor_dtype(data), -1 if rank < 0 else rank + 2)
    return T.tensor_type([dims[0], rank, *wanted], T.tensor_dtype(data))


def _grid_sample(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    data, grid = types
    layout, rank = attrs["layout"], len(attrs["layout"]) - 2
    if rank not in (2, 3):
        raise InferError(f"layout must be one of NCHW or NCDHW, got '{layout}'")
    _one_of(attrs, (("method", SAMPLING), ("padding_mode", PADDINGS)))
    if attrs["method"] == "bicubic" and rank != 2:
        raise InferError("method 'bicubic' is for two dimensions")
    batch, _, *places = layout_axes(layout, f"NC{SPATIAL[rank]}")
    dtype = T.tensor_dtype(data)
    for name, type_ in (("data", data), ("grid", grid)):
        if T.tensor_ndim(type_) not in (-1, rank + 2):
            raise InferError(f"{name} must have {rank + 2} dimensions, got {T.tensor_ndim(type_)}")
    expect_kind(grid, "floating-point", "grid")
    dims, points = T.tensor_dims(data), T.tensor_dims(grid)
    if dims is None or points is None:
        return T.tensor_type(None, dtype, rank + 2)
    if can_prove_different(points[1], rank):
        raise InferError(f"grid must have {rank} coordinates in dimension 1, got {points[1]}")
    if can_prove_different(points[0], dims[batch]):
        raise InferError(f"there are {points[0]} grids for a batch of {dims[batch]}")
    for axis, dim in zip(places, points[2:], strict=True):
        dims[axis] = dim
    return T.tensor_type(dims, dtype)


declare(
    "affine_grid",
    "Where affine maps take the points of a grid from -1 to 1: x, y and z of each.",
    [
        Param("data", "tensor"),
        Param("size", "shape"),
        Param("align_corners", "bool", True),
    ],
    _affine_grid,
)
declare(
    "grid_sample",
    "Images read at the points of a grid from -1 to 1: `(n, 2, h, w)` or `(n, 3, d, h, w)`.",
    [
        Param("data", "tensor"),
        Param("grid", "tensor"),
        Param("method", "str", "bilinear"),
        Param("layout", "str", "NCHW"),
        Param("padding_mode", "str", "zeros"),
        Param("align_corners", "bool", False),
    ],
    _grid_sample,
)
