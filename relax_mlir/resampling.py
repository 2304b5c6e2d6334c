"""Resized images: where pixels of the result are in the image, for numbers of any kind.

The modes and roundings are those of ONNX (operator Resize) and TVM.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

METHODS = ("nearest_neighbor", "linear", "cubic")
CROP = "tf_crop_and_resize"
MODES = (
    "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn", CROP,
)  # fmt: skip
ROUNDINGS = ("round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
# What is computed as just below a whole number is meant to be it.
EPSILON = 1e-5


class Numbers(NamedTuple):
    """Functions of numbers: arrays of numpy, scalars of prim funcs, or scalars of te."""

    floor: Callable[[Any], Any]
    ceil: Callable[[Any], Any]
    round: Callable[[Any], Any]
    maximum: Callable[[Any, Any], Any]
    select: Callable[[Any, Any, Any], Any]


def source_position(
    at: Any, size: Any, wanted: Any, mode: str, ends: tuple[Any, Any], of: Numbers
) -> Any:
    """Return where along an axis of the image a pixel of the result is.

    Args:
        at: its position in the result.
        size: of the image.
        wanted: the size of the result.
        mode: one of `MODES`.
        ends: the part of the axis, from 0 to 1, that `CROP` takes.
        of: functions of the numbers that these are.
    """
    if mode == "align_corners":
        return at * (size - 1.0) / of.maximum(wanted - 1.0, 1.0)
    if mode == "asymmetric":
        return at * size / wanted
    if mode == "tf_half_pixel_for_nn":
        return (at + 0.5) * size / wanted
    if mode == CROP:
        first, last = ends
        gaps = of.maximum(wanted - 1.0, 1.0)
        along = (size - 1.0) * first + at * (size - 1.0) * (last - first) / gaps
        return of.select(wanted > 1.0, along, (size - 1.0) * ((first + last) * 0.5))
    place = (at + 0.5) * size / wanted - 0.5
    return of.select(wanted > 1.0, place, 0.0) if mode == "pytorch_half_pixel" else place


def nearest(place: Any, rounding: str, of: Numbers) -> Any:
    """Return the pixel nearest to a place, not yet inside of the image.

    Args:
        place: a place in the image.
        rounding: one of `ROUNDINGS`.
        of: functions of the numbers that places are.
    """
    if rounding == "round":
        return of.round(place)
    if rounding == "round_prefer_floor":
        return of.ceil(place - 0.5)
    if rounding == "round_prefer_ceil":
        return of.floor(place + 0.5)
    return of.floor(place + EPSILON) if rounding == "floor" else of.ceil(place - EPSILON)


def cubic_weight(t: Any, tap: int, alpha: float) -> Any:
    """Return how much one of the four pixels around a place counts (Keys 1981).

    Args:
        t: how far the place is behind the second pixel.
        tap: which pixel.
        alpha: the slope of the cubic at the third and first.
    """
    if tap == 0:
        return ((t - 2.0) * t + 1.0) * t * alpha
    if tap == 1:
        return (t * (alpha + 2) - (alpha + 3)) * t * t + 1.0
    if tap == 2:
        return ((t * -(alpha + 2) + (2 * alpha + 3)) * t - alpha) * t
    return (1.0 - t) * t * t * alpha
