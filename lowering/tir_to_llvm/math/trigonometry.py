"""Sine, cosine and tangent of f32 for arguments of any size.

An argument is first brought to a quarter turn around zero: near zero by a subtraction of multiples
of pi / 2 in three parts, which needs a fused multiply-add; far from it by Payne and Hanek's method
in integers, which multiplies by just those bits of 2 / pi that matter.
"""

import itertools
import math
from collections.abc import Callable

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_llvm.math.lane_math import Lanes
from relax_mlir.lowering.tir_to_llvm.math.pow import pow_of_singles
from relax_mlir.lowering.tir_to_llvm.math.sin_cos import QuarterTurns

# pi / 2 as a sum, each part an f32.
_HALF_PI = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)
# 2 / pi in words of 32 bits, after nine zero bits.
_TWO_OVER_PI = (
    0x517CC1, 0xB727220A, 0x94FE13AB, 0xE8FA9A6E, 0xE06DB14A, 0xCC9E21C8, 0x20FF28B1,
)  # fmt: skip
_FIRST_FAR = 143  # the biased exponent of the first far argument
_TINY = 2.0**-12

# (sin(r) - r) / r**3, (cos(r) - 1 + r**2 / 2) / r**4 and (tan(r) - r) / r**3 in r**2
_SIN = (-0.1666666716337204, 0.008333329111337662, -0.00019839311426039785, 2.7181140467291698e-06)
_COS = (0.0416666679084301, -0.0013888883404433727, 2.4799459424684756e-05, -2.720568375025323e-07)
_TAN = (
    0.33333155512809753, 0.13338807225227356, 0.053410664200782776, 0.024432390928268433,
    0.0031162246596068144, 0.009387632831931114,
)  # fmt: skip


def _payne_hanek(x: Lanes) -> tuple[Lanes, Lanes]:
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


_TURNS = QuarterTurns(
    half_pi=_HALF_PI,
    rounder=12582912.0,
    near=65536.0,
    far=_payne_hanek,
    tiny=_TINY,
    sine=_sine,
    cosine=_cosine,
    sign=31,
)


def _tan(x: Lanes) -> Lanes:
    rest, count = _TURNS.split(x)
    square = rest * rest
    value = (rest * square).times_plus(square.polynomial(_TAN), rest)
    odd = (count & 1).equals(1)
    # One division for both: of value by 1, or of -1 by value.
    ratio = odd.select(value.like(-1.0), value) / odd.select(value, 1.0)
    return (x.magnitude() < _TINY).select(x, ratio)


TRIGONOMETRY: dict[str, Callable[..., Lanes]] = {
    "math.cos": _TURNS.cos,
    "math.powf": pow_of_singles,
    "math.sin": _TURNS.sin,
    "math.tan": _tan,
}
# What would lose its digits without a multiply-add that rounds once.
NEED_FMA = frozenset(("arith.remf", "math.cos", "math.powf", "math.sin", "math.tan"))
