"""Windows with channels in lanes against numpy: depthwise, small groups, pooling; channels last."""

from typing import Any

import numpy as np
import pytest
from convolution import convolve
from samples import check, sample
from targets import with_threads

from relax_mlir import relax, tir
from relax_mlir.errors import ShapeMismatchError
from relax_mlir.script import from_source

pytestmark = pytest.mark.unoptimized

LETTERS = ("W", "HW", "DHW")
# Sizes of the image with its channels, window, attributes; without groups each channel is one.
WINDOWS: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((14, 15, 32), (3, 3), {"padding": [1, 1]}),
    ((9, 33, 37), (3, 3), {"padding": [1, 1], "strides": [2, 2]}),
    ((11, 6, 17), (5, 5), {"padding": [2, 2]}),
    ((8, 8, 48), (7, 7), {"padding": [3, 3]}),
    ((13, 10, 40), (3, 2), {"padding": [4, 0, 1, 3], "dilation": [2, 3]}),
    ((6, 9, 24), (1, 9), {"padding": [0, 4], "strides": [1, 3]}),
    ((4, 4, 33), (2, 2), {"strides": [2, 2]}),
    ((19, 21), (4,), {"padding": [2], "strides": [2]}),
    ((5, 4, 7, 19), (3, 2, 3), {"padding": [1, 0, 1], "strides": [2, 1, 1]}),
    ((9, 15, 36), (3, 3), {"padding": [1, 1], "groups": 9}),
    ((8, 11, 34), (3, 3), {"padding": [1, 1], "strides": [2, 2], "groups": 17}),
    ((7, 9, 72), (3, 2), {"padding": [2, 1], "dilation": [2, 1], "groups": 9}),
]
# Batches, and what replaces the image's sizes, for functions whose sizes are symbols.
OTHERS = ((1, ()), (2, ()), (0, ()), (3, (1, 1, 1)), (1, (29, 8, 5)))


def _kernel(image: Any, window: Any, attrs: Any) -> tuple[int, ...]:
    return image[-1], image[-1] // attrs["groups"], *window


def _fits(sizes: Any, window: Any, attrs: Any) -> bool:
    rank = len(window)
    padding, apart = attrs.get("padding", [0] * rank), attrs.get("dilation", [1] * rank)
    around = [sum(padding[axis::rank]) * (1 if len(padding) > rank else 2) for axis in range(rank)]
    reach = [(k - 1) * d + 1 for k, d in zip(window, apart, strict=True)]
    return all(n + more >= k for n, more, k in zip(sizes, around, reach, strict=False))


def _module(windows: Any, dtype: str) -> Any:
    builder = relax.BlockBuilder()
    for index, (image, window, attrs) in enumerate(windows):
        rank, channels = len(window), image[-1]
        letters = LETTERS[rank - 1]
        attrs = {"groups": channels, **attrs}
        weight = relax.const(sample(_kernel(image, window, attrs), dtype, 1))
        forms: dict[str, Any] = {"known": (1, *image), "symbol": ("n", *letters, channels)}
        for name, dims in forms.items():
            symbols = {d: tir.Var(d, "int64") for d in dims if isinstance(d, str)}
            shape = [symbols.get(d, d) for d in dims]
            x = relax.Var("x", relax.TensorStructInfo(shape, dtype))
            with builder.function(f"{name}{index}", [x]):
                with builder.dataflow():
                    made = getattr(relax.op.nn, f"conv{rank}d")(
                        x, weight, data_layout=f"N{letters}C", **attrs
                    )
                    result = builder.emit_output(relax.op.nn.relu(builder.emit(made)))
                builder.emit_func_output(result)
    return builder.get()


@pytest.mark.parametrize(
    ("windows", "dtype"),
    [(WINDOWS, "float32"), (WINDOWS[1:3] + WINDOWS[-1:], "float64"), (WINDOWS[2:4], "float16")],
)
def test_depthwise_against_numpy(windows: Any, dtype: str) -> None:
    """The same bits on two threads; sizes that are known may mean another kernel."""
    module = _module(windows, dtype)
    one, two = (
        relax.VirtualMachine(relax.build(module, with_threads(threads))) for threads in (1, 2)
    )
    for index, (image, window, attrs) in enumerate(windows):
        attrs = {"groups": image[-1], **attrs}
        weight = sample(_kernel(image, window, attrs), dtype, 1)
        for batch, other in OTHERS if dtype == "float32" else OTHERS[::4]:
            sizes = (*other[: len(window)], image[-1]) if other else image
            x = sample((batch, *sizes), dtype)
            if not _fits(sizes, window, attrs):
                with pytest.raises(ShapeMismatchError, match="room for windows"):
                    one[f"symbol{index}"](x)
                continue
            wanted = convolve(np.moveaxis(x, -1, 1), weight, **attrs)
            wanted = np.moveaxis(np.maximum(wanted, 0), 1, -1).astype(dtype)
            got = np.asarray(one[f"symbol{index}"](x))
            check(got, wanted, ulps=32, scale=300, what=(index, batch, sizes))
            assert np.asarray(two[f"symbol{index}"](x)).tobytes() == got.tobytes()
            if (batch, sizes) == (1, image):
                known = np.asarray(one[f"known{index}"](x))
                check(known, wanted, ulps=32, scale=300, what=(index, "known"))
                assert np.asarray(two[f"known{index}"](x)).tobytes() == known.tobytes()


def test_what_is_not_finite_meets_the_border() -> None:
    """A weight that is infinite gives NaN where it meets zeros around an image."""
    x, weight = np.ones((1, 5, 9, 16), "float32"), np.ones((16, 1, 3, 3), "float32")
    weight[3, 0, 0, 0] = np.inf
    builder = relax.BlockBuilder()
    data = relax.Var("x", relax.TensorStructInfo(x.shape, "float32"))
    with builder.function("main", [data]):
        with builder.dataflow():
            made = relax.op.nn.conv2d(
                data, relax.const(weight), padding=1, groups=16, data_layout="NHWC"
            )
            result = builder.emit_output(made)
        builder.emit_func_output(result)
    got = np.asarray(relax.VirtualMachine(relax.build(builder.get()))["main"](x))
    expected = np.zeros((5, 9), bool)
    expected[0], expected[:, 0] = True, True
    np.testing.assert_array_equal(np.isnan(got[0, :, :, 3]), expected)
    assert np.isinf(got[0, 1:, 1:, 3]).all()
    assert np.isfinite(np.delete(got, 3, axis=3)).all()


POOLS = (
    ("max", "2d", "NHWC", (9, 15, 33), (3, 3), 2, 1),
    ("avg", "2d", "NHWC", (8, 8, 16), (2, 2), 2, 0),
    # Rows first, then columns: of few outputs, with a stride, and more rows than are kept at once.
    ("max", "2d", "NHWC", (20, 13, 21), (13, 13), 1, 6),
    ("avg", "2d", "NHWC", (3, 90, 32), (3, 7), 1, 1),
    ("max", "2d", "NHWC", (33, 18, 16), (5, 4), 2, 0),
    ("max", "2d", "NHWC", (150, 230, 17), (4, 4), 1, 1),
    ("max", "1d", "NWC", (31, 40), (5,), 3, 2),
    ("avg", "3d", "NDHWC", (5, 6, 7, 17), (3, 2, 3), 1, 1),
)


def test_pooling_against_numpy() -> None:
    """What is not a number stays so; of sizes known or not."""
    lines = []
    for index, (kind, rank, layout, image, size, stride, pad) in enumerate(POOLS):
        for name, dims in (("known", image), ("symbol", (*"hwd"[: len(size)], image[-1]))):
            symbols = [dim for dim in dims if isinstance(dim, str)]
            shape = ", ".join(map(str, (2, *dims)))
            lines += [
                "    @R.function",
                f'    def {name}{index}(x: R.Tensor(({shape}), "float32")):',
                *(f"        {symbol} = T.int64()" for symbol in symbols),
                "        with R.dataflow():",
                f"            y = R.nn.{kind}_pool{rank}(x, {size}, strides={stride}, "
                f'padding={pad}, layout="{layout}")',
                "            R.output(y)",
                "        return y",
            ]
    module = from_source("@I.ir_module\nclass M:\n" + "\n".join(lines))
    machine = relax.VirtualMachine(relax.build(module, with_threads(2)))
    for index, (kind, _, _, image, size, stride, pad) in enumerate(POOLS):
        x = sample((2, *image), "float32")
        if kind == "max":
            x[0, 2, ..., 3], x[1, 1, ..., 0] = np.nan, -np.inf
        around, axes = [(0, 0), *[(pad, pad)] * len(size), (0, 0)], tuple(range(1, 1 + len(size)))
        steps = (slice(None), *[slice(None, None, stride)] * len(size))

        def windows(array: np.ndarray, fill: float) -> np.ndarray:
            wide = np.pad(array, around, constant_values=fill)  # noqa: B023
            return np.lib.stride_tricks.sliding_window_view(wide, size, axes)[steps]  # noqa: B023

        within = tuple(range(-len(size), 0))
        if kind == "max":
            wanted = windows(x, -np.inf).max(within)
        else:
            counts = windows(np.ones_like(x), 0).sum(within)
            wanted = windows(x.astype("float64"), 0).sum(within) / counts
        for name in ("known", "symbol"):
            got = machine[f"{name}{index}"](x)
            check(got, wanted.astype("float32"), ulps=32, scale=30, what=(name, index))
