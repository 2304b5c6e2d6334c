"""Functions of f32 by polynomials in pieces, whose coefficients lie in registers."""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.lowering.tir_to_llvm.lanes import Lanes

# Pieces are eighths of the four octaves of 1 + x: what is above these bits of it counts them.
_BITS, _PIECES, _OCTAVES = 20, 8, 4
_COUNT = _PIECES * _OCTAVES
_LEADING = -1 << _BITS
# Numbers are not negative, and less than this.
LIMIT = 2.0**_OCTAVES - 1.0


@dataclass(frozen=True)
class Pieces:
    """A smooth function from 0 to `LIMIT`, where `can_scale`; of NaN it is NaN.

    Attributes:
        function: what it is, to double precision.
        degree: of the polynomials.
    """

    function: Callable[[float], float]
    degree: int = 5

    def __call__(self, x: Lanes) -> Lanes:
        """Return the function of numbers from 0 to less than `LIMIT`."""
        bits = (x + 1.0).bits()
        rest = x - ((bits & _LEADING).from_bits() - 1.0)
        number = bits.without_sign_shifted(_BITS)
        total: Lanes | None = None
        for column in reversed(self._table()):
            coefficient = number.picked(column, x)
            total = coefficient if total is None else total.times_plus(rest, coefficient)
        assert total is not None  # a polynomial has a constant term at least
        return total

    @functools.cache  # noqa: B019, one for each function of the module
    def _table(self) -> list[list[float]]:
        """Return for each power the coefficients of all pieces, from the constant term up."""
        rows: list[list[float]] = [[]] * _COUNT
        # 1.0 has the biased exponent 127, of which the lowest bits count.
        first = 127 * _PIECES
        for number in range(_COUNT):
            octave, eighth = divmod(number, _PIECES)
            low, high = (2.0**octave * (1 + i / _PIECES) - 1 for i in (eighth, eighth + 1))
            rows[(first + number) % _COUNT] = self._fit(low, high)
        return [list(column) for column in zip(*rows, strict=True)]

    def _fit(self, low: float, high: float) -> list[float]:
        """Return the coefficients of a polynomial in what a number is above `low`."""
        if low == 0.0 and self.function(0.0) == 0.0:
            # What is small keeps all its digits.
            return [0.0, *_interpolate(lambda x: self.function(x) / x, low, high, self.degree - 1)]
        return _interpolate(self.function, low, high, self.degree)


def _interpolate(
    function: Callable[[float], float], low: float, high: float, degree: int
) -> list[float]:
    """Return a polynomial in `x - low` that meets a function at the roots of a Chebyshev one."""
    middle, half = (low + high) / 2, (high - low) / 2
    angles = [math.pi * (2 * i + 1) / (2 * degree + 2) for i in range(degree + 1)]
    places = [middle + half * math.cos(angle) for angle in angles]
    return _expand(_differences(function, places), [place - low for place in places])


def _differences(function: Callable[[float], float], places: Sequence[float]) -> list[float]:
    found = [function(place) for place in places]
    for order in range(1, len(places)):
        for i in range(len(places) - 1, order - 1, -1):
            found[i] = (found[i] - found[i - 1]) / (places[i] - places[i - order])
    return found


def _expand(differences: Sequence[float], places: Sequence[float]) -> list[float]:
    """Return a polynomial in Newton's form by powers."""
    total = [differences[-1]]
    for difference, place in zip(reversed(differences[:-1]), places[-2::-1], strict=True):
        higher = [0.0, *total]
        total = [high - place * low for high, low in zip(higher, [*total, 0.0], strict=True)]
        total[0] += difference
    return total
