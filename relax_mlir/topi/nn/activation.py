"""Activations, softmax and biases."""

from typing import Any

from relax_mlir.errors import ExprError
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar import functions, intrinsics
from relax_mlir.tir.scalar import reduction as te
from relax_mlir.tir.scalar.conversion import cast
from relax_mlir.tir.scalar.nodes import Select
from relax_mlir.topi.elementwise import function
from relax_mlir.topi.reduce import reduced
from relax_mlir.topi.support import axis_of, tensor, wide_of

FUNCTIONS = {name: function(name) for name in ("relu", "relu6", "gelu", "gelu_tanh", "silu",
                                               "selu", "sigmoid", "tanh")}  # fmt: skip


def leaky_relu(x: Tensor, alpha: float) -> Tensor:
    """Return positive elements, and the others times `alpha`."""
    return compute(
        tensor(x, "nn.leaky_relu").shape,
        lambda *i: intrinsics.call("leakyrelu", [x[i]], {"alpha": alpha}),
        name="T_leaky_relu",
    )


def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """Return `log(1 + exp(beta * x)) / beta`, and elements themselves beyond the threshold."""
    attrs = {"beta": beta, "threshold": threshold}
    return compute(
        tensor(x, "nn.softplus").shape,
        lambda *i: intrinsics.call("softplus", [x[i]], attrs),
        name="T_softplus",
    )


def prelu(x: Tensor, slope: Tensor, axis: int = 1) -> Tensor:
    """Return positive elements, and the others times the slope of their channel."""
    axis = axis_of(axis, tensor(x, "nn.prelu").ndim, "nn.prelu")
    return compute(
        x.shape,
        lambda *i: Select(x[i] > 0, x[i], x[i] * slope[i[axis]]),
        name="T_prelu",
    )


def bias_add(data: Tensor, bias: Tensor, axis: int = 1) -> Tensor:
    """Return a tensor plus a number for each index of an axis."""
    axis = axis_of(axis, tensor(data, "nn.bias_add").ndim, "nn.bias_add")
    return compute(data.shape, lambda *i: data[i] + bias[i[axis]], name="T_bias_add")


def scale_shift_nchw(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:
    """Return a tensor with each channel scaled and shifted."""
    return compute(
        Input.shape, lambda *i: Input[i] * Scale[i[1]] + Shift[i[1]], name="T_scale_shift"
    )


def scale_shift_nhwc(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:
    """Return a tensor with each channel, the last axis, scaled and shifted."""
    return compute(
        Input.shape, lambda *i: Input[i] * Scale[i[-1]] + Shift[i[-1]], name="T_scale_shift"
    )


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """Return exponentials divided by their sum along an axis."""
    return _softmax(x, axis, False)


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """Return the logarithm of the softmax along an axis."""
    return _softmax(x, axis, True)


fast_softmax = softmax


def _softmax(x: Tensor, axis: int, log: bool) -> Tensor:
    where = "nn.log_softmax" if log else "nn.softmax"
    if tensor(x, where).ndim == 0:
        raise ExprError(f"topi.{where} needs an axis to run along, got a scalar")
    axis = axis_of(axis, x.ndim, where)
    wide = wide_of(x.dtype)
    rows, (k,), place = reduced(x.shape, [axis], False)
    best = compute(
        rows, lambda *i: te.max(cast(x[place(i)], wide), axis=k), name="T_softmax_maxelem"
    )

    def row(i: Any) -> tuple[Any, ...]:
        return (*i[:axis], *i[axis + 1 :])

    exps = compute(
        x.shape, lambda *i: functions.UNARY["exp"](cast(x[i], wide) - best[row(i)]),
        name="T_softmax_exp",
    )  # fmt: skip
    _, (k,), place = reduced(x.shape, [axis], False)
    total = compute(rows, lambda *i: te.sum(exps[place(i)], axis=k), name="T_softmax_expsum")
    if log:
        return compute(
            x.shape,
            lambda *i: cast(
                cast(x[i], wide) - best[row(i)] - functions.UNARY["log"](total[row(i)]), x.dtype
            ),
            name="T_log_softmax_norm",
        )
    return compute(
        x.shape, lambda *i: cast(exps[i] / total[row(i)], x.dtype), name="T_softmax_norm"
    )
