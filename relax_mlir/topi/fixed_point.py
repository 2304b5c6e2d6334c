"""Products of integers by fixed-point numbers, rounded half up."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.errors import ExprError
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar.conversion import cast
from relax_mlir.topi.support import tensor

# Bits of a multiplier after the point.
_FRACTION = 31


def fixed_point_multiply(x: Tensor, multiplier: int, shift: int) -> Tensor:
    """Return `x * (multiplier / 2**31) * 2**shift`, rounded to the nearest integer, halves up.

    Args:
        x: int32, of any shape.
        multiplier: an int32.
        shift: how many bits elements are moved to the left before, or if negative to the right
            after the product; between -31 and 31.

    Raises:
        ExprError: another dtype, or a number out of range.
    """
    _check(x, "fixed_point_multiply")
    if not -(1 << 31) <= multiplier < 1 << 31 or not -31 <= shift <= 31:
        raise ExprError(
            "topi.fixed_point_multiply: the multiplier is an int32, and the shift between -31 and "
            f"31, got {multiplier} and {shift}"
        )
    left, right = max(shift, 0), _FRACTION + max(-shift, 0)

    def product(*i: Any) -> Any:
        wide = (cast(x[i], "int64") << left) * multiplier
        return cast((wide + (1 << (right - 1))) >> right, "int32")

    return compute(x.shape, product, name="T_fixed_point_multiply")


def fixed_point_multiply_per_axis(
    x: Tensor, y: Tensor, lshift: Tensor, rshift: Tensor, is_lshift_required: int,
    is_rshift_required: int, axes: Sequence[int],
) -> Tensor:  # fmt: skip
    """Return `x * (y / 2**31) * 2**(lshift - rshift)`, rounded, with numbers for some axes.

    Args:
        x: int32, of any shape.
        y: int32, the multipliers by the axes.
        lshift: int32, how far to the left before the product, by the axes.
        rshift: int32, how far to the right after it, by the axes.
        is_lshift_required: whether there are such.
        is_rshift_required: whether there are such.
        axes: those of x.

    Raises:
        ExprError: another dtype, or another number of axes than the multipliers have.
    """
    what = "fixed_point_multiply_per_axis"
    for each in (x, y, lshift, rshift):
        _check(each, what)
    if not y.ndim == lshift.ndim == rshift.ndim == len(axes):
        raise ExprError(f"topi.{what}: {len(axes)} axes, for multipliers of rank {y.ndim}")
    if any(not -x.ndim <= axis < x.ndim for axis in axes):
        raise ExprError(f"topi.{what}: axes {list(axes)} of a tensor of rank {x.ndim}")

    def product(*i: Any) -> Any:
        at = tuple(i[axis] for axis in axes)
        wide = cast(x[i], "int64")
        if is_lshift_required:
            wide = wide << cast(lshift[at], "int64")
        wide = wide * cast(y[at], "int64")
        right: Any = _FRACTION
        half: Any = 1 << (_FRACTION - 1)
        if is_rshift_required:
            right = cast(rshift[at], "int64") + _FRACTION
            half = cast(1, "int64") << (right - 1)
        return cast((wide + half) >> right, "int32")

    return compute(x.shape, product, name="T_fixed_point_multiply")


def _check(x: Any, what: str) -> None:
    if tensor(x, what).dtype != "int32":
        raise ExprError(f"topi.{what} takes int32 tensors, got {x.dtype}")
