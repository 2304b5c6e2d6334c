"""exp by 2^n and a polynomial of the remainder, for functions of f32 that use it.

A table in registers makes the remainder so small that a short polynomial is enough.
"""

import math
import struct
from dataclasses import dataclass

from relax_mlir.lowering.tir_to_llvm.math.lane_math import Lanes
from relax_mlir.lowering.tir_to_llvm.math.value_ranges import range_of


@dataclass(frozen=True)
class _Form:
    """What belongs to a type of floats.

    Attributes:
        rounder: adding it leaves the multiple of 1 / `steps` nearest to a number in the low bits.
        steps: numbers in the table, of two registers.
        ln2: as a sum; what multiples of the first leave of a number is exact.
        rest: (e**r - 1) / r for |r| up to ln(2) / 2 / steps.
    """

    rounder: float
    steps: int
    ln2: tuple[float, float]
    rest: tuple[float, ...]

    @property
    def table(self) -> list[float]:
        """Powers of two from 1 to 2."""
        return [2.0 ** (i / self.steps) for i in range(self.steps)]


_FORMS = {
    32: _Form(
        1.5 * 2.0**18,
        32,
        (0.6931471824645996, -1.904654290582768e-09),
        (1.0000146627426147, 0.5000045895576477),
    ),
    64: _Form(
        1.5 * 2.0**48,
        16,
        (0.6931471805599453, 2.3190468138462996e-17),
        (
            1.0000000000000022, 0.5000000000000007, 0.1666666666284383, 0.04166666665905806,
            0.008333496271869044, 0.0013889135504538417,
        ),
    ),
}  # fmt: skip

# Powers of two less than 1 down to 1/2, which is first, rounded, and what that took; adding the
# rounder leaves the multiple of 1/16 nearest to a number in the low bits. And (e**-r - 1) / r for
# what is left.
_BELOW_ONE = [2.0 ** (-(i or 16) / 16) for i in range(16)]
_GROWING = [struct.unpack("f", struct.pack("f", power))[0] for power in _BELOW_ONE]
_GROWING_LOST = [power - rounded for power, rounded in zip(_BELOW_ONE, _GROWING, strict=True)]
# More than what can be left of a number that is not too large, and less than ln(2) / 16.
_GROWING_LEFT = 1.0 / 32.0
_GROWING_ROUNDER = 1.5 * 2.0**19
_GROWING_REST = (-1.0, 0.5000162124633789, -0.16667219996452332)
# Powers from 1 to 2, and (e**(-r / 2) - 1) / r.
_BELL = [2.0 ** (i / 16) for i in range(16)]
_BELL_REST = tuple(factor / 2 ** (i + 1) for i, factor in enumerate(_GROWING_REST))

# Powers of two from 1 to 2; that of an exponent is one of these whose bits are added to those of
# the number of sixteenths, brought before the exponent's: so their numbers are taken off here.
_SHIFTED = [
    struct.unpack("f", struct.pack("I", bits - (i << 19)))[0]
    for i, bits in enumerate(struct.unpack("16I", struct.pack("16f", *_BELL)))
]
# (e**r - 1) / r for |r| up to ln(2) / 32.
_NEAR_REST = (1.0, 0.5000162124633789, 0.16667219996452332)
# Up to here powers of e and what they are made of are normal numbers.
NEAR = 86.0

# (2**r - 1) / r for |r| up to 1/64.
_OCTAVES_REST = (0.6931573748588562, 0.24023020267486572)

# 2**r for |r| up to 1/2, within 1.4 units in the last place.
_NEAR_OCTAVES = (
    1.0, 0.6931470036506653, 0.24022242426872253, 0.05550733581185341, 0.009671512991189957,
    0.001326472731307149,
)  # fmt: skip
# Adding it rounds to an integer, and leaves the bits of an exponent in the low bits: those of 0 for
# the least exponent.
_EXPONENT_ROUNDER = 12582912.0 + 127.0
LEAST_EXPONENT = -127.0

# ln 2 in two parts; the first has so few bits that its product with an exponent is exact.
LN2_HI, LN2_LO = 0.693359375, -2.12194440054690583e-4
# Adding 1.5 * 2**23 rounds an f32 to an integer, which is in the low bits then; 1.5 * 2**52 an f64.
# Twice the bias of exponents is added too, for `scale`.
ROUNDER, ROUNDER_BITS = 12582912.0 + 254.0, 0x4B400000 + 254
ROUNDER64 = 1.5 * 2.0**52 + 2046.0
# Adding it leaves the exponent of 2**(n + `LIFT`) in the low bits: a power of e times 2**LIFT is a
# normal number, however small it is without.
LIFT = 40
_LIFTING_ROUNDER = 12582912.0 + 127.0 + LIFT
# (e**r - 1 - r) / r**2 for |r| <= ln(2) / 2
EXP = (0.5, 0.16666541993618011, 0.04166627675294876, 0.00836677011102438, 0.0013946769759058952)


def clamp(x: Lanes, low: float, high: float) -> Lanes:
    """Bound x, where it is not known to be within; NaN stays NaN."""
    least, most = range_of(x.value)
    if most > high:
        x = (x > high).select(x.like(high), x)
    return (x < low).select(x.like(low), x) if least < low else x


def whole_and_rest(
    x: Lanes, more: Lanes | None = None, rounder: float = ROUNDER
) -> tuple[Lanes, Lanes, Lanes]:
    """Return n + rounder for the integer n nearest to x / ln 2, n as a float, and the rest.

    The rest is r with x + more = n * ln 2 + r.
    """
    shifted = x.times_plus(math.log2(math.e), rounder)
    whole = shifted - rounder
    rest = whole.times_plus(-LN2_HI, x)
    if more is None:
        return shifted, whole, whole.times_plus(-LN2_LO, rest)
    # Both are small: their sum's rounding does not count.
    return shifted, whole, rest + whole.times_plus(-LN2_LO, more)


def split_exponent(x: Lanes) -> tuple[Lanes, Lanes]:
    """Return the integer n nearest to x / ln 2, and r with x = n * ln 2 + r."""
    shifted, _, rest = whole_and_rest(x)
    return shifted.bits() - ROUNDER_BITS, rest


def power_of_two(n: Lanes) -> Lanes:
    """Return 2**n for an integer."""
    return ((n + 127) << 23).from_bits()


def scale(y: Lanes, bits: Lanes) -> Lanes:
    """Return y * 2**n by two multiplications, so that subnormal results are rounded once.

    `bits` are those of n + `ROUNDER`. Either half of their low bits is a biased exponent, and what
    is above is shifted out.
    """
    fraction = 52 if y.element_bits() == 64 else 23
    half = bits >> 1
    return y * (half << fraction).from_bits() * ((bits - half) << fraction).from_bits()


def scaled(y: Lanes, whole: Lanes) -> Lanes:
    """Return y * 2**n for an integer that is an f32."""
    return y.scaled(whole) if y.can_scale() else scale(y, (whole + ROUNDER).bits())


def lifted_exp(x: Lanes, more: Lanes | None = None) -> tuple[Lanes, Lanes]:
    """Return m and p with e**(x + more) = (1 + m) * p / 2**LIFT, for x from -115 to 0."""
    return _rest_and_power(x, more, _LIFTING_ROUNDER)


def _rest_and_power(x: Lanes, more: Lanes | None, rounder: float) -> tuple[Lanes, Lanes]:
    """Return m and a power of two p with e**(x + more) = (1 + m) * p, where p is a normal number.

    The rounder leaves the exponent of p in the low bits.
    """
    shifted, _, rest = whole_and_rest(x, more, rounder)
    power = (shifted.bits() << 23).from_bits()
    return (rest * rest).times_plus(rest.polynomial(EXP), rest), power


def bell(u: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """Return p, m and w with e**(-u**2 / 2) = (p + p * m) * 2**floor(w), where `can_scale`; of f32.

    What is left of the exponent is doubled and negated, so that u need not be halved.
    """
    square = u * u
    shifted = square.times_plus(-0.5 * math.log2(math.e), _GROWING_ROUNDER)
    whole = shifted - _GROWING_ROUNDER
    high, low = (2.0 * part for part in _FORMS[32].ln2)
    lost = u.times_plus(u, square * -1.0)
    rest = whole.times_plus(low, whole.times_plus(high, square) + lost)
    return shifted.bits().picked(_BELL, u), rest * rest.polynomial(_BELL_REST), whole


def growing_power(x: Lanes) -> tuple[Lanes, Lanes]:
    """Return p and w with e**-x = p / 2**floor(w) for x <= 0, where `can_scale`; of f32.

    p is about 1/2 to 1, and less than 1 even of large x, so that it makes nothing overflow. What is
    left of x is bounded, as in `exp`. A second table has what rounding took from the first.
    """
    shifted = x.times_plus(math.log2(math.e), _GROWING_ROUNDER)
    whole = shifted - _GROWING_ROUNDER
    ln2 = _FORMS[32].ln2
    rest = whole.times_plus(-ln2[1], whole.times_plus(-ln2[0], x)).limited(_GROWING_LEFT)
    number = shifted.bits()
    table, lost = number.picked(_GROWING, x), number.picked(_GROWING_LOST, x)
    more = rest * rest.polynomial(_GROWING_REST)
    return table + table.times_plus(more, lost), whole - 1.0 / 16.0


def one_plus_exp(x: Lanes) -> Lanes:
    """Return 1 + e**x of f32 for |x| up to `NEAR`, with a table where `can_scale`.

    What is less than the power is added to its rest, before that is added to the power: so there
    are but two roundings, and only one that counts next to a large power.
    """
    if not x.can_scale():
        more, power = _rest_and_power(x, None, _EXPONENT_ROUNDER)
        return power + power.times_plus(more, 1.0)
    shifted = x.times_plus(math.log2(math.e), _GROWING_ROUNDER)
    whole = shifted - _GROWING_ROUNDER
    ln2 = _FORMS[32].ln2
    rest = whole.times_plus(-ln2[1], whole.times_plus(-ln2[0], x))
    number = shifted.bits()
    power = (number.picked(_SHIFTED, x).bits() + (number << 19)).from_bits()
    return power + power.times_plus(rest * rest.polynomial(_NEAR_REST), 1.0)


def exp(x: Lanes) -> Lanes:
    """Return e**x within 1.75 units in the last place, where `can_scale`.

    What is left of x is bounded, as that of a large x is no small number: then the scaling alone
    decides, and so it does for infinities and NaN.
    """
    form = _FORMS[x.value.type.element_type.width]
    shifted = x.times_plus(math.log2(math.e), form.rounder)
    whole = shifted - form.rounder
    rest = whole.times_plus(-form.ln2[1], whole.times_plus(-form.ln2[0], x)).limited(1.0)
    return _scaled_power(form, shifted, whole, rest, form.rest)


def exp_of_rounded(x: Lanes) -> Lanes:
    """Return e**x, where `can_scale`, of an f32 that was rounded, such as a difference.

    The logarithm of e that is multiplied by is rounded too, which is a quarter of what one half in
    x's last place makes; another product would put it right.
    """
    form = _FORMS[32]
    octaves = math.log2(math.e)
    shifted = x.times_plus(octaves, form.rounder)
    whole = shifted - form.rounder
    rest = x.times_plus(octaves, whole * -1.0).limited(1.0)
    return _scaled_power(form, shifted, whole, rest, _OCTAVES_REST)


def exp_up_to_one(x: Lanes) -> Lanes:
    """Return e**x of a rounded f32 up to 0, where `rounds_once`: 0 where that is subnormal."""
    octaves = math.log2(math.e)
    x = (x < LEAST_EXPONENT / octaves).select(x.like(LEAST_EXPONENT / octaves), x)
    shifted = x.times_plus(octaves, _EXPONENT_ROUNDER)
    rest = x.times_plus(octaves, (shifted - _EXPONENT_ROUNDER) * -1.0)
    return rest.polynomial(_NEAR_OCTAVES) * (shifted.bits() << 23).from_bits()


def exp2_of_normal(x: Lanes) -> Lanes:
    """Return 2**x of f32 numbers whose result is normal, and 0 for `LEAST_EXPONENT`."""
    shifted = x + _EXPONENT_ROUNDER
    rest = x - (shifted - _EXPONENT_ROUNDER)
    return rest.polynomial(_NEAR_OCTAVES) * (shifted.bits() << 23).from_bits()


def _scaled_power(
    form: _Form, shifted: Lanes, whole: Lanes, rest: Lanes, factors: tuple[float, ...]
) -> Lanes:
    power = shifted.bits().picked(form.table, whole)
    return power.times_plus(rest.polynomial(factors) * rest, power).scaled(whole)
