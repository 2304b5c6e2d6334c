"""Sine and cosine after argument reduction by pi/2."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.lowering.tir_to_llvm.math.lane_math import Lanes, choose
from relax_mlir.lowering.tir_to_llvm.math.polynomial_forms import Function
from relax_mlir.lowering.tir_to_llvm.math.vector_chunks import in_turn

# Arguments far from zero are reduced so many at a time, in numbers of 64 bits: a register of them.
_FAR_LANES = 8


@dataclass(frozen=True)
class QuarterTurns:
    """What sine, cosine and tangent need of a type of floats.

    Attributes:
        half_pi: pi / 2 as a sum.
        rounder: adding it rounds to an integer, which stands in the low bits.
        near: up to here products with the parts of pi / 2 are exact enough.
        far: the rest and the number of quarter turns of what is further from zero.
        tiny: below it a number is its own sine and tangent.
        sine: of a rest and its square.
        cosine: of the square of a rest.
        sign: the number of the bit with the sign.
    """

    half_pi: tuple[float, float, float]
    rounder: float
    near: float
    far: Callable[[Lanes], tuple[Lanes, Lanes]]
    tiny: float
    sine: Callable[[Lanes, Lanes], Lanes]
    cosine: Function
    sign: int

    def split(self, x: Lanes) -> tuple[Lanes, Lanes]:
        """Return the rest of x after whole quarter turns, and their number modulo 4."""
        shifted = x.times_plus(2.0 / math.pi, self.rounder)
        whole = shifted - self.rounder
        rest = x
        for part in self.half_pi:
            rest = whole.times_plus(-part, rest)
        far = x.magnitude() > self.near
        count = shifted.bits()

        def seldom() -> Sequence[Lanes]:
            result = in_turn(x, _FAR_LANES, self.far, (rest, count))
            return [far.select(a, b) for a, b in zip(result, (rest, count), strict=True)]

        rest, count = choose(far.any(), seldom, [rest, count])
        return rest, count

    def sin(self, x: Lanes) -> Lanes:
        """Return the sine."""
        return (x.magnitude() < self.tiny).select(x, self._circular(x, 0))

    def cos(self, x: Lanes) -> Lanes:
        """Return the cosine: the sine a quarter turn on."""
        return self._circular(x, 1)

    def _circular(self, x: Lanes, quadrants: int) -> Lanes:
        rest, count = self.split(x)
        count = count + quadrants if quadrants else count
        square = rest * rest
        odd = (count & 1).equals(1)
        value = odd.select(self.cosine(square), self.sine(rest, square))
        return (value.bits() ^ ((count & 2) << (self.sign - 1))).from_bits()
