"""Padded copies under a condition, `T.if_then_else(inside, image, number)`, before windows."""

import itertools
import logging
from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import te, tir, topi

# Rows that are image, of how many, and where in the image the first of them is.
CASES = {
    "whole": (1, 8, 10, 0),
    "one_side": (3, 10, 10, 0),
    "part_of_the_image": (2, 6, 9, 0),
    "behind_the_first_row": (2, 7, 9, 1),
    "no_image": (4, 4, 6, 0),
}


def _windows(low: int, high: int, rows: int, first: int, joined: bool) -> Any:
    """Return sums of three rows each, of `rows` where those from `low` to `high` are image."""
    width = te.var("w", "int64")
    image = te.placeholder((2, 7, width), "float32", name="image")

    def padded(c: Any, i: Any, j: Any) -> Any:
        value, number = image[c, i - low + first, j], tir.const(2.5, "float32")
        if joined:
            return tir.if_then_else(tir.all(i >= low, i < high), value, number)
        inside = tir.all(tir.all(high > i), low - 1 < i)
        return tir.if_then_else(inside, value, number)

    pad = te.compute((2, rows, width), padded, name="pad_temp")
    step = te.reduce_axis((0, 3), name="step")
    total = te.compute(
        (2, rows - 2, width), lambda c, i, j: te.sum(pad[c, i + step, j], axis=step), name="total"
    )
    return te.create_prim_func([image, total])


@pytest.mark.parametrize("joined", [True, False])
def test_windows_over_guarded_padding(joined: bool) -> None:
    funcs = {name: _windows(*case, joined) for name, case in CASES.items()}
    built = {name: relax_mlir.compile(func)["main"] for name, func in funcs.items()}
    for (name, case), width in itertools.product(CASES.items(), (1, 16, 37)):
        low, high, rows, first = case
        image = np.random.default_rng(width).standard_normal((2, 7, width)).astype("float32")
        pad = np.full((2, rows, width), 2.5, "float32")
        pad[:, low:high] = image[:, first : first + high - low]
        wanted = pad[:, :-2] + pad[:, 1:-1] + pad[:, 2:]
        got = np.zeros_like(wanted)
        built[name](image, got)
        np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6, err_msg=name)


def _convolution() -> Any:
    x, w = te.placeholder((1, 4, 9, 9), name="x"), te.placeholder((6, 4, 3, 3), name="w")
    return te.create_prim_func([x, w, topi.nn.relu(topi.nn.conv2d(x, w, 1, 1, 1))])


def test_padding_of_topi_is_one_block() -> None:
    schedule = tir.Schedule(_convolution())
    pad, conv, relu = schedule.get_child_blocks(schedule.get_block("root"))
    names = [schedule.get(block).attributes["block_name"].value for block in (pad, conv, relu)]
    assert names == ["pad_temp", "conv", "T_relu"]
    schedule.compute_inline(pad)
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(s).astype("float32") for s in ((1, 4, 9, 9), (6, 4, 3, 3)))
    whole, inlined = (np.zeros((1, 6, 9, 9), "float32") for _ in range(2))
    relax_mlir.compile(_convolution())["main"](x, w, whole)
    relax_mlir.compile(schedule.mod)["main"](x, w, inlined)
    image = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    view = np.lib.stride_tricks.sliding_window_view(image, (3, 3), (2, 3))
    wanted = np.einsum("nchwyx,ocyx->nohw", view, w).clip(0)
    for got in (whole, inlined):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


def test_padded_convolutions_keep_their_fast_paths(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "relax_mlir.kernels"):
        relax_mlir.compile(_convolution())
    assert not caplog.records
