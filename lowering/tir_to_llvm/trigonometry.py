"""Sine, cosine and tangent of f32 for arguments of any size, and powers.

An argument is first brought to a quarter turn around zero: near zero by a subtraction of multiples
of pi / 2 in three parts, which needs a fused multiply-add; far from it by Payne and Hanek's method
in integers, which multiplies by just those bits of 2 / pi that matter.
"""

import itertools
import math
from collections.abc import Callable, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_llvm.in_turn import in_turn
from relax_mlir.lowering.tir_to_llvm.lanes import Lanes, choose

# pi / 2 as a sum, each part an f32.
_HALF_PI = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)
_NEAR = 65536.0
# 2 / pi in words of 32 bits, after nine zero bits.
_TWO_OVER_PI = (
    0x517CC1, 0xB727220A, 0x94FE13AB, 0xE8FA9A6E, 0xE06DB14A, 0xCC9E21C8, 0x20FF28B1,
)  # fmt: skip
_FIRST_FAR = 143  # the biased exponent of `_NEAR`
# Arguments far from zero are reduced so many at a time, in numbers of 64 bits: a register of them.
_FAR_LANES = 8
_ROUNDER = 12582912.0
_TINY = 2.0**-12

# (sin(r) - r) / r**3, (cos(r) - 1 + r**2 / 2) / r**4 and (tan(r) - r) / r**3 in r**2
_SIN = (-0.1666666716337204, 0.008333329111337662, -0.00019839311426039785, 2.7181140467291698e-06)
_COS = (0.0416666679084301, -0.0013888883404433727, 2.4799459424684756e-05, -2.720568375025323e-07)
_TAN = (
    0.33333155512809753, 0.13338807225227356, 0.053410664200782776, 0.024432390928268433,
    0.0031162246596068144, 0.009387632831931114,
)  # fmt: skip


def _quarter_turns(x: Lanes) -> tuple[Lanes, Lanes]:
    """Return the rest of x after whole quarter turns, and their number modulo 4 in an i32."""
    shifted = x.times_plus(2.0 / math.pi, _ROUNDER)
    whole = shifted - _ROUNDER
    rest = x
    for part in _HALF_PI:
        rest = whole.times_plus(-part, rest)
    far = x.magnitude() > _NEAR
    count = shifted.bits()

    def seldom() -> Sequence[Lanes]:
        found = in_turn(x, _FAR_LANES, _far_quarter_turns, (rest, count))
        return [far.select(a, b) for a, b in zip(found, (rest, count), strict=True)]

    rest, count = choose(far.any(), seldom, [rest, count])
    return rest, count


def _far_quarter_turns(x: Lanes) -> tuple[Lanes, Lanes]:
    wide = ir.IntegerType.get_signless(64)
    bits = (x.bits() & 0x7FFFFFFF).converted("arith.extui", wide)
    mantissa = (bits & 0x7FFFFF) | 0x800000
    start = (bits >> 23) - _FIRST_FAR
    # An exponent below is that of a lane which is not far; its result is not used.
    start = start & 127
    word, shift = start >> 5, start & 31
    masks = [word.equals(number) for number in (1, 2, 3)]
    words = []
    for j in range(4):
        chosen = word.like(_TWO_OVER_PI[j])
        for number, mask in enumerate(masks, 1):
            chosen = mask.select(word.like(_TWO_OVER_PI[j + number]), chosen)
        words.append(chosen)
    pieces = [
        (((a << 32) | b) << shift).without_sign_shifted(32) for a, b in itertools.pairwise(words)
    ]
    # As a fraction of a whole turn: what overflows are whole ones.
    high, middle, low = (piece * mantissa for piece in pieces)
    turn = (high << 32) + middle + low.without_sign_shifted(32)
    quarters = (turn + (1 << 61)).without_sign_shifted(62)
    rest = (turn - (quarters << 62)).converted("arith.sitofp", ir.F64Type.get())
    rest = (rest * (math.pi / 2 / 2.0**62)).converted("arith.truncf", ir.F32Type.get())
    count = quarters.converted("arith.trunci", ir.IntegerType.get_signless(32))
    negative = x < 0.0
    rest = negative.select(rest * -1.0, rest)
    count = negative.select(count.like(0) - count, count)
    finite = x.magnitude() < math.inf
    return finite.select(rest, math.nan), count


def _sine(r: Lanes, square: Lanes) -> Lanes:
    return (r * square).times_plus(square.polynomial(_SIN), r)


def _cosine(square: Lanes) -> Lanes:
    return (square * square).times_plus(square.polynomial(_COS), square.times_plus(-0.5, 1.0))


def _circular(x: Lanes, turned: int) -> Lanes:
    rest, count = _quarter_turns(x)
    count = count + turned if turned else count
    square = rest * rest
    odd = (count & 1).equals(1)
    value = odd.select(_cosine(square), _sine(rest, square))
    return (value.bits() ^ ((count & 2) << 30)).from_bits()


def _sin(x: Lanes) -> Lanes:
    return (x.magnitude() < _TINY).select(x, _circular(x, 0))


def _cos(x: Lanes) -> Lanes:
    return _circular(x, 1)


def _tan(x: Lanes) -> Lanes:
    rest, count = _quarter_turns(x)
    square = rest * rest
    value = (rest * square).times_plus(square.polynomial(_TAN), rest)
    odd = (count & 1).equals(1)
    # One division for both: of value by 1, or of -1 by value.
    ratio = odd.select(value.like(-1.0), value) / odd.select(value, 1.0)
    return (x.magnitude() < _TINY).select(x, ratio)


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


def _pow(x: Lanes, y: Lanes) -> Lanes:
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
    if result.can_scale():
        result = result.scaled(whole)
    else:
        number = (whole + _ROUNDER).bits() - 0x4B400000
        half = number >> 1
        for part in (half, number - half):
            result = result * ((part + 127) << 23).from_bits()
    return _signs_of_powers(x, y, x.same(x).select(result, x))


def _signs_of_powers(x: Lanes, y: Lanes, result: Lanes) -> Lanes:
    """Return a power of |x| as that of x: C's special cases."""
    infinite = x.magnitude().same(math.inf)
    is_integer = y.math("floor").same(y)
    halved = y * 0.5
    is_odd = is_integer & (halved.math("floor").same(halved) ^ -1)
    flipped = (result.bits() ^ (x.bits() & (-1 << 31))).from_bits()
    result = is_odd.select(flipped, result)
    undefined = (x < 0.0) & (is_integer ^ -1) & (infinite ^ -1) & y.same(y)
    result = undefined.select(x.like(math.nan), result)
    one = x.same(1.0) | y.same(0.0)
    one = one | (x.same(-1.0) & y.magnitude().same(math.inf))
    return one.select(x.like(1.0), result)


TRIGONOMETRY: dict[str, Callable[..., Lanes]] = {
    "math.cos": _cos,
    "math.powf": _pow,
    "math.sin": _sin,
    "math.tan": _tan,
}
# What would lose its digits without a multiply-add that rounds once.
NEED_FMA = frozenset(("arith.remf", "math.cos", "math.powf", "math.sin", "math.tan"))
