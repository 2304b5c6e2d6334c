"""Normalisations: mean first, then centred values, which loses no digits."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.errors import ExprError
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar import functions
from relax_mlir.tir.scalar import reduction as te
from relax_mlir.tir.scalar.arithmetic import binary
from relax_mlir.tir.scalar.conversion import cast
from relax_mlir.tir.scalar.functions import UNARY
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.topi.manipulate import reshape
from relax_mlir.topi.reduce import reduced
from relax_mlir.topi.support import axes_of, axis_of, size, tensor, wide_of

_rsqrt = UNARY["rsqrt"]


def _moments(x: Tensor, axes: list[int]) -> tuple[Tensor, Tensor]:
    """Return means and variances over axes, in the dtype to add up in."""
    wide = wide_of(x.dtype)
    count = cast(size([x.shape[i] for i in axes]), wide)
    rows, over, place = reduced(x.shape, axes, False)
    total = compute(rows, lambda *i: te.sum(cast(x[place(i)], wide), axis=over), name="T_total")
    mean = compute(rows, lambda *i: total[i] / count, name="T_mean")
    _, over, place = reduced(x.shape, axes, False)

    def square(*i: Any) -> PrimExpr:
        deviation = cast(x[place(i)], wide) - mean[i]
        return te.sum(deviation * deviation, axis=over)

    squares = compute(rows, square, name="T_squares")
    return mean, compute(rows, lambda *i: squares[i] / count, name="T_variance")


def layer_norm(
    data: Tensor, gamma: Tensor, beta: Tensor | None, axis: Any, epsilon: float = 1e-5
) -> Tensor:
    """Return elements normalised over axes, scaled by `gamma` and shifted by `beta`."""
    axes = axes_of(axis, tensor(data, "nn.layer_norm").ndim, "nn.layer_norm")
    wide = wide_of(data.dtype)
    mean, variance = _moments(data, axes)

    def element(*i: Any) -> PrimExpr:
        row = tuple(x for p, x in enumerate(i) if p not in axes)
        column = tuple(i[p] for p in axes)
        value = (cast(data[i], wide) - mean[row]) * _rsqrt(variance[row] + epsilon)
        value = value * cast(gamma[column], wide)
        if beta is not None:
            value = value + cast(beta[column], wide)
        return cast(value, data.dtype)

    return compute(data.shape, element, name="T_layer_norm")


def rms_norm(data: Tensor, weight: Tensor, axis: Any, epsilon: float = 1e-5) -> Tensor:
    """Return elements divided by the root of their mean square over axes, times `weight`."""
    axes = axes_of(axis, tensor(data, "nn.rms_norm").ndim, "nn.rms_norm")
    wide = wide_of(data.dtype)
    count = cast(size([data.shape[i] for i in axes]), wide)
    rows, over, place = reduced(data.shape, axes, False)

    def square(*i: Any) -> PrimExpr:
        value = cast(data[place(i)], wide)
        return te.sum(value * value, axis=over)

    squares = compute(rows, square, name="T_squares")

    def element(*i: Any) -> PrimExpr:
        row = tuple(x for p, x in enumerate(i) if p not in axes)
        column = tuple(i[p] for p in axes)
        factor = _rsqrt(squares[row] / count + epsilon)
        return cast(cast(data[i], wide) * factor * cast(weight[column], wide), data.dtype)

    return compute(data.shape, element, name="T_rms_norm")


def group_norm(
    data: Tensor, gamma: Tensor, beta: Tensor, num_groups: int, channel_axis: int,
    axes: Sequence[int], epsilon: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Return elements normalised over axes and the channels of their group.

    Raises:
        ExprError: the channels do not fall into so many groups.
    """
    channel = axis_of(channel_axis, tensor(data, "nn.group_norm").ndim, "nn.group_norm")
    channels = data.shape[channel]
    if not isinstance(channels, int) or channels % num_groups:
        raise ExprError(f"topi.nn.group_norm: {channels} channels make no {num_groups} groups")
    each = channels // num_groups
    split = [*data.shape[:channel], num_groups, each, *data.shape[channel + 1 :]]
    grouped = reshape(data, split)
    over = [x if x < channel else x + 1 for x in axes_of(list(axes), data.ndim, "nn.group_norm")]
    over = sorted({*over, channel + 1})
    wide = wide_of(data.dtype)
    mean, variance = _moments(grouped, over)

    def element(*i: Any) -> PrimExpr:
        whole = (*i[:channel], i[channel] // each, i[channel] % each, *i[channel + 1 :])
        row = tuple(x for p, x in enumerate(whole) if p not in over)
        value = (cast(data[i], wide) - mean[row]) * _rsqrt(variance[row] + epsilon)
        value = value * cast(gamma[i[channel]], wide) + cast(beta[i[channel]], wide)
        return cast(value, data.dtype)

    return compute(data.shape, element, name="T_group_norm")


def instance_norm(
    data: Tensor, gamma: Tensor, beta: Tensor, channel_axis: int, axis: Any, epsilon: float = 1e-5
) -> Tensor:
    """Return elements normalised over axes, scaled and shifted by channel."""
    axes = axes_of(axis, tensor(data, "nn.instance_norm").ndim, "nn.instance_norm")
    channel = axis_of(channel_axis, data.ndim, "nn.instance_norm")
    wide = wide_of(data.dtype)
    mean, variance = _moments(data, axes)

    def element(*i: Any) -> PrimExpr:
        row = tuple(x for p, x in enumerate(i) if p not in axes)
        value = (cast(data[i], wide) - mean[row]) * _rsqrt(variance[row] + epsilon)
        scaled = value * cast(gamma[i[channel]], wide) + cast(beta[i[channel]], wide)
        return cast(scaled, data.dtype)

    return compute(data.shape, element, name="T_instance_norm")


def batch_norm(
    data: Tensor, gamma: Tensor, beta: Tensor, moving_mean: Tensor, moving_var: Tensor,
    axis: int | None = 1, epsilon: float = 1e-5, center: bool = True, scale: bool = True,
    training: bool = False, momentum: float = 0.1,
) -> list[Tensor]:  # fmt: skip
    """Return elements normalised by channel, and the moving mean and variance.

    With `training`, by the batch's own mean and variance, which enter the moving ones.
    """
    axis = axis_of(1 if axis is None else axis, tensor(data, "nn.batch_norm").ndim, "nn.batch_norm")
    wide = wide_of(data.dtype)
    mean, variance = moving_mean, moving_var
    if training:
        mean, variance = _moments(data, [i for i in range(data.ndim) if i != axis])

    def element(*i: Any) -> PrimExpr:
        c = i[axis]
        factor = _rsqrt(cast(variance[c], wide) + epsilon)
        value = (cast(data[i], wide) - cast(mean[c], wide)) * factor
        if scale:
            value = value * cast(gamma[c], wide)
        if center:
            value = value + cast(beta[c], wide)
        return cast(value, data.dtype)

    out = compute(data.shape, element, name="T_batch_norm")
    if not training:
        return [out, moving_mean, moving_var]
    moved = [
        compute(
            old.shape,
            lambda c, old=old, new=new: cast(
                cast(old[c], wide) * (1 - momentum) + new[c] * momentum, old.dtype
            ),
            name="T_moving",
        )
        for old, new in ((moving_mean, mean), (moving_var, variance))
    ]
    return [out, *moved]


def lrn(
    data: Tensor, size: int, axis: int = 1, alpha: float = 0.0001, beta: float = 0.75,
    bias: float = 2,
) -> Tensor:  # fmt: skip
    """Return elements divided by a power of the sum of squares around them along an axis.

    `data / (bias + alpha / size * sum of squares) ** beta`, over `size` elements.

    Raises:
        ExprError: the size is not odd and positive.
    """
    along = axis_of(axis, tensor(data, "nn.lrn").ndim, "nn.lrn")
    if size < 1 or size % 2 == 0:
        raise ExprError(f"topi.nn.lrn: size is odd and positive, got {size}")
    half, wide, dim = size // 2, wide_of(data.dtype), data.shape[along]
    k = te.reduce_axis((0, size), "k")

    def squares(*i: Any) -> PrimExpr:
        place = i[along] + k - half
        inside = functions.all(place >= 0, place < dim)
        near = binary("max", binary("min", place, dim - 1), 0)
        value = cast(data[(*i[:along], near, *i[along + 1 :])], wide)
        return te.sum(value * value, axis=k, where=inside)

    total = compute(data.shape, squares, name="T_lrn_sum")
    return compute(
        data.shape,
        lambda *i: cast(
            cast(data[i], wide) / functions.pow(total[i] * (alpha / size) + bias, beta), data.dtype
        ),
        name="T_lrn",
    )
