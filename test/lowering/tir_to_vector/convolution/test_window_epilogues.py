"""What follows a window runs on its sums before they are stored: one kernel, the same numbers."""

import numpy as np
import pytest
from targets import AVX2, with_threads

from relax_mlir import relax, script
from relax_mlir.compiler.pipeline import lower

# Images, channels, output channels, height, width, window, stride, padding, dilation, groups.
CASES = {
    "tile": (1, 16, 32, 8, 8, 3, 1, 1, 1, 1),
    "rests": (2, 5, 19, 13, 11, 3, 2, 1, 1, 1),
    "rows": (1, 32, 64, 7, 7, 3, 1, 1, 1, 1),
    "points": (1, 48, 33, 7, 9, 1, 2, 0, 1, 1),
    "planes": (2, 8, 8, 15, 37, 3, 1, 1, 1, 8),
    "short": (2, 5, 5, 7, 7, 3, 1, 1, 1, 5),
    "short_pairs": (1, 3, 6, 14, 13, 3, 2, 1, 1, 3),
    "pairs": (1, 6, 12, 9, 33, 3, 2, 1, 1, 6),
    "groups": (1, 32, 64, 6, 6, 3, 1, 2, 2, 4),
    "narrow": (1, 16, 16, 1, 5, 3, 1, 1, 1, 1),
}
# What follows `y`, where c has a number for each channel and r is like y, and the same in numpy.
CHAINS = {
    "bias_relu": (("z = R.add(y, c)", "u = R.nn.relu(z)"), lambda y, c, r: np.maximum(y + c, 0)),
    "residual": (("z = R.multiply(y, c)", "u = R.add(r, z)"), lambda y, c, r: y * c + r),
    "function": (("z = R.add(y, r)", "u = R.tanh(z)"), lambda y, c, r: np.tanh(y + r)),
    "twice": (("z = R.multiply(y, y)", "u = R.add(z, y)"), lambda y, c, r: y * y + y),
    "cast": (("z = R.add(y, c)", 'u = R.astype(z, "float64")'), lambda y, c, r: y + c),
}
PROGRAM = """
@I.ir_module
class Program:
    @R.function
    def main(x: R.Tensor({x}, "float32"), w: R.Tensor({w}, "float32"),
             c: R.Tensor({c}, "float32"), r: R.Tensor({o}, "float32")):
        with R.dataflow():
            y = R.nn.conv2d(x, w, strides={s}, padding={p}, dilation={d}, groups={g},
                            data_layout="{data}", kernel_layout="{kernel}")
            {first}
            {second}
            R.output(u)
        return u
"""


def program(chain: str, case: tuple[int, ...], data: str, dynamic: bool = False):
    n, ci, co, h, w, k, s, p, d, g = case
    image: list[int | str] = [n, h, w]
    out: list[int | str] = [n, *(length(size, case) for size in (h, w))]
    if dynamic:
        reach = 2 * p - (k - 1) * d - 1
        image = ["n", "h", "w"]
        out = ["n", *(f"({name} + {reach}) // {s} + 1" for name in "hw")]
    kernel, weight, channels = "OIHW", (co, ci // g, k, k), (1, co, 1, 1)
    if data == "NHWC":
        kernel, weight, channels = "HWIO", (k, k, ci // g, co), (1, 1, 1, co)

    def shape(dims: list[int | str], size: int) -> str:
        where = [*dims[:1], size, *dims[1:]] if data == "NCHW" else [*dims, size]
        return "(" + ", ".join(repr(dim) for dim in where) + ")"

    first, second = CHAINS[chain][0]
    return script.from_source(
        PROGRAM.format(
            x=shape(image, ci), w=weight, c=channels, o=shape(out, co), s=s, p=p, d=d, g=g,
            data=data, kernel=kernel, first=first, second=second,
        )
    )  # fmt: skip


def length(size: int, case: tuple[int, ...]) -> int:
    k, s, p, d = case[5:9]
    return (size + 2 * p - (k - 1) * d - 1) // s + 1


def inputs(case: tuple[int, ...], data: str) -> list[np.ndarray]:
    n, ci, co, h, w, k, *_, g = case
    rng = np.random.default_rng(sum(case))
    out = (n, co, length(h, case), length(w, case))
    shapes = ((n, ci, h, w), (co, ci // g, k, k), (1, co, 1, 1), out)
    arrays = [(rng.standard_normal(shape) * 0.4).astype("float32") for shape in shapes]
    if data == "NHWC":
        orders = ((0, 2, 3, 1), (2, 3, 1, 0), (0, 2, 3, 1), (0, 2, 3, 1))
        arrays = [np.ascontiguousarray(a.transpose(o)) for a, o in zip(arrays, orders, strict=True)]
    return arrays


def expected(chain: str, case: tuple[int, ...], arrays: list[np.ndarray], data: str) -> np.ndarray:
    x, w, c, r = (array.astype("float64") for array in arrays)
    if data == "NHWC":
        x, w = x.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1)
        c, r = c.transpose(0, 3, 1, 2), r.transpose(0, 3, 1, 2)
    k, s, p, d, g = case[5:]
    x = np.pad(x, ((0, 0), (0, 0), (p, p), (p, p)))
    height, width = r.shape[2:]
    x = x.reshape(x.shape[0], g, -1, *x.shape[2:])
    w = w.reshape(g, -1, *w.shape[1:])
    y = np.zeros(r.shape)
    for i in range(k):
        for j in range(k):
            rows = slice(i * d, i * d + s * (height - 1) + 1, s)
            columns = slice(j * d, j * d + s * (width - 1) + 1, s)
            part = np.einsum("goc,ngchw->ngohw", w[..., i, j], x[:, :, :, rows, columns])
            y += part.reshape(y.shape)
    result = CHAINS[chain][1](y, c, r)
    return result.transpose(0, 2, 3, 1) if data == "NHWC" else result


def check(function, chain: str, case: tuple[int, ...], data: str) -> np.ndarray:
    arrays = inputs(case, data)
    got = np.asarray(function(*arrays))
    np.testing.assert_allclose(got, expected(chain, case, arrays, data), rtol=2e-4, atol=2e-4)
    return got


@pytest.mark.parametrize("name", CASES)
def test_numbers(name: str) -> None:
    # A chain and a layout for each case, so that all of them meet.
    position = list(CASES).index(name)
    chains = list(CHAINS)
    for data, chain in (("NCHW", chains[position % 5]), ("NHWC", chains[(position + 2) % 5])):
        built = relax.build(program(chain, CASES[name], data))
        check(relax.VirtualMachine(built)["main"], chain, CASES[name], data)


@pytest.mark.parametrize("chain", CHAINS)
def test_one_kernel_for_all_sizes(chain: str) -> None:
    lowered = lower(program(chain, CASES["rests"], "NCHW", dynamic=True), "symbol-dce", target=AVX2)
    assert str(lowered.mlir_module).count("tir.prim_func") == 1
    built = relax.build(program(chain, CASES["rests"], "NCHW", dynamic=True))
    function = relax.VirtualMachine(built)["main"]
    for n, h, w in ((2, 13, 11), (1, 1, 2), (1, 20, 70)):
        check(function, chain, (n, *CASES["rests"][1:3], h, w, *CASES["rests"][5:]), "NCHW")


@pytest.mark.parametrize("name", ["tile", "planes"])
def test_same_bits_with_threads(name: str) -> None:
    n, ci, co, *rest = CASES[name]
    case = (4 * n, ci, co, 31, *rest[1:])
    results = []
    for threads in (1, 2):
        built = relax.build(program("bias_relu", case, "NCHW"), with_threads(threads))
        results.append(check(relax.VirtualMachine(built)["main"], "bias_relu", case, "NCHW"))
    assert results[0].tobytes() == results[1].tobytes()


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize(
    "geometry", [(31, 29, 3, 1, 1), (9, 70, 5, 2, 2), (8, 8, 2, 2, 0), (9, 5, 3, 2, 1)]
)
def test_pooled_planes(kind: str, geometry: tuple[int, int, int, int, int]) -> None:
    h, w, size, stride, padding = geometry
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((2, 3, h, w), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            pool = getattr(relax.op.nn, f"{kind}_pool2d")
            result = builder.emit_output(
                pool(x, pool_size=(size, size), strides=(stride,) * 2, padding=(padding,) * 2)
            )
        builder.emit_func_output(result)
    data = np.random.default_rng(size).standard_normal((2, 3, h, w)).astype("float32") - 3
    data[0, 0, 0, 0], data[1, 1, 2, 3] = -np.inf, np.inf
    around = ((0, 0), (0, 0), (padding, padding), (padding, padding))
    padded = np.pad(data, around, constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), (2, 3))
    windows = windows[:, :, ::stride, ::stride]
    want = (np.nanmax if kind == "max" else np.nanmean)(windows, axis=(-1, -2))
    got = np.asarray(relax.VirtualMachine(relax.build(builder.get()))["main"](data))
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
