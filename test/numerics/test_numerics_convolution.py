"""Convolution kernels against numpy: every way their loops are written, and every edge of tiles."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from convolution import convolve
from samples import check, sample
from targets import WIDTHS, skip_unless_runs, with_threads
from thread_counts import bits, check_bits

from relax_mlir import relax, tir
from relax_mlir.compiler.pipeline import lower
from relax_mlir.errors import ShapeMismatchError
from relax_mlir.lowering.tir_to_vector import parallel_region
from relax_mlir.script import from_source

# Data, weight, attributes. Sizes are 1, odd, prime, and whole tiles; the last has few pixels.
IMAGES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((1, 1, 1, 1), (1, 1, 1, 1), {}),
    ((1, 3, 13, 13), (16, 3, 3, 3), {"padding": [1, 1]}),
    ((2, 5, 7, 15), (33, 5, 3, 3), {"padding": [1, 2, 0, 1], "strides": [2, 1]}),
    ((1, 16, 9, 31), (48, 16, 1, 1), {"strides": [2, 2]}),
    ((1, 3, 16, 180), (17, 3, 1, 1), {"strides": [3, 5]}),
    ((1, 7, 9, 150), (32, 7, 2, 3), {"strides": [2, 1]}),
    ((1, 90, 70, 70), (16, 90, 3, 3), {"padding": [1, 1]}),
    ((1, 17, 14, 28), (32, 17, 3, 3), {"padding": [1, 1], "strides": [1, 2]}),
    ((1, 4, 23, 21), (17, 4, 5, 2), {"padding": [2, 1], "dilation": [2, 3], "strides": [3, 1]}),
    ((1, 3, 33, 35), (64, 3, 7, 7), {"padding": [3, 3], "strides": [2, 2]}),
    ((1, 32, 7, 7), (16, 32, 1, 1), {}),
    ((1, 8, 11, 5), (16, 4, 3, 3), {"groups": 2, "padding": [1, 1]}),
    ((2, 12, 6, 9), (96, 4, 3, 1), {"groups": 3, "padding": [1, 0]}),
    ((1, 2, 5, 4), (16, 2, 3, 3), {"padding": [4, 5, 6, 7]}),
    ((1, 2, 3, 5), (16, 2, 1, 1), {"padding": [1, 1]}),
    ((1, 33, 16, 17), (33, 1, 3, 3), {"groups": 33, "padding": [1, 1]}),
    ((2, 5, 13, 37), (5, 1, 3, 3), {"groups": 5, "padding": [1, 0, 1, 2], "strides": [2, 2]}),
    ((1, 3, 20, 50), (6, 1, 5, 4), {"groups": 3, "padding": [2, 2], "strides": [1, 3]}),
    ((1, 4, 18, 70), (4, 1, 7, 7), {"groups": 4, "padding": [3, 3], "dilation": [1, 2]}),
    ((1, 6, 9, 9), (4, 3, 3, 3), {"groups": 2, "padding": [1, 1], "strides": [4, 4]}),
    ((1, 72, 5, 11), (32, 72, 1, 1), {}),
    ((1, 9, 7, 7), (9, 1, 3, 3), {"groups": 9, "padding": [1, 1]}),
    ((2, 3, 14, 14), (3, 1, 3, 3), {"groups": 3, "padding": [1, 1], "strides": [2, 2]}),
    ((1, 5, 40, 5), (10, 1, 5, 3), {"groups": 5, "padding": [3, 0, 0, 2], "strides": [3, 1]}),
    ((1, 4, 2, 3), (4, 1, 2, 2), {"groups": 4, "padding": [1, 0, 2, 1], "dilation": [2, 1]}),
    ((1, 3, 5, 30), (3, 1, 1, 4), {"groups": 3, "padding": [0, 1], "strides": [1, 4]}),
    ((2, 17, 9, 31), (3, 17, 1, 1), {}),
    ((1, 12, 7, 9), (4, 6, 1, 1), {"groups": 2}),
    ((2, 1, 9, 31), (3, 1, 1, 1), {}),
    ((2, 19, 6, 7), (19, 1, 7, 7), {"groups": 19, "padding": [3, 3]}),
    ((1, 32, 5, 9), (32, 1, 7, 6), {"groups": 32, "padding": [3, 2, 3, 4], "strides": [1, 2]}),
]
OTHERS: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 5, 41), (32, 5, 3), {"padding": [1, 2], "strides": [2]}),
    ((1, 7, 30), (7, 1, 5), {"groups": 7, "padding": [2], "dilation": [2]}),
    ((1, 3, 5, 6, 7), (16, 3, 3, 2, 3), {"padding": [1, 0, 1], "strides": [1, 2, 1]}),
    ((2, 3, 4, 6, 33), (19, 3, 2, 1, 3), {"strides": [1, 2, 5], "dilation": [2, 1, 1]}),
    ((1, 5, 2500), (16, 5, 4), {"padding": [19, 40], "strides": [3]}),
    ((1, 4, 5, 4, 19), (4, 1, 3, 3, 3), {"groups": 4, "padding": [1, 1, 0, 1, 0, 1]}),
    (
        (2, 7, 1, 2, 8),
        (14, 1, 1, 2, 2),
        {"groups": 7, "padding": [1, 0, 1, 0, 0, 1], "strides": [2, 1, 1]},
    ),
    ((1, 4, 3, 5, 6), (4, 1, 2, 3, 3), {"groups": 4, "padding": [1, 1, 1], "strides": [2, 1, 1]}),
]
SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


def _add(
    builder: relax.BlockBuilder, name: str, dims: list[Any], weight: np.ndarray, is_constant: bool,
    dtype: str, **attrs: Any,
) -> None:  # fmt: skip
    symbols = {dim: tir.Var(dim, "int64") for dim in dims if isinstance(dim, str)}
    x = relax.Var("x", relax.TensorStructInfo([symbols.get(d, d) for d in dims], dtype))
    w = relax.Var("w", relax.TensorStructInfo(weight.shape, dtype))
    op = getattr(relax.op.nn, f"conv{weight.ndim - 2}d")
    with builder.function(name, [x] if is_constant else [x, w]):
        with builder.dataflow():
            made = builder.emit(op(x, relax.const(weight) if is_constant else w, **attrs))
            result = builder.emit_output(made)
        builder.emit_func_output(result)


# Elements of windows far apart, of which tiles at the border leave some out.
FAR: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((1, 16, 33, 33), (32, 16, 3, 3), {"padding": [12], "dilation": [12]}),
    ((2, 5, 13, 9), (17, 5, 3, 3), {"padding": [6], "dilation": [6], "strides": [2]}),
    ((1, 8, 14, 15), (16, 8, 5, 5), {"padding": [2]}),
    ((1, 6, 2, 3), (16, 6, 3, 3), {"padding": [8], "dilation": [7]}),
    ((1, 4, 40), (16, 4, 9), {"padding": [20], "dilation": [5]}),
    ((1, 3, 4, 9, 8), (16, 3, 3, 3, 3), {"padding": [4], "dilation": [4]}),
]


def test_infinite_weights_between_the_elements_of_a_transposed_convolution() -> None:
    """As the guide to numbers says it: zeros between elements are read where the rank is known."""
    builder = relax.BlockBuilder()
    for name, shape in (("known", (1, 1, 3)), ("unknown", None)):
        x, w = (relax.Var(each, relax.TensorType(shape, "float32")) for each in "xw")
        with builder.function(name, [x, w]):
            builder.emit_func_output(builder.emit(relax.op.nn.conv1d_transpose(x, w)))
    run = relax.VirtualMachine(relax.build(builder.get()))
    weight = np.array([[[np.inf, 1, 1]]], np.float32)
    for name, end in (("known", [np.nan, np.nan]), ("unknown", [2, 1])):
        found = run[name](np.ones((1, 1, 3), np.float32), weight)
        np.testing.assert_array_equal(found.reshape(-1), [np.inf] * 3 + end)


@pytest.mark.parametrize("weird", [None, np.inf, -np.nan])
def test_windows_that_meet_the_border(weird: float | None) -> None:
    """Zeros around an image are left out only where all kernels are finite."""
    builder = relax.BlockBuilder()
    kernels = [sample(shape, "float32", 1) for _, shape, _ in FAR]
    for index, (data, _, attrs) in enumerate(FAR):
        if weird is not None:
            kernels[index][1, 2, ..., 0] = weird
        unknown = [data[0], data[1], *"hwd"[: len(data) - 2]]
        _add(builder, f"known{index}", list(data), kernels[index], True, "float32", **attrs)
        _add(builder, f"symbol{index}", unknown, kernels[index], index > 0, "float32", **attrs)
    vm = relax.VirtualMachine(relax.build(builder.get(), with_threads(2)))
    for index, (data, _, attrs) in enumerate(FAR):
        x = sample(data, "float32")
        with np.errstate(invalid="ignore"):
            wanted = convolve(x, kernels[index], **attrs).astype("float32")
        for name, given in (("known", ()), ("symbol", () if index else (kernels[index],))):
            check(vm[f"{name}{index}"](x, *given), wanted, ulps=32, scale=300, what=(name, index))


@pytest.mark.parametrize(("cases", "dtype"), [
    (IMAGES, "float32"), (OTHERS, "float32"), (IMAGES[2:14:3], "float64"),
    (IMAGES[2:14:4], "float16"),
])  # fmt: skip
def test_against_numpy(cases: list[Any], dtype: str) -> None:
    builder = relax.BlockBuilder()
    for index, (data, shape, attrs) in enumerate(cases):
        weight = sample(shape, dtype, 1)
        _add(builder, f"packed{index}", list(data), weight, True, dtype, **attrs)
        if index % 2 == 0:
            _add(builder, f"given{index}", list(data), weight, False, dtype, **attrs)
            continue
        unknown = [data[0], data[1], *"hwd"[: len(data) - 2]]
        _add(builder, f"unknown{index}", unknown, weight, True, dtype, **attrs)
    vm = relax.VirtualMachine(relax.build(builder.get()))
    for index, (data, shape, attrs) in enumerate(cases):
        x, w = sample(data, dtype), sample(shape, dtype, 1)
        wanted = convolve(x, w, **attrs).astype(dtype)
        other = ("unknown", ()) if index % 2 else ("given", (w,))
        for kind, weights in (("packed", ()), other):
            got = vm[f"{kind}{index}"](x, *weights)
            check(got, wanted, ulps=32, scale=300, what=(kind, index))


def test_windows_of_unknown_sizes() -> None:
    """One kernel of one channel a group for all images and windows, fewer rows than tiles too."""
    builder = relax.BlockBuilder()
    b, h, w, p, q = (tir.Var(name, "int64") for name in "bhwpq")
    for stride in (1, 2):
        x = relax.Var("x", relax.TensorStructInfo([b, 6, h, w], "float32"))
        k = relax.Var("k", relax.TensorStructInfo([12, 1, p, q], "float32"))
        with builder.function(f"f{stride}", [x, k]):
            with builder.dataflow():
                made = relax.op.nn.conv2d(x, k, strides=stride, padding=[1, 2, 0, 1], groups=6)
                result = builder.emit_output(made)
            builder.emit_func_output(result)
    vm = relax.VirtualMachine(relax.build(builder.get()))
    for image, window in (
        ((7, 7), (3, 3)),
        ((1, 40), (2, 1)),
        ((12, 19), (1, 7)),
        ((9, 3), (9, 5)),
    ):
        x, k = sample((2, 6, *image), "float32"), sample((12, 1, *window), "float32", 1)
        for stride in (1, 2):
            wanted = convolve(x, k, padding=[1, 2, 0, 1], strides=[stride] * 2, groups=6)
            got = vm[f"f{stride}"](x, k)
            check(got, wanted.astype("float32"), ulps=32, scale=300, what=(image, window, stride))


def test_small_planes_of_unknown_size() -> None:
    """Short rows share vectors, or as many planes go together as these have lanes."""
    builder = relax.BlockBuilder()
    cases: list[tuple[int, tuple[int, ...], str, dict[str, Any]]] = [
        (48, (3, 3), "float32", {"padding": [1, 1]}),
        (37, (3, 3), "float32", {"padding": [1, 0, 2, 1], "strides": [2, 2]}),
        (16, (5, 5), "float32", {"padding": [2, 2], "strides": [1, 3]}),
        (19, (2, 3), "float32", {"dilation": [2, 3], "padding": [4, 4], "strides": [3, 1]}),
        (17, (3, 1), "float64", {"padding": [1, 1]}),
        (6, (5, 5), "float32", {"padding": [2, 2], "strides": [2, 2]}),
        (5, (1, 3), "float64", {"padding": [0, 11], "dilation": [1, 9], "strides": [1, 2]}),
    ]
    b, h, w = (tir.Var(name, "int64") for name in "bhw")
    for index, (channels, window, dtype, attrs) in enumerate(cases):
        x = relax.Var("x", relax.TensorStructInfo([b, channels, h, w], dtype))
        weight = sample((channels, 1, *window), dtype, 1)
        bias = sample((channels, 1, 1), dtype, 2)
        with builder.function(f"f{index}", [x]):
            with builder.dataflow():
                made = relax.op.nn.conv2d(x, relax.const(weight), groups=channels, **attrs)
                if index % 2:
                    made = relax.op.add(builder.emit(made), relax.const(bias))
                if index == 1:
                    made = relax.op.tanh(builder.emit(made))
                result = builder.emit_output(made)
            builder.emit_func_output(result)
    x = relax.Var("x", relax.TensorStructInfo([b, 18, h, w], "float32"))
    with builder.function("pool", [x]):
        with builder.dataflow():
            result = builder.emit_output(relax.op.nn.max_pool2d(x, (3, 3), (2, 2), (1, 1)))
        builder.emit_func_output(result)
    module = builder.get()
    one = relax.VirtualMachine(relax.build(module, with_threads(1)))
    two = relax.VirtualMachine(relax.build(module, with_threads(2)))
    sizes = ((2, 7, 7), (1, 14, 14), (1, 3, 5), (3, 1, 17), (0, 7, 7), (1, 40, 4), (1, 9, 70))
    wide = ((1, 13, 13), (1, 7, 33), (1, 14, 64), (1, 8, 31), (1, 29, 97))
    for size in (*sizes, (1, 2, 3), (1, 17, 6), (2, 15, 16), *wide):
        for index, (channels, window, dtype, attrs) in enumerate(cases):
            x = sample((size[0], channels, *size[1:]), dtype)
            wanted = convolve(x, sample((channels, 1, *window), dtype, 1), groups=channels, **attrs)
            if index % 2:
                wanted = wanted + sample((channels, 1, 1), dtype, 2)
            wanted = np.tanh(wanted) if index == 1 else wanted
            got = one[f"f{index}"](x)
            check(got, wanted.astype(dtype), ulps=32, scale=300, what=(index, size))
            assert np.asarray(two[f"f{index}"](x)).tobytes() == np.asarray(got).tobytes()
        x = sample((size[0], 18, *size[1:]), "float32")
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        wanted = windows[:, :, ::2, ::2].max(axis=(-2, -1))
        np.testing.assert_array_equal(np.asarray(one["pool"](x)), wanted)


@pytest.mark.parametrize("bits", [256, 128])
def test_planes_of_narrow_vectors(bits: int) -> None:
    """Without masks in registers planes are copied, or turned."""
    skip_unless_runs(WIDTHS[bits])
    builder = relax.BlockBuilder()
    cases = [case for case in IMAGES if case[1][1] == 1 and case[2].get("groups", 1) > 1][1::3]
    for index, (data, shape, attrs) in enumerate(cases):
        weight = sample(shape, "float32", 1)
        _add(builder, f"known{index}", list(data), weight, True, "float32", **attrs)
        dims = ["b", data[1], "h", "w"]
        _add(builder, f"unknown{index}", dims, weight, True, "float32", **attrs)
    vm = relax.VirtualMachine(relax.build(builder.get(), WIDTHS[bits]))
    for index, (data, shape, attrs) in enumerate(cases):
        x, w = sample(data, "float32"), sample(shape, "float32", 1)
        wanted = convolve(x, w, **attrs).astype("float32")
        for kind in ("known", "unknown"):
            got = vm[f"{kind}{index}"](x)
            check(got, wanted, ulps=32, scale=300, what=(kind, index))


_MORE_CHANNELS = """
from relax_mlir.script import tir as T
@T.prim_func
def main(
    x: T.Buffer((1, 4, 9, 20), "float32"), w: T.Buffer((6, 3, 3), "float32"),
    y: T.Buffer((1, 6, 7, 18), "float32"),
):
    p = T.alloc_buffer((1, 6, 9, 20), "float32")
    for n, c, i, j in T.grid(1, 6, 9, 20):
        with T.block("fill"):
            a, b, d, e = T.axis.remap("SSSS", [n, c, i, j])
            p[a, b, d, e] = T.float32(0)
    for n, c, i, j in T.grid(1, 4, 9, 20):
        with T.block("copy"):
            a, b, d, e = T.axis.remap("SSSS", [n, c, i, j])
            p[a, b, d, e] = x[a, b, d, e]
    for n, c, i, j, u, v in T.grid(1, 6, 7, 18, 3, 3):
        with T.block("conv"):
            a, b, d, e, f, g = T.axis.remap("SSSSRR", [n, c, i, j, u, v])
            with T.init():
                y[a, b, d, e] = T.float32(0)
            y[a, b, d, e] = y[a, b, d, e] + p[a, b, d + f, e + g] * w[b, f, g]
"""


def test_channels_that_padding_adds() -> None:
    """Planes that lie beyond an image's last are zeros, not what follows it in memory."""
    memory = np.ones((1, 6, 9, 20), "float32")
    x = memory.reshape(-1)[: 4 * 9 * 20].reshape(1, 4, 9, 20)
    y = np.full((1, 6, 7, 18), np.nan, "float32")
    tir.build(from_source(_MORE_CHANNELS))["main"](x, np.ones((6, 3, 3), "float32"), y)
    np.testing.assert_array_equal(y[:, :4], 9)
    np.testing.assert_array_equal(y[:, 4:], 0)


def test_channels_that_groups_tell() -> None:
    """Symbols for channels have to be what weight and groups say; which is asserted."""
    builder = relax.BlockBuilder()
    c, o, h, w = (tir.Var(name, "int64") for name in "cohw")
    # Dimensions of data and weight, groups, and numbers for `c` and `o`.
    cases: list[tuple[list[Any], list[Any], int, int, int]] = [
        ([1, c, h, w], [c, 1, 3, 3], 20, 20, 0),
        ([2, c, h, w], [20, 5, 3, 3], 4, 20, 0),
        ([1, 24, h, w], [8, c, 3, 3], 4, 6, 0),
        ([1, c, h, w], [o, 5, 3, 3], 1, 5, 7),
        ([1, c, h, w], [o, 1, 3, 3], 6, 6, 12),
    ]
    for index, (data, weight, groups, _, _) in enumerate(cases):
        x, k = (
            relax.Var(name, relax.TensorStructInfo(dims, "float32"))
            for name, dims in (("x", data), ("k", weight))
        )
        with builder.function(f"f{index}", [x, k]):
            with builder.dataflow():
                made = relax.op.nn.conv2d(x, k, padding=1, groups=groups)
                result = builder.emit_output(made)
            builder.emit_func_output(result)
    module = builder.get()
    # Output channels that no one says to divide into the groups are the library's.
    assert str(lower(module, "LegalizeOps").mlir_module).count("vm.op.conv2d") == 1
    vm = relax.VirtualMachine(relax.build(module))
    for index, (data, weight, groups, some, outputs) in enumerate(cases):
        numbers = {c: some, o: outputs, h: 9, w: 7}
        x = sample([numbers.get(dim, dim) for dim in data], "float32")
        k = sample([numbers.get(dim, dim) for dim in weight], "float32", 1)
        wanted = convolve(x, k, padding=[1], groups=groups)
        got = vm[f"f{index}"](x, k)
        check(got, wanted.astype("float32"), ulps=32, scale=300, what=index)
        if c in data and c not in weight:
            with pytest.raises(ShapeMismatchError, match=r"dimension 1 is|do not match"):
                vm[f"f{index}"](np.concatenate([x, x], axis=1), k)


def test_rows_that_no_window_sees_two_of() -> None:
    """Sequences of a batch, and rows that are more than the cache holds, are copied one by one."""
    builder = relax.BlockBuilder()
    weight, wide = sample((32, 40, 3), "float32", 1), sample((16, 64, 1, 3), "float32", 1)
    _add(builder, "any", ["n", 40, "w"], weight, True, "float32", strides=[2])
    _add(builder, "known", [2, 64, 3, 2500], wide, True, "float32")
    vm = relax.VirtualMachine(relax.build(builder.get()))
    for shape in ((0, 40, 9), (1, 40, 3), (3, 40, 30), (2, 40, 3001)):
        x = sample(shape, "float32")
        wanted = convolve(x, weight, strides=[2]).astype("float32")
        check(vm["any"](x), wanted, ulps=32, scale=300, what=shape)
    x = sample((2, 64, 3, 2500), "float32")
    check(vm["known"](x), convolve(x, wide).astype("float32"), ulps=32, scale=300, what="known")


def test_channels_last() -> None:
    builder = relax.BlockBuilder()
    # In the last ones pixels are so far apart that they collide in a cache.
    cases = [
        *IMAGES[1:11:2],
        ((1, 256, 6, 9), (32, 256, 3, 3), {"padding": [1, 1], "strides": [2, 2]}),
        ((2, 512, 5, 6), (16, 512, 1, 1), {"strides": [2, 2]}),
        ((1, 256, 3, 5), (48, 256, 1, 1), {}),
        ((2, 33, 6, 7), (33, 1, 3, 3), {"groups": 33, "padding": [1, 1]}),
        ((1, 5, 9, 8), (10, 1, 2, 3), {"groups": 5, "strides": [2, 1]}),
    ]
    for index, (data, shape, attrs) in enumerate(cases):
        dims = [data[0], *data[2:], data[1]]
        weight = sample(shape, "float32", 1)
        for kind, is_constant in (("packed", True), ("given", False)):
            _add(
                builder, f"{kind}{index}", dims, weight, is_constant, "float32",
                data_layout="NHWC", kernel_layout="OIHW", **attrs,
            )  # fmt: skip
    vm = relax.VirtualMachine(relax.build(builder.get()))
    for index, (data, shape, attrs) in enumerate(cases):
        x, w = sample(data, "float32"), sample(shape, "float32", 1)
        wanted = np.moveaxis(convolve(x, w, **attrs), 1, -1).astype("float32")
        moved = np.ascontiguousarray(np.moveaxis(x, 1, -1))
        check(vm[f"packed{index}"](moved), wanted, ulps=32, scale=300, what=index)
        check(vm[f"given{index}"](moved, w), wanted, ulps=32, scale=300, what=index)


def test_special_values_of_the_data() -> None:
    """What is not finite spreads to the windows that see it, and to no others."""
    builder = relax.BlockBuilder()
    shapes = [((16, 2, 3, 3), 1), ((2, 1, 3, 3), 2)]
    for index, (shape, groups) in enumerate(shapes):
        weight = sample(shape, "float32", 1)
        _add(
            builder, f"f{index}", [1, 2, 9, 20], weight, True, "float32", padding=[1, 1],
            groups=groups,
        )  # fmt: skip
    vm = relax.VirtualMachine(relax.build(builder.get()))
    x = sample((1, 2, 9, 20), "float32")
    x[0, 0, 0, 0], x[0, 1, 4, 13], x[0, 1, 8, 19] = np.nan, np.inf, -np.inf
    x[0, 0, 5, 5] = 1e-42
    for index, (shape, groups) in enumerate(shapes):
        with np.errstate(invalid="ignore"):
            wanted = convolve(x, sample(shape, "float32", 1), padding=[1, 1], groups=groups)
        check(vm[f"f{index}"](x), wanted.astype("float32"), ulps=32, scale=99, what=index)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_special_values_of_the_weights(layout: str) -> None:
    """Padding is zeros that are multiplied: an infinite weight gives NaN where it meets them."""
    shapes = [((16, 2, 3, 3), 1), ((2, 1, 3, 3), 2), ((32, 2, 1, 1), 1), ((3, 2, 3, 3), 1)]
    builder = relax.BlockBuilder()
    weights = []
    for index, (shape, groups) in enumerate(shapes):
        weight = sample(shape, "float32", 1)
        weight[0, 0, 0, -1], weight[1, 0, -1, 0] = np.inf, np.nan
        weights.append(weight)
        for kind, sizes, is_constant in (("f", (9, 20), True), ("g", ("h", "w"), False)):
            dims = [1, 2, *sizes] if layout == "NCHW" else [1, *sizes, 2]
            _add(
                builder, f"{kind}{index}", dims, weight, is_constant, "float32", padding=[1, 1],
                groups=groups, data_layout=layout, kernel_layout="OIHW",
            )  # fmt: skip
    vm = relax.VirtualMachine(relax.build(builder.get()))
    x = sample((1, 2, 9, 20), "float32")
    moved = x if layout == "NCHW" else np.ascontiguousarray(np.moveaxis(x, 1, -1))
    for index, (weight, (_, groups)) in enumerate(zip(weights, shapes, strict=True)):
        with np.errstate(invalid="ignore"):
            wanted = convolve(x, weight, padding=[1, 1], groups=groups).astype("float32")
        assert np.isnan(wanted[0, 0]).any()
        wanted = wanted if layout == "NCHW" else np.moveaxis(wanted, 1, -1)
        check(vm[f"f{index}"](moved), wanted, ulps=32, scale=99, what=index)
        check(vm[f"g{index}"](moved, weight), wanted, ulps=32, scale=99, what=index)


def test_same_bits_on_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    cases = [*IMAGES[1:4], IMAGES[8], IMAGES[13]]
    builder = relax.BlockBuilder()
    for index, (data, shape, attrs) in enumerate(cases):
        weight = sample(shape, "float32", 1)
        _add(builder, f"packed{index}", list(data), weight, True, "float32", **attrs)
        unknown = [data[0], data[1], *"hw"[: len(data) - 2]]
        _add(builder, f"unknown{index}", unknown, weight, False, "float32", **attrs)
    module = builder.get()
    one = relax.VirtualMachine(relax.build(module))
    many = relax.VirtualMachine(relax.build(module, with_threads(5)))
    for index, (data, shape, _) in enumerate(cases):
        x, w = sample(data, "float32"), sample(shape, "float32", 1)
        for name, args in ((f"packed{index}", (x,)), (f"unknown{index}", (x, w))):
            check_bits(partial(bits, many[name], *args), bits(one[name], *args))
