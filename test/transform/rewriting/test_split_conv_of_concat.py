"""Convolutions of joined images as sums: which, and that they compute the same."""

from typing import Any

import numpy as np
import pytest
from rewrites import compare_without, dataflow_module, random_const

from relax_mlir import relax, tir, transform
from relax_mlir.relax import op

pytestmark = pytest.mark.unoptimized

JOINED: dict[str, tuple[list[int], int, dict[str, Any], bool]] = {
    "two": ([16, 24], 40, {"padding": 1}, True),
    "three": ([16, 16, 32], 32, {"padding": 1, "strides": 2}, True),
    # More sums than there are joined images would be written.
    "many outputs": ([16, 16, 16], 32, {}, False),
    "few channels": ([8, 32], 8, {}, False),
    "groups": ([16, 16], 8, {"groups": 2}, False),
}


@pytest.mark.parametrize("case", JOINED)
def test_convolutions_of_joined_images_are_sums(case: str) -> None:
    widths, outputs, attrs, splits = JOINED[case]
    n, h, w = (tir.Var(name, "int64") for name in "nhw")
    weight = random_const(outputs, sum(widths) // attrs.get("groups", 1), 3, 3)

    def body(x: Any) -> Any:
        ends = np.cumsum(widths).tolist()
        parts = [
            op.strided_slice(x, [1], [end - width], [end])
            for width, end in zip(widths, ends, strict=True)
        ]
        return op.nn.conv2d(op.concat([op.tanh(part) for part in parts], 1), weight, **attrs)

    module = dataflow_module((n, sum(widths), h, w), body)
    text = transform.SplitConvOfConcat()(module).script()
    assert text.count("conv2d(") == (len(widths) if splits else 1)
    assert ("concat(" in text) != splits
    if splits:
        compare_without(["SplitConvOfConcat"], module, 2, sum(widths), 6, 5)


def test_joined_images_with_another_use_stay() -> None:
    weight = random_const(16, 32, 3, 3)

    def body(x: Any) -> Any:
        both = op.concat([op.tanh(x), op.exp(x)], 1)
        return relax.Tuple([both, op.nn.conv2d(both, weight)])

    text = transform.SplitConvOfConcat()(dataflow_module((1, 16, 8, 8), body)).script()
    assert text.count("conv2d(") == 1


@pytest.mark.parametrize("kernel", [(16, 32, 1, 1), None])
def test_points_and_weights_that_are_not_known_stay(kernel: tuple | None) -> None:
    def body(x: Any) -> Any:
        both = op.concat([op.tanh(x), op.exp(x)], 1)
        weight = random_const(*kernel) if kernel else op.reshape(op.exp(x), (8, 32, 3, 3))
        return op.nn.conv2d(both, weight)

    text = transform.SplitConvOfConcat()(dataflow_module((1, 16, 12, 12), body)).script()
    assert text.count("conv2d(") == 1
