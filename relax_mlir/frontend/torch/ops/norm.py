"""Normalisations; parameters that a model leaves out are ones and zeros."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.frontend.torch.importer import Importer
from relax_mlir.frontend.torch.ops.table import converts
from relax_mlir.relax import op


def _or_full(m: Importer, given: Any, shape: Any, value: float) -> Any:
    return op.full(shape, m.cast(value, m.dtype), m.dtype) if given is None else given


def _affine(m: Importer, weight: Any, bias: Any, shape: Any) -> tuple[Any, Any]:
    return _or_full(m, weight, shape, 1.0), _or_full(m, bias, shape, 0.0)


@converts("layer_norm.default")
def _layer_norm(
    m: Importer, x: Any, shape: Sequence[Any], weight: Any = None, bias: Any = None,
    eps: float = 1e-5, *_: Any,
) -> Any:  # fmt: skip
    gamma, beta = _affine(m, weight, bias, list(shape))
    return op.layer_norm(x, gamma, beta, axes=list(range(-len(shape), 0)), epsilon=eps)


def _statistics(x: Any, axes: list[int], eps: float) -> list[Any]:
    """Return the mean and the reciprocal of the deviation, which torch returns with the result."""
    mean = op.mean(x, axis=axes, keepdims=True)
    variance = op.variance(x, axis=axes, keepdims=True)
    return [mean, op.rsqrt(op.add(variance, eps))]


@converts("native_layer_norm.default")
def _native_layer_norm(
    m: Importer, x: Any, shape: Sequence[Any], weight: Any, bias: Any, eps: float
) -> list[Any]:
    axes = list(range(-len(shape), 0))
    return [_layer_norm(m, x, shape, weight, bias, eps), *_statistics(x, axes, eps)]


@converts("rms_norm.default")
def _rms_norm(
    m: Importer, x: Any, shape: Sequence[Any], weight: Any = None, eps: float | None = None
) -> Any:
    import torch

    epsilon = torch.finfo(m.value.dtype).eps if eps is None else eps
    gamma = _or_full(m, weight, list(shape), 1.0)
    return op.rms_norm(x, gamma, axes=list(range(-len(shape), 0)), epsilon=epsilon)


@converts("group_norm.default")
def _group_norm(
    m: Importer, x: Any, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5,
    *_: Any,
) -> Any:  # fmt: skip
    gamma, beta = _affine(m, weight, bias, [x.ty.dims[1]])
    axes = list(range(2, x.ty.ndim))
    return op.group_norm(x, gamma, beta, groups, channel_axis=1, axes=axes, epsilon=eps)


@converts("native_group_norm.default")
def _native_group_norm(
    m: Importer, x: Any, weight: Any, bias: Any, n: Any, c: Any, hw: Any, groups: int, eps: float
) -> list[Any]:
    parts = op.reshape(x, (x.ty.dims[0], groups, -1))
    mean, deviation = _statistics(parts, [-1], eps)
    return [
        _group_norm(m, x, groups, weight, bias, eps),
        op.squeeze(mean, axis=[-1]), op.squeeze(deviation, axis=[-1]),
    ]  # fmt: skip


@converts("instance_norm.default")
def _instance_norm(
    m: Importer, x: Any, weight: Any = None, bias: Any = None, mean: Any = None, var: Any = None,
    use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5, *_: Any,
) -> Any:  # fmt: skip
    if not use_input_stats:
        return _inference(m, x, weight, bias, mean, var, eps)
    gamma, beta = _affine(m, weight, bias, [x.ty.dims[1]])
    axes = list(range(2, x.ty.ndim))
    return op.instance_norm(x, gamma, beta, channel_axis=1, axes=axes, epsilon=eps)


def _inference(m: Importer, x: Any, weight: Any, bias: Any, mean: Any, var: Any, eps: float) -> Any:
    gamma, beta = _affine(m, weight, bias, [x.ty.dims[1]])
    normed = op.batch_norm(x, gamma, beta, mean, var, axis=1, epsilon=eps, training=False)
    return m.emit(normed)[0]


@converts("batch_norm.default")
def _batch_norm(
    m: Importer, x: Any, weight: Any, bias: Any, mean: Any, var: Any, training: bool,
    momentum: float, eps: float, *_: Any,
) -> Any:  # fmt: skip
    if training or mean is None:
        return _of_batch(m, x, weight, bias, eps)[0]
    return _inference(m, x, weight, bias, mean, var, eps)


def _of_batch(m: Importer, x: Any, weight: Any, bias: Any, eps: float) -> list[Any]:
    """Return data normalised by its own statistics, the mean and the variance by channel."""
    axes = [0, *range(2, x.ty.ndim)]
    mean = m.emit(op.mean(x, axis=axes, keepdims=True))
    variance = m.emit(op.variance(x, axis=axes, keepdims=True))
    wide = [1, x.ty.dims[1], *[1] * (x.ty.ndim - 2)]
    normed = op.multiply(op.subtract(x, mean), op.rsqrt(op.add(variance, eps)))
    if weight is not None:
        normed = op.multiply(normed, op.reshape(weight, wide))
    if bias is not None:
        normed = op.add(normed, op.reshape(bias, wide))
    return [normed, op.squeeze(mean, axis=axes), op.squeeze(variance, axis=axes)]


@converts("_native_batch_norm_legit_no_training.default")
def _no_training(
    m: Importer, x: Any, weight: Any, bias: Any, mean: Any, var: Any, momentum: float, eps: float
) -> list[Any]:
    empty = op.zeros((0,), m.dtype)
    return [_inference(m, x, weight, bias, mean, var, eps), empty, empty]


@converts("_native_batch_norm_legit.no_stats")
def _no_stats(
    m: Importer, x: Any, weight: Any, bias: Any, training: bool, momentum: float, eps: float
) -> list[Any]:
    normed, mean, variance = _of_batch(m, x, weight, bias, eps)
    return [normed, mean, op.rsqrt(op.add(variance, eps))]


@converts(
    "_native_batch_norm_legit.default", "_native_batch_norm_legit_functional.default",
    "native_batch_norm.default",
)  # fmt: skip
def _legit(
    m: Importer, x: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any,
    training: bool, momentum: float, eps: float,
) -> list[Any]:  # fmt: skip
    if not training:
        empty = op.zeros((0,), m.dtype)
        normed = _inference(m, x, weight, bias, running_mean, running_var, eps)
        return [normed, empty, empty, running_mean, running_var][: len(m.value)]
    normed, mean, variance = (m.emit(each) for each in _of_batch(m, x, weight, bias, eps))
    count = x.ty.dims[0]
    for dim in x.ty.dims[2:]:
        count = count * dim
    number = m.cast(count, m.dtype)
    unbiased = op.multiply(variance, op.divide(number, op.subtract(number, 1.0)))
    moved = [
        op.add(op.multiply(old, 1 - momentum), op.multiply(new, momentum))
        for old, new in ((running_mean, mean), (running_var, unbiased))
    ]
    return [normed, mean, op.rsqrt(op.add(variance, eps)), *moved][: len(m.value)]
