"""Three-dimensional convolutions of single slices: which, and that they compute the same."""

from typing import Any

import numpy as np
import pytest
from rewrites import compare_without, dataflow_module, random_const

from relax_mlir import relax, tir, transform
from relax_mlir.relax import op

pytestmark = pytest.mark.unoptimized

# Channels, outputs, the window, attributes, and whether it is rewritten.
CASES: dict[str, tuple[int, int, tuple[int, int, int], dict[str, Any], bool]] = {
    "padded": (16, 24, (1, 3, 3), {"padding": (0, 1, 2, 0, 1, 0)}, True),
    "all of the image": (17, 16, (1, 3, 3), {}, True),
    "padded in depth": (16, 16, (1, 3, 3), {"padding": 1}, False),
    "two slices": (16, 16, (2, 3, 3), {}, False),
    "points": (16, 16, (1, 1, 1), {}, False),
    "strides": (16, 16, (1, 3, 3), {"strides": (1, 2, 2)}, False),
    "dilation": (16, 16, (1, 3, 3), {"dilation": (1, 2, 2)}, False),
    "groups": (32, 32, (1, 3, 3), {"groups": 2}, False),
    "few channels": (3, 64, (1, 3, 3), {}, False),
}


@pytest.mark.parametrize("case", CASES)
def test_single_slices_are_images(case: str) -> None:
    channels, outputs, window, attrs, is_rewritten = CASES[case]
    n, d, h, w = (tir.Var(name, "int64") for name in "ndhw")
    weight = random_const(outputs, channels // attrs.get("groups", 1), *window)
    module = dataflow_module(
        (n, channels, d, h, w), lambda x: op.tanh(op.nn.conv3d(x, weight, **attrs))
    )
    text = transform.Conv3dToConv2d()(module).script()
    assert ("conv2d(" in text, "conv3d(" in text) == (is_rewritten, not is_rewritten)
    if is_rewritten:
        compare_without(["Conv3dToConv2d"], module, 2, channels, 3, 6, 5)


def test_weights_that_are_not_known_stay() -> None:
    module = dataflow_module(
        (1, 16, 4, 6, 6),
        lambda x: op.nn.conv3d(x, op.reshape(op.exp(x), (16, 16, 1, 3, 3))),
    )
    assert "conv2d(" not in transform.Conv3dToConv2d()(module).script()


def test_dtypes_without_winograd_kernels_stay() -> None:
    weight = relax.const(np.ones((16, 16, 1, 3, 3), "float64"))
    module = dataflow_module(
        (1, 16, 4, 6, 6), lambda x: op.nn.conv3d(op.astype(x, "float64"), weight)
    )
    assert "conv2d(" not in transform.Conv3dToConv2d()(module).script()
