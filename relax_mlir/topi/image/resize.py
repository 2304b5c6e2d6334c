"""Images resized: nearest pixels, linear and cubic interpolation."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.errors import ExprError
from relax_mlir.resampling import CROP, MODES, ROUNDINGS, Numbers, nearest, source_position
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar import functions
from relax_mlir.tir.scalar.axes import Dim
from relax_mlir.tir.scalar.conversion import as_expr, cast, const
from relax_mlir.tir.scalar.dtypes import SIZE, checked
from relax_mlir.tir.scalar.nodes import Select
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.topi.image.sampling import Tap, blended, clamped, cubic_taps, index_of, linear_taps
from relax_mlir.topi.index import integer_indices
from relax_mlir.topi.support import shape_of, tensor

_SPATIAL = "DHW"
_KIND = "float32"
# How many pixels along an axis one of the result is made of.
_TAPS = {"nearest_neighbor": 1, "linear": 2, "cubic": 4}
_UNARY = functions.UNARY
_NUMBERS = Numbers(_UNARY["floor"], _UNARY["ceil"], _UNARY["round"], functions.max, Select)


def _real(value: Any, kind: str = _KIND) -> PrimExpr:
    return cast(as_expr(value, SIZE if not isinstance(value, float) else kind), kind)


def _source(
    x: PrimExpr, size: Dim, wanted: Dim, mode: str, ends: tuple[Any, Any], kind: str
) -> PrimExpr:
    """Return where a pixel of the result is in the image."""
    first, last = (_real(each, kind) for each in ends)
    numbers = (cast(x, kind), _real(size, kind), _real(wanted, kind))
    return source_position(*numbers, mode, (first, last), _NUMBERS)


def _taps(
    place: PrimExpr, size: Dim, method: str, rounding: str, alpha: float, exclude: bool
) -> list[Tap]:
    if method == "nearest_neighbor":
        return [(index_of(nearest(place, rounding, _NUMBERS), size), None)]
    if method == "linear":
        return linear_taps(place, size)
    taps = cubic_taps(place, size, alpha)
    if not exclude:
        return taps
    # Pixels outside of the image do not count, the others the more.
    kept = []
    for index, weight in taps:
        inside = functions.all(index >= 0, index < size)
        kept.append((index, Select(inside, weight, const(0.0, place.dtype))))
    total: Any = sum((weight for _, weight in kept[1:]), kept[0][1])
    return [(index, weight / total) for index, weight in kept]


def _checked(where: str, method: str, mode: str, rounding: str) -> tuple[str, str]:
    """Return the method without its prefix `bi` or `tri`, and how places are rounded."""
    for prefix in ("bi", "tri"):
        method = method.removeprefix(prefix)
    if method not in _TAPS:
        raise ExprError(f"topi.image.{where}: method is {', '.join(_TAPS)}, got '{method}'")
    if mode not in MODES:
        raise ExprError(
            f"topi.image.{where}: coordinate_transformation_mode is one of {', '.join(MODES)}, "
            f"got '{mode}'"
        )
    rounding = rounding or ("round" if mode == "align_corners" else "floor")
    if rounding not in ROUNDINGS:
        raise ExprError(
            f"topi.image.{where}: rounding_method is one of {', '.join(ROUNDINGS)}, got "
            f"'{rounding}'"
        )
    return method, rounding


def _resize(
    where: str, rank: int, data: Tensor, roi: Any, size: Any, layout: str, method: str, mode: str,
    rounding: str, alpha: float, exclude: Any, extrapolation: float, out_dtype: Any,
) -> Tensor:  # fmt: skip
    axes = _spatial_axes(where, data, layout, rank)
    method, rounding = _checked(where, method, mode, rounding)
    wanted = shape_of(size, f"image.{where}")
    if len(wanted) != rank:
        raise ExprError(f"topi.image.{where}: size needs {rank} numbers, got {list(wanted)}")
    shape: list[Dim] = list(data.shape)
    for axis, dim in zip(axes, wanted, strict=True):
        shape[axis] = dim
    region = list(roi) if isinstance(roi, (list, tuple)) else None
    if isinstance(roi, Tensor):
        region = [roi[i] for i in range(2 * rank)]
    crop = mode == CROP
    if crop and (region is None or len(region) != 2 * rank):
        raise ExprError(f"topi.image.{where}: roi needs {2 * rank} numbers, starts and ends")
    dtype = checked(out_dtype) if out_dtype else data.dtype
    kind = "float64" if data.dtype == "float64" else _KIND

    def along(position: int, x: PrimExpr) -> tuple[PrimExpr, list[Tap]]:
        """Return where a pixel of the result is along an axis, and what it is made of."""
        ends = (region[position], region[rank + position]) if crop and region else (0.0, 1.0)
        own = data.shape[axes[position]]
        place = _source(x, own, wanted[position], mode, ends, kind)
        return place, _taps(place, own, method, rounding, alpha, bool(exclude))

    tables = None
    if not crop:
        tables = [
            _tabled(lambda x, k=k: along(k, x)[1], method, wanted[k], data.shape[axis])
            for k, axis in enumerate(axes)
        ]

    def element(*i: Any) -> PrimExpr:
        taps, outside = [], []
        for position, axis in enumerate(axes):
            if tables is not None:
                here = i[axis]
                taps.append([
                    (at[here], None if weight is None else weight[here])
                    for at, weight in tables[position]
                ])  # fmt: skip
                continue
            place, weights = along(position, i[axis])
            outside += [place < 0.0, place > _real(data.shape[axis], kind) - 1.0]
            taps.append(weights)

        def read(chosen: Sequence[PrimExpr]) -> PrimExpr:
            at = list(i)
            for axis, index in zip(axes, chosen, strict=True):
                at[axis] = index if tables is not None else clamped(index, data.shape[axis])
            value = data[tuple(at)]
            return value if method == "nearest_neighbor" else cast(value, kind)

        value = blended(taps, read)
        if crop:
            missing = cast(as_expr(float(extrapolation), kind), value.dtype)
            value = Select(functions.any(*outside), missing, value)
        return cast(value, dtype)

    return compute(shape, element, name=f"T_{where}")


def _tabled(
    taps: Callable[[PrimExpr], list[Tap]], method: str, length: Dim, size: Dim
) -> list[tuple[Tensor, Tensor | None]]:
    """Return as tables what every place along an axis is made of: pixels, and their weights."""
    tables: list[tuple[Tensor, Tensor | None]] = []
    for k in range(_TAPS[method]):

        def pixel(x: PrimExpr, k: int = k) -> PrimExpr:
            return clamped(taps(x)[k][0], size)

        def weight(x: PrimExpr, k: int = k) -> Any:
            return taps(x)[k][1]

        weights = None
        if method != "nearest_neighbor":
            weights = compute((length,), weight, name="T_weights")
        tables.append((compute((length,), pixel, name="T_pixels"), weights))
    return tables


def _spatial_axes(where: str, data: Tensor, layout: str, rank: int) -> list[int]:
    wanted = sorted("NC" + _SPATIAL[-rank:])
    if sorted(layout) != wanted or tensor(data, f"image.{where}").ndim != rank + 2:
        raise ExprError(
            f"topi.image.{where}: layout is an order of {''.join(wanted)}, got '{layout}' for "
            f"{data}"
        )
    return [layout.index(letter) for letter in _SPATIAL[-rank:]]


def _of_rank(rank: int, layout: str) -> Callable[..., Tensor]:
    default, where = layout, f"resize{rank}d"

    def function(
        data: Tensor, roi: Any, size: Any, layout: str = default, method: str = "linear",
        coordinate_transformation_mode: str = "half_pixel", rounding_method: str = "",
        bicubic_alpha: float = -0.75, bicubic_exclude: Any = 0, extrapolation_value: float = 0.0,
        out_dtype: Any = None, output_shape: Any = None,
    ) -> Tensor:  # fmt: skip
        return _resize(
            where, rank, data, roi, size, layout, method, coordinate_transformation_mode,
            rounding_method, bicubic_alpha, bicubic_exclude, extrapolation_value, out_dtype,
        )  # fmt: skip

    function.__name__ = function.__qualname__ = where
    function.__doc__ = f"""Return images of {rank} spatial axes in another size.

    Args:
        data: images.
        roi: the part, from 0 to 1, that `tf_crop_and_resize` takes: starts, then ends.
        size: of the result, for each spatial axis.
        layout: {layout}, or its letters in another order.
        method: nearest_neighbor, linear or cubic.
        coordinate_transformation_mode: where pixels of the result are in the image.
        rounding_method: which pixel is the nearest one.
        bicubic_alpha: of the cubic.
        bicubic_exclude: whether pixels outside do not count in the cubic; else the last one does.
        extrapolation_value: what `tf_crop_and_resize` puts outside of the image.
        out_dtype: of the result, by default that of `data`.
        output_shape: as in TVM; `size` says it.

    Raises:
        ExprError: the layout, the size or a choice does not exist or fit.
    """
    return function


resize1d: Callable[..., Tensor] = _of_rank(1, "NCW")
resize2d: Callable[..., Tensor] = _of_rank(2, "NCHW")
resize3d: Callable[..., Tensor] = _of_rank(3, "NCDHW")


def crop_and_resize(
    data: Tensor, boxes: Tensor, box_indices: Tensor, crop_size: Sequence[int],
    layout: str = "NCHW", method: str = "bilinear", extrapolation_value: float | None = None,
    out_dtype: Any = None,
) -> Tensor:  # fmt: skip
    """Return parts of images, all in one size.

    Args:
        data: images.
        boxes: for each part y and x of its first corner and of its last one, from 0 to 1.
        box_indices: which image each is of.
        crop_size: rows and columns of the results.
        layout: NCHW or NHWC.
        method: bilinear or nearest_neighbor.
        extrapolation_value: what stands outside of the images, 0 by default.
        out_dtype: of the result, by default that of `data`.

    Raises:
        ExprError: the layout, method or shapes do not fit.
        ExprTypeError: the indices are no integers.
    """
    where = "crop_and_resize"
    axes = _spatial_axes(where, data, layout, 2)
    method, _ = _checked(where, method, CROP, "round")
    chosen = integer_indices(box_indices, f"image.{where}")
    wanted = shape_of(list(crop_size), f"image.{where}")
    if boxes.ndim != 2 or boxes.shape[1] != 4 or len(wanted) != 2 or method == "cubic":
        raise ExprError(f"topi.image.{where}: boxes are rows of 4, got {boxes}; size {wanted}")
    batch = layout.index("N")
    shape: list[Dim] = list(data.shape)
    shape[batch] = boxes.shape[0]
    for axis, dim in zip(axes, wanted, strict=True):
        shape[axis] = dim
    dtype = checked(out_dtype) if out_dtype else data.dtype
    kind = "float64" if data.dtype == "float64" else _KIND

    def element(*i: Any) -> PrimExpr:
        box, taps, outside = i[batch], [], []
        for position, (axis, dim) in enumerate(zip(axes, wanted, strict=True)):
            ends = boxes[box, position], boxes[box, 2 + position]
            own = data.shape[axis]
            place = _source(i[axis], own, dim, CROP, ends, kind)
            outside += [place < 0.0, place > _real(own, kind) - 1.0]
            taps.append(_taps(place, own, method, "round", 0.0, False))

        def read(indices: Sequence[PrimExpr]) -> PrimExpr:
            at = list(i)
            at[batch] = clamped(cast(chosen[box], SIZE), data.shape[batch])
            for axis, index in zip(axes, indices, strict=True):
                at[axis] = clamped(index, data.shape[axis])
            return cast(data[tuple(at)], kind)

        value = blended(taps, read)
        missing = as_expr(float(extrapolation_value or 0.0), kind)
        return cast(Select(functions.any(*outside), missing, value), dtype)

    return compute(shape, element, name=f"T_{where}")
