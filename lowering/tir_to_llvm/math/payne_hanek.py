"""Payne-Hanek argument reduction of f64 by pi/2, in integers.

An angle of 53 bits times 2^n is multiplied by just those bits of 2 / pi that matter: those before
make whole turns, those after are less than the rounding of the result. An f64 may be as near to a
quarter turn as 2^-62 of one, which leaves 64 of the 128 bits computed here.
"""

import itertools
import math

from relax_mlir.lowering.tir_to_llvm.math.lane_math import Lanes

# 2 / pi in words of 32 bits, after 34 zero bits.
_TWO_OVER_PI = (
    0x0, 0x28BE60DB, 0x9391054A, 0x7F09D5F4, 0x7D4D3770, 0x36D8A566, 0x4F10E410,
    0x7F9458EA, 0xF7AEF158, 0x6DC91B8E, 0x909374B8, 0x1924BBA, 0x82746487, 0x3F877AC7,
    0x2C4A69CF, 0xBA208D7D, 0x4BAED121, 0x3A671C09, 0xAD17DF90, 0x4E64758E, 0x60D4CE7D,
    0x272117E2, 0xEF7E4A0E, 0xC7FE25FF, 0xF7816603, 0xFBCBC462, 0xD6829B47, 0xDB4D9FB3,
    0xC9F2C26D, 0xD3D18FD9, 0xA797FA8B, 0x5D49EEB1, 0xFAF97C5E, 0xCF41CE7D, 0xE294A4BA,
    0x9AFED7EC, 0x47E35742, 0x1580CC11,
)  # fmt: skip
_FIRST_FAR = 1043  # the biased exponent of 2^20
# Words taken of them; one more is read, for what shifting brings in.
_TAKEN = 6
_TURN = (6.283185307179586, 2.4492935982947064e-16)  # 2 * pi as a sum
_WORD = (1 << 32) - 1
_MANTISSA = (1 << 52) - 1


def payne_hanek(x: Lanes) -> tuple[Lanes, Lanes]:
    """Return the rest of x after whole quarter turns, and their number modulo 4 in an i64.

    Args:
        x: f64, or a vector of them; what is nearer to zero than 2^20 gets some number.
    """
    bits = x.bits() & ((1 << 63) - 1)
    mantissa = (bits & _MANTISSA) | (1 << 52)
    first, *others = _product(mantissa, _bits_of_two_over_pi((bits >> 52) - _FIRST_FAR & 1023))
    # Words of the fraction of a turn, from the nearest quarter on.
    quarters = (first + (1 << 29)).without_sign_shifted(30) & 3
    first = ((first - (quarters << 30)) << 32) >> 32
    negative = first >> 63
    first = first ^ negative
    words = [first, *((word ^ negative) & _WORD for word in others)]
    rest = _in_quarters(words)
    flipped = (negative & 1).equals(1) ^ (x < 0.0)
    rest = flipped.select(rest * -1.0, rest)
    count = (x < 0.0).select(quarters.like(0) - quarters, quarters)
    return (x.magnitude() < math.inf).select(rest, math.nan), count


def _bits_of_two_over_pi(start: Lanes) -> list[Lanes]:
    """Return so many words of 2 / pi from some bit on."""
    words = [start.like(word) for word in _TWO_OVER_PI]
    for step in (16, 8, 4, 2, 1):
        mask = (start & (32 * step)).equals(32 * step)
        kept = min(len(words), step + _TAKEN)
        words = [
            mask.select(words[i + step], words[i]) if i + step < len(words) else words[i]
            for i in range(kept)
        ]
    shift = start & 31
    return [
        (((a << 32) | b) << shift).without_sign_shifted(32) for a, b in itertools.pairwise(words)
    ]


def _product(mantissa: Lanes, words: list[Lanes]) -> list[Lanes]:
    """Return four words of the fraction of a product, wrong by a few units of the last."""
    low, high = mantissa & _WORD, mantissa >> 32
    by_low, by_high = ([word * part for word in words] for part in (low, high))
    result: list[Lanes] = []
    carry: Lanes | None = None
    for i in (3, 2, 1, 0):
        column = (by_low[i] & _WORD) + by_low[i + 1].without_sign_shifted(32)
        column = column + (by_high[i + 1] & _WORD) + by_high[i + 2].without_sign_shifted(32)
        column = column if carry is None else column + carry
        carry = column.without_sign_shifted(32)
        result.insert(0, column & _WORD)
    return result


def _in_quarters(words: list[Lanes]) -> Lanes:
    """Return a fraction of a turn, given in words, as an angle."""
    a, b, c, d = (word.to_float() * 2.0 ** (-32 * place) for place, word in enumerate(words, 1))
    high = a + b
    low = (b - (high - a)) + (c + d)
    total = high + low
    lost = low - (total - high)
    return total.times_plus(_TURN[0], total.times_plus(_TURN[1], lost * _TURN[0]))
