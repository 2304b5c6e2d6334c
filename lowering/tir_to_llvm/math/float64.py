"""Elementary functions of f64, as branch-free sequences like those of f32.

All of them need a multiply-add that rounds once.
"""

import math
from collections.abc import Callable

from relax_mlir.lowering.tir_to_llvm.math.exponential import ROUNDER64, scale
from relax_mlir.lowering.tir_to_llvm.math.fmod import remainder
from relax_mlir.lowering.tir_to_llvm.math.lane_math import Lanes
from relax_mlir.lowering.tir_to_llvm.math.payne_hanek import payne_hanek
from relax_mlir.lowering.tir_to_llvm.math.polynomial_forms import (
    Angles,
    arcsine,
    arctangent2,
    area_functions,
    hyperbolic_functions,
    logarithm_of_more,
    logarithms,
)
from relax_mlir.lowering.tir_to_llvm.math.pow import pow_of_doubles
from relax_mlir.lowering.tir_to_llvm.math.sin_cos import QuarterTurns

_LOG2_E = 1.4426950408889634
# ln 2 in two parts; the first has so few bits that its product with an exponent is exact.
_LN2 = (0.6931471803691238, 1.9082149292705877e-10)
# pi / 2 as a sum.
_HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.497384905065873e-33)
# Adding 1.5 * 2**52 rounds to an integer, and leaves that integer in the low bits.
_ROUNDER = 1.5 * 2.0**52
_MANTISSA = (1 << 52) - 1
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD

# (e**r - 1 - r) / r**2 for |r| <= ln(2) / 2
_EXP = (
    0.5, 0.16666666666666682, 0.041666666666666095, 0.008333333333317074, 0.0013888888889115056,
    0.00019841269896303705, 2.480158692717934e-05, 2.7557234930837298e-06, 2.7557581657027684e-07,
    2.5112015683320694e-08, 2.0826633865912093e-09,
)  # fmt: skip
# (log((1 + s) / (1 - s)) - 2 * s) / s**3 in s**2
_LOG = (
    0.6666666666666735, 0.3999999999941111, 0.285714287432593, 0.22222198476224614,
    0.18183569732552246, 0.15313903309495017, 0.14797508217555197,
)  # fmt: skip
# As of f32.
_SIN = (
    -0.1666666666666663, 0.008333333333322108, -0.00019841269829580258, 2.7557313618031523e-06,
    -2.5050747218343312e-08, 1.5896197557681126e-10,
)  # fmt: skip
_COS = (
    0.041666666666666595, -0.001388888888887304, 2.480158728884204e-05, -2.7557314176403937e-07,
    2.087570043551881e-09, -1.1358514819191615e-11,
)  # fmt: skip
_ASIN = (
    0.1666666666666676, 0.07499999999970637, 0.0446428571747761, 0.030381942699509938,
    0.022372215231198925, 0.017351607461827588, 0.013980877127428654, 0.011398433515632097,
    0.010783021161230172, 0.0036956398458244987, 0.021734387581635928, -0.02103820786455163,
    0.03265372843599022,
)  # fmt: skip
# (atan(s) - s) / s**3 for s below the tangent of pi / 8, in s**2
_ATAN = (
    -0.33333333333333326, 0.19999999999997634, -0.1428571428538377, 0.11111111087932671,
    -0.09090908136296848, 0.0769228258486829, -0.06666224354005601, 0.05876999698190358,
    -0.052182704592871186, 0.04503035517128135, -0.03346314168193565, 0.01518426269552868,
)  # fmt: skip
# erf(x) / x - 1 in x**2, for |x| <= 1
_ERF_SMALL = (
    0.12837916709551256, -0.37612638903183454, 0.11283791670942442, -0.02686617064289931,
    0.005223977604689966, -0.0008548325870704008, 0.00012055292035176142, -1.4924685750117011e-05,
    1.644683368469675e-06, -1.6204216650845038e-07, 1.370256915942638e-08, -7.764805951360939e-10,
)  # fmt: skip
# log(1 - erf(x)) in x - 1, for x from 1 to where 1 is all there is
_ERF_LARGE = (
    -1.8496055099332485, -2.638967514234723, -0.8431072563622792, -0.0415610979649056,
    0.010033824531964015, -0.0019778971067437416, 0.00023729968099791922, 2.6342616129071387e-05,
    -2.728876391693679e-05, 9.796496156264606e-06, -2.2588559894834517e-06, 2.989824829100151e-07,
    7.0923895820292175e-09, -1.3608913408805038e-08, 3.1542880807431597e-09,
    -3.5745843958433275e-10, 1.7137430933982252e-11,
)  # fmt: skip
_ERF_ONE = 5.93
_TINY = 2.0**-27
_TAN_OF_EIGHTH = 0.41421356237309503


def _clamp(x: Lanes, low: float, high: float) -> Lanes:
    x = (x > high).select(x.like(high), x)
    return (x < low).select(x.like(low), x)


def _split(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """Return n nearest to x / ln 2, as the bits of n + `ROUNDER64` and as a float; the rest."""
    shifted = x.times_plus(_LOG2_E, ROUNDER64)
    whole = shifted - ROUNDER64
    rest = whole.times_plus(-_LN2[1], whole.times_plus(-_LN2[0], x))
    return shifted.bits(), whole, rest


def _power_of_two(bits: Lanes) -> Lanes:
    """Return 2**n; `bits` are those of n + `ROUNDER64`, twice the bias of exponents too large."""
    return ((bits - 1023) << 52).from_bits()


def _scale(y: Lanes, bits: Lanes, whole: Lanes) -> Lanes:
    return y.scaled(whole) if y.can_scale() else scale(y, bits)


def _exp(x: Lanes) -> Lanes:
    bits, whole, rest = _split(_clamp(x, -746.0, 710.0))
    return _scale(rest.polynomial((1.0, 1.0, *_EXP)), bits, whole)


def _exp2(x: Lanes) -> Lanes:
    x = _clamp(x, -1076.0, 1025.0)
    shifted = x + ROUNDER64
    whole = shifted - ROUNDER64
    rest = (x - whole) * math.log(2.0)
    return _scale(rest.polynomial((1.0, 1.0, *_EXP)), shifted.bits(), whole)


def _expm1(x: Lanes) -> Lanes:
    bits, _, rest = _split(_clamp(x, -40.0, 710.0))
    # Half of the result, because 2**n itself may overflow.
    half = _power_of_two(bits - 1)
    near_zero = (rest * rest).times_plus(rest.polynomial(_EXP), rest)
    result = near_zero.times_plus(half, half - 0.5) * 2.0
    return (x.magnitude() < 2.0**-54).select(x, result)


def _tanh(x: Lanes) -> Lanes:
    twice = x.magnitude() * 2.0
    e = _expm1((twice > 44.0).select(x.like(44.0), twice))
    return (e / (e + 2.0)).with_sign_of(x)


def _erf(x: Lanes) -> Lanes:
    magnitude = x.magnitude()
    small = x.times_plus((x * x).polynomial(_ERF_SMALL), x)
    above = (magnitude > _ERF_ONE).select(x.like(_ERF_ONE), magnitude) - 1.0
    bits, _, rest = _split(above.polynomial(_ERF_LARGE))
    beyond = rest.polynomial((1.0, 1.0, *_EXP)) * _power_of_two(bits)
    return (magnitude > 1.0).select((1.0 - beyond).with_sign_of(x), small)


def _half_of_exp(x: Lanes) -> tuple[Lanes, Lanes]:
    """Return e**x / 2 and e**-x / 2 for x >= 0; the first only overflows where cosh does."""
    bits, whole, rest = _split(_clamp(x, 0.0, 711.0))
    half = _scale(rest.polynomial((1.0, 1.0, *_EXP)), bits - 1, whole - 1.0)
    return half, half.like(0.25) / half


def _logarithm(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """Return e, f and y with log(x) = e * ln 2 + f + y, for a positive finite x."""
    is_tiny = x < 2.0**-1022
    bits = is_tiny.select(x * 2.0**54, x).bits() - _SQRT_HALF_BITS
    e = (bits >> 52).to_float() - is_tiny.select(x.like(54.0), 0.0)
    f = ((bits & _MANTISSA) + _SQRT_HALF_BITS).from_bits() - 1.0
    s = f / (f + 2.0)
    square = s * s
    half = f * f * 0.5
    # 2 * s is f - s * f, and s * f is half - s * half.
    y = s.times_plus((square * square.polynomial(_LOG)) + half, half * -1.0)
    return e, f, y


def _edges(x: Lanes, result: Lanes) -> Lanes:
    result = (x > 0.0).select(result, x.same(0.0).select(x.like(-math.inf), math.nan))
    return x.same(math.inf).select(x, result)


def _log(x: Lanes) -> Lanes:
    e, f, y = _logarithm(x)
    return _edges(x, e.times_plus(_LN2[0], f + e.times_plus(_LN2[1], y)))


_log1p = logarithm_of_more(_log, 2.0**-54)


def _sine(r: Lanes, square: Lanes) -> Lanes:
    return (r * square).times_plus(square.polynomial(_SIN), r)


def _cosine(square: Lanes) -> Lanes:
    half = square * -0.5
    near_one = half + 1.0
    # What rounding to `near_one` took goes to the other terms.
    rest = (square * square).times_plus(square.polynomial(_COS), half - (near_one - 1.0))
    return near_one + rest


_TURNS = QuarterTurns(
    half_pi=_HALF_PI,
    rounder=_ROUNDER,
    near=2.0**20,
    far=payne_hanek,
    tiny=_TINY,
    sine=_sine,
    cosine=_cosine,
    sign=63,
)


def _tan(x: Lanes) -> Lanes:
    rest, count = _TURNS.split(x)
    square = rest * rest
    sine, cosine = _sine(rest, square), _cosine(square)
    odd = (count & 1).equals(1)
    ratio = odd.select(cosine * -1.0, sine) / odd.select(sine, cosine)
    return (x.magnitude() < _TINY).select(x, ratio)


_ANGLES = Angles((_HALF_PI[0], _HALF_PI[1]), _TINY, _ASIN, 63)
_asin, _acos = arcsine(_ANGLES)


def _angle(top: Lanes, bottom: Lanes) -> Lanes:
    t = top / bottom
    square = t * t
    return (t * square).times_plus(square.polynomial(_ATAN), t)


def _eighth_turned(angle: Lanes) -> Lanes:
    return angle.like(0.5 * _HALF_PI[0]) + (angle + 0.5 * _HALF_PI[1])


def _angle_below_one(x: Lanes) -> Lanes:
    middle = x > _TAN_OF_EIGHTH
    angle = _angle(middle.select(x - 1.0, x), middle.select(x + 1.0, 1.0))
    return middle.select(_eighth_turned(angle), angle)


def _atan(x: Lanes) -> Lanes:
    magnitude = x.magnitude()
    steep, middle = magnitude > 1.0 / _TAN_OF_EIGHTH, magnitude > _TAN_OF_EIGHTH
    top = steep.select(x.like(-1.0), middle.select(magnitude - 1.0, magnitude))
    bottom = steep.select(magnitude, middle.select(magnitude + 1.0, 1.0))
    angle = _angle(top, bottom)
    rotated = angle.like(_HALF_PI[0]) + (angle + _HALF_PI[1])
    result = steep.select(rotated, middle.select(_eighth_turned(angle), angle)).with_sign_of(x)
    return (magnitude < _TINY).select(x, result)


DOUBLES: dict[str, Callable[..., Lanes]] = {
    **area_functions(_log, _log1p, 2.0**28),
    **hyperbolic_functions(_expm1, _half_of_exp),
    **logarithms(_logarithm, _edges, 53),
    "arith.remf": remainder,
    "math.acos": _acos,
    "math.asin": _asin,
    "math.atan": _atan,
    "math.atan2": arctangent2(_ANGLES, _angle_below_one),
    "math.cos": _TURNS.cos,
    "math.erf": _erf,
    "math.exp": _exp,
    "math.exp2": _exp2,
    "math.expm1": _expm1,
    "math.log": _log,
    "math.log1p": _log1p,
    "math.powf": pow_of_doubles,
    "math.sin": _TURNS.sin,
    "math.tan": _tan,
    "math.tanh": _tanh,
}
