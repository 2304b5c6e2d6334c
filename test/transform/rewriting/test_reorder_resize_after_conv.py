"""Convolutions before images grow: which, and that they compute the same."""

from typing import Any

import pytest
from rewrites import compare_without, dataflow_module, random_const

from relax_mlir import tir, transform
from relax_mlir.relax import op

pytestmark = pytest.mark.unoptimized

RESIZED: dict[str, tuple[dict[str, Any], int, bool]] = {
    "linear": ({"method": "linear"}, 3, True),
    "cubic": ({"method": "cubic", "cubic_exclude": 1}, 3, True),
    "nearest": (
        {"method": "nearest_neighbor", "coordinate_transformation_mode": "asymmetric"}, 4, True
    ),
    "NHWC": ({"layout": "NHWC"}, 3, True),
    # A place outside of the image is no sum of its pixels.
    "crop": (
        {"roi": [0.0, 0.0, 2.0, 2.0], "coordinate_transformation_mode": "tf_crop_and_resize"},
        3, False,
    ),
    "more channels": ({}, 5, False),
}  # fmt: skip


@pytest.mark.parametrize("case", RESIZED)
def test_pointwise_convolutions_come_before_images_grow(case: str) -> None:
    attrs, outputs, moves = RESIZED[case]
    n, h, w = (tir.Var(name, "int64") for name in "nhw")
    last = attrs.get("layout") == "NHWC"
    kernel, bias = (
        (random_const(1, 1, 4, outputs), random_const(outputs))
        if last else (random_const(outputs, 4, 1, 1), random_const(outputs, 1, 1))
    )  # fmt: skip

    def body(x: Any) -> Any:
        y = op.image.resize2d(x, (h * 2, w * 3), **attrs)
        layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO"} if last else {}
        return op.add(op.nn.conv2d(y, kernel, **layouts), bias)

    module = dataflow_module((n, h, w, 4) if last else (n, 4, h, w), body)
    text = transform.ReorderResizeAfterConv()(module).script()
    assert (text.index("conv2d(") < text.index("resize2d(")) == moves
    assert not moves or text.index("add(") < text.index("resize2d(")
    if moves:
        compare_without(
            ["ReorderResizeAfterConv"], module, *((2, 3, 5, 4) if last else (2, 4, 3, 5))
        )


def test_images_that_shrink_do_so_before_a_convolution() -> None:
    weight = random_const(3, 4, 1, 1)
    module = dataflow_module(
        (1, 4, 8, 8), lambda x: op.nn.conv2d(op.image.resize2d(x, (4, 16)), weight)
    )  # fmt: skip
    text = transform.ReorderResizeAfterConv()(module).script()
    assert text.index("resize2d(") < text.index("conv2d(")
