"""Grid sampling and affine grids."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.errors import ExprError
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar import functions
from relax_mlir.tir.scalar.axes import Dim
from relax_mlir.tir.scalar.conversion import as_expr, cast, const
from relax_mlir.tir.scalar.dtypes import SIZE
from relax_mlir.tir.scalar.nodes import Select
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.topi.image.sampling import (
    Tap,
    blended,
    clamped,
    cubic_weights,
    index_of,
    linear_taps,
)
from relax_mlir.topi.support import same, shape_of, tensor

_METHODS = ("nearest", "bilinear", "bicubic")
_PADDING = ("zeros", "border", "reflection")
_CUBIC = -0.75


def affine_grid(data: Tensor, target_shape: Any, align_corners: bool = True) -> Tensor:
    """Return where affine maps take the points of a grid from -1 to 1.

    Args:
        data: maps, (batch, 2, 3) or (batch, 3, 4).
        target_shape: of the grid: (H, W) or (D, H, W).
        align_corners: whether -1 and 1 are the middles of the corner pixels, else their edges.

    Returns:
        (batch, 2, H, W) or (batch, 3, D, H, W): x, y and z of each point.

    Raises:
        ExprError: the shapes do not fit.
    """
    dims = shape_of(target_shape, "image.affine_grid")
    rank = len(dims)
    shape = tensor(data, "image.affine_grid").shape
    if rank not in (2, 3) or len(shape) != 3 or tuple(shape[1:]) != (rank, rank + 1):
        raise ExprError(f"topi.image.affine_grid: {data} is no map of {rank} dimensions")

    def coordinate(x: PrimExpr, dim: Dim) -> PrimExpr:
        at, n = cast(x, data.dtype), cast(as_expr(dim, SIZE), data.dtype)
        if align_corners:
            return at * (2.0 / functions.max(n - 1.0, 1.0)) - 1.0
        return (at * 2.0 + 1.0) / n - 1.0

    def element(n: Any, row: Any, *at: Any) -> PrimExpr:
        total = data[n, row, rank]
        for axis, (x, dim) in enumerate(zip(at, dims, strict=True)):
            total = total + data[n, row, rank - 1 - axis] * coordinate(x, dim)
        return total

    return compute((shape[0], rank, *dims), element, name="T_affine_grid")


def _unnormalized(x: PrimExpr, dim: Dim, corners: bool) -> PrimExpr:
    n = cast(as_expr(dim, SIZE), x.dtype)
    return (x + 1.0) * (n - 1.0) / 2.0 if corners else (x + 1.0) * n / 2.0 - 0.5


def _reflected(x: PrimExpr, dim: Dim, corners: bool) -> PrimExpr:
    """Return a place mirrored at the ends of a dimension as often as it takes."""
    n = cast(as_expr(dim, SIZE), x.dtype)
    low, span = (0.0, n - 1.0) if corners else (-0.5, n)
    away = functions.UNARY["abs"](x - low)
    turns = functions.UNARY["floor"](away / span)
    rest = away - turns * span
    even = turns - functions.UNARY["floor"](turns * 0.5) * 2.0 < 0.5
    result = Select(even, rest + low, span - rest + low)
    # One pixel is its own mirror.
    return Select(span > 0.0, result, const(0.0, x.dtype))


def _placed(x: PrimExpr, dim: Dim, padding: str, corners: bool) -> PrimExpr:
    if padding == "zeros":
        return x
    if padding == "reflection":
        x = _reflected(x, dim, corners)
    last = cast(as_expr(dim, SIZE), x.dtype) - 1.0
    return functions.max(functions.min(x, last), 0.0)


def grid_sample(
    data: Tensor, grid: Tensor, method: str = "bilinear", layout: str = "NCHW",
    padding_mode: str = "zeros", align_corners: bool = True,
) -> Tensor:  # fmt: skip
    """Return images read at the points of a grid.

    Args:
        data: (batch, channel, H, W) or (batch, channel, D, H, W).
        grid: (batch, 2, h, w) or (batch, 3, d, h, w): x, y and z from -1 to 1.
        method: nearest, bilinear or bicubic, which is for two dimensions.
        layout: NCHW or NCDHW.
        padding_mode: what is outside: `zeros`, the `border`, or the image mirrored (`reflection`).
        align_corners: whether -1 and 1 are the middles of the corner pixels, else their edges.

    Raises:
        ExprError: the shapes do not fit, or a choice does not exist.
    """
    where = "topi.image.grid_sample"
    rank = tensor(data, "image.grid_sample").ndim - 2
    if {"NCHW": 2, "NCDHW": 3}.get(layout) != rank or grid.ndim != rank + 2:
        raise ExprError(f"{where}: layout is NCHW or NCDHW, got {layout}, {data} and {grid}")
    if grid.shape[1] != rank or not same(grid.shape[0], data.shape[0]):
        raise ExprError(f"{where}: {grid} does not fit {data}")
    if method not in _METHODS or padding_mode not in _PADDING:
        raise ExprError(
            f"{where}: method is one of {', '.join(_METHODS)} and padding_mode one of "
            f"{', '.join(_PADDING)}, got '{method}' and '{padding_mode}'"
        )
    if method == "bicubic" and rank != 2:
        raise ExprError(f"{where}: bicubic is for two dimensions")
    sizes = data.shape[2:]

    def taps(x: PrimExpr, dim: Dim) -> list[Tap]:
        place = _unnormalized(x, dim, align_corners)
        if method == "bicubic":
            # Its pixels are placed one by one.
            first, weights = functions.UNARY["floor"](place), cubic_weights(place, _CUBIC)
            return [(_pixel(first + (k - 1.0), dim), w) for k, w in enumerate(weights)]
        place = _placed(place, dim, padding_mode, align_corners)
        if method == "bilinear":
            return linear_taps(place, dim)
        return [(index_of(functions.FUNCTIONS["nearbyint"](place), dim), None)]

    def _pixel(place: PrimExpr, dim: Dim) -> PrimExpr:
        if padding_mode == "zeros":
            return index_of(place, dim)
        place = _placed(place, dim, padding_mode, align_corners)
        return index_of(functions.UNARY["floor"](place + 0.5), dim)

    def element(n: Any, c: Any, *at: Any) -> PrimExpr:
        along = [taps(grid[(n, rank - 1 - axis, *at)], dim) for axis, dim in enumerate(sizes)]

        def read(indices: Sequence[PrimExpr]) -> PrimExpr:
            near = [clamped(index, dim) for index, dim in zip(indices, sizes, strict=True)]
            inside = [
                test for index, dim in zip(indices, sizes, strict=True)
                for test in (index >= 0, index < dim)
            ]  # fmt: skip
            return Select(functions.all(*inside), data[(n, c, *near)], const(0, data.dtype))

        return cast(blended(along, read), data.dtype)

    return compute((data.shape[0], data.shape[1], *grid.shape[2:]), element, name="T_grid_sample")
