"""Reflecting, replicating and circular padding."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar.arithmetic import binary
from relax_mlir.tir.scalar.axes import Dim, plain
from relax_mlir.tir.scalar.nodes import Select
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.topi.support import tensor

# From a place, counted from the tensor's first element, and the size to where an element is.
_Where = Callable[[PrimExpr, Dim], PrimExpr]


def get_padded_shape(
    data: Tensor, pad_before: Sequence[Any], pad_after: Sequence[Any] | None = None
) -> tuple[Dim, ...]:
    """Return the shape of a padded tensor.

    Raises:
        ExprError: there is not one number for each axis, or one is negative.
    """
    after = list(pad_before if pad_after is None else pad_after)
    if not len(pad_before) == len(after) == tensor(data, "nn.pad").ndim:
        raise ExprError(f"topi.nn: padding needs a number for each of {data.ndim} axes")
    if any(isinstance(x, int) and x < 0 for x in (*pad_before, *after)):
        raise ExprError("topi.nn: padding takes no negative numbers")
    sides = zip(data.shape, pad_before, after, strict=True)
    return tuple(plain(SymExpr.of(dim) + first + last) for dim, first, last in sides)


def _padded(
    data: Tensor, before: Sequence[Any], after: Sequence[Any] | None, where: _Where, name: str,
    most: int | None,
) -> Tensor:  # fmt: skip
    """Return a tensor within a larger one whose elements are its own.

    Args:
        data: the tensor.
        before: how much comes before it along each axis.
        after: how much behind, by default as much.
        where: which element stands at a place.
        name: of the stage.
        most: padding may be longer than the axis by so much; None for any.
    """
    shape = get_padded_shape(data, before, after)
    ends = list(before if after is None else after)
    for dim, *sides in zip(data.shape, before, ends, strict=True):
        for side in sides:
            room = SymExpr.of(dim) + (most or 0) - side
            if most is not None and room.value is not None and room.value < 0 and side != 0:
                raise ExprError(f"{name}: {side} elements of an axis of {dim} are not mirrored")

    def element(*i: Any) -> PrimExpr:
        place = []
        for x, dim, first, last in zip(i, data.shape, before, ends, strict=True):
            if first == 0 and last == 0:
                place.append(x)
                continue
            # Sizes may turn out too small at run time: nothing else is read in any case.
            nearest = binary("min", where(x - first, dim), dim - 1)
            place.append(binary("max", nearest, 0))
        return data[tuple(place)]

    return compute(shape, element, name=name)


def _symmetric(x: PrimExpr, dim: Dim) -> PrimExpr:
    return Select(x < 0, -1 - x, Select(x >= dim, 2 * dim - 1 - x, x))


def _reflected(x: PrimExpr, dim: Dim) -> PrimExpr:
    return Select(x < 0, -x, Select(x >= dim, 2 * dim - 2 - x, x))


def mirror_pad(
    data: Tensor, pad_before: Sequence[Any], pad_after: Sequence[Any] | None = None,
    mode: str = "SYMMETRIC", name: str = "MirrorPadInput",
) -> Tensor:  # fmt: skip
    """Return a tensor mirrored at its ends, with the last element once (REFLECT) or twice.

    Raises:
        ExprError: the mode is neither SYMMETRIC nor REFLECT, or an axis is shorter than its
            padding.
    """
    if mode not in ("SYMMETRIC", "REFLECT"):
        raise ExprError(f"topi.nn.mirror_pad: mode is SYMMETRIC or REFLECT, got '{mode}'")
    symmetric = mode == "SYMMETRIC"
    where = _symmetric if symmetric else _reflected
    return _padded(data, pad_before, pad_after, where, name, 0 if symmetric else -1)


def reflect_pad(
    data: Tensor, pad_before: Sequence[Any], pad_after: Sequence[Any] | None = None,
    name: str = "ReflectPadInput",
) -> Tensor:  # fmt: skip
    """Return a tensor mirrored at its ends, the last element of which stands there once.

    Raises:
        ExprError: there is not one number for each axis, or an axis is not longer than it.
    """
    return _padded(data, pad_before, pad_after, _reflected, name, -1)


def replicate_pad(
    data: Tensor, pad_before: Sequence[Any], pad_after: Sequence[Any] | None = None,
    name: str = "ReplicatePadInput",
) -> Tensor:  # fmt: skip
    """Return a tensor with its first and last elements repeated at its ends."""
    return _padded(data, pad_before, pad_after, lambda x, dim: x, name, None)


def circular_pad(
    data: Tensor, pad_before: Sequence[Any], pad_after: Sequence[Any] | None = None,
    name: str = "CircularPadInput",
) -> Tensor:  # fmt: skip
    """Return a tensor with the elements of its other end at each end."""
    return _padded(data, pad_before, pad_after, lambda x, dim: x % dim, name, None)
