"""The loops that convolutions spend their time in: instructions, by processor, and no spills."""

import re
from typing import Any

import pytest
from inner_loops import CPUS, assembly_of, count, inner_loops_of, most, spills

pytestmark = pytest.mark.own_targets

# Image, weights, attributes, the fewest FMAs, the most instructions for each of them: a
# third above what there is.
WINDOWS: dict[str, tuple[tuple[Any, ...], tuple[int, ...], str, int, float]] = {
    "direct": ((1, 64, "h", "w"), (64, 64, 5, 5), "padding=2", 24, 2.2),
    "one by one": ((1, 64, 30, 30), (64, 64, 1, 1), "", 24, 2),
    # Larger kernels are no constants here, as they are not computed when a program is built.
    "winograd": ((1, 40, 30, 30), (40, 40, 3, 3), "padding=1", 24, 2),
    "depthwise": ((1, 64, 56, 56), (64, 1, 3, 3), "padding=1, groups=64", 63, 2.2),
    "depthwise, unknown": ((1, 64, "h", "w"), (64, 1, 3, 3), "padding=1, groups=64", 63, 2.5),
    "depthwise, short rows": ((1, 64, 7, 7), (64, 1, 7, 7), "padding=3, groups=64", 49, 2),
    "channels last": (
        (1, 56, 56, 64), (64, 1, 7, 7), "padding=3, groups=64, data_layout='NHWC'", 98, 1.8,
    ),
    "channels last, small": (
        (1, 56, 56, 64), (64, 1, 3, 3), "padding=1, groups=64, data_layout='NHWC'", 126, 2.9,
    ),
    "channels last, unknown": (
        (1, "h", "w", 64), (64, 1, 7, 7), "padding=3, groups=64, data_layout='NHWC'", 98, 1.8,
    ),
}  # fmt: skip


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name: str, cpu: str) -> None:
    x, w, attributes, least, each = WINDOWS[name]
    made = f'R.nn.conv2d(x, R.full({w}, R.const(0.5), "float32"), {attributes})'
    loop = most(inner_loops_of({"x": (x, "float32")}, made, cpu), "vfmadd")
    products = count(loop, "vfmadd")
    assert products >= least
    assert len(loop) <= each * products, loop
    assert not [line for line in spills(loop) if "zmm" in line], loop


@pytest.mark.parametrize("size", [61, "n"])
@pytest.mark.parametrize("groups", [1, 64])
@pytest.mark.parametrize("cpu", ["znver3", "alderlake"])
def test_parts_of_vectors_are_stored_without_masks(cpu: str, groups: int, size: int | str) -> None:
    # Rows of 30 pixels end with a tile that is no whole vector; AMD's masked stores are microcode.
    weights = f'R.full((64, {64 // groups}, 3, 3), R.const(0.5), "float32")'
    made = f"R.nn.conv2d(x, {weights}, strides=2, groups={groups})"
    text = assembly_of({"x": ((1, 64, size, size), "float32")}, made, cpu)
    assert not re.findall(r"\tvmaskmovps\t%ymm", text)


@pytest.mark.parametrize("cpu", CPUS)
def test_separable_windows_have_one_maximum_for_each_row(cpu: str) -> None:
    pool = 'R.nn.max_pool2d(x, pool_size=[5, 5], padding=[2, 2, 2, 2], layout="NHWC")'
    loop = most(inner_loops_of({"x": ((1, 16, 15, 32), "float32")}, pool, cpu), "vmaxp")
    # A test for NaN is for two of them.
    assert count(loop, "vmaxp") == 5, loop
    assert count(loop, "vcmpunord") == 3, loop
    assert len(loop) <= 26, loop
