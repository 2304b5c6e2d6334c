"""Convolution and pooling in one and three dimensions, transposed and adaptive, against loops."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from programs import Program
from samples import check, sample
from targets import AVX2, with_threads

from relax_mlir import relax, tir
from relax_mlir.compiler.pipeline import lower
from relax_mlir.dialects.relax import InferError
from relax_mlir.errors import ShapeMismatchError
from relax_mlir.relax import op
from relax_mlir.runtime.values.convert import numpy_dtype
from relax_mlir.script import relax as R

pytestmark = pytest.mark.unoptimized

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


def _to(x: np.ndarray, source: str, target: str) -> np.ndarray:
    return np.ascontiguousarray(x.transpose([source.index(letter) for letter in target]))


def _each(values: Sequence[int], rank: int) -> list[int]:
    return list(values) if len(values) == rank else [values[0]] * rank


def _pads(padding: Sequence[int], rank: int) -> list[tuple[int, int]]:
    if len(padding) == 2 * rank:
        return list(zip(padding[:rank], padding[rank:], strict=True))
    return [(item, item) for item in _each(padding, rank)]


def _points(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*map(range, shape))


def _conv(
    x: np.ndarray, w: np.ndarray, strides: Any = (1,), padding: Any = (0,), dilation: Any = (1,),
    groups: int = 1,
) -> np.ndarray:  # fmt: skip
    rank = x.ndim - 2
    strides, dilation = _each(strides, rank), _each(dilation, rank)
    x = np.pad(x.astype("float64"), ((0, 0), (0, 0), *_pads(padding, rank)))
    size = [
        (n - (k - 1) * d - 1) // s + 1
        for n, k, s, d in zip(x.shape[2:], w.shape[2:], strides, dilation, strict=True)
    ]
    out = np.zeros((x.shape[0], w.shape[0], *size))
    inner, outer = w.shape[1], w.shape[0] // groups
    for at, step in itertools.product(_points(size), list(_points(w.shape[2:]))):
        place = tuple(a * s + k * d for a, s, k, d in zip(at, strides, step, dilation, strict=True))
        for g in range(groups):
            rows = slice(g * outer, (g + 1) * outer)
            part = x[(slice(None), slice(g * inner, (g + 1) * inner), *place)]
            out[(slice(None), rows, *at)] += part @ w[(rows, slice(None), *step)].T
    return out


CONVOLUTIONS: list[tuple[Any, ...]] = [
    ((2, 3, 9), (5, 3, 3), {"padding": [1]}),
    ((1, 4, 11), (6, 2, 2), {"groups": 2, "strides": [2], "padding": [1, 0], "dilation": [3]}),
    ((2, 4, 7), (8, 1, 3), {"groups": 4}),
    ((2, 3, 5, 6, 7), (4, 3, 2, 3, 1), {"padding": [1, 0, 2]}),
    ((1, 2, 5, 4, 6), (4, 1, 3, 2, 2), {"groups": 2, "strides": [2, 1, 3], "dilation": [1, 2, 1]}),
    ((1, 3, 4, 4, 4), (2, 3, 3, 3, 3), {"padding": [1, 0, 1, 0, 2, 1]}),
]


def _symbols(shape: Sequence[int], layout: str) -> list[Any]:
    return [n if c == "C" else c.lower() for n, c in zip(shape, layout, strict=True)]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_convolution(dtype: str) -> None:
    program = Program()
    chosen = CONVOLUTIONS if dtype == "float32" else CONVOLUTIONS[1:5:3]
    for index, (data, weight, attrs) in enumerate(chosen):
        rank = len(data) - 2
        op, letters = f"conv{rank}d", f"NC{SPATIAL[rank]}"
        dims = data if index % 3 == 1 else _symbols(data, letters)
        program.op(f"known{index}", op, (dims, dtype), (weight, dtype), **attrs)
        program.op(f"unknown{index}", op, (None, ""), (None, ""), **attrs)
        if index:
            continue
        last = f"N{SPATIAL[rank]}C"
        moved = [data[letters.index(letter)] for letter in last]
        program.op(
            f"last{index}", op, (_symbols(moved, last), dtype), (weight, dtype), data_layout=last,
            **attrs,
        )  # fmt: skip
    vm = program.build()
    for index, (data, weight, attrs) in enumerate(chosen):
        x, w = sample(data, dtype), sample(weight, dtype, 1)
        if dtype == "int32":
            x, w = x % 7, w % 7
        wanted = _conv(x, w, **attrs).astype(dtype)
        for kind in ("known", "unknown"):
            check(vm[f"{kind}{index}"](x, w), wanted, ulps=16, scale=99, what=(kind, index))
        if index:
            continue
        letters, last = (f"{a}{SPATIAL[len(data) - 2]}{b}" for a, b in (("NC", ""), ("N", "C")))
        got = vm[f"last{index}"](_to(x, letters, last), w)
        check(got, _to(wanted, letters, last), ulps=16, scale=99, what=("last", index))


def _transposed(
    x: np.ndarray, w: np.ndarray, strides: Any = (1,), padding: Any = (0,),
    output_padding: Any = (0,), dilation: Any = (1,), groups: int = 1,
) -> np.ndarray:  # fmt: skip
    """Spread a kernel (IO...) for every element of the data."""
    rank = x.ndim - 2
    strides, dilation, more = (_each(v, rank) for v in (strides, dilation, output_padding))
    outer, inner = w.shape[1], w.shape[0] // groups
    full = [
        (n - 1) * s + (k - 1) * d + 1 + extra
        for n, k, s, d, extra in zip(x.shape[2:], w.shape[2:], strides, dilation, more, strict=True)
    ]
    out = np.zeros((x.shape[0], outer * groups, *full))
    for at, step in itertools.product(_points(x.shape[2:]), list(_points(w.shape[2:]))):
        place = tuple(a * s + k * d for a, s, k, d in zip(at, strides, step, dilation, strict=True))
        for g in range(groups):
            rows = slice(g * inner, (g + 1) * inner)
            part = x[(slice(None), rows, *at)].astype("float64") @ w[(rows, slice(None), *step)]
            out[(slice(None), slice(g * outer, (g + 1) * outer), *place)] += part
    inside = [slice(b, n - a) for n, (b, a) in zip(full, _pads(padding, rank), strict=True)]
    return out[(slice(None), slice(None), *inside)]


TRANSPOSED: list[tuple[Any, ...]] = [
    ((2, 3, 7), (3, 5, 3), {"strides": [2], "padding": [1], "output_padding": [1]}),
    ((1, 4, 6), (4, 3, 2), {"groups": 2, "dilation": [2]}),
    ((2, 3, 4, 5), (3, 2, 3, 3), {"strides": [2, 3], "padding": [1, 0, 0, 2]}),
    ((1, 4, 3, 3), (4, 1, 2, 2), {"groups": 4, "strides": [2]}),
    ((1, 2, 3, 3), (2, 3, 1, 1), {"padding": [1]}),
    (
        (1, 17, 5, 4),
        (17, 1, 4, 5),
        {"groups": 17, "strides": [2, 3], "padding": [1, 0, 2, 1], "output_padding": [1, 0]},
    ),
    ((1, 2, 3, 2, 3), (2, 3, 2, 2, 3), {"strides": [1, 2, 1]}),
    ((1, 8, 16), (8, 3, 3), {"strides": [3], "padding": [1, 2]}),
    ((1, 2, 5, 4), (2, 16, 4, 2), {"strides": [2, 2], "padding": [1, 0]}),
    ((2, 2, 1, 7), (2, 3, 1, 5), {"strides": [3, 3], "dilation": [1, 2], "padding": [0, 4, 0, 9]}),
    ((1, 2, 4, 3), (2, 3, 2, 3), {"strides": [3, 2], "output_padding": [2, 1], "dilation": [3, 2]}),
    ((1, 3, 7, 9), (3, 1, 2, 3), {"strides": [1, 3], "output_padding": [0, 1], "dilation": [2, 2]}),
]


# Input and output channels, groups, window, strides, padding, dilation.
ALIKE: list[tuple[int, int, int, list[int], list[int], list[int], int]] = [
    (16, 32, 1, [3, 3], [2, 2], [1, 1], 1),
    (5, 7, 1, [4, 4], [2, 2], [1, 1], 1),
    (32, 32, 2, [3, 4], [2, 2], [2, 1, 0, 2], 1),
    (16, 16, 1, [2, 2], [2, 2], [0, 0], 3),
    (16, 16, 1, [4, 3], [3, 2], [0, 1], 1),
]


@pytest.mark.parametrize(("i", "o", "groups", "window", "strides", "padding", "dilation"), ALIKE)
def test_transposed_convolution_by_one_function(
    i: int, o: int, groups: int, window: list[int], strides: list[int], padding: list[int],
    dilation: int,
) -> None:  # fmt: skip
    weight = sample((i, o // groups, *window), "float32", 1)
    attrs = {"strides": strides, "padding": padding, "dilation": [dilation], "groups": groups}
    n, h, w = (tir.Var(name, "int64") for name in "nhw")
    bb = relax.BlockBuilder()
    for name, dims in (("any", (n, i, h, w)), ("known", (2, i, 5, 33))):
        x = relax.Var("x", R.Tensor(dims, "float32"))
        with bb.function(name, [x]):
            made = op.nn.conv2d_transpose(x, relax.const(weight), **attrs)
            bb.emit_func_output(bb.emit(made))
    lowered = str(lower(bb.get(), "symbol-dce", target=AVX2))
    assert lowered.count("func.func private @conv_transpose") == 2
    vm = relax.VirtualMachine(relax.build(bb.get(), with_threads(2)))
    for size in ((2, i, 5, 33), (1, i, 3, 2), (3, i, 14, 7)):
        data = sample(size, "float32")
        wanted = _transposed(data, weight, **attrs).astype("float32")
        got = vm["any"](data)
        check(got, wanted, ulps=16, scale=99, what=size)
        if size == (2, i, 5, 33):
            np.testing.assert_array_equal(vm["known"](data), got)


def test_transposed_convolution_of_single_channels_is_fast(
    caplog: pytest.LogCaptureFixture,
) -> None:
    program = Program()
    dims = ["n", 40, "h", "w"]
    attrs = {"groups": 40, "strides": [2, 2], "padding": [1, 1]}
    program.op("f", "conv2d_transpose", (dims, "float32"), ((40, 1, 3, 3), "float32"), **attrs)
    vm = program.build()
    assert "no fast path" not in caplog.text
    x, w = sample((2, 40, 5, 9), "float32"), sample((40, 1, 3, 3), "float32", 1)
    wanted = _transposed(x, w, **attrs).astype("float32")
    check(vm["f"](x, w), wanted, ulps=16, scale=99, what="single channels")


@pytest.mark.parametrize("dtype", ["float16", "float32", "int32"])
def test_transposed_convolution(dtype: str) -> None:
    program = Program()
    chosen = TRANSPOSED if dtype == "float32" else TRANSPOSED[1:3]
    for index, (data, weight, attrs) in enumerate(chosen):
        rank = len(data) - 2
        op = f"conv{rank}d_transpose"
        dims = data if index % 3 == 1 else _symbols(data, f"NC{SPATIAL[rank]}")
        program.op(f"known{index}", op, (dims, dtype), (weight, dtype), **attrs)
        program.op(f"unknown{index}", op, (None, ""), (None, ""), **attrs)
    vm = program.build()
    for index, (data, weight, attrs) in enumerate(chosen):
        x, w = sample(data, dtype), sample(weight, dtype, 1)
        if dtype == "int32":
            x, w = x % 7, w % 7
        wanted = _transposed(x, w, **attrs).astype(dtype)
        for kind in ("known", "unknown"):
            check(vm[f"{kind}{index}"](x, w), wanted, ulps=16, scale=99, what=(kind, index))


def _pool(x: np.ndarray, average: bool, pool_size: Any, strides: Any, padding: Any) -> np.ndarray:
    rank = x.ndim - 2
    pads = _pads(padding, rank)
    wide = np.pad(
        x.astype("float64"), ((0, 0), (0, 0), *pads), constant_values=0 if average else -np.inf
    )
    ones = np.pad(np.ones_like(x, "float64"), ((0, 0), (0, 0), *pads))
    size = [(n - k) // s + 1 for n, k, s in zip(wide.shape[2:], pool_size, strides, strict=True)]
    out = np.zeros((*x.shape[:2], *size))
    axes = tuple(range(2, rank + 2))
    for at in _points(size):
        window = [slice(a * s, a * s + k) for a, s, k in zip(at, strides, pool_size, strict=True)]
        place = (slice(None), slice(None), *window)
        value = wide[place].max(axes)
        if average:
            value = wide[place].sum(axes) / ones[place].sum(axes)
        out[(slice(None), slice(None), *at)] = value
    return out


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_pooling(kind: str) -> None:
    cases: list[tuple[Any, ...]] = [
        ((2, 3, 9), {"pool_size": [3], "strides": [2], "padding": [1, 0]}),
        ((2, 3, 5, 6, 7), {"pool_size": [2, 3, 2], "strides": [1, 2, 2], "padding": [1, 1, 0]}),
    ]
    program = Program()
    for index, (data, attrs) in enumerate(cases):
        rank = len(data) - 2
        op, dims = f"{kind}_pool{rank}d", _symbols(data, f"NC{SPATIAL[rank]}")
        program.op(f"static{index}", op, (data, "float32"), **attrs)
        program.op(f"symbolic{index}", op, (dims, "float32"), **attrs)
        program.op(f"unknown{index}", op, (None, ""), **attrs)
    vm = program.build()
    for index, (data, attrs) in enumerate(cases):
        x = sample(data, "float32")
        wanted = _pool(x, kind == "avg", **attrs).astype("float32")
        for shape in ("static", "symbolic", "unknown"):
            check(vm[f"{shape}{index}"](x), wanted, scale=3, what=(shape, index))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "float16", "bfloat16"])
def test_largest_of_small_numbers(dtype: str, caplog: pytest.LogCaptureFixture) -> None:
    """Maxima are those of the elements as they are; the border has less than all of them."""
    cases: list[tuple[Any, ...]] = [
        ((2, 3, 41), {"pool_size": [3], "strides": [2], "padding": [1, 0]}),
        ((1, 5, 9, 40), {"pool_size": [3, 3], "strides": [2, 2], "padding": [1, 1]}),
        ((2, 3, 7, 9), {"pool_size": [2, 3], "strides": [1, 1], "padding": [0, 1]}),
    ]
    program = Program()
    for index, (data, attrs) in enumerate(cases):
        op, dims = f"max_pool{len(data) - 2}d", _symbols(data, f"NC{SPATIAL[len(data) - 2]}")
        program.op(f"static{index}", op, (data, dtype), **attrs)
        program.op(f"symbolic{index}", op, (dims, dtype), **attrs)
    vm = program.build()
    assert "no fast path" not in caplog.text
    for index, (data, attrs) in enumerate(cases):
        x = sample(data, "float16" if "float" in dtype else dtype).astype(numpy_dtype(dtype))
        if "float" in dtype:
            x.flat[:3] = [-np.inf, np.inf, np.nan]
        else:
            x.flat[:40] = np.iinfo(dtype).min
        with np.errstate(invalid="ignore"):
            wanted = _pool(x, False, **attrs)
        for shape in ("static", "symbolic"):
            got = np.asarray(vm[f"{shape}{index}"](x))
            assert got.dtype == x.dtype
            np.testing.assert_array_equal(got.astype("float64"), wanted, err_msg=str(index))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_means_of_halves(dtype: str, caplog: pytest.LogCaptureFixture) -> None:
    attrs = {"pool_size": [3, 3], "strides": [2, 2], "padding": [1, 1]}
    program = Program()
    program.op("f", "avg_pool2d", ((1, 5, 9, 40), dtype), **attrs)
    program.op("g", "avg_pool2d", ((1, 5, "h", "w"), dtype), **attrs)
    vm = program.build()
    assert "no fast path" not in caplog.text
    x = sample((1, 5, 9, 40), "float16").astype(numpy_dtype(dtype))
    wanted = _pool(x, True, **attrs)
    for name in ("f", "g"):
        got = np.asarray(vm[name](x)).astype("float64")
        np.testing.assert_allclose(got, wanted, rtol=2.0**-8, atol=2.0**-16)


INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_means_of_integers_are_cut_off(dtype: str, caplog: pytest.LogCaptureFixture) -> None:
    # Of the large window neither the sum nor the count is a number of eight bits.
    cases: dict[str, dict[str, Any]] = {
        "small": {"pool_size": [3, 3], "strides": [2, 2], "padding": [1, 1]},
        "large": {"pool_size": [16, 16], "strides": [5, 7], "padding": [0, 0]},
    }
    program = Program()
    for name, attrs in cases.items():
        program.op(f"{name}_static", "avg_pool2d", ((1, 5, 21, 40), dtype), **attrs)
        program.op(f"{name}_symbolic", "avg_pool2d", ((1, 5, "h", "w"), dtype), **attrs)
        program.op(f"{name}_unknown", "avg_pool2d", (None, ""), **attrs)
    vm = program.build()
    assert "no fast path" not in caplog.text
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    if dtype.endswith("64"):
        low, high = low >> 20, high >> 20  # the reference adds up floats
    x = np.random.default_rng(0).integers(low, high, (1, 5, 21, 40), dtype, endpoint=True)
    x[:, :2] = high
    x[:, 2:3] = low
    for name, attrs in cases.items():
        wanted = np.trunc(_pool(x, True, **attrs))
        for kind in ("static", "symbolic", "unknown"):
            got = np.asarray(vm[f"{name}_{kind}"](x))
            assert got.dtype == x.dtype
            np.testing.assert_array_equal(got.astype("float64"), wanted, err_msg=kind)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64"])
def test_adaptive_means_of_integers_are_cut_off(dtype: str) -> None:
    program = Program()
    sizes = [1, 1], [4, 3], [5, 2]
    for index, size in enumerate(sizes):
        data = (2, 3, 8, 9)
        program.op(f"static{index}", "adaptive_avg_pool2d", (data, dtype), output_size=size)
        program.op(f"unknown{index}", "adaptive_avg_pool2d", (None, ""), output_size=size)
    vm = program.build()
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    if dtype == "int64":
        low, high = low >> 20, high >> 20  # the reference adds up floats
    x = np.random.default_rng(0).integers(low, high, data, dtype, endpoint=True)
    x[0] = low
    for index, size in enumerate(sizes):
        wanted = np.trunc(_adaptive(x, size))
        for kind in ("static", "unknown"):
            got = np.asarray(vm[f"{kind}{index}"](x))
            assert got.dtype == x.dtype
            np.testing.assert_array_equal(got.astype("float64"), wanted, err_msg=kind)


def _adaptive(x: np.ndarray, output_size: Any) -> np.ndarray:
    out = np.zeros((*x.shape[:2], *output_size))
    for at in _points(output_size):
        window = [
            slice(a * n // k, -(-(a + 1) * n // k))
            for a, n, k in zip(at, x.shape[2:], output_size, strict=True)
        ]
        part = x[(slice(None), slice(None), *window)].astype("float64")
        out[(slice(None), slice(None), *at)] = part.mean(tuple(range(2, x.ndim)))
    return out


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_adaptive_pooling(dtype: str) -> None:
    cases: list[tuple[Any, ...]] = [
        ((2, 3, 9), [4]), ((2, 3, 8, 9), [1, 1]), ((2, 3, 8, 9), [4, 3]), ((2, 3, 7, 9), [5, 2]),
        ((1, 2, 3, 4), [5, 7]), ((1, 2, 5, 4, 3), [2, 3, 3]),
    ]  # fmt: skip
    program = Program()
    for index, (data, size) in enumerate(cases):
        rank = len(data) - 2
        op, dims = f"adaptive_avg_pool{rank}d", _symbols(data, f"NC{SPATIAL[rank]}")
        program.op(f"static{index}", op, (data, dtype), output_size=size)
        program.op(f"symbolic{index}", op, (dims, dtype), output_size=size)
        program.op(f"unknown{index}", op, (None, ""), output_size=size)
    program.op("same", "adaptive_avg_pool2d", (["n", "c", "h", "w"], dtype))
    last = {"layout": "NHWC", "output_size": 2}
    program.op("last", "adaptive_avg_pool2d", (["n", "h", "w", "c"], dtype), **last)
    uneven = {"layout": "NHWC", "output_size": [5, 4]}
    program.op("uneven", "adaptive_avg_pool2d", ((2, 7, 9, 37), dtype), **uneven)
    vm = program.build()
    for index, (data, size) in enumerate(cases):
        x = sample(data, dtype)
        wanted = _adaptive(x, size).astype(dtype)
        for kind in ("static", "symbolic", "unknown"):
            check(vm[f"{kind}{index}"](x), wanted, scale=3, what=(kind, index))
    x = sample((2, 3, 5, 4), dtype)
    check(vm["same"](x), x)
    check(
        vm["last"](_to(x, "NCHW", "NHWC")),
        _to(_adaptive(x, [2, 2]), "NCHW", "NHWC").astype(dtype),
        scale=3,
    )
    x = sample((2, 37, 7, 9), dtype)
    wanted = _to(_adaptive(x, [5, 4]), "NCHW", "NHWC").astype(dtype)
    check(vm["uneven"](_to(x, "NCHW", "NHWC")), wanted, scale=3)


@pytest.mark.parametrize(
    ("op", "shapes", "attrs", "message"),
    [
        ("conv1d", [[2, 3], [4, 3, 3]], {}, "data must have 3 dimensions, got 2"),
        ("conv3d", [[1, 2, 3, 3, 3], [4, 1, 3, 3, 3]], {}, "data has 2 channels, weight takes 1"),
        (
            "conv2d_transpose",
            [[1, 2, 3, 3], [3, 4, 2, 2]],
            {},
            "data has 2 channels, weight takes 3",
        ),
        ("conv1d_transpose", [[1, 2, 3], [2, 4, 2]], {"output_padding": 1}, "must be below the"),
        (
            "max_pool1d",
            [[1, 2, 3]],
            {"pool_size": 5},
            "a window of 5 is larger than the padded size 3",
        ),
        (
            "avg_pool3d",
            [[1, 2, 3, 4, 5]],
            {"strides": [1, 2]},
            "strides takes one or three positive",
        ),
        ("adaptive_avg_pool2d", [[1, 2, 3, 4]], {"output_size": 0}, "output_size takes one or two"),
    ],
)
def test_refusals(op: str, shapes: Any, attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(InferError, match=message):
        Program().op("f", op, *[(shape, "float32") for shape in shapes], **attrs)


def test_windows_that_do_not_fit() -> None:
    """An error, whenever sizes are known; in `ceil_mode` a window may hang over the end."""
    weight, turned, wide = (3, 2, 3, 3), (2, 3, 3, 3), {"pool_size": 3, "strides": 2}
    # Operation, its weight, its attributes, the fewest rows that it takes.
    cases: dict[str, tuple[str, Any, dict[str, Any], int]] = {
        "plain": ("conv2d", weight, {}, 3),
        "padded": ("conv2d", weight, {"padding": [1, 0, 0, 2], "dilation": 2}, 4),
        "single": ("conv2d", (3, 2, 1, 1), {}, 1),
        "transposed": ("conv2d_transpose", turned, {"padding": 2}, 3),
        "phases": ("conv2d_transpose", turned, {"padding": [3, 1], "strides": 2}, 3),
        "pool": ("max_pool2d", None, wide, 3),
        "ceil": ("max_pool2d", None, {**wide, "ceil_mode": True}, 2),
        "mean": ("avg_pool2d", None, {**wide, "ceil_mode": True}, 2),
    }
    program = Program()
    for name, (op_, kernel, attrs, least) in cases.items():
        for kind, dims in (("symbolic", (1, 2, "h", "w")), ("static", (1, 2, least, 7))):
            shapes = [dims] if kernel is None else [dims, kernel]
            program.op(f"{kind}_{name}", op_, *[(each, "float32") for each in shapes], **attrs)
        program.op(f"unknown_{name}", op_, *[(None, "")] * len(shapes), **attrs)
        known = [((1, 2, least - 1, 7), "float32"), *[(each, "float32") for each in shapes[1:]]]
        with pytest.raises(InferError, match=r"larger than the padded size|padding leaves"):
            Program().op("f", op_, *known, **attrs)
    vm = program.build()
    for name, (_, kernel, _, least) in cases.items():
        weights = [] if kernel is None else [sample(kernel, "float32", 1)]
        x = sample((1, 2, least, 7), "float32")
        wanted = np.asarray(vm[f"static_{name}"](x, *weights))
        assert wanted.shape[2] == 1
        for kind in ("symbolic", "unknown"):
            check(vm[f"{kind}_{name}"](x, *weights), wanted, scale=3, what=(kind, name))
            for rows in range(least):
                with pytest.raises(ShapeMismatchError):
                    vm[f"{kind}_{name}"](x[:, :, :rows], *weights)
