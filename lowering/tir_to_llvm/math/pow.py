"""pow of f32 and f64, with C's special cases."""

import math

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_llvm.math.exponential import scaled
from relax_mlir.lowering.tir_to_llvm.math.lane_math import Lanes
from relax_mlir.lowering.tir_to_llvm.math.value_ranges import range_of

# log2(1 + f) / f in f64 for 1 + f between the square roots of 1/2 and 2, and 2**r for |r| <= 1/2
_LOG2 = (
    1.4426950408893546, -0.7213475204249703, 0.4808983465854914, -0.3606737659000566,
    0.2885390706794803, -0.24044872725551694, 0.20609526659936267, -0.18035040499183425,
    0.1604252324327595, -0.14412615716846938, 0.1291441061815618, -0.1196258371484718,
    0.1261236944484679, -0.12351982003088803, 0.06318072081487984,
)  # fmt: skip
_EXP2 = (
    1.0, 0.6931471824645996, 0.24022646248340607, 0.05550328642129898, 0.009618489071726799,
    0.0013399932067841291, 0.00015345789142884314,
)  # fmt: skip
_SQRT_HALF_BITS = 0x3F3504F3
_ROUNDER_OF_DOUBLES = 1.5 * 2.0**52


def pow_of_singles(x: Lanes, y: Lanes) -> Lanes:
    """Return x**y of f32, by a logarithm and a product in f64."""
    known = _by_exponent(x, y)
    if known is not None:
        return known
    magnitude, f32, f64 = x.magnitude(), ir.F32Type.get(), ir.F64Type.get()
    is_tiny = magnitude < 2.0**-126
    bits = is_tiny.select(magnitude * 2.0**23, magnitude).bits() - _SQRT_HALF_BITS
    exponent = (bits >> 23).to_float() - is_tiny.select(x.like(23.0), 0.0)
    f = (((bits & 0x7FFFFF) + _SQRT_HALF_BITS).from_bits() - 1.0).converted("arith.extf", f64)
    log = f.times_plus(f.polynomial(_LOG2), exponent.converted("arith.extf", f64))
    log = (magnitude > 0.0).select(log, -math.inf)
    log = magnitude.same(math.inf).select(log.like(math.inf), log)
    power = log * y.converted("arith.extf", f64)
    power = (power > 129.0).select(power.like(129.0), power)
    power = (power < -151.0).select(power.like(-151.0), power)
    whole = power + _ROUNDER_OF_DOUBLES - _ROUNDER_OF_DOUBLES
    rest = (power - whole).converted("arith.truncf", f32)
    whole = whole.converted("arith.truncf", f32)
    result = rest.polynomial(_EXP2)
    result = scaled(result, whole)
    return _signs_of_powers(x, y, x.same(x).select(result, x))


def _signs_of_powers(x: Lanes, y: Lanes, result: Lanes) -> Lanes:
    """Return a power of |x| as that of x: C's special cases."""
    infinite = x.magnitude().same(math.inf)
    is_integer = y.math("floor").same(y)
    halved = y * 0.5
    is_odd = is_integer & (halved.math("floor").same(halved) ^ -1)
    sign = x.bits() & (-1 << (63 if _is_double(x) else 31))
    flipped = (result.bits() ^ sign).from_bits()
    result = is_odd.select(flipped, result)
    undefined = (x < 0.0) & (is_integer ^ -1) & (infinite ^ -1) & y.same(y)
    result = undefined.select(x.like(math.nan), result)
    one = x.same(1.0) | y.same(0.0)
    one = one | (x.same(-1.0) & y.magnitude().same(math.inf))
    return one.select(x.like(1.0), result)


# ln 2 in two parts; the first has so few bits that its product with an exponent is exact.
_LN2 = (0.6931471803691238, 1.9082149292705877e-10)
# (log((1 + s) / (1 - s)) / (2 * s) - 1) / s**2 in s**2: a third, twice, as a sum, and the others.
_LOG_FIRST = (0.6666666666666666, 3.700743415417188e-17)
_LOG_REST = (
    0.4, 0.28571428571429364, 0.22222222221655885, 0.18181818335392802, 0.1538459496251843,
    0.1333480469384731, 0.11706236339491206, 0.11723178623876518,
)  # fmt: skip
# (e**r - 1 - r) / r**2 for |r| <= ln(2) / 2
_EXP = (
    0.5, 0.16666666666666682, 0.041666666666666095, 0.008333333333317074, 0.0013888888889115056,
    0.00019841269896303705, 2.480158692717934e-05, 2.7557234930837298e-06, 2.7557581657027684e-07,
    2.5112015683320694e-08, 2.0826633865912093e-09,
)  # fmt: skip
_ROUNDER_BITS = 0x4338000000000000
_SQRT_HALF_BITS_OF_DOUBLES = 0x3FE6A09E667F3BCD
# No power of an f64 is further from 1 than e to this.
_BEYOND = 800.0


def pow_of_doubles(x: Lanes, y: Lanes) -> Lanes:
    """Return x**y of f64 within 2 units in the last place, by a logarithm that is a sum of two."""
    known = _by_exponent(x, y)
    if known is not None:
        return known
    high, low = _logarithm(x.magnitude())
    power = high * y
    rest = high.times_plus(y, power * -1.0) + low * y
    # Of what is infinite nothing is left.
    rest = (power.magnitude() < _BEYOND).select(rest, 0.0)
    power = (power > _BEYOND).select(power.like(_BEYOND), power)
    power = (power < -_BEYOND).select(power.like(-_BEYOND), power)
    shifted = power.times_plus(math.log2(math.e), _ROUNDER_OF_DOUBLES)
    whole = shifted - _ROUNDER_OF_DOUBLES
    rest = whole.times_plus(-_LN2[1], whole.times_plus(-_LN2[0], power)) + rest
    result = (rest * rest).times_plus(rest.polynomial(_EXP), rest) + 1.0
    if result.can_scale():
        result = result.scaled(whole)
    else:
        number = shifted.bits() - _ROUNDER_BITS
        # Three parts, as 2**n of the largest and the smallest number is no f64.
        third = number >> 2
        for part in (third, third, number - third - third):
            result = result * ((part + 1023) << 52).from_bits()
    return _signs_of_powers(x, y, x.same(x).select(result, x))


def _logarithm(x: Lanes) -> tuple[Lanes, Lanes]:
    """Return the logarithm of a magnitude as a sum, wrong by 2**-63 of it."""
    is_tiny = x < 2.0**-1022
    bits = is_tiny.select(x * 2.0**54, x).bits() - _SQRT_HALF_BITS_OF_DOUBLES
    exponent = (bits >> 52).to_float() - is_tiny.select(x.like(54.0), 0.0)
    f = ((bits & ((1 << 52) - 1)) + _SQRT_HALF_BITS_OF_DOUBLES).from_bits() - 1.0
    # s = f / (2 + f)
    below = f + 2.0
    inverse = below.like(1.0) / below
    s = f * inverse
    left = (s * -1.0).times_plus(below, f) - s * (f - (below - 2.0))
    s_low = left * inverse
    square = s * s
    square_low = s.times_plus(s, square * -1.0) + s * s_low * 2.0
    # s**3 times what the series has after its first term.
    rest = square * square.polynomial(_LOG_REST)
    series = rest + _LOG_FIRST[0]
    series_low = (rest - (series - _LOG_FIRST[0])) + _LOG_FIRST[1]
    cube, cube_low = _times(s, s_low, square, square_low)
    term, term_low = _times(cube, cube_low, series, series_low)
    twice = s * 2.0
    near = twice + term
    near_low = (term - (near - twice)) + s_low.times_plus(2.0, term_low)
    far = exponent * _LN2[0]
    total = far + near
    low = (near - (total - far)) + exponent.times_plus(_LN2[1], near_low)
    high = total + low
    low = low - (high - total)
    infinite = x.same(math.inf)
    high = (x > 0.0).select(infinite.select(x, high), -math.inf)
    return high, ((x > 0.0) & (infinite ^ -1)).select(low, 0.0)


def _times(a: Lanes, a_low: Lanes, b: Lanes, b_low: Lanes) -> tuple[Lanes, Lanes]:
    """Return the product of two sums as a sum."""
    high = a * b
    return high, a.times_plus(b, high * -1.0) + a.times_plus(b_low, a_low * b)


def _by_exponent(x: Lanes, y: Lanes) -> Lanes | None:
    """Return a power by what is quicker, where the exponent is known to be one that has such."""
    exponent, most = range_of(y.value)
    if exponent != most:
        return None
    if exponent == 1.0:
        return x
    if exponent == 2.0:
        return x * x
    if exponent == 3.0:
        return x * x * x
    if exponent == -1.0:
        return x.like(1.0) / x
    return None


def _is_double(x: Lanes) -> bool:
    type_ = x.value.type
    return str(type_.element_type if isinstance(type_, ir.VectorType) else type_) == "f64"
