"""Image resizing as prim funcs: tables of the pixels and weights of each row and column."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.conv_geometry import SPATIAL, layout_axes
from relax_mlir.dialects.relax.ops.base import infer_result
from relax_mlir.dialects.relax.ops.image import rounding_of
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.dialects.symbolic.prover import can_prove_less_equal
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, binary, cast, is_float, select, unary
from relax_mlir.lowering.relax_to_tir.manipulate import attributes
from relax_mlir.lowering.relax_to_tir.support.axes import spatial
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer
from relax_mlir.lowering.relax_to_tir.support.index_checks import check_not_empty
from relax_mlir.lowering.relax_to_tir.support.limits import highest, lowest
from relax_mlir.resampling import CROP, Numbers, cubic_weight, nearest, source_position

# Places are found in it: products of sizes are exact, so that what is whole is computed as whole.
_PLACE = "float64"
_TAPS = {"nearest_neighbor": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}
_NUMBERS = Numbers(
    partial(unary, "floor"), partial(unary, "ceil"), partial(unary, "round"),
    partial(binary, "max"), select,
)  # fmt: skip
# So many times a pixel may come in a row before `EPSILON` takes places to the next one.
_MAX_SCALE = 1000


@dataclass(frozen=True)
class _Axis:
    """The tables of one spatial axis.

    Attributes:
        axis: which one.
        pixels: for each tap from a place in the result to one in the image.
        weights: of the taps; none where there is one tap.
        outside: 1 for places beyond the image, where that matters.
    """

    axis: int
    pixels: list[Buffer]
    weights: list[Buffer]
    outside: Buffer | None


def _weight(place: Scalar, tap: int, size: Scalar, attrs: dict[str, Any]) -> Scalar:
    """Return how much a tap counts."""
    first = unary("floor", place)
    t = place - first
    if attrs["method"] == "linear":
        return t if tap else 1.0 - t
    alpha = attrs["cubic_alpha"]
    if not attrs["cubic_exclude"]:
        return cubic_weight(t, tap, alpha)
    # Pixels outside of the image do not count, the others the more.
    counted = []
    for each, offset in enumerate(_TAPS["cubic"]):
        pixel = first + float(offset)
        inside = binary("and", pixel >= 0.0, pixel < size)
        counted.append(select(inside, cubic_weight(t, each, alpha), 0.0))
    return counted[tap] / (counted[0] + counted[1] + counted[2] + counted[3])


def _tables(
    builder: PrimFuncBuilder, data: Buffer, out: Buffer, axis: int, which: int, kind: str,
    attrs: dict[str, Any],
) -> _Axis:  # fmt: skip
    length, name = out.dims[axis], attrs["layout"][axis]
    size = cast(builder.symbol(data.dims[axis]), _PLACE)
    wanted = cast(builder.symbol(length), _PLACE)
    taps, mode, roi = _TAPS[attrs["method"]], attrs["coordinate_transformation_mode"], attrs["roi"]
    ends = (roi[which], roi[len(roi) // 2 + which]) if roi else (0.0, 1.0)

    def table(what: str, dtype: str, value: Callable[[Scalar], Scalar]) -> Buffer:
        made = builder.alloc(f"{name}{what}", [length], dtype)
        with builder.nest("places", spatial([length])) as (i,):
            place = source_position(cast(i, _PLACE), size, wanted, mode, ends, _NUMBERS)
            made.store(cast(value(place), dtype), (i,))
        return made

    def pixel(offset: int) -> Callable[[Scalar], Scalar]:
        def find(place: Scalar) -> Scalar:
            if attrs["method"] == "nearest_neighbor":
                index = nearest(place, rounding_of(attrs), _NUMBERS)
            else:
                index = unary("floor", place) + float(offset)
            # Before it is an integer, as numbers too large for one have none.
            return cast(binary("max", binary("min", index, size - 1.0), 0.0), "int64")

        return find

    pixels = [table(f"Pixel{k}", "int64", pixel(offset)) for k, offset in enumerate(taps)]
    weights = [
        table(f"Weight{k}", kind, lambda place, k=k: _weight(place, k, size, attrs))
        for k in range(len(taps) if len(taps) > 1 else 0)
    ]

    def beyond(place: Scalar) -> Scalar:
        return select(binary("or", place < 0.0, place > size - 1.0), 1, cast(0, "int32"))

    outside = table("Outside", "int32", beyond) if mode == CROP else None
    return _Axis(axis, pixels, weights, outside)


def _times(size: SymExpr, wanted: SymExpr, attrs: dict[str, Any]) -> int | None:
    """Return how often each nearest pixel comes in a row, None where that is not always as often.

    Then which pixel it is needs no table, and vectors of the result are made of whole pixels.
    """
    if attrs["method"] != "nearest_neighbor" or size == 0:
        return None
    mode, rounding = attrs["coordinate_transformation_mode"], rounding_of(attrs)
    floors = mode in ("asymmetric", "tf_half_pixel_for_nn") and rounding == "floor"
    # Places are then less than half a pixel away from theirs.
    rounds = mode in ("half_pixel", "pytorch_half_pixel") and rounding.startswith("round")
    times = (wanted // size).value
    if not (floors or rounds) or not times or times > _MAX_SCALE or wanted != size * times:
        return None
    return times


def _blend(source: Buffer, along: _Axis, at: Sequence[Scalar], kind: str) -> Scalar:
    """Return the weighted sum of the taps along one axis."""
    total: Any = None
    place = at[along.axis]
    for k, pixels in enumerate(along.pixels):
        where = list(at)
        where[along.axis] = cast(pixels[place], "index")
        value = source[tuple(where)]
        if along.weights:
            value = cast(value, kind) * along.weights[k][place]
        total = value if total is None else total + value
    return total


def _kind(dtypes: Sequence[str]) -> str:
    """Return the dtype of the sums: one that has every pixel, but for 64-bit integers."""
    wide = any(d == "float64" or (not is_float(d) and T.dtype_size(d) > 2) for d in dtypes)
    return "float64" if wide else "float32"


def _fitted(value: Scalar, dtype: str) -> Scalar:
    """Return a sum as a pixel: cubics leave the range of integers, which then ends there."""
    if is_float(dtype) or not is_float(value.dtype):
        return cast(value, dtype)
    low, high = float(lowest(dtype)), float(highest(dtype))
    if high > highest(dtype):
        high = math.nextafter(high, 0)
    return cast(binary("max", binary("min", value, high), low), dtype)


def legalize_resize(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise images in another size: the last axis is the last, where rows are contiguous."""
    attrs, dims = attributes(op), T.tensor_dims(op.operands[0].type)
    result = T.tensor_dims(infer_result(op))
    if dims is None or result is None or not T.tensor_dtype(op.operands[0].type):
        return None
    _, _, *places = layout_axes(attrs["layout"], f"NC{SPATIAL[len(dims) - 2]}")
    for axis in places:
        if not can_prove_less_equal(SymExpr.const(1), dims[axis]):
            check_not_empty(op, product(result), dims[axis])
    name = op.name.removeprefix("relax.")

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        data, out = buffers
        kind = _kind([data.dtype, out.dtype])
        times = [_times(data.dims[axis], out.dims[axis], attrs) for axis in places]
        if all(times):
            with builder.nest(name, spatial(out.dims)) as block:
                where = list(block)
                for axis, count in zip(places, filter(None, times), strict=True):
                    where[axis] = where[axis] // count
                out.store(cast(data[tuple(where)], out.dtype), tuple(block))
            return
        along = [
            _tables(builder, data, out, axis, which, kind, attrs)
            for which, axis in enumerate(places)
        ]
        source = data
        if attrs["method"] != "nearest_neighbor":
            for each in along[:-1]:
                source = _resized(builder, source, each, out.dims[each.axis], kind)
        with builder.nest(name, spatial(out.dims)) as block:
            at = list(block)
            if attrs["method"] == "nearest_neighbor":
                where = list(at)
                for each in along:
                    where[each.axis] = cast(each.pixels[0][at[each.axis]], "index")
                value = source[tuple(where)]
            else:
                value = _blend(source, along[-1], at, kind)
            value = _fitted(value, out.dtype)
            beyond = [each.outside[at[each.axis]] for each in along if each.outside]
            if beyond:
                missing = _fitted(cast(attrs["extrapolation_value"], "float64"), out.dtype)
                value = select(sum(beyond[1:], beyond[0]) != 0, missing, value)
            out.store(value, tuple(at))

    return legalizer.call_inferred(op, [op.operands[0]], body, str(attrs))


def _resized(
    builder: PrimFuncBuilder, source: Buffer, along: _Axis, size: SymExpr, kind: str
) -> Buffer:
    """Return images of another size along one axis."""
    dims = list(source.dims)
    dims[along.axis] = size
    made = builder.alloc("Rows", dims, kind)
    with builder.nest("rows", spatial(dims)) as block:
        at = tuple(block)
        made.store(_blend(source, along, at, kind), at)
    return made


LEGALIZE = {"resize2d": legalize_resize, "resize3d": legalize_resize}
