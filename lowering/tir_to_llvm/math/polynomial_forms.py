"""Elementary functions with one form for f32 and f64 and coefficients of each."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from relax_mlir.lowering.tir_to_llvm.math.lane_math import Lanes

Function = Callable[[Lanes], Lanes]


@dataclass(frozen=True)
class Angles:
    """What inverse functions of angles need of a type of floats.

    Attributes:
        half_pi: as a sum of two.
        tiny: below it a number is its own arcsine.
        asin: (asin(s) - s) / s**3 for s <= 1/2 in s**2.
        sign: the number of the bit with the sign.
    """

    half_pi: tuple[float, float]
    tiny: float
    asin: tuple[float, ...]
    sign: int

    def reflected(self, angle: Lanes, halves: int = 1) -> Lanes:
        """Return some halves of pi, less an angle."""
        high, low = (halves * part for part in self.half_pi)
        return angle.like(high) - (angle - low)


def arcsine(angles: Angles) -> tuple[Function, Function]:
    """Return arcsine and arccosine."""

    def half_angle(x: Lanes) -> tuple[Lanes, Lanes]:
        """Return whether |x| > 1/2, and the arcsine of |x|, or there of sqrt((1 - |x|) / 2)."""
        magnitude = x.magnitude()
        above = magnitude > 0.5
        square = above.select(magnitude.times_plus(-0.5, 0.5), magnitude * magnitude)
        s = above.select(square.math("sqrt"), magnitude)
        return above, (s * square).times_plus(square.polynomial(angles.asin), s)

    def asin(x: Lanes) -> Lanes:
        above, angle = half_angle(x)
        far = angle.times_plus(-2.0, angles.half_pi[0]) + angles.half_pi[1]
        result = above.select(far, angle).with_sign_of(x)
        return (x.magnitude() < angles.tiny).select(x, result)

    def acos(x: Lanes) -> Lanes:
        above, angle = half_angle(x)
        near = angles.reflected(angle.with_sign_of(x))
        twice = angle * 2.0
        return above.select((x < 0.0).select(angles.reflected(twice, 2), twice), near)

    return asin, acos


def arctangent2(angles: Angles, below_one: Function) -> Callable[[Lanes, Lanes], Lanes]:
    """Return atan2, by the arctangent of numbers from 0 to 1."""

    def atan2(y: Lanes, x: Lanes) -> Lanes:
        across, up = x.magnitude(), y.magnitude()
        steep = up > across
        small, large = steep.select(across, up), steep.select(up, across)
        ratio = small / large
        ratio = small.same(math.inf).select(ratio.like(1.0), ratio)
        ratio = large.same(0.0).select(ratio.like(0.0), ratio)
        angle = below_one(ratio)
        angle = steep.select(angles.reflected(angle), angle)
        left = (x.bits() >> angles.sign).equals(-1)
        result = left.select(angles.reflected(angle, 2), angle).with_sign_of(y)
        numbers = x.same(x) & y.same(y)
        return numbers.select(result, x + y)

    return atan2


def logarithm_of_more(log: Function, tiny: float) -> Function:
    """Return log1p: log(1 + x) with what rounding 1 + x took; a tiny x is its own."""

    def log1p(x: Lanes) -> Lanes:
        u = x + 1.0
        lost = (x - (u - 1.0)) / u
        result = log(u) + lost.same(lost).select(lost, 0.0)
        return (x.magnitude() < tiny).select(x, result)

    return log1p


def area_functions(log: Function, log1p: Function, far: float) -> dict[str, Function]:
    """Return the inverses of the hyperbolic functions; beyond `far` 1 + x**2 is x**2."""

    def asinh(x: Lanes) -> Lanes:
        magnitude = x.magnitude()
        square = magnitude * magnitude
        near = log1p(magnitude + square / ((square + 1.0).math("sqrt") + 1.0))
        above = log(magnitude) + math.log(2.0)
        return (magnitude > far).select(above, near).with_sign_of(x)

    def acosh(x: Lanes) -> Lanes:
        over = x - 1.0
        near = log1p(over + (over * over + over * 2.0).math("sqrt"))
        above = log(x) + math.log(2.0)
        return (x < 1.0).select(x.like(math.nan), (x > far).select(above, near))

    def atanh(x: Lanes) -> Lanes:
        magnitude = x.magnitude()
        return (log1p(magnitude * 2.0 / (1.0 - magnitude)) * 0.5).with_sign_of(x)

    return {"math.acosh": acosh, "math.asinh": asinh, "math.atanh": atanh}


def hyperbolic_functions(
    expm1: Function, half_of_exp: Callable[[Lanes], tuple[Lanes, Lanes]]
) -> dict[str, Function]:
    """Return sinh and cosh, by the halves of e**x and e**-x."""

    def sinh(x: Lanes) -> Lanes:
        magnitude = x.magnitude()
        e = expm1((magnitude > 1.0).select(x.like(1.0), magnitude))
        near = (e + e / (e + 1.0)) * 0.5
        rising, falling = half_of_exp(magnitude)
        return (magnitude > 1.0).select(rising - falling, near).with_sign_of(x)

    def cosh(x: Lanes) -> Lanes:
        rising, falling = half_of_exp(x.magnitude())
        return rising + falling

    return {"math.cosh": cosh, "math.sinh": sinh}


def logarithms(
    parts: Callable[[Lanes], tuple[Lanes, Lanes, Lanes]],
    edges: Callable[[Lanes, Lanes], Lanes],
    digits: int,
) -> dict[str, Function]:
    """Return the logarithms to the bases 2 and 10.

    Args:
        parts: e, f and y with log(x) = e * ln 2 + f + y.
        edges: puts in what is no positive finite number.
        digits: binary digits of the type; products of numbers of half as many are exact.
    """
    short = digits // 2 - 1

    def split(number: float) -> tuple[float, float]:
        mantissa, exponent = math.frexp(number)
        high = math.ldexp(round(mantissa * 2**short), exponent - short)
        return high, number - high

    def to_base(one_over_ln: float, log_of_2: float) -> Function:
        ratio_hi, ratio_lo = split(one_over_ln)
        two_hi, two_lo = split(log_of_2)

        def log(x: Lanes) -> Lanes:
            e, f, y = parts(x)
            # f + y as a short leading part and the rest
            leading = ((f + y).bits() & -(1 << (digits // 2))).from_bits()
            rest = (f - leading) + y
            low = rest.times_plus(one_over_ln, leading * ratio_lo)
            low = e.times_plus(two_lo, low)
            return edges(x, e.times_plus(two_hi, leading.times_plus(ratio_hi, low)))

        return log

    return {
        "math.log10": to_base(1.0 / math.log(10.0), math.log10(2.0)),
        "math.log2": to_base(1.0 / math.log(2.0), 1.0),
    }
