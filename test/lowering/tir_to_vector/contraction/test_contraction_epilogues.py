"""What follows a contraction runs on its sums in registers: one kernel, the same numbers."""

from functools import partial

import numpy as np
import pytest
from targets import AVX2, with_threads
from thread_counts import bits, check_bits

from relax_mlir import relax, script
from relax_mlir.compiler.pipeline import lower
from relax_mlir.lowering.tir_to_vector import parallel_region

# Few rows, one block of k and several, rests of rows and columns, nothing.
SHAPES = (
    (1, 70, 33),
    (3, 5, 7),
    (37, 61, 129),
    (14, 1100, 40),
    (50, 390, 70),
    (5, 0, 9),
    (0, 3, 4),
)
# What follows `y`, where c is a row, d a column and r a matrix, and the same in numpy.
CHAINS = {
    "bias_relu": (("z = R.add(y, c)", "u = R.nn.relu(z)"), lambda y, c, d, r: np.maximum(y + c, 0)),
    "residual": (("z = R.add(r, y)", "u = R.multiply(z, d)"), lambda y, c, d, r: (r + y) * d),
    "function": (("z = R.add(y, c)", "u = R.tanh(z)"), lambda y, c, d, r: np.tanh(y + c)),
    "twice": (("z = R.multiply(y, y)", "u = R.add(z, y)"), lambda y, c, d, r: y * y + y),
    "gate": (("z = R.sigmoid(y)", "u = R.multiply(z, r)"), lambda y, c, d, r: r / (1 + np.exp(-y))),
    "cast": (("z = R.add(y, c)", 'u = R.astype(z, "float64")'), lambda y, c, d, r: y + c),
}  # fmt: skip
PROGRAM = """
@I.ir_module
class Program:
    @R.function
    def main(x: R.Tensor({a}, "{t}"), w: R.Tensor({b}, "{t}"), c: R.Tensor(({n},), "{t}"),
             d: R.Tensor(({m}, 1), "{t}"), r: R.Tensor({o}, "{t}")):
        with R.dataflow():
            y = R.matmul(x, w)
            {first}
            {second}
            R.output(u)
        return u
"""


def program(chain: str, shape: tuple[int, int, int] | None, dtype: str = "float32"):
    m, k, n = shape or ('"m"', '"k"', '"n"')
    first, second = CHAINS[chain][0]
    return script.from_source(
        PROGRAM.format(
            a=f"({m}, {k})", b=f"({k}, {n})", o=f"({m}, {n})", m=m, n=n, t=dtype,
            first=first, second=second,
        )
    )  # fmt: skip


def inputs(shape: tuple[int, int, int], dtype: str = "float32") -> list[np.ndarray]:
    m, k, n = shape
    rng = np.random.default_rng(m + k + n)
    sizes = ((m, k), (k, n), (n,), (m, 1), (m, n))
    return [(rng.standard_normal(size) * 0.3).astype(dtype) for size in sizes]


def check(function, chain: str, shape: tuple[int, int, int], dtype: str = "float32") -> None:
    x, w, c, d, r = inputs(shape, dtype)
    wide = [each.astype("f8") for each in (x, w, c, d, r)]
    want = CHAINS[chain][1](wide[0] @ wide[1], *wide[2:])
    tolerance = 3e-2 if dtype == "float16" else 2e-4
    got = np.asarray(function(x, w, c, d, r))
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=str(shape))


@pytest.mark.parametrize("chain", CHAINS)
def test_one_kernel(chain: str) -> None:
    lowered = lower(program(chain, None), "symbol-dce", target=AVX2)
    assert str(lowered.mlir_module).count("tir.prim_func") == 1


@pytest.mark.parametrize("chain", CHAINS)
def test_numbers(chain: str) -> None:
    if chain in ("bias_relu", "function"):
        dynamic = relax.VirtualMachine(relax.build(program(chain, None)))["main"]
        for shape in SHAPES:
            check(dynamic, chain, shape)
    for shape in (SHAPES[0], SHAPES[2], SHAPES[3]):
        check(relax.VirtualMachine(relax.build(program(chain, shape)))["main"], chain, shape)


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_other_types(dtype: str) -> None:
    dynamic = relax.VirtualMachine(relax.build(program("bias_relu", None, dtype)))["main"]
    for shape in SHAPES:
        check(dynamic, "bias_relu", shape, dtype)


def test_special_values_pass_through() -> None:
    shape = (14, 1100, 40)
    function = relax.VirtualMachine(relax.build(program("bias_relu", shape)))["main"]
    x, w, c, d, r = inputs(shape)
    c[:4] = np.nan, np.inf, -np.inf, 1e-42
    x[0] = 0
    got = np.asarray(function(x, w, c, d, r))
    assert np.isnan(got[:, 0]).all()
    assert np.isinf(got[:, 1]).all()
    assert (got[:, 2] == 0).all()
    assert got[0, 3] == np.float32(1e-42)


def test_result_used_elsewhere_is_kept() -> None:
    source = """
@I.ir_module
class Program:
    @R.function
    def main(x: R.Tensor(("m", "k"), "float32"), w: R.Tensor(("k", "n"), "float32")):
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.exp(y)
            R.output(y, z)
        return (y, z)
"""
    function = relax.VirtualMachine(relax.build(script.from_source(source)))["main"]
    x, w, *_ = inputs((13, 20, 30))
    y, z = (np.asarray(each) for each in function(x, w))
    np.testing.assert_allclose(y, x @ w, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(z, np.exp(x @ w), rtol=1e-4)


def test_same_bits_on_any_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    for chain, shape in (("bias_relu", (50, 390, 170)), ("function", (14, 1100, 70))):
        module, arguments = program(chain, shape), inputs(shape)
        serial = relax.VirtualMachine(relax.build(module))["main"]
        threaded = relax.VirtualMachine(relax.build(module, with_threads(4)))["main"]
        check_bits(partial(bits, threaded, *arguments), bits(serial, *arguments))


def test_inputs_may_be_one_array_and_read_only() -> None:
    source = """
@I.ir_module
class Program:
    @R.function
    def main(x: R.Tensor(("m", "m"), "float32"), w: R.Tensor(("m", "m"), "float32")):
        with R.dataflow():
            y = R.matmul(x, w)
            R.output(y)
        return y
"""
    function = relax.VirtualMachine(relax.build(script.from_source(source)))["main"]
    x = np.arange(400, dtype=np.float32).reshape(20, 20)
    x.setflags(write=False)
    np.testing.assert_array_equal(np.asarray(function(x, x)), x @ x)
