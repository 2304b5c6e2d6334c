"""f32 functions by piecewise polynomials with coefficients in registers."""

import functools
import itertools
import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.lowering.tir_to_llvm.math.lane_math import Lanes

# Pieces are as many as a register has lanes.
_COUNT = 16
_FRACTION_BITS = 23
# Adding it rounds to an integer, which stands in the low bits.
_ROUNDER = 1.5 * 2.0**_FRACTION_BITS
# Places around the middle of a piece that a polynomial may be about.
_PLACES = 32
# Of Newton's method.
_STEPS = 3


@dataclass(frozen=True)
class _Pieces:
    """A smooth function of what is not negative, where `can_scale`; of NaN it is NaN.

    Attributes:
        function: what it is, to double precision.
        degree: of the polynomials.
    """

    function: Callable[[float], float]
    degree: int

    def __call__(self, x: Lanes) -> Lanes:
        """Return the function of numbers from 0 to where pieces end."""
        number = self._number(x)
        about, *columns = self._table()
        rest = x - number.picked(about, x)
        total: Lanes | None = None
        for column in reversed(columns):
            coefficient = number.picked(column, x)
            total = coefficient if total is None else total.times_plus(rest, coefficient)
        assert total is not None  # a polynomial has a constant term at least
        return total

    def _number(self, x: Lanes) -> Lanes:
        """Return integers whose low bits select the pieces of numbers."""
        raise NotImplementedError

    def _bounds(self) -> list[tuple[float, float]]:
        """Return where each piece begins and ends, by what the low bits are."""
        raise NotImplementedError

    @functools.cache  # noqa: B019, one for each function of the module
    def _table(self) -> list[list[float]]:
        """Return what pieces' polynomials are about, then their coefficients from constants up."""
        rows = [self._fit(low, high) for low, high in self._bounds()]
        return [list(column) for column in zip(*rows, strict=True)]

    def _fit(self, low: float, high: float) -> list[float]:
        """Return a number, and the coefficients of a polynomial in what another is above it."""
        if low == 0.0 and self.function(0.0) == 0.0:
            # What is small keeps all its digits.
            smooth = _interpolate(lambda x: self.function(x) / x, 0.0, low, high, self.degree - 1)
            return [0.0, 0.0, *smooth]
        about = self._nearly_single(low, high)
        return [about, *_interpolate(self.function, about, low, high, self.degree)]

    def _nearly_single(self, low: float, high: float) -> float:
        """Return a number about the middle that the function has nearly an f32 at."""
        step = (high - low) / (8 * _PLACES)
        middle = (low + high) / 2
        places = [_single(middle + i * step) for i in range(-_PLACES, _PLACES)]
        values = [self.function(place) for place in places]
        lost = [abs(each - _single(each)) for each in values]
        return places[lost.index(min(lost))]


@dataclass(frozen=True)
class GrowingPieces(_Pieces):
    """Pieces that are parts of octaves.

    Attributes:
        offset: what is added before pieces are counted; the smaller, the more they grow.
        parts: of an octave, a power of two: pieces are for numbers below
            `offset * (2**(count / parts) - 1)` or less, if a part does not begin at `offset`.
        count: of pieces, as many as one register has lanes, or two.
    """

    offset: float
    parts: int
    count: int = _COUNT

    def _number(self, x: Lanes) -> Lanes:
        return (x + self.offset).bits().without_sign_shifted(self._bits)

    @property
    def _bits(self) -> int:
        return _FRACTION_BITS + 1 - self.parts.bit_length()

    def _bounds(self) -> list[tuple[float, float]]:
        first = struct.unpack("I", struct.pack("f", self.offset))[0] >> self._bits
        begins = [self._begin(number) for number in range(first, first + self.count + 1)]
        bounds = list(itertools.pairwise(begins))
        return [bounds[(place - first) % self.count] for place in range(self.count)]

    def _begin(self, number: int) -> float:
        """Return where a piece begins, by what its floats have above the bits."""
        (begin,) = struct.unpack("f", struct.pack("I", number << self._bits))
        return max(0.0, begin - self.offset)


@dataclass(frozen=True)
class ShrinkingPieces(_Pieces):
    """Pieces about each whole value of `(x + offset)**2 / unit`, so that they become shorter.

    Attributes:
        offset: the more, the less they do.
        unit: a power of two.
    """

    offset: float
    unit: float

    def _number(self, x: Lanes) -> Lanes:
        moved = x + self.offset
        return moved.times_plus(moved, _ROUNDER * self.unit).bits()

    def _bounds(self) -> list[tuple[float, float]]:
        first = round(self.offset**2 / self.unit)
        begins = [0.0, *(self._where(first + place + 0.5) for place in range(_COUNT))]
        bounds = list(itertools.pairwise(begins))
        return [bounds[(place - first) % _COUNT] for place in range(_COUNT)]

    def _where(self, number: float) -> float:
        return math.sqrt(number * self.unit) - self.offset


def _single(number: float) -> float:
    return struct.unpack("f", struct.pack("f", number))[0]


def _interpolate(
    function: Callable[[float], float], about: float, low: float, high: float, degree: int
) -> list[float]:
    """Return a polynomial in `x - about` whose relative error is about as large all over a range.

    It meets the function where Chebyshev's polynomial divided by a power of e would be zero, one
    that grows as the function does.
    """
    middle, half = (low + high) / 2, (high - low) / 2
    growth = math.log(function(low or high / 1e6) / function(high)) / 2
    angles = [_angle(math.pi * (i + 0.5), degree + 1, growth) for i in range(degree + 1)]
    places = [middle + half * math.cos(angle) for angle in angles]
    return _expand(_differences(function, places), [place - about for place in places])


def _angle(turn: float, count: int, growth: float) -> float:
    """Return a with count * a + growth * sin(a) = turn."""
    angle = turn / count
    for _ in range(_STEPS):
        wrong = count * angle + growth * math.sin(angle) - turn
        angle -= wrong / (count + growth * math.cos(angle))
    return angle


def _differences(function: Callable[[float], float], places: Sequence[float]) -> list[float]:
    result = [function(place) for place in places]
    for order in range(1, len(places)):
        for i in range(len(places) - 1, order - 1, -1):
            result[i] = (result[i] - result[i - 1]) / (places[i] - places[i - order])
    return result


def _expand(differences: Sequence[float], places: Sequence[float]) -> list[float]:
    """Return a polynomial in Newton's form by powers."""
    total = [differences[-1]]
    for difference, place in zip(reversed(differences[:-1]), places[-2::-1], strict=True):
        higher = [0.0, *total]
        total = [high - place * low for high, low in zip(higher, [*total, 0.0], strict=True)]
        total[0] += difference
    return total
