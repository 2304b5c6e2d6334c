"""Arcsine, arccosine and arctangents of f32."""

import math
from collections.abc import Callable

from relax_mlir.lowering.tir_to_llvm.lanes import Lanes

# pi / 2 and pi as sums of two f32.
_HALF_PI = (1.5707963705062866, -4.371138828673793e-08)
_PI = (3.1415927410125732, -8.742277657347586e-08)
_TINY = 2.0**-12
# (asin(s) - s) / s**3 for s <= 1/2 and (atan(s) - s) / s**3 for s <= 1, in s**2
_ASIN = (
    0.16666752099990845, 0.07495288550853729, 0.04547160863876343, 0.024172939360141754,
    0.042178258299827576,
)  # fmt: skip
_ATAN = (
    -0.33333298563957214, 0.19998548924922943, -0.14264243841171265, 0.10952192544937134,
    -0.08403467386960983, 0.05795785412192345, -0.031178081408143044, 0.010914720594882965,
    -0.0017936454387381673,
)  # fmt: skip


def _half_angle(x: Lanes) -> tuple[Lanes, Lanes]:
    """Return whether |x| is above 1/2, and the arcsine of |x|, or there of sqrt((1 - |x|) / 2)."""
    magnitude = x.magnitude()
    above = magnitude > 0.5
    square = above.select(magnitude.times_plus(-0.5, 0.5), magnitude * magnitude)
    s = above.select(square.math("sqrt"), magnitude)
    return above, (s * square).times_plus(square.polynomial(_ASIN), s)


def _asin(x: Lanes) -> Lanes:
    above, angle = _half_angle(x)
    far = angle.times_plus(-2.0, _HALF_PI[0]) + _HALF_PI[1]
    result = above.select(far, angle).with_sign_of(x)
    return (x.magnitude() < _TINY).select(x, result)


def _acos(x: Lanes) -> Lanes:
    above, angle = _half_angle(x)
    signed = angle.with_sign_of(x)
    near = signed.like(_HALF_PI[0]) - (signed - _HALF_PI[1])
    twice = angle * 2.0
    behind = twice.like(_PI[0]) - (twice - _PI[1])
    return above.select((x < 0.0).select(behind, twice), near)


def _angle_below_one(t: Lanes) -> Lanes:
    square = t * t
    return (t * square).times_plus(square.polynomial(_ATAN), t)


def _atan(x: Lanes) -> Lanes:
    magnitude = x.magnitude()
    above = magnitude > 1.0
    angle = _angle_below_one(above.select(magnitude.like(1.0) / magnitude, magnitude))
    far = angle.like(_HALF_PI[0]) - (angle - _HALF_PI[1])
    result = above.select(far, angle).with_sign_of(x)
    return (x.magnitude() < _TINY).select(x, result)


def _atan2(y: Lanes, x: Lanes) -> Lanes:
    across, up = x.magnitude(), y.magnitude()
    steep = up > across
    small, large = steep.select(across, up), steep.select(up, across)
    ratio = small / large
    ratio = small.same(math.inf).select(ratio.like(1.0), ratio)
    ratio = large.same(0.0).select(ratio.like(0.0), ratio)
    angle = _angle_below_one(ratio)
    angle = steep.select(angle.like(_HALF_PI[0]) - (angle - _HALF_PI[1]), angle)
    behind = angle.like(_PI[0]) - (angle - _PI[1])
    left = (x.bits() >> 31).equals(-1)
    result = left.select(behind, angle).with_sign_of(y)
    numbers = x.same(x) & y.same(y)
    return numbers.select(result, x + y)


INVERSE_TRIGONOMETRY: dict[str, Callable[..., Lanes]] = {
    "math.acos": _acos,
    "math.asin": _asin,
    "math.atan": _atan,
    "math.atan2": _atan2,
}
