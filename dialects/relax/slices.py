"""Symbolic slices: begin and length by Python's rules."""

from collections.abc import Sequence
from itertools import pairwise

from relax_mlir.dialects.relax.infer import InferError, normalize_axes
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import can_prove_less_equal

# No dimension is so large: beyond it, as INT64_MAX in TVM's slices, a bound means the end.
_FAR = 1 << 62


def slice_bounds(
    begin: SymExpr, end: SymExpr, stride: int, dim: SymExpr, inbound: bool = False
) -> tuple[SymExpr, SymExpr]:
    """Return the first index of a slice and the number of its elements.

    Negative bounds count from the end and bounds outside are moved to the edge, exactly as Python
    does, also for symbols of which it is not known whether they are negative.

    Args:
        begin: first index, may be negative.
        end: index not taken any more, may be negative.
        stride: other than 0.
        dim: number of elements there are.
        inbound: whether both bounds are said to be indices from 0 to `dim`.
    """
    if not inbound:
        # Where there are too few elements for these they would wrap around to the edge.
        wraps = (-1, -2) if stride > 0 else (-1,)
        # Clamping where the other bound makes the slice empty anyway would only blur its size.
        if stride > 0:
            begin = _moved(begin, dim, wraps, low=SymExpr.const(0))
            end = _moved(end, dim, wraps, high=dim)
        else:
            begin = _moved(begin, dim, wraps, high=dim - 1)
            end = _moved(end, dim, wraps, low=SymExpr.const(-1))
    distance = end - begin if stride > 0 else begin - end
    if not inbound and not can_prove_less_equal(0, distance):
        distance = distance.max(0)
    return begin, distance if abs(stride) == 1 else distance.ceildiv(abs(stride))


def _moved(
    bound: SymExpr,
    dim: SymExpr,
    wraps: Sequence[int],
    *,
    low: SymExpr | None = None,
    high: SymExpr | None = None,
) -> SymExpr:
    """Return a bound counted from the first element, not below `low` or not above `high`.

    Those that differ from the dimension by one of `wraps` are taken as they are.
    """
    value = bound.value
    if value is not None and abs(value) >= _FAR:
        bound = SymExpr.const(-1) if value < 0 else dim
    elif can_prove_less_equal(bound, -1):
        bound = bound + dim
    elif not can_prove_less_equal(0, bound) and (bound - dim).value not in wraps:
        is_negative = (-bound).max(0).min(1)
        bound = bound + dim * is_negative
    if low is not None and not can_prove_less_equal(low, bound):
        bound = bound.max(low)
    if high is not None and not can_prove_less_equal(bound, high):
        bound = bound.min(high)
    return bound


def is_inbound(begin: SymExpr, end: SymExpr, stride: int, dim: SymExpr) -> bool:
    """Whether bounds said to be inside are certain to be, and in order."""
    if stride < 0:
        begin, end = end + 1, begin + 1
    pairs = ((0, begin), (begin, end), (end, dim))
    return all(can_prove_less_equal(*pair) for pair in pairs)


def check_slice(
    axes: Sequence[int], begin: Sequence[SymExpr], end: Sequence[SymExpr],
    strides: Sequence[int] | None, ndim: int,
) -> tuple[list[int], list[int]]:  # fmt: skip
    """Return axes counted from 0 and a stride for each; the axes as given for unknown rank.

    Raises:
        InferError: the lists differ in length, a stride is 0, or axes are out of range.
    """
    strides = [1] * len(axes) if strides is None else list(strides)
    lengths = [len(axes), len(begin), len(end), len(strides)]
    if len(set(lengths)) != 1:
        raise InferError(
            "axes, begin, end and strides must have one length, got {}, {}, {}, {}".format(*lengths)
        )
    if 0 in strides:
        raise InferError("a stride cannot be 0")
    return (list(axes) if ndim < 0 else normalize_axes(axes, ndim)), strides


# Each is a field of a tuple type.
MAX_PARTS = 1 << 16


def check_sections(count: int) -> None:
    """Raise InferError for no parts of a tensor, or more than anybody has a use for."""
    if count < 1:
        raise InferError(f"there must be at least one section, got {count}")
    if count > MAX_PARTS:
        raise InferError(f"there can be at most {MAX_PARTS} sections, got {count}")


def split_points(parts: int | Sequence[int], dim: SymExpr) -> list[tuple[SymExpr, SymExpr]]:
    """Return where each part of a split dimension begins, and its size.

    A number of parts gives parts of one size, the last ones smaller where it does not divide; a
    list gives the indices at which to cut, as numpy takes them.

    Raises:
        InferError: there are no parts, or unreasonably many.
    """
    if isinstance(parts, int):
        check_sections(parts)
        size = dim.ceildiv(parts)
        # The first part is never longer than what there is.
        cuts = [size * i if i < 2 else _least(size * i, dim) for i in range(parts)] + [dim]
        return [(a, b - a) for a, b in pairwise(cuts)]
    cuts = [SymExpr.const(0), *(SymExpr.const(part) for part in parts), dim]
    return [slice_bounds(a, b, 1, dim) for a, b in pairwise(cuts)]


def _least(a: SymExpr, b: SymExpr) -> SymExpr:
    return a if can_prove_less_equal(a, b) else a.min(b)
