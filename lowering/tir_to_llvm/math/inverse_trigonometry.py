"""Arcsine, arccosine and arctangents of f32."""

from collections.abc import Callable

from relax_mlir.lowering.tir_to_llvm.math.lane_math import Lanes
from relax_mlir.lowering.tir_to_llvm.math.polynomial_forms import Angles, arcsine, arctangent2

# pi / 2 as a sum of two f32.
_HALF_PI = (1.5707963705062866, -4.371138828673793e-08)
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


_ANGLES = Angles(_HALF_PI, _TINY, _ASIN, 31)
_asin, _acos = arcsine(_ANGLES)


def _angle_below_one(t: Lanes) -> Lanes:
    square = t * t
    return (t * square).times_plus(square.polynomial(_ATAN), t)


def _atan(x: Lanes) -> Lanes:
    magnitude = x.magnitude()
    above = magnitude > 1.0
    angle = _angle_below_one(above.select(magnitude.like(1.0) / magnitude, magnitude))
    result = above.select(_ANGLES.reflected(angle), angle).with_sign_of(x)
    return (x.magnitude() < _TINY).select(x, result)


INVERSE_TRIGONOMETRY: dict[str, Callable[..., Lanes]] = {
    "math.acos": _acos,
    "math.asin": _asin,
    "math.atan": _atan,
    "math.atan2": arctangent2(_ANGLES, _angle_below_one),
}
