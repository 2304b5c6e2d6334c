"""Images in blocks of channels: `ConvertLayout` to `NCHW4c`, and programs written so, compute."""

from typing import Any

import numpy as np
import pytest

from relax_mlir import relax, transform
from relax_mlir.errors import ScriptError
from relax_mlir.script import from_source
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

RANDOM = np.random.default_rng(11)
WEIGHT = RANDOM.normal(size=(8, 4, 3, 3)).astype("float32")
SCALE = np.array([1, 2, 3, 4], "float32")


@I.ir_module
class Images:
    @R.function
    def plain(x: R.Tensor(("n", 4, 9, "w"), "float32")):
        with R.dataflow():
            y = R.nn.relu(R.nn.conv2d(x, R.const(WEIGHT), padding=1))
            z = R.nn.avg_pool2d(R.nn.max_pool2d(y, (2, 2)), (3, 3), strides=(2, 2))
            s = R.sum(y, axis=[2, 3])
            R.output(z, s)
        return z, s

    @R.function
    def blocks(x: R.Tensor(("n", 9, "w", 1, 4), "float32")):
        with R.dataflow():
            y = R.nn.conv2d(x, R.const(WEIGHT), padding=1, data_layout="NHWC4c")
            z = R.nn.max_pool2d(R.nn.relu(y), (2, 2), layout="NHWC4c", out_layout="NCHW")
            u = R.multiply(R.nn.adaptive_avg_pool2d(y, (3, 1), layout="NHWC4c"), R.const(SCALE))
            R.output(z, u)
        return z, u


def only(mod: Any, name: str) -> Any:
    return relax.VirtualMachine(relax.build(mod[name]))[name]


@pytest.mark.codegen
@pytest.mark.parametrize("layouts", [["NCHW4c", "OIHW4o"], ["NHWC2c", "OIHW"]])
def test_converted_programs_compute_the_same(layouts: list[str]) -> None:
    made = transform.ConvertLayout({"relax.nn.conv2d": layouts})(Images)
    assert made["plain"].script().count(layouts[0]) >= 3
    after, before = only(made, "plain"), only(Images, "plain")
    for shape in [(1, 4, 9, 7), (3, 4, 9, 8)]:
        x = RANDOM.normal(size=shape).astype("float32")
        for got, wanted in zip(after(x), before(x), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.codegen
@pytest.mark.parametrize("level", [0, 3])
def test_programs_in_blocks(level: int) -> None:
    x = RANDOM.normal(size=(2, 4, 9, 6)).astype("float32")
    with transform.PassContext(opt_level=level):
        main = only(Images, "blocks")
    pooled, means = main(x.transpose(0, 2, 3, 1)[..., None, :].copy())
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    y = np.einsum("nchwij,ocij->nohw", windows, WEIGHT)
    wanted = np.lib.stride_tricks.sliding_window_view(np.maximum(y, 0), (2, 2), (2, 3)).max((4, 5))
    np.testing.assert_allclose(pooled, wanted, rtol=1e-4, atol=1e-4)
    mean = y.reshape(2, 2, 4, 3, 3, 6).mean((4, 5)).transpose(0, 3, 1, 2)[:, :, None] * SCALE
    np.testing.assert_allclose(means, mean, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("layout", "shape", "message"),
    [
        ("NCHW4c", "(1, 1, 9, 9, 3)", "data must have blocks of 4 along 'C', got 3"),
        ("NCHW4c", "(1, 4, 9, 9)", "data must have 5 dimensions, got 4"),
        ("NCHW2n", "(1, 4, 9, 9, 2)", "data has blocks of channels only, such as 'NCHW4c'"),
        ("NCHW3c", "(1, 1, 9, 9, 3)", "data has 3 channels, weight takes 4"),
    ],
)
def test_layouts_that_do_not_fit(layout: str, shape: str, message: str) -> None:
    text = (
        f'@R.function\ndef f(x: R.Tensor({shape}, "float32"), '
        'w: R.Tensor((8, 4, 3, 3), "float32")):\n'
        f'    return R.nn.conv2d(x, w, data_layout="{layout}")\n'
    )
    with pytest.raises(ScriptError, match=message):
        from_source(text)
