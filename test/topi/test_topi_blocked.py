"""`topi`: layers of channels in blocks, and fixed-point products, against numpy."""

import itertools
from typing import Any

import numpy as np
import pytest
from te_cases import Case, check, random

from relax_mlir import te, topi
from relax_mlir.errors import ExprError


def _blocked(x: np.ndarray, block: int) -> np.ndarray:
    n, c, h, w = x.shape
    return np.ascontiguousarray(x.reshape(n, c // block, block, h, w).transpose(0, 1, 3, 4, 2))


def _blocked_kernel(k: np.ndarray, block: int, out: int) -> np.ndarray:
    o, i, h, w = k.shape
    parts = k.reshape(o // out, out, i // block, block, h, w)
    return np.ascontiguousarray(parts.transpose(0, 2, 4, 5, 3, 1))


def _conv(x: np.ndarray, k: np.ndarray, stride: Any, pad: Any, apart: Any, groups: int) -> Any:
    (n, c, _, _), (o, own, kh, kw) = x.shape, k.shape
    x = np.pad(x.astype("f8"), ((0, 0), (0, 0), (pad[0], pad[2]), (pad[1], pad[3])))
    height = (x.shape[2] - (kh - 1) * apart[0] - 1) // stride[0] + 1
    width = (x.shape[3] - (kw - 1) * apart[1] - 1) // stride[1] + 1
    out = np.zeros((n, groups, o // groups, height, width))
    for i, j in itertools.product(range(kh), range(kw)):
        seen = x[:, :, i * apart[0] :, j * apart[1] :][:, :, :: stride[0], :: stride[1]]
        seen = seen[:, :, :height, :width].reshape(n, groups, c // groups, height, width)
        weight = k[:, :, i, j].astype("f8").reshape(groups, o // groups, own)
        out += np.einsum("ngchw,goc->ngohw", seen, weight)
    return out.reshape(n, o, height, width)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_convolutions(dtype: str) -> None:
    out_dtype = "int32" if dtype == "int8" else dtype
    x, nn, cases = random(2, 8, 9, 7, dtype=dtype, low=-9, high=9), topi.nn, []
    settings = {
        "plain": ((1, 1), (0, 0, 0, 0), (1, 1), 1, 4, 2),
        "padded": ((2, 1), (1, 0, 2, 1), (1, 2), 1, 8, 3),
        "grouped": ((1, 2), (1, 1, 1, 1), (1, 1), 2, 2, 3),
        "one": ((1, 1), (0, 0, 0, 0), (1, 1), 1, 1, 1),
    }
    for name, (stride, pad, apart, groups, block, out) in settings.items():
        k = random(6, 8 // groups, 3, 2, dtype=dtype, low=-9, high=9)
        want = _conv(x, k, stride, pad, apart, groups).astype(out_dtype)

        def layer(a: te.Tensor, b: te.Tensor, s: Any = (stride, pad, apart)) -> te.Tensor:
            return nn.conv2d_NCHWc(a, b, *s, "NCHWc", "NCHWc", out_dtype)

        arrays = [_blocked(x, block), _blocked_kernel(k, block, out)]
        rtol = 2e-3 if dtype == "float16" else 1e-4
        cases.append(Case(name, layer, arrays, _blocked(want, out), ["n_hw_", "______"], rtol))
    k = random(8, 1, 3, 3, dtype=dtype)
    want = _conv(x, k, (2, 2), (1, 1, 1, 1), (1, 1), 8).astype(out_dtype)
    kernel = np.ascontiguousarray(k.reshape(2, 4, 1, 3, 3, 1).transpose(0, 2, 3, 4, 5, 1))
    cases.append(Case(
        "depthwise", lambda a, b: nn.depthwise_conv2d_NCHWc(a, b, 2, 1, 1, out_dtype=out_dtype),
        [_blocked(x, 4), kernel], _blocked(want, 4), ["n_hw_", "______"], 2e-3,
    ))  # fmt: skip
    check(cases)


def test_dense_and_scales() -> None:
    nn, x, w, b = topi.nn, random(5, 17), random(24, 17), random(24)
    packed = np.ascontiguousarray(w.reshape(3, 8, 17).transpose(0, 2, 1))
    image, scale, shift = random(2, 3, 4, 5, 8), random(3, 8), random(3, 8) + 1
    plain = image.transpose(0, 1, 4, 2, 3).reshape(2, 24, 4, 5)
    check([
        Case("dense", nn.dense_pack, [x, packed], (x @ w.T), ["nk", "_k_"], 1e-4),
        Case("bias", nn.dense_pack, [x, packed, b], (x @ w.T + b), ["nk", "_k_", "_"], 1e-4),
        Case("unpacked", lambda a: nn.unpack_NCHWc_to_nchw(a, "float32"), [image], plain,
             ["n_hw_"]),
        Case("cast", lambda a: nn.unpack_NCHWc_to_nchw(a, "float64"), [image],
             plain.astype("float64"), ["n_hw_"]),
        Case("scaled", nn.scale_shift_nchwc, [image, scale, shift],
             image * scale.reshape(1, 3, 1, 1, 8) + shift.reshape(1, 3, 1, 1, 8),
             ["n_hw_", "__", "__"]),
    ])  # fmt: skip


def test_fixed_point() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(-(2**20), 2**20, (7, 5, 3)).astype("int32")
    x.reshape(-1)[:4] = 0, 1, -1, -(2**20)
    y = rng.integers(-(2**31), 2**31, (5,)).astype("int32")
    left, right = (rng.integers(0, high, 5).astype("int32") for high in (9, 20))

    def exact(m: Any, ls: Any, rs: Any) -> np.ndarray:
        total = 31 + np.asarray(rs, "int64")
        wide = (x.astype("int64") << np.asarray(ls, "int64")) * np.asarray(m, "int64")
        return ((wide + (np.int64(1) << (total - 1))) >> total).astype("int32")

    by = (slice(None), None)
    cases = [
        Case(f"by{i}", lambda a, m=m, s=s: topi.fixed_point_multiply(a, m, s), [x],
             exact(m, max(s, 0), max(-s, 0)), ["abc"])
        for i, (m, s) in enumerate([(2**30, 0), (-(2**31), 3), (1518500250, -7), (2**31 - 1, -31)])
    ]  # fmt: skip
    for i, (has_left, has_right) in enumerate(itertools.product((0, 1), repeat=2)):
        cases.append(Case(
            f"axis{i}",
            lambda a, m, ls, rs, flags=(has_left, has_right):
                topi.fixed_point_multiply_per_axis(a, m, ls, rs, *flags, [1]),
            [x, y, left, right], exact(y[by], left[by] * has_left, right[by] * has_right),
            ["abc", "b", "b", "b"],
        ))  # fmt: skip
    check(cases)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda p: topi.nn.conv2d_NCHWc(p(1, 2, 5, 5, 4), p(1, 2, 3, 3, 8, 4), 1, 0, 1), "blocks"),
        (lambda p: topi.nn.conv2d_NCHWc(p(1, 3, 5, 5, 4), p(1, 2, 3, 3, 4, 4), 1, 0, 1), "chunks"),
        (lambda p: topi.nn.conv2d_NCHWc(p(1, 3, 5, 5), p(1, 2, 3, 3, 4, 4), 1, 0, 1), "5 dimen"),
        (lambda p: topi.nn.depthwise_conv2d_NCHWc(p(1, 3, 5, 5, 4), p(2, 1, 3, 3, 1, 4), 1, 0, 1),
         "must be equal"),
        (lambda p: topi.fixed_point_multiply(p(3), 5, 0), "int32"),
        (lambda p: topi.fixed_point_multiply(te.placeholder((3,), "int32"), 2**31, 0), "31"),
    ],
)  # fmt: skip
def test_refused(call: Any, said: str) -> None:
    with pytest.raises(ExprError, match=said):
        call(lambda *shape: te.placeholder(shape, name="x"))
