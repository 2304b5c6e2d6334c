"""Interpolation between pixels: source pixels and their weights."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.resampling import cubic_weight
from relax_mlir.tir.scalar import functions
from relax_mlir.tir.scalar.arithmetic import binary
from relax_mlir.tir.scalar.axes import Dim
from relax_mlir.tir.scalar.conversion import cast, const
from relax_mlir.tir.scalar.dtypes import SIZE
from relax_mlir.tir.scalar.nodes import Select
from relax_mlir.tir.scalar.prim_expr import PrimExpr

_floor = functions.UNARY["floor"]
# A pixel along an axis, and how much it counts.
Tap = tuple[PrimExpr, PrimExpr | None]


def clamped(index: PrimExpr, dim: Dim) -> PrimExpr:
    """Return the nearest index inside of a dimension."""
    return binary("max", binary("min", index, dim - 1), 0)


def index_of(place: PrimExpr, dim: Dim) -> PrimExpr:
    """Return a whole number as an index; far outside of a dimension it is one just outside of it.

    Conversions of numbers too large for an integer have no meaning, and NaN is outside.
    """
    far = cast(const(0, SIZE) + dim + 4, place.dtype)
    near = functions.max(functions.min(place, far), -4.0)
    return cast(Select(place == place, near, const(-4.0, place.dtype)), SIZE)


def linear_taps(place: PrimExpr, dim: Dim) -> list[Tap]:
    """Return the two pixels around a place, not yet inside of the dimension."""
    first = _floor(place)
    share = place - first
    low = index_of(first, dim)
    return [(low, 1.0 - share), (low + 1, share)]


def cubic_taps(place: PrimExpr, dim: Dim, alpha: float) -> list[Tap]:
    """Return the four pixels around a place, weighted by a cubic, not yet inside."""
    low = index_of(_floor(place), dim)
    return [(low + (k - 1), weight) for k, weight in enumerate(cubic_weights(place, alpha))]


def cubic_weights(place: PrimExpr, alpha: float) -> list[PrimExpr]:
    """Return how much the four pixels around a place count, of which the second is its floor."""
    t = place - _floor(place)
    return [cubic_weight(t, tap, alpha) for tap in range(4)]


def blended(
    taps: Sequence[Sequence[Tap]], read: Callable[[Sequence[PrimExpr]], PrimExpr]
) -> PrimExpr:
    """Return the sum of all combinations of taps along the axes, times their weights.

    Args:
        taps: for each axis.
        read: from an index for each axis the pixel there.
    """

    def over(axis: int, chosen: list[PrimExpr]) -> PrimExpr:
        if axis == len(taps):
            return read(chosen)
        total: Any = None
        for index, weight in taps[axis]:
            value = over(axis + 1, [*chosen, index])
            term = value if weight is None else value * weight
            total = term if total is None else total + term
        return total

    return over(0, [])
