"""Philox4x32-10, a counter-based generator: the bits of an element follow from its number.

Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011), section 3.3.
"""

from collections.abc import Callable, Sequence
from typing import Any

_ROUNDS = 10
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
LOW_WORD = 0xFFFFFFFF
# How many random bits a number of a dtype in [0, 1) has: the digits of its significand.
DIGITS = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}


def philox(
    counter: Sequence[Any], key: Sequence[Any], binary: Callable[[str, Any, Any], Any]
) -> list[Any]:
    """Return the four words of 32 random bits that belong to a counter and a key.

    Args:
        counter: four words.
        key: two words.
        binary: computes `mul`, `xor`, `and`, `add` and `shr` of unsigned integers of 64 bits, or of
            one and a Python integer. What has words here is such integers: arrays of numpy, or
            scalars of a prim func under construction.
    """
    x, k = list(counter), list(key)
    for turn in range(_ROUNDS):
        if turn:
            k = [
                binary("and", binary("add", word, step), LOW_WORD)
                for word, step in zip(k, _WEYL, strict=True)
            ]
        first, second = (
            binary("mul", word, by) for word, by in zip((x[0], x[2]), _MULTIPLIERS, strict=True)
        )
        x = [
            binary("xor", binary("xor", binary("shr", second, 32), x[1]), k[0]),
            binary("and", second, LOW_WORD),
            binary("xor", binary("xor", binary("shr", first, 32), x[3]), k[1]),
            binary("and", first, LOW_WORD),
        ]
    return x


def element_words(
    number: Any, key: Sequence[Any], binary: Callable[[str, Any, Any], Any]
) -> list[Any]:
    """Return the random words of an element of a tensor.

    Args:
        number: its place in row-major order, 64 bits.
        key: the seed and the stream, 64 bits each. The seed is Philox's key, the number and the
            stream are its counter.
        binary: as for `philox`.
    """
    halves = [
        (binary("and", each, LOW_WORD), binary("shr", each, 32))
        for each in (number, key[1], key[0])
    ]
    return philox([*halves[0], *halves[1]], halves[2], binary)


def leading_bits(words: Sequence[Any], digits: int, binary: Callable[[str, Any, Any], Any]) -> Any:
    """Return the leading bits of a word, or of two for more than 32, the second one first."""
    if digits <= 32:
        return binary("shr", words[0], 32 - digits)
    high = binary("mul", words[1], 1 << 32)
    return binary("shr", binary("add", high, words[0]), 64 - digits)
