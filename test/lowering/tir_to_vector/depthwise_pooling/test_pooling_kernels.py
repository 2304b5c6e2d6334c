"""Pooling against numpy: strides, borders, holes, one to three dimensions, sizes known or not."""

import itertools
import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from targets import with_threads

from relax_mlir import build, relax
from relax_mlir.script import from_source


@dataclass(frozen=True)
class Pool:
    """A pooling of an image with known channels; `image` are its other sizes."""

    kind: str
    image: tuple[int, ...]
    size: tuple[int, ...]
    stride: int = 1
    padding: int = 0
    dilation: int = 1
    ceil_mode: bool = False
    dtype: str = "float32"

    @property
    def attributes(self) -> str:
        rank = len(self.size)
        return (
            f"pool_size={list(self.size)}, strides={[self.stride] * rank}, "
            f"padding={[self.padding] * rank}, dilation={[self.dilation] * rank}, "
            f"ceil_mode={self.ceil_mode}"
        )

    def reference(self, x: np.ndarray) -> np.ndarray:
        rank, average = len(self.size), self.kind == "avg"
        reach = [(k - 1) * self.dilation + 1 for k in self.size]
        more = self.stride - 1 if self.ceil_mode else 0
        around = [(0, 0)] * 2 + [(self.padding, self.padding + more)] * rank
        floats = np.issubdtype(x.dtype, np.floating)
        lowest = 0 if average else -np.inf if floats else np.iinfo(x.dtype).min
        holes = (..., *[slice(None, None, self.dilation)] * rank)
        steps = (slice(None), slice(None), *[slice(None, None, self.stride)] * rank)

        def windows(array: np.ndarray, fill: float) -> np.ndarray:
            wide = np.pad(array, around, constant_values=fill)
            seen = np.lib.stride_tricks.sliding_window_view(wide, reach, range(2, 2 + rank))
            return seen[steps][holes]

        axes = tuple(range(-rank, 0))
        if not average:
            return windows(x, lowest).max(axes)
        counts = windows(np.ones_like(x), 0).sum(axes)
        return (windows(x.astype("float64"), 0).sum(axes) / np.maximum(counts, 1)).astype(x.dtype)


POOLS = [
    Pool("max", (33, 40), (3, 3), 2, 1),
    Pool("avg", (33, 40), (3, 3), 2, 1),
    Pool("max", (9, 70), (5, 2), 1, 1),
    Pool("avg", (18, 35), (2, 3), 1, 1, 2),
    Pool("max", (35, 51), (3, 3), 3),
    Pool("max", (20, 43), (3, 2), 4, 1),
    Pool("max", (40, 37), (17, 18), 1, 8),
    Pool("avg", (24, 33), (18, 17), 2, 3),
    Pool("max", (31, 34), (3, 3), 2, 1, 1, True),
    Pool("max", (100,), (3,), 2, 1),
    Pool("avg", (67,), (4,), 1, 2),
    Pool("max", (5, 6, 33), (3, 3, 3), 2, 1),
    Pool("avg", (4, 5, 18), (2, 3, 2), 1, 1),
    Pool("max", (1, 17), (3, 3), 1, 1),
    Pool("max", (21, 70), (3, 3), 2, 1, dtype="int8"),
    Pool("max", (21, 40), (3, 3), 1, 1, dtype="float64"),
    Pool("max", (21, 40), (3, 3), 2, 1, dtype="float16"),
    Pool("avg", (21, 40), (3, 3), 1, 1, dtype="int8"),
    Pool("avg", (9, 38), (5, 4), 1, 2, ceil_mode=True, dtype="float16"),
    # As large as the image, and not.
    Pool("avg", (7, 5), (7, 5)),
    Pool("avg", (9, 12), (7, 5), 2),
    Pool("max", (4, 3, 2), (4, 3, 2), 2),
]


def module(pools: Sequence[Pool]):
    """Return each pooling as two functions: of an image of known sizes, and of any."""
    functions = []
    for index, pool in enumerate(pools):
        names = "hwd"[: len(pool.image)]
        for kind, image in (("static", pool.image), ("dynamic", tuple(names))):
            lines = [f"        {name} = T.int64()\n" for name in names if kind == "dynamic"]
            functions.append(
                "    @R.function\n"
                f'    def {kind}{index}(x: R.Tensor({(2, 3, *image)}, "{pool.dtype}")):\n'
                + "".join(lines)
                + "        with R.dataflow():\n"
                f"            y = R.nn.{pool.kind}_pool{len(names)}d(x, {pool.attributes})\n"
                "            R.output(y)\n        return y\n"
            )
    return from_source("@I.ir_module\nclass M:\n" + "\n".join(functions))


def image(pool: Pool) -> np.ndarray:
    rng = np.random.default_rng(len(pool.image))
    x = rng.standard_normal((2, 3, *pool.image)) * 9 - 30
    if pool.dtype != "int8":
        x[0, 0].flat[:2] = -np.inf, np.inf
        x[0, 1] = -np.inf
        if pool.kind == "max":
            x[1, 2].flat[::7] = np.nan
            x[1, 0].flat[-1] = -np.nan
        else:
            x[0, 0].flat[:2] = 1e3, -1e3
            x[0, 1] = 0
    return x.astype(pool.dtype)


@pytest.fixture(scope="module")
def machines() -> list[relax.VirtualMachine]:
    built = (relax.build(module(POOLS), with_threads(threads)) for threads in (1, 2))
    return [relax.VirtualMachine(each) for each in built]


@pytest.mark.parametrize("index", range(len(POOLS)))
def test_against_numpy(machines: list[relax.VirtualMachine], index: int) -> None:
    pool = POOLS[index]
    x = image(pool)
    wanted = pool.reference(x)
    for kind, machine in itertools.product(("static", "dynamic"), machines):
        got = np.asarray(machine[f"{kind}{index}"](x))
        if pool.kind == "max":
            np.testing.assert_array_equal(got, wanted)
        else:
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-3)


def test_the_same_bits_with_threads(machines: list[relax.VirtualMachine]) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 700, 300)).astype("float32")
    one, two = (np.asarray(machine["dynamic1"](x)) for machine in machines)
    assert one.tobytes() == two.tobytes()


ADAPTIVE = """
@I.ir_module
class M:
    @R.function
    def planes(x: R.Tensor((2, "c", "h", "w"), "float32")):
        y = R.nn.adaptive_avg_pool2d(x, output_size=[7, 19])
        return y

    @R.function
    def channels(x: R.Tensor((2, "h", "w", "c"), "float32")):
        y = R.nn.adaptive_avg_pool2d(x, output_size=[7, 19], layout="NHWC")
        return y
"""


def test_windows_of_several_sizes_have_fast_paths(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "relax_mlir.kernels"):
        machine = relax.VirtualMachine(relax.build(from_source(ADAPTIVE)))
    assert not caplog.records
    for channels, height, width in ((3, 37, 70), (17, 7, 5), (1, 1, 40)):
        x = np.random.default_rng(width).standard_normal((2, channels, height, width))
        ends = [
            [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]
            for size, count in ((height, 7), (width, 19))
        ]
        rows = [[x[:, :, a:b, c:d].mean((2, 3)) for c, d in ends[1]] for a, b in ends[0]]
        wanted = np.moveaxis(np.array(rows), (0, 1), (2, 3))
        got = np.asarray(machine["planes"](x.astype("float32")))
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)
        last = np.ascontiguousarray(x.transpose(0, 2, 3, 1), "float32")
        got = np.asarray(machine["channels"](last))
        np.testing.assert_allclose(got.transpose(0, 3, 1, 2), wanted, rtol=1e-5, atol=1e-5)


WINDOW = """
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, ({n},), "float32")
    C = T.match_buffer(c, ({n} - 2,), "float32")
    for i in range({n} - 2):
        with T.block("init"):
            vi = T.axis.spatial({n} - 2, i)
            C[vi] = 0.25
    for i, k in T.grid({n} - 2, 3):
        with T.block("max"):
            vi, vk = T.axis.remap("SR", [i, k])
            C[vi] = T.max(C[vi], A[vi + vk])
"""


@pytest.mark.parametrize("size", [14, 100, "n"])
def test_windows_of_one_axis_that_begin_with_what_is_stored(size: int | str) -> None:
    main = build(from_source(WINDOW.format(n=size)))["main"]
    for extent in (3, 14, 37, 100) if size == "n" else (size,):
        a = np.random.default_rng(extent).normal(size=extent).astype("float32")
        c = np.full(extent - 2, np.nan, "float32")
        main(a, c)
        seen = np.lib.stride_tricks.sliding_window_view(a, 3).max(1)
        np.testing.assert_array_equal(c, np.maximum(seen, np.float32(0.25)))
