"""Softmax and normalization at run time."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import ShapeMismatchError
from relax_mlir.runtime.library.operands import axes as normalize_axes
from relax_mlir.runtime.library.operands import check, check_pair, widen

_Array = np.ndarray


def _softmax(logarithm: bool) -> Callable[..., Any]:
    def compute(x: _Array, axis: int = -1) -> Any:
        check(x, "f")
        (axis,) = normalize_axes([axis], x.ndim)
        wide = widen(x)
        shifted = wide - wide.max(axis=axis, keepdims=True, initial=-math.inf)
        exps = np.exp(shifted)
        total = exps.sum(axis=axis, keepdims=True)
        result = shifted - np.log(total) if logarithm else exps / total
        return result.astype(x.dtype, copy=False)

    return compute


def _batch_norm(
    data: _Array, gamma: _Array, beta: _Array, mean: _Array, var: _Array, axis: int, epsilon: float,
    center: bool, scale: bool, momentum: float, training: bool,
) -> tuple[_Array, _Array, _Array]:  # fmt: skip
    (axis,) = normalize_axes([axis], data.ndim)
    for value in (gamma, beta, mean, var):
        if value.shape != (data.shape[axis],):
            raise ShapeMismatchError(
                f"parameters of shape {value.shape} for {data.shape[axis]} channels"
            )
    x = widen(data)
    wide = x.dtype
    statistics = mean.astype(wide), var.astype(wide)
    running = [mean.copy(), var.copy()]
    if training:
        axes = tuple(i for i in range(data.ndim) if i != axis)
        before, statistics = statistics, (x.mean(axis=axes), x.var(axis=axes))
        kept = wide.type(1 - momentum)
        running = [
            (old * kept + new * wide.type(momentum)).astype(data.dtype)
            for old, new in zip(before, statistics, strict=True)
        ]
    factor = 1 / np.sqrt(statistics[1] + wide.type(epsilon))
    if scale:
        factor = factor * gamma.astype(wide, copy=False)
    around = [-1 if i == axis else 1 for i in range(data.ndim)]
    out = (x - statistics[0].reshape(around)) * factor.reshape(around)
    if center:
        out = out + beta.astype(wide, copy=False).reshape(around)
    return (out.astype(data.dtype, copy=False), *running)


def _layer_norm(
    data: _Array, gamma: _Array, beta: _Array, axes: Sequence[int], epsilon: float, center: bool,
    scale: bool,
) -> _Array:  # fmt: skip
    axes = normalize_axes(axes, data.ndim)
    for value in (gamma, beta):
        if value.shape != tuple(data.shape[axis] for axis in axes):
            raise ShapeMismatchError(f"parameters of shape {value.shape} for {data.shape}")
    x = widen(data)
    wide = x.dtype
    centred = x - x.mean(axis=axes, keepdims=True)
    variance = np.square(centred).mean(axis=axes, keepdims=True)
    out = centred / np.sqrt(variance + wide.type(epsilon))
    around = [n if i in axes else 1 for i, n in enumerate(data.shape)]
    order = sorted(range(len(axes)), key=lambda i: axes[i])
    if scale:
        out = out * gamma.transpose(order).reshape(around).astype(wide, copy=False)
    if center:
        out = out + beta.transpose(order).reshape(around).astype(wide, copy=False)
    return out.astype(data.dtype, copy=False)


def _rms_norm(data: _Array, weight: _Array, axes: Sequence[int], epsilon: float) -> Any:
    check_pair(data, weight, "f")
    over = normalize_axes(axes, data.ndim)
    if weight.shape != tuple(data.shape[axis] for axis in over):
        raise ShapeMismatchError(f"a weight of shape {weight.shape} for {data.shape}")
    x = widen(data)
    out = x / np.sqrt(np.square(x).mean(axis=over, keepdims=True) + x.dtype.type(epsilon))
    around = [n if i in over else 1 for i, n in enumerate(data.shape)]
    order = sorted(range(len(over)), key=lambda i: over[i])
    return (out * weight.transpose(order).reshape(around)).astype(data.dtype, copy=False)


def _instance_norm(
    data: _Array, gamma: _Array, beta: _Array, channel_axis: int, axes: Sequence[int],
    epsilon: float, center: bool, scale: bool,
) -> Any:  # fmt: skip
    return _group_norm(data, gamma, beta, 0, channel_axis, axes, epsilon, center, scale)


def _group_norm(
    data: _Array, gamma: _Array, beta: _Array, num_groups: int, channel_axis: int,
    axes: Sequence[int], epsilon: float, center: bool, scale: bool,
) -> Any:  # fmt: skip
    check(data, "f")
    channel, *over = normalize_axes([channel_axis, *axes], data.ndim)
    count = data.shape[channel]
    for value in (gamma, beta):
        check_pair(data, value)
        if value.shape != (count,):
            raise ShapeMismatchError(f"parameters of shape {value.shape} for {count} channels")
    if num_groups and count % num_groups:
        raise ShapeMismatchError(f"{count} channels do not divide into {num_groups} groups")
    x = widen(data)
    if num_groups:
        groups = (num_groups, count // num_groups)
        x = x.reshape(*data.shape[:channel], *groups, *data.shape[channel + 1 :])
        over = [channel + 1, *(axis + (axis > channel) for axis in over)]
    centred = x - x.mean(axis=tuple(over), keepdims=True)
    variance = np.square(centred).mean(axis=tuple(over), keepdims=True)
    out = (centred / np.sqrt(variance + x.dtype.type(epsilon))).reshape(data.shape)
    around = [-1 if i == channel else 1 for i in range(data.ndim)]
    out = out * gamma.reshape(around) if scale else out
    out = out + beta.reshape(around) if center else out
    return out.astype(data.dtype, copy=False)


# Name -> function of the operands, then the attributes in their declared order.
NORMALIZATION: dict[str, Callable[..., Any]] = {
    "softmax": _softmax(False),
    "log_softmax": _softmax(True),
    "batch_norm": _batch_norm,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "instance_norm": _instance_norm,
    "group_norm": _group_norm,
}
