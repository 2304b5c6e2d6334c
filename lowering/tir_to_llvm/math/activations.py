"""Activations computed as one function: fewer operations and roundings than their parts."""

import math

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_llvm.math.exponential import (
    EXP,
    LIFT,
    NEAR,
    bell,
    clamp,
    growing_power,
    lifted_exp,
    one_plus_exp,
    scaled,
    whole_and_rest,
)
from relax_mlir.lowering.tir_to_llvm.math.lane_math import Lanes, choose
from relax_mlir.lowering.tir_to_llvm.math.piecewise_polynomials import ShrinkingPieces
from relax_mlir.lowering.tir_to_llvm.math.value_ranges import range_of

# From here on the share of a normal distribution beyond is nothing, whatever it is multiplied by.
_FAR = 14.5
# What a normal variable is beyond u with, over e**(-u**2 / 2) / (u + _NEAR), by powers of
# _NEAR / (u + _NEAR) - _MIDDLE; for u from 0 to _FAR.
_NEAR, _MIDDLE = 2.5, 0.625
_TAIL = (
    0.8231226801872253, 0.9939486384391785, 0.4771883487701416, -0.19151559472084045,
    -0.199308842420578, 0.1373283565044403, 0.06288180500268936, -0.12188252061605453,
    0.012152702547609806, 0.08145987242460251,
)  # fmt: skip
# Added to 2 to that power, 1 is rounded away.
_ONE_IS_LOST = 64.0
# The least power of two that is a normal number.
_SMALLEST_NORMAL_EXPONENT = -126.0


# Up to here the product of a number and the share beyond it is a polynomial in pieces. Further away
# it still counts, also next to a positive number.
_IN_PIECES = 4.453125
# The same product over e**(-u**2 / 2), by powers of 1 / u**2, for u from there to _FAR: least
# squares of the relative error, which is less than 2**-25.
_FAR_TAIL = (0.3989422, -0.39891034, 1.19217658, -5.65734959, 29.39667702, -97.00366211)


def _lost_of(u: float) -> float:
    return 0.5 * u * math.erfc(u * math.sqrt(0.5))


_lost_in_pieces = ShrinkingPieces(_lost_of, degree=5, offset=4.8125, unit=4.0)


def gelu(x: Lanes) -> Lanes:
    """Return x times the share of a normal distribution below it.

    It is within 3.6 units in the last place, 4.1 without a multiply-add that rounds once.

    That is x, if positive, less |x| times the share beyond |x|: an exponential times a smooth
    function, whose digits are all there however small it is. Where `can_scale`, pieces have both
    in one, and what is far from zero is seldom.
    """
    if x.can_scale():
        distance = x.magnitude()
        near = _lost_in_pieces(distance)
        (lost,) = choose(
            distance.bits().any_above(_IN_PIECES),
            lambda: [(distance > _IN_PIECES).select(_lost_of_far(x), near)],
            [near],
        )
        # Nothing less nothing would be above zero.
        return x.at_least(-0.0) - lost
    magnitude = x.magnitude()
    distance = (magnitude < _FAR).select(magnitude, _FAR)
    halved = distance * -0.5
    square = distance * halved
    more, power = lifted_exp(square, _lost_of_product(distance, halved, square))
    part = _by_quotient(distance)
    # Minus infinity times nothing is NaN.
    is_above = (x > 0.0).select(x.like(1.0), 0.0)
    return (part.times_plus(more, part) * power).times_plus(-(2.0**-LIFT), x * is_above)


def _lost_of_far(x: Lanes) -> Lanes:
    """Return |x| times the share beyond it, NaN for minus infinity: a product with nothing."""
    distance = x.limited_magnitude(_FAR)
    table, more, whole = bell(distance)
    inverse = 1.0 / (distance * distance)
    part = inverse.polynomial(_FAR_TAIL) * table
    below = (x < 0.0).select(x, 0.0)
    return part.times_plus(more, part).scaled(whole) + (below - below)


def _lost_of_product(a: Lanes, b: Lanes, product: Lanes) -> Lanes:
    """Return a * b less the rounded product, for b = -a / 2."""
    if a.rounds_once():
        return a.times_plus(b, product * -1.0)
    # Products of halves of the digits are exact.
    high, high_b = ((each.bits() & -0x1000).from_bits() for each in (a, b))
    return (high * high_b - product) + (a - high) * (b + high_b)


def _by_quotient(u: Lanes) -> Lanes:
    """Return u times the share beyond it over the share's exponential."""
    whole = u + _NEAR
    quotient = u / whole
    t = 1.0 - quotient
    # What two roundings took is put back into both.
    lost = (whole - _NEAR - u) * quotient
    if u.rounds_once():
        lost = (quotient * -1.0).times_plus(whole, u) + lost
    lost = lost * (t * (1.0 / _NEAR))
    return (t - _MIDDLE - lost).polynomial(_TAIL) * (quotient + lost)


def over_one_plus_exp(x: Lanes, y: Lanes) -> Lanes:
    """Return x / (1 + e**y), within 2.5 units in the last place.

    Powers that are no normal numbers are seldom, and left to another way: in vectors behind a
    branch, not in scalars, whose loops LLVM vectorises.
    """
    near, distance = x / one_plus_exp(y), y.magnitude()

    def every() -> Lanes:
        far = _far_share(x, y) if x.can_scale() else _any_share(x, y)
        return (distance > NEAR).select(far, near)

    if not x.is_vector():
        return every()
    (result,) = choose(distance.bits().any_above(NEAR), lambda: [every()], [near])
    return result


def _any_share(x: Lanes, y: Lanes) -> Lanes:
    """Return x / (1 + e**y) without a branch, whatever they are."""
    if _is_one(x) or _is_negative(y, x):
        return _share(x, y)
    _, whole, rest = whole_and_rest(clamp(y, -104.0, 200.0))
    power = rest.polynomial((1.0, 1.0, *EXP))
    # Where e**y might overflow, a part of its exponent is taken off x. If nothing is left of that
    # an infinite x gives NaN, as it does when divided by infinity.
    bounded = (whole > _ONE_IS_LOST).select(x.like(_ONE_IS_LOST), whole)
    over = _ONE_IS_LOST - whole
    over = (over > 0.0).select(x.like(0.0), over)
    return (x * scaled(x.like(1.0), over)).over(scaled(power, bounded) + 1.0)


# -y / (1 + e**y) is less than half of the least subnormal number from here on.
_NOTHING = 110.0


def _share(x: Lanes, y: Lanes) -> Lanes:
    """Return x / (1 + e**y) for x of 1 or -y: x * e**-y / (1 + e**-y) for positive y."""
    away = (y.bits() | -(1 << 31)).from_bits()
    more, power = lifted_exp((away < -_NOTHING).select(away.like(-_NOTHING), away))
    power = power.times_plus(more, power)
    is_small = y > 0.0
    if not _is_one(x):
        # Minus infinity times nothing is NaN.
        x = x * (y < _NOTHING).select(x.like(1.0), 0.0)
    share = x * is_small.select(power, 1.0) / power.times_plus(2.0**-LIFT, 1.0)
    return share * is_small.select(x.like(2.0**-LIFT), 1.0)


def _far_share(x: Lanes, y: Lanes) -> Lanes:
    """Return x / (1 + e**y) where either the power or 1 is rounded away.

    The power is a number from 1/2 to 1 over one of two, which x is multiplied by: so nothing
    overflows, and what is subnormal is rounded once.
    """
    power, whole = growing_power(y * -1.0)
    return (y > 0.0).select(_brought_down(x, y, whole) / power, x)


def _brought_down(x: Lanes, y: Lanes, whole: Lanes) -> Lanes:
    """Return x * 2**floor(whole), NaN for an infinite x of which nothing is left, and for NaN."""
    if max(map(abs, range_of(x.value))) < math.inf or _is_negative(y, x):
        # An infinite x goes with an infinite power, and NaN with NaN.
        return x.scaled(whole)
    near = (whole > _SMALLEST_NORMAL_EXPONENT).select(whole, _SMALLEST_NORMAL_EXPONENT)
    return x.scaled(near) * x.like(1.0).scaled(whole - near)


def _is_one(x: Lanes) -> bool:
    return range_of(x.value) == (1.0, 1.0)


def _is_negative(y: Lanes, x: Lanes) -> bool:
    """Whether y is made by changing the sign of x."""
    if isinstance(y.value.owner, ir.Block):
        return False
    op = y.value.owner.operation
    return op.name == "arith.negf" and op.operands[0] == x.value
