"""Names and order of arguments are TVM's; functions of numbers that `tir` has beside operators."""

import inspect
import math

import numpy as np
import pytest
from te_cases import Case, check, random

from relax_mlir import te, tir, topi
from relax_mlir.errors import ExprError, ExprTypeError

IMAGE = ["stride", "padding", "dilation"]
ARGUMENTS = {
    "conv1d_ncw": ["data", "kernel", "strides", *IMAGE[1:], "out_dtype"],
    "group_conv1d_nwc": ["data", "kernel", "strides", *IMAGE[1:], "groups", "out_dtype"],
    "conv2d_nchw": ["Input", "Filter", *IMAGE, "out_dtype"],
    "group_conv2d_nchw": ["Input", "Filter", *IMAGE, "groups", "out_dtype"],
    "conv3d_ncdhw": ["Input", "Filter", *IMAGE, "groups", "out_dtype"],
    "conv2d_transpose_nchw": ["Input", "Filter", "strides", "padding", "out_dtype",
                              "output_padding"],
    "conv1d_transpose_ncw": ["data", "kernel", "stride", "padding", "out_dtype", "output_padding"],
    "group_conv2d_transpose_nchw": ["data", "kernel", "stride", "padding", "out_dtype",
                                    "output_padding", "groups"],
    "instance_norm": ["data", "gamma", "beta", "channel_axis", "axis", "epsilon"],
    "matmul": ["tensor_a", "tensor_b", "bias", "out_dtype", "transpose_a", "transpose_b"],
    "flatten": ["data"],
}  # fmt: skip


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments(name: str) -> None:
    found = [*inspect.signature(getattr(topi.nn, name)).parameters]
    assert found[: len(ARGUMENTS[name])] == ARGUMENTS[name]


def test_the_same_names_in_tir_and_topi() -> None:
    for name in ("shift_left", "bitwise_xor", "bitwise_and"):
        assert [*inspect.signature(getattr(tir, name)).parameters] == ["x", "y"]
    assert [*inspect.signature(tir.ceildiv).parameters] == ["lhs", "rhs"]
    assert [*inspect.signature(topi.logical_not).parameters] == ["data"]
    assert "assume_inbound" in inspect.signature(topi.strided_slice).parameters


def test_calls_by_these_names() -> None:
    x, w = random(2, 4, 9), random(6, 2, 3)
    a, b, bias = random(5, 7), random(3, 7), random(3)
    g, s = random(4), random(4)
    mean, deviation = x.mean(2, keepdims=True), np.sqrt(x.var(2, keepdims=True) + 1e-5)
    columns = np.stack([x[:, :, i : i + 3] for i in range(7)], 2)
    grouped = np.concatenate(
        [np.einsum("ncwk,ock->now", columns[:, i : i + 2], w[i * 3 // 2 :][:3]) for i in (0, 2)], 1
    )
    check([
        Case("grouped", lambda p, q: topi.nn.group_conv1d_ncw(data=p, kernel=q, groups=2), [x, w],
             grouped, rtol=1e-4),
        Case("product", lambda p, q, r: topi.nn.matmul(p, q, r, transpose_b=True), [a, b, bias],
             a @ b.T + bias, rtol=1e-4),
        Case("flat", topi.nn.flatten, [x], x.reshape(2, 36), ["n__"]),
        Case("instance", lambda p, q, r: topi.nn.instance_norm(p, q, r, 1, [2]), [x, g, s],
             (x - mean) / deviation * g[:, None] + s[:, None], rtol=1e-4),
    ])  # fmt: skip


def test_functions_of_numbers() -> None:
    x = np.array([0.0, -0.0, 1.0, -1.0, 1e-45, 3.4e38, np.inf, np.nan, 2.5], "float32")
    far = np.array([0, 3e30, 2e-30, np.inf, np.nan, 1e200], "float64")
    near = np.array([0, 4e30, 1e-30, np.nan, 1, 1e-200], "float64")
    y = np.array([1.0, -1.0, 2.0, 2.0, 0.0, np.inf, 0.0, 1.0, np.nan], "float32")
    e = np.array([0, 3, -3, 10, 4, -10, 1, 2, 5], "int32")
    i = np.array([7, -7, 1 << 30, -(1 << 30), 3, 0, 1, 2, 100], "int32")

    def each(function):
        return lambda *given: te.compute(given[0].shape, lambda k: function(*(t[k] for t in given)))

    scaled = [math.floor(int(v) * (1 << 30) / 2**31 + 0.5) for v in i]
    check([
        Case("next", each(tir.nextafter), [x, y], np.nextafter(x, y), rtol=0),
        Case("ldexp", each(tir.ldexp), [x, e], np.ldexp(x, e)),
        *[Case(f"hypot_{dtype}", each(tir.hypot), operands, np.hypot(*operands))
          for dtype, n in (("float32", 5), ("float64", 6))
          for operands in [[far[:n].astype(dtype), near[:n].astype(dtype)]]],
        *[Case(f"ldexp_{x.dtype}", each(tir.ldexp), [x, e], np.ldexp(x, e))
          for x, e in ((np.float32([1e-38, 3e38, 0]), np.int32([200, -250, 999])),
                       (np.float64([1e-300, 3e300, 0]), np.int32([1500, -1900, 9999])),
                       (np.float16([1e-4, 6e4, 0]), np.int32([20, -30, 99])))],
        Case("quantised", each(lambda v: tir.q_multiply_shift(v, 1 << 30, 31, 0)), [i],
             np.array(scaled, "int32"), rtol=0),
        Case("shifted", each(lambda v: tir.q_multiply_shift(v, 1 << 30, 31, -2)), [i],
             np.array([math.floor(int(v) / 8 + 0.5) for v in i], "int32"), rtol=0),
        Case("per_axis", each(lambda v, s: tir.q_multiply_shift_per_axis(v, 1 << 30, 0, 2, 31,
                                                                         False, True)), [i, i],
             np.array([math.floor(int(v) / 8 + 0.5) for v in i], "int32"), rtol=0),
        Case("by_name", each(lambda v: tir.call_intrin("float32", "tir.exp", v)), [y * 0.5],
             np.exp(y * np.float32(0.5))),
    ])  # fmt: skip


def test_reductions_under_tirs_name() -> None:
    a = random(4, 6)

    def row(function):
        def made(t):
            k = te.reduce_axis((0, 6), "k")
            return te.compute((4,), lambda i: function(t[i, k], k))

        return made

    check([
        Case("most", row(lambda v, k: tir.max(v, axis=k)), [a], a.max(1)),
        Case("least", row(lambda v, k: tir.min(v, [k])), [a], a.min(1)),
        Case("sum", row(lambda v, k: tir.sum(v, axis=k)), [a], a.sum(1)),
    ])  # fmt: skip
    assert repr(tir.max(te.var("n"), 3)) == repr(te.var("n").max(3))


def test_refused() -> None:
    with pytest.raises(ExprError, match=r"there is no intrinsic 'tir\.exq'; did you mean 'exp'"):
        tir.call_intrin("float32", "tir.exq", 1.0)
    with pytest.raises(ExprTypeError, match="is float32, not float64"):
        tir.call_intrin("float64", "tir.exp", 1.0)
    with pytest.raises(ExprTypeError, match="q must be a constant integer"):
        tir.q_multiply_shift(tir.const(1, "int32"), 1, 0.5, 0)
    with pytest.raises(ExprError, match="64 bits have room"):
        tir.q_multiply_shift(tir.const(1, "int32"), 1, 60, -9)
    with pytest.raises(ExprTypeError, match="needs floating-point"):
        tir.nextafter(tir.const(1, "int32"), tir.const(2, "int32"))
