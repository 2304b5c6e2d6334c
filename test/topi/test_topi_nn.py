"""`topi.nn`: activations, normalisations, convolutions and pooling against numpy."""

import logging
from collections.abc import Sequence

import numpy as np
import pytest
from te_cases import Case, check, random

from relax_mlir import te, topi
from relax_mlir.errors import ExprError

X = random(3, 4, 6)


def _softmax(x: np.ndarray, axis: int) -> np.ndarray:
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def _normal(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5)


def test_activations() -> None:
    nn, slope = topi.nn, random(4)
    tanh = np.tanh(np.sqrt(2 / np.pi) * (X + 0.044715 * X**3))
    check([
        Case("relu", nn.relu, [X], X.clip(0), ["abc"]),
        Case("leaky", lambda x: nn.leaky_relu(x, 0.1), [X], np.where(X > 0, X, X * 0.1)
             .astype("float32"), ["abc"]),
        Case("prelu", nn.prelu, [X, slope], np.where(X > 0, X, X * slope[:, None]), ["abc", "b"]),
        Case("silu", nn.silu, [X], X / (1 + np.exp(-X)), ["abc"]),
        Case("gelu_tanh", nn.gelu_tanh, [X], (0.5 * X * (1 + tanh)).astype("float32"), ["abc"]),
        Case("softplus", nn.softplus, [X], np.log1p(np.exp(X)), ["abc"]),
        Case("softmax", nn.softmax, [X], _softmax(X, -1), ["abc"]),
        Case("softmax1", lambda x: nn.softmax(x, 1), [X], _softmax(X, 1), ["abc"]),
        Case("log", nn.log_softmax, [X], np.log(_softmax(X, -1)), ["abc"]),
        Case("half", nn.softmax, [X.astype("float16")], _softmax(X, -1).astype("float16"),
             ["abc"], 2e-3),
        Case("bias", nn.bias_add, [X, slope], X + slope[:, None], ["abc", "b"]),
        Case("scaled", nn.scale_shift_nchw, [X, slope, slope], X * slope[:, None] + slope[:, None],
             ["abc", "b", "b"]),
    ])  # fmt: skip


def test_normalizations() -> None:
    nn, gamma, beta = topi.nn, random(6), random(6) + 1
    g4, b4, mean, var = random(4), random(4) + 1, random(4), abs(random(4)) + 0.5
    g46 = random(4, 6)
    images = random(2, 4, 3, 5)
    grouped = _normal(images.reshape(2, 2, 2, 3, 5), (2, 3, 4)).reshape(images.shape)
    columns = (slice(None), None, None)
    moved = (X - mean[:, None]) / np.sqrt(var[:, None] + 1e-5) * g4[:, None] + b4[:, None]
    mu, sigma = X.mean((0, 2)), X.var((0, 2))
    trained = _normal(X, (0, 2)) * g4[:, None] + b4[:, None]
    rms = X / np.sqrt((X * X).mean(-1, keepdims=True) + 1e-5) * gamma
    check([
        Case("layer", lambda x, g, b: nn.layer_norm(x, g, b, [-1]), [X, gamma, beta],
             _normal(X, (2,)) * gamma + beta, ["abc", "c", "c"], 1e-4),
        Case("layers", lambda x, g: nn.layer_norm(x, g, None, (1, 2)), [X, g46],
             _normal(X, (1, 2)) * g46, ["abc", "bc"], 1e-4),
        Case("rms", lambda x, w: nn.rms_norm(x, w, -1), [X, gamma], rms, ["abc", "c"], 1e-4),
        Case("group", lambda x, g, b: nn.group_norm(x, g, b, 2, 1, [2, 3]), [images, g4, b4],
             grouped * g4[columns] + b4[columns], ["n_hw", "_", "_"], 1e-4),
        Case("instance", lambda x, g, b: nn.instance_norm(x, g, b, 1, [2, 3]), [images, g4, b4],
             _normal(images, (2, 3)) * g4[columns] + b4[columns], ["nchw", "c", "c"], 1e-4),
        Case("batch", lambda *x: nn.batch_norm(*x), [X, g4, b4, mean, var], [moved, mean, var],
             ["abc", "b", "b", "b", "b"], 1e-4),
        Case("training", lambda *x: nn.batch_norm(*x, training=True), [X, g4, b4, mean, var],
             [trained, mean * 0.9 + mu * 0.1, var * 0.9 + sigma * 0.1],
             ["abc", "b", "b", "b", "b"], 1e-4),
    ])  # fmt: skip


def _conv(
    x: np.ndarray, w: np.ndarray, stride: int, pad: int, dilation: int, groups: int = 1
) -> np.ndarray:
    """Return the convolution of NCHW by OIHW, in a loop over the window."""
    x = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    o, i, kh, kw = w.shape
    h = (x.shape[2] - (kh - 1) * dilation - 1) // stride + 1
    wd = (x.shape[3] - (kw - 1) * dilation - 1) // stride + 1
    out = np.zeros((x.shape[0], o, h, wd), x.dtype)
    for oc in range(o):
        first = oc // (o // groups) * i
        for r in range(kh):
            for s in range(kw):
                part = x[:, first : first + i, r * dilation :, s * dilation :]
                part = part[:, :, : h * stride : stride, : wd * stride : stride]
                out[:, oc] += np.einsum("nihw,i->nhw", part, w[oc, :, r, s])
    return out


def test_convolutions() -> None:
    nn, x, w = topi.nn, random(2, 4, 7, 9), random(6, 4, 3, 3)
    grouped, depth = random(6, 2, 3, 3), random(4, 2, 3, 3)
    image = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    kernel = np.ascontiguousarray(w.transpose(2, 3, 1, 0))
    plain = _conv(x, w, 1, 1, 1)
    row = _conv(x[:, :, :1], w[:, :, :1], 1, 0, 1)[:, :, 0]
    check([
        Case("conv", lambda a, b: nn.conv2d(a, b, 1, 1, 1), [x, w], plain, ["nchw", "oc__"], 1e-4),
        Case("same", lambda a, b: nn.conv2d_nchw(a, b, 1, "SAME"), [x, w], plain, (), 1e-4),
        Case("strided", lambda a, b: nn.conv2d_nchw(a, b, 2, 2, 2), [x, w], _conv(x, w, 2, 2, 2),
             ["nchw", "oc__"], 1e-4),
        Case("nhwc", lambda a, b: nn.conv2d(a, b, 1, 1, 1, "NHWC"), [image, kernel],
             plain.transpose(0, 2, 3, 1), (), 1e-4),
        Case("grouped", lambda a, b: nn.group_conv2d_nchw(a, b, 1, 1, 1, 2), [x, grouped],
             _conv(x, grouped, 1, 1, 1, 2), (), 1e-4),
        Case("depthwise", lambda a, b: nn.depthwise_conv2d_nchw(a, b, 1, 1, 1), [x, depth],
             _conv(x, depth.reshape(8, 1, 3, 3), 1, 1, 1, 4), (), 1e-4),
        Case("row", lambda a, b: nn.conv1d_ncw(a, b),
             [x[:, :, 0].copy(), w[:, :, 0].copy()], row, (), 1e-4),
        Case("padded", lambda a: nn.pad(a, (0, 1, 2, 0), (1, 0, 0, 3), 5.0), [x],
             np.pad(x, [(0, 1), (1, 0), (2, 0), (0, 3)], constant_values=5), ["nchw"]),
    ])  # fmt: skip


def test_convolutions_in_groups_have_fast_paths(caplog: pytest.LogCaptureFixture) -> None:
    nn, x, w = topi.nn, random(1, 12, 9, 17), random(24, 3, 3, 3)
    image, rows = np.ascontiguousarray(x.transpose(0, 2, 3, 1)), w.transpose(2, 3, 1, 0)
    double = random(12, 2, 3, 3)
    wanted = _conv(x, w, 1, 1, 1, 4)
    twice = _conv(x, double.reshape(24, 1, 3, 3), 1, 1, 1, 12)
    with caplog.at_level(logging.WARNING, "relax_mlir.kernels"):
        check([
            Case("nchw", lambda a, b: nn.group_conv2d_nchw(a, b, 1, 1, 1, 4), [x, w], wanted,
                 ["__hw", "____"], 1e-4),
            Case("nhwc", lambda a, b: nn.group_conv2d_nhwc(a, b, 1, 1, 1, 4),
                 [image, np.ascontiguousarray(rows)], wanted.transpose(0, 2, 3, 1), (), 1e-4),
            Case("depthwise", lambda a, b: nn.depthwise_conv2d_nchw(a, b, 1, 1, 1), [x, double],
                 twice, ["__hw", "____"], 1e-4),
            Case("channels", lambda a, b: nn.depthwise_conv2d_nhwc(a, b, 1, 1, 1),
                 [image, np.ascontiguousarray(double.transpose(2, 3, 0, 1))],
                 twice.transpose(0, 2, 3, 1), (), 1e-4),
        ])  # fmt: skip
    assert not caplog.records


def _transposed(x: np.ndarray, w: np.ndarray, stride: int, pad: int, groups: int) -> np.ndarray:
    """Return the transposed convolution of NCHW by IOHW: each element spreads its kernel."""
    depth, out = x.shape[1] // groups, w.shape[1]
    size = [(s - 1) * stride + k for s, k in zip(x.shape[2:], w.shape[2:], strict=True)]
    found = np.zeros((x.shape[0], out * groups, *size), x.dtype)
    for c in range(x.shape[1]):
        first = c // depth * out
        for i in range(x.shape[2]):
            for j in range(x.shape[3]):
                rows = slice(i * stride, i * stride + w.shape[2])
                columns = slice(j * stride, j * stride + w.shape[3])
                spread = np.einsum("n,ohw->nohw", x[:, c, i, j], w[c])
                found[:, first : first + out, rows, columns] += spread
    return found[:, :, pad : size[0] - pad, pad : size[1] - pad]


def test_transposed_convolutions() -> None:
    nn, x, w = topi.nn, random(2, 4, 5, 6), random(4, 3, 3, 3)
    check([
        Case("plain", lambda a, b: nn.conv2d_transpose_nchw(a, b), [x, w],
             _transposed(x, w, 1, 0, 1), (), 1e-4),
        Case("strided", lambda a, b: nn.conv2d_transpose_nchw(a, b, 2, 1), [x, w],
             _transposed(x, w, 2, 1, 1), ["n_hw", "____"], 1e-4),
        Case("grouped", lambda a, b: nn.conv2d_transpose_nchw(a, b, 2, 1, groups=2), [x, w],
             _transposed(x, w, 2, 1, 2), (), 1e-4),
        Case("dilated", lambda a: nn.dilate(a, (1, 1, 2, 3)), [x],
             _dilated(x), ["nchw"]),
    ])  # fmt: skip


def _dilated(x: np.ndarray) -> np.ndarray:
    out = np.zeros((2, 4, 9, 16), "float32")
    out[:, :, ::2, ::3] = x
    return out


def _pool(
    x: np.ndarray, k: int, stride: int, pad: int, mode: str, ceil: bool, with_pad: bool
) -> np.ndarray:
    size = x.shape[2:]
    room = [s + 2 * pad - k for s in size]
    count = [(r + (stride - 1 if ceil else 0)) // stride + 1 for r in room]
    out = np.zeros((*x.shape[:2], *count), x.dtype)
    for i in range(count[0]):
        for j in range(count[1]):
            starts = [i * stride - pad, j * stride - pad]
            ends = [min(a + k, s + pad) for a, s in zip(starts, size, strict=True)]
            inner = [slice(max(a, 0), min(b, s)) for a, b, s in zip(starts, ends, size,
                                                                   strict=True)]  # fmt: skip
            part = x[:, :, inner[0], inner[1]]
            area = (ends[0] - starts[0]) * (ends[1] - starts[1])
            if mode == "max":
                out[:, :, i, j] = part.max((2, 3))
            elif with_pad:
                out[:, :, i, j] = part.sum((2, 3)) / area
            else:
                out[:, :, i, j] = part.mean((2, 3))
    return out


@pytest.mark.parametrize("ceil", [False, True])
def test_pooling(ceil: bool) -> None:
    x = random(2, 3, 8, 7)
    cases: list[Case] = []
    for mode, with_pad in (("max", True), ("avg", True), ("avg", False)):

        def pool(a: te.Tensor, mode: str = mode, with_pad: bool = with_pad) -> te.Tensor:
            return topi.nn.pool2d(
                a, [3, 3], [2, 2], [1, 1], [1, 1, 1, 1], mode, ceil, "NCHW", with_pad
            )

        want = _pool(x, 3, 2, 1, mode, ceil, with_pad)
        cases.append(Case(f"{mode}_{with_pad}".lower(), pool, [x], want, ["nchw"]))
    check(cases)


def test_global_and_adaptive_pooling() -> None:
    x = random(2, 3, 8, 7)

    def adaptive(size: Sequence[int], mode: str) -> np.ndarray:
        out = np.zeros((2, 3, *size), "float32")
        for i in range(size[0]):
            for j in range(size[1]):
                part = x[:, :, i * 8 // size[0] : -(-(i + 1) * 8 // size[0]),
                         j * 7 // size[1] : -(-(j + 1) * 7 // size[1])]  # fmt: skip
                out[:, :, i, j] = getattr(np, mode)(part, axis=(2, 3))
        return out

    check([
        Case("mean", lambda a: topi.nn.global_pool(a, "avg"), [x], x.mean((2, 3), keepdims=True),
             ["nchw"]),
        Case("largest", lambda a: topi.nn.global_pool(a, "max"), [x],
             x.max((2, 3), keepdims=True), ["nchw"]),
        Case("adaptive", lambda a: topi.nn.adaptive_pool(a, (3, 4), "avg"), [x],
             adaptive((3, 4), "mean"), ["nchw"]),
        Case("adaptive1", lambda a: topi.nn.adaptive_pool1d(a, 1, "avg"), [x[0]],
             x[0].mean(2, keepdims=True)),
        Case("adaptive_max", lambda a: topi.nn.adaptive_pool(a, (5, 2), "max"), [x],
             adaptive((5, 2), "max"), ["nchw"]),
    ])  # fmt: skip


def test_errors() -> None:
    x, w = te.placeholder((1, 4, 7, 7), name="x"), te.placeholder((6, 3, 3, 3), name="w")
    with pytest.raises(ExprError, match=r"topi\.nn\.conv: the inner dimensions 4 and 3 differ"):
        topi.nn.conv2d(x, w, 1, 0, 1)
    with pytest.raises(ExprError, match=r"a layout here has the letters of 'NCHW', got 'NCH'"):
        topi.nn.conv2d(x, w, 1, 0, 1, "NCH")
    with pytest.raises(ExprError, match=r"topi\.nn: padding takes 1, 2 or 4 integers"):
        topi.nn.conv2d(x, w, 1, (1, 2, 3), 1)
    with pytest.raises(ExprError, match="pool_type is 'max' or 'avg', got 'sum'"):
        topi.nn.pool2d(x, 2, 2, 1, 0, "sum")
    with pytest.raises(ExprError, match=r"topi\.nn\.pad needs a number for each of 4 axes"):
        topi.nn.pad(x, (1, 1))
