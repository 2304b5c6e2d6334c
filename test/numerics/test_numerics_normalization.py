"""Normalisations by root mean square, instance and group against numpy."""

from typing import Any

import numpy as np
import pytest
from programs import Program
from samples import FLOATS, check, sample

from relax_mlir.dialects.relax import InferError
from relax_mlir.errors import ShapeMismatchError

pytestmark = pytest.mark.unoptimized

# Sizes of n and m: empty, ones, odd and prime, longer than a vector.
SIZES = ((1, 1), (0, 3), (3, 0), (5, 13), (2, 67))


def _shape(dims: list[Any], sizes: tuple[int, int]) -> list[int]:
    named = dict(zip("nm", sizes, strict=True))
    return [named.get(dim, dim) for dim in dims]


def _normalised(x: np.ndarray, axes: tuple[int, ...], epsilon: float) -> np.ndarray:
    with np.errstate(all="ignore"):
        centred = x - x.mean(axes, keepdims=True)
        return centred / np.sqrt(np.square(centred).mean(axes, keepdims=True) + epsilon)


def _scaled(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, channel: int) -> np.ndarray:
    around = [-1 if i == channel % x.ndim else 1 for i in range(x.ndim)]
    return x * gamma.reshape(around) + beta.reshape(around)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", FLOATS)
def test_rms_norm(dtype: str) -> None:
    cases: list[tuple[Any, ...]] = [
        (["n", "m"], [-1], 1e-5), (["n", 3, "m"], [1, 2], 1e-2), (["n", 7], [0, 1], 0.5),
        ([4, 33], [-1], 1e-5),
    ]  # fmt: skip
    program = Program()
    for index, (dims, axes, epsilon) in enumerate(cases):
        weight = [dims[axis] for axis in axes]
        attrs = {"axes": axes, "epsilon": epsilon}
        program.op(f"f{index}", "rms_norm", (dims, dtype), (weight, dtype), **attrs)
        program.op(f"g{index}", "rms_norm", (None, ""), (None, ""), **attrs)
    vm = program.build()
    for index, (dims, axes, epsilon) in enumerate(cases):
        for sizes in SIZES:
            x = sample(_shape(dims, sizes), dtype)
            weight = sample([x.shape[axis] for axis in axes], dtype, 1)
            wide = x.astype("float64")
            over = tuple(axis % x.ndim for axis in axes)
            root = np.sqrt(np.square(wide).mean(over, keepdims=True) + epsilon)
            wanted = (wide / root * weight.astype("float64")).astype(dtype)
            for name in "fg":
                got = vm[f"{name}{index}"](x, weight)
                check(got, wanted, ulps=32, what=(name, dims, sizes))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["instance_norm", "group_norm"])
def test_norms_by_channel(op: str, dtype: str) -> None:
    # Shape, axis of channels, other axes, groups.
    cases: list[tuple[Any, ...]] = [
        ([2, 6, "n", "m"], 1, [2, 3], 3), (["n", "m", 6], -1, [0, 1], 2),
        ([2, 4, 5, 7], 1, [2, 3], 4), ([3, 6, "m"], 1, [2], 1),
    ]  # fmt: skip
    program = Program()
    for index, (dims, channel, axes, groups) in enumerate(cases):
        attrs: dict[str, Any] = {"channel_axis": channel, "axes": axes, "epsilon": 1e-3}
        if op == "group_norm":
            attrs["num_groups"] = groups
        factors = ([dims[channel]], dtype)
        program.op(f"f{index}", op, (dims, dtype), factors, factors, **attrs)
        program.op(f"g{index}", op, *[(None, "")] * 3, **attrs)
        plain = attrs | {"scale": False, "center": False}
        program.op(f"p{index}", op, (dims, dtype), factors, factors, **plain)
    vm = program.build()
    for index, (dims, channel, axes, groups) in enumerate(cases):
        for sizes in SIZES:
            x = sample(_shape(dims, sizes), dtype)
            if not x.size:
                continue
            gamma, beta = (sample(x.shape[channel], dtype, seed) for seed in (1, 2))
            wide, at = x.astype("float64"), channel % x.ndim
            if op == "instance_norm":
                plain = _normalised(wide, tuple(axes), 1e-3)
            else:
                split = [groups, x.shape[at] // groups]
                wide = wide.reshape(*x.shape[:at], *split, *x.shape[at + 1 :])
                over = (at + 1, *(axis + (axis > at) for axis in axes))
                plain = _normalised(wide, over, 1e-3).reshape(x.shape)
            wanted = _scaled(plain, gamma.astype("float64"), beta.astype("float64"), channel)
            for name in "fg":
                got = vm[f"{name}{index}"](x, gamma, beta)
                check(got, wanted.astype(dtype), ulps=64, scale=9, what=(name, dims, sizes))
            got = vm[f"p{index}"](x, gamma, beta)
            check(got, plain.astype(dtype), ulps=64, scale=9, what=(dims, sizes))


def test_groups_that_do_not_divide() -> None:
    attrs: dict[str, Any] = {"num_groups": 4, "channel_axis": 1, "axes": [2]}
    with pytest.raises(InferError, match="6 channels do not divide into 4 groups"):
        Program().op("f", "group_norm", ([2, 6, 3], "float32"), ([6],), ([6],), **attrs)
    program = Program()
    program.op("f", "group_norm", ([2, "c", 3], "float32"), (["c"],), (["c"],), **attrs)
    vm = program.build()
    x = sample((2, 8, 3), "float32")
    gamma, beta = np.ones(8, "float32"), np.zeros(8, "float32")
    wanted = _normalised(x.astype("float64").reshape(2, 4, 2, 3), (2, 3), 1e-5).reshape(x.shape)
    check(vm["f"](x, gamma, beta), wanted.astype("float32"), ulps=64, scale=9)
    with pytest.raises(ShapeMismatchError, match="6 channels do not divide into 4 groups"):
        vm["f"](sample((2, 6, 3), "float32"), gamma[:6], beta[:6])
