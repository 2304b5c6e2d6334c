"""Convolutions of small integers and of half floats, by dot-product instructions and without."""

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from convolution import convolve
from targets import DOT_PRODUCTS, WIDTHS, skip_unless_runs, with_threads
from thread_counts import bits, check_bits

from relax_mlir import relax, tir
from relax_mlir.compiler.pipeline import lower
from relax_mlir.errors import RelaxMLIRError
from relax_mlir.lowering.tir_to_vector import parallel_region
from relax_mlir.lowering.tir_to_vector.convolution.weight_blocks import (
    packed_shape,
)
from relax_mlir.transform.packing.pack_vnni import packed_weights

pytestmark = pytest.mark.unoptimized

# Data, weight, attributes: channels that groups of two and four do and do not divide, blocks of
# output channels and rests of them, all ranks.
CASES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((1, 8, 6, 19), (16, 8, 3, 3), {"padding": [1, 1]}),
    ((2, 7, 9, 15), (33, 7, 3, 2), {"padding": [1, 2, 0, 1], "strides": [2, 1]}),
    ((1, 18, 5, 7), (96, 6, 3, 3), {"groups": 3, "padding": [1, 1], "dilation": [2, 1]}),
    ((1, 35, 7, 70), (48, 35, 1, 1), {"strides": [2, 2]}),
    ((1, 3, 17, 23), (64, 3, 7, 7), {"padding": [3, 3], "strides": [2, 2]}),
    ((1, 6, 5, 50), (32, 6, 1, 2), {"strides": [1, 5]}),
    ((1, 33, 4, 5), (5, 33, 1, 1), {"padding": [1, 0]}),
    ((1, 1, 5, 9), (16, 1, 3, 3), {"padding": [1, 1]}),
    ((2, 5, 41), (32, 5, 3), {"padding": [1, 2], "strides": [2]}),
    ((1, 5, 4, 6, 18), (16, 5, 2, 1, 3), {"strides": [1, 2, 1], "padding": [1, 0, 1]}),
]
# Of one channel each: rows as long as a vector, several in one, and two outputs for an input.
PLANES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 5, 13, 37), (5, 1, 3, 3), {"groups": 5, "padding": [1, 0, 1, 2], "strides": [2, 2]}),
    ((1, 20, 7, 7), (20, 1, 3, 3), {"groups": 20, "padding": [1, 1]}),
    ((1, 3, 20, 50), (6, 1, 5, 4), {"groups": 3, "padding": [2, 2], "strides": [1, 3]}),
    ((1, 4, 5, 19), (4, 1, 3, 3), {"groups": 4}),
    ((1, 7, 30), (7, 1, 5), {"groups": 7, "padding": [2], "dilation": [2]}),
    ((2, 23, 7, 6), (23, 1, 3, 3), {"groups": 23, "padding": [1, 1], "strides": [2, 2]}),
]
SIGNS = [(x, w) for x in ("int8", "uint8") for w in ("int8", "uint8")]


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Return numbers among which the extremes of an integer dtype are frequent."""
    rng = np.random.default_rng(seed)
    if "int" not in dtype:
        return rng.standard_normal(shape).astype(
            ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
        )
    limits = np.iinfo(dtype)
    values = rng.integers(limits.min, limits.max + 1, shape)
    ends = rng.choice([limits.min, limits.max, 0, 1], shape)
    return np.where(rng.random(shape) < 0.5, ends, values).astype(dtype)


def add(
    builder: relax.BlockBuilder, name: str, dims: list[Any], weight: np.ndarray, dtypes: Any,
    constant: bool, attrs: dict[str, Any],
) -> None:  # fmt: skip
    symbols = {dim: tir.Var(dim, "int64") for dim in dims if isinstance(dim, str)}
    x = relax.Var("x", relax.TensorStructInfo([symbols.get(d, d) for d in dims], dtypes[0]))
    w = relax.Var("w", relax.TensorStructInfo(weight.shape, dtypes[1]))
    op = getattr(relax.op.nn, f"conv{weight.ndim - 2}d")
    with builder.function(name, [x] if constant else [x, w]):
        with builder.dataflow():
            kernel = relax.const(weight, dtypes[1]) if constant else w
            result = builder.emit_output(builder.emit(op(x, kernel, out_dtype=dtypes[2], **attrs)))
        builder.emit_func_output(result)


def wanted(x: np.ndarray, w: np.ndarray, attrs: dict[str, Any], dtype: str) -> np.ndarray:
    exact = convolve(x, w, **{k: v for k, v in attrs.items() if "layout" not in k})
    return exact.astype("int64").astype(dtype)


def check(vm: relax.VirtualMachine, cases: Any, dtypes: Any) -> None:
    for index, (data, shape, attrs) in enumerate(cases):
        x, w = numbers(data, dtypes[0], index), numbers(shape, dtypes[1], index + 50)
        want = wanted(x, w, attrs, dtypes[2] or dtypes[0])
        other = ("given", (w,)) if index % 2 == 0 else ("unknown", ())
        for kind, weights in (("packed", ()), other):
            got = np.asarray(vm[f"{kind}{index}"](x, *weights))
            np.testing.assert_array_equal(got, want, err_msg=f"{kind} {index} {dtypes}")


def machine(cases: Any, dtypes: Any, target: str) -> relax.VirtualMachine:
    builder = relax.BlockBuilder()
    for index, (data, shape, attrs) in enumerate(cases):
        w = numbers(shape, dtypes[1], index + 50)
        add(builder, f"packed{index}", list(data), w, dtypes, True, attrs)
        if index % 2 == 0:
            add(builder, f"given{index}", list(data), w, dtypes, False, attrs)
            continue
        unknown = ["n", data[1], *"hwd"[: len(data) - 2]]
        add(builder, f"unknown{index}", unknown, w, dtypes, True, attrs)
    return relax.VirtualMachine(relax.build(builder.get(), target=target))


@pytest.mark.parametrize("signs", SIGNS, ids="x".join)
def test_bytes_are_exact(signs: tuple[str, str]) -> None:
    dtypes = (*signs, "int32")
    cases = [*CASES, *PLANES]
    check(machine(cases, dtypes, with_threads(1)), cases, dtypes)


@pytest.mark.parametrize(
    "dtypes", [("int16", "int16", "int32"), ("uint8", "int16", "int32"), ("int8", "int8", None)]
)
def test_other_integers_are_exact(dtypes: Any) -> None:
    check(machine(CASES[1:9:3], dtypes, with_threads(1)), CASES[1:9:3], dtypes)


@pytest.mark.parametrize("target", WIDTHS.values())
def test_without_instructions_for_bytes(target: str) -> None:
    skip_unless_runs(target)
    cases, dtypes = CASES[1:5], ("int8", "int8", "int32")
    check(machine(cases, dtypes, target), cases, dtypes)


@pytest.mark.parametrize("dtypes", SIGNS, ids="x".join)
def test_sums_wrap_around(dtypes: tuple[str, str]) -> None:
    """Nothing saturates: 2^17 products of extremes are more than an int32 holds."""
    shape, builder = (16, 1 << 15, 2, 2), relax.BlockBuilder()
    ends = [[getattr(np.iinfo(dtype), end) for end in ("min", "max")] for dtype in dtypes]
    pairs = [(i, j) for i in range(2) for j in range(2)]
    w = np.stack([np.full(shape[1:], ends[1][j % 2], dtypes[1]) for j in range(16)])
    add(builder, "f", [1, shape[1], 3, 2], w, (*dtypes, "int32"), False, {})
    vm = relax.VirtualMachine(relax.build(builder.get(), target=with_threads(1)))
    for i, j in pairs:
        x = np.full((1, shape[1], 3, 2), ends[0][i], dtypes[0])
        total = int(ends[0][i]) * int(ends[1][j]) << 17
        want = np.uint32(total & 0xFFFFFFFF).view(np.int32)
        assert (np.asarray(vm["f"](x, w))[0, j::2] == want).all()


@pytest.mark.parametrize("dtypes", [("uint8", "int8", "int32"), ("int8", "int8", "int32")])
def test_channels_last(dtypes: Any) -> None:
    builder = relax.BlockBuilder()
    cases = [*CASES[:5], ((1, 64, 6, 9), (32, 64, 3, 3), {"padding": [1, 1]})]
    for index, (data, shape, attrs) in enumerate(cases):
        w = numbers(shape, dtypes[1], index + 50)
        layouts = {"data_layout": "NHWC", "kernel_layout": "OIHW"}
        dims = [data[0], *data[2:], data[1]]
        add(builder, f"f{index}", dims, w, dtypes, index % 2 == 0, {**attrs, **layouts})
    vm = relax.VirtualMachine(relax.build(builder.get(), target=with_threads(1)))
    for index, (data, shape, attrs) in enumerate(cases):
        x, w = numbers(data, dtypes[0], index), numbers(shape, dtypes[1], index + 50)
        moved = np.ascontiguousarray(np.moveaxis(x, 1, -1))
        got = np.asarray(vm[f"f{index}"](moved, *([w] if index % 2 else [])))
        want = np.moveaxis(wanted(x, w, attrs, "int32"), 1, -1)
        np.testing.assert_array_equal(got, want, err_msg=str(index))


def test_unknown_channels() -> None:
    builder = relax.BlockBuilder()
    n, c, o, h, w = (tir.Var(name, "int64") for name in "ncohw")
    for name, dtypes in (("bytes", ("int8", "int8", "int32")), ("halves", ("bfloat16",) * 3)):
        x = relax.Var("x", relax.TensorStructInfo([n, c, h, w], dtypes[0]))
        k = relax.Var("k", relax.TensorStructInfo([o, c, 3, 3], dtypes[1]))
        with builder.function(name, [x, k]):
            with builder.dataflow():
                made = relax.op.nn.conv2d(x, k, padding=[1, 1], out_dtype=dtypes[2])
                result = builder.emit_output(builder.emit(made))
            builder.emit_func_output(result)
    vm = relax.VirtualMachine(relax.build(builder.get(), target=with_threads(1)))
    for channels in (1, 2, 4, 7, 17, 20):
        data, shape = (2, channels, 5, 21), (9 + channels, channels, 3, 3)
        x, k = numbers(data, "int8", channels), numbers(shape, "int8", 1)
        got = np.asarray(vm["bytes"](x, k))
        np.testing.assert_array_equal(got, wanted(x, k, {"padding": [1, 1]}, "int32"))
        x, k = numbers(data, "bfloat16", channels), numbers(shape, "bfloat16", 1)
        close(np.asarray(vm["halves"](x, k)), x, k, {"padding": [1, 1]}, 2.0**-8)


def close(got: np.ndarray, x: np.ndarray, w: np.ndarray, attrs: Any, rounding: float) -> None:
    """Check sums of float32, each addition of which rounds by half a unit of all magnitudes."""
    exact = convolve(x, w, **attrs)
    size = convolve(abs(x.astype("float32")), abs(w.astype("float32")), **attrs)
    steps = w[0].size + 1
    bound = 2.0**-23 * steps * size + rounding * abs(exact)
    assert (abs(got.astype("float64") - exact) <= bound).all()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_halves(dtype: str) -> None:
    cases = [*CASES, *PLANES]
    vm = machine(cases, (dtype, dtype, "float32"), with_threads(1))
    for index, (data, shape, attrs) in enumerate(cases):
        x, w = numbers(data, dtype, index), numbers(shape, dtype, index + 50)
        other = ("given", (w,)) if index % 2 == 0 else ("unknown", ())
        for kind, weights in (("packed", ()), other):
            close(np.asarray(vm[f"{kind}{index}"](x, *weights)), x, w, attrs, 0.0)


def test_halves_that_are_not_finite() -> None:
    """What is infinite or NaN spreads to the windows that see it, and to no others."""
    builder, shape = relax.BlockBuilder(), (16, 3, 3, 3)
    w = numbers(shape, "bfloat16", 1)
    add(builder, "f", [1, 3, 9, 20], w, ("bfloat16", "bfloat16", "float32"), True, {"padding": [1]})
    vm = relax.VirtualMachine(relax.build(builder.get(), target=with_threads(1)))
    x = numbers((1, 3, 9, 20), "bfloat16", 2)
    x[0, 0, 0, 0], x[0, 2, 4, 13], x[0, 1, 8, 19] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        want = convolve(x, w, padding=[1])
    got = np.asarray(vm["f"](x))
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(want))
    there = np.isfinite(want)
    np.testing.assert_allclose(got[there], want[there], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("out", "zero"), [("int8", 0), ("uint8", 3)])
def test_requantised_in_the_same_kernel(out: str, zero: int) -> None:
    """The sums of bytes, a bias, a scale and a zero point for each channel, rounded and clipped."""
    limits, builder = np.iinfo(out), relax.BlockBuilder()
    op, rng = relax.op, np.random.default_rng(0)
    data, shape, attrs = (2, 19, 9, 15), (48, 19, 3, 3), {"padding": [1, 1]}
    x, w = numbers(data, "uint8", 3), numbers(shape, "int8", 4)
    bias = rng.integers(-1000, 1000, (1, 48, 1, 1)).astype("int32")
    scale = rng.uniform(1e-4, 1e-3, (1, 48, 1, 1)).astype("float32")
    variable = relax.Var("x", relax.TensorStructInfo(data, "uint8"))
    with builder.function("main", [variable]):
        with builder.dataflow():
            y = op.nn.conv2d(variable, relax.const(w), out_dtype="int32", **attrs)
            y = op.add(builder.emit(y), relax.const(bias))
            y = op.multiply(op.astype(builder.emit(y), "float32"), relax.const(scale))
            y = op.add(op.round(builder.emit(y)), relax.const(np.float32(zero)))
            y = op.clip(builder.emit(y), float(limits.min), float(limits.max))
            result = builder.emit_output(op.astype(builder.emit(y), out))
        builder.emit_func_output(result)
    executable = relax.build(builder.get(), target=with_threads(1))
    sums = (wanted(x, w, attrs, "int32") + bias).astype("float32")
    want = np.clip(np.round(sums * scale) + zero, limits.min, limits.max).astype(out)
    np.testing.assert_array_equal(np.asarray(relax.VirtualMachine(executable)["main"](x)), want)


@pytest.mark.parametrize("dtypes", [("int8", "int8", "int32"), ("bfloat16",) * 2 + ("float32",)])
def test_same_bits_on_any_threads(monkeypatch: pytest.MonkeyPatch, dtypes: Any) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    cases = [*CASES[:3], CASES[4]]
    serial = machine(cases, dtypes, with_threads(1))
    threaded = machine(cases, dtypes, with_threads(5))
    for index, (data, shape, _) in enumerate(cases):
        x, w = numbers(data, dtypes[0], index), numbers(shape, dtypes[1], index + 50)
        other = ("given", (w,)) if index % 2 == 0 else ("unknown", ())
        for kind, weights in (("packed", ()), other):
            name = f"{kind}{index}"
            want = bits(serial[name], x, *weights)
            check_bits(partial(bits, threaded[name], x, *weights), want)


@pytest.mark.parametrize("dtypes", [("int8", "int8", "int32"), ("bfloat16", "bfloat16", None)])
def test_constants_are_grouped_at_compile_time(dtypes: Any) -> None:
    builder = relax.BlockBuilder()
    for index, (data, shape, attrs) in enumerate(CASES):
        unknown = [data[0], data[1], *"hwd"[: len(data) - 2]]
        w = numbers(shape, dtypes[1], index)
        add(builder, f"f{index}", unknown if index % 2 else list(data), w, dtypes, True, attrs)
    text = str(lower(builder.get(), "PackVNNI", target=DOT_PRODUCTS).mlir_module)
    # Not those of grouped convolutions, of few outputs, or of one channel.
    assert text.count("tir.vnni_weights") == len(CASES) - 3


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_groups_of_kernels(dtype: str, signed: bool) -> None:
    kernels = numbers((20, 6, 3), dtype, 1)
    note = [8, 4, 8, 1, int(signed), 0, 1, 0, 20, 18, 3, 1, 6, 3]
    groups = packed_weights(kernels, note)
    assert groups.shape == packed_shape(note) == (3, 7, 8)
    wide = np.zeros((24, 8, 3), dtype)
    wide[:20, :6] = kernels
    inner = groups[:, :6].view(dtype).reshape(3, 3, 2, 8, 4)
    np.testing.assert_array_equal(
        inner.transpose(0, 3, 2, 4, 1).reshape(24, 8, 3), wide, err_msg="elements"
    )
    sums = wide.astype("int32").sum((1, 2)) * 128
    np.testing.assert_array_equal(groups[:, 6].reshape(-1), -sums if signed else sums)


def test_dtypes_that_do_not_go_together() -> None:
    for dtypes in (("int8", "float32", None), ("uint8", "int8", None)):
        with pytest.raises((RelaxMLIRError, ValueError), match="must match"):
            add(
                relax.BlockBuilder(), "f", [1, 4, 5, 5], numbers((4, 4, 3, 3), dtypes[1], 0),
                dtypes, True, {},
            )  # fmt: skip
