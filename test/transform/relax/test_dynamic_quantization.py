"""Products of int8 numbers that are quantized at run time: what they lose, and no more."""

from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

from relax_mlir import relax, transform
from relax_mlir.errors import PassError
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

RNG = np.random.default_rng(5)


def weight(*shape: int, dtype: Any = "float32") -> np.ndarray:
    """Return numbers of another size in each column, one column of zeros among them."""
    scales = 10.0 ** RNG.integers(-3, 3, shape[-1])
    scales[0] = 0
    return (RNG.normal(size=shape) * scales).astype(dtype)


W, BATCH, ROWS = weight(67, 35), weight(3, 17, 5), weight(7, 33, dtype="float16")
BIAS = RNG.normal(size=7).astype("float16")
BF16 = weight(16, 9, dtype=ml_dtypes.bfloat16)
OIHW, HWIO = weight(6, 4, 3, 3), weight(3, 3, 4, 6)


@I.ir_module
class Products:
    @R.function
    def matrix(x: R.Tensor(("n", 67), "float32")):
        with R.dataflow():
            y = R.matmul(x, R.const(W))
            R.output(y)
        return y

    @R.function
    def vector(x: R.Tensor((67,), "float32")):
        return R.matmul(x, R.const(W))

    @R.function
    def batches(x: R.Tensor(("n", 3, 2, 17), "float32")):
        return R.matmul(x, R.const(BATCH))

    @R.function
    def linear(x: R.Tensor(("n", 33), "float16")):
        return R.nn.linear(x, R.const(ROWS), R.const(BIAS))

    @R.function
    def brain(x: R.Tensor(("n", 16), "bfloat16")):
        return R.matmul(x, R.const(BF16), out_dtype="float32")

    @R.function
    def images(x: R.Tensor(("n", 4, 5, 6), "float32")):
        return R.nn.conv2d(x, R.const(OIHW), padding=1, out_layout="NHWC")

    @R.function
    def last(x: R.Tensor(("n", 5, 6, 4), "float32")):
        return R.nn.conv2d(x, R.const(HWIO), data_layout="NHWC", kernel_layout="HWIO")


def quantized(x: np.ndarray, axes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return what int8 keeps of numbers, and half the distance of two of them."""
    x = x.astype("float32")
    size = np.abs(x).max(axis=axes, keepdims=True, initial=0)
    scale = np.maximum(size * np.float32(1 / 127), np.finfo("float32").tiny)
    return np.round(x / scale) * scale.astype("float64"), scale / 2


def windows(x: np.ndarray, w: np.ndarray, pad: int) -> np.ndarray:
    """Return a convolution of NHWC by HWIO."""
    x = np.pad(x, [(0, 0), (pad, pad), (pad, pad), (0, 0)])
    seen = np.lib.stride_tricks.sliding_window_view(x, w.shape[:2], axis=(1, 2))
    return np.einsum("nabcij,ijco->nabo", seen, w)


class Case(NamedTuple):
    shape: tuple[int, ...]
    dtype: Any
    weight: np.ndarray
    # Axes of the input and of the weight whose numbers share a scale.
    axes: tuple[Any, Any]
    product: Callable[[np.ndarray, np.ndarray], np.ndarray]
    rounding: float = 1e-6


IMAGE = (1, 2, 3)
CASES = {
    "matrix": Case((67,), "float32", W, (-1, -2), np.matmul),
    "batches": Case((3, 2, 17), "float32", BATCH, (-1, -2), np.matmul),
    "linear": Case((33,), "float16", ROWS.T, (-1, -2), np.matmul, 1e-3),
    "brain": Case((16,), ml_dtypes.bfloat16, BF16, (-1, -2), np.matmul),
    "images": Case(
        (4, 5, 6), "float32", OIHW, (IMAGE, IMAGE),
        lambda x, w: windows(x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0), 1),
    ),
    "last": Case((5, 6, 4), "float32", HWIO, (IMAGE, (0, 1, 2)), lambda x, w: windows(x, w, 0)),
}  # fmt: skip


@pytest.fixture(scope="module")
def machine() -> relax.VirtualMachine:
    return relax.VirtualMachine(relax.build(transform.ToMixedPrecision(dtype="int8")(Products)))


@pytest.mark.codegen
@pytest.mark.parametrize("name", CASES)
def test_numbers(name: str, machine: relax.VirtualMachine) -> None:
    case = CASES[name]
    bias = BIAS.astype("float64") if name == "linear" else 0
    for n in (0, 1, 7, 40):
        # Rows of different sizes, the last of zeros.
        rows = (10.0 ** (np.arange(n) % 5 - 2)).reshape(n, *[1] * len(case.shape))
        rows[-1:] = 0
        x = (RNG.normal(size=(n, *case.shape)) * rows).astype(case.dtype)
        got = np.asarray(machine[name](x).numpy(), "float64")
        (xq, dx), (wq, dw) = (
            quantized(a, i) for a, i in zip((x, case.weight), case.axes, strict=True)
        )
        exact, w = x.astype("float64"), case.weight.astype("float64")
        want, size = case.product(xq, wq) + bias, case.product(abs(xq), abs(wq)) + abs(bias)
        assert got.shape == want.shape
        assert (abs(got - want) <= case.rounding * size).all(), n
        bound = case.product(abs(exact) + dx, abs(w) + dw) - case.product(abs(exact), abs(w))
        error = abs(got - bias - case.product(exact, w))
        assert (error <= bound * 1.001 + case.rounding * size).all(), n


@pytest.mark.codegen
def test_vector_and_rows_that_are_not_finite(machine: relax.VirtualMachine) -> None:
    x = RNG.normal(size=(4, 67)).astype("float32")
    rows = machine["matrix"](x).numpy()
    np.testing.assert_allclose(machine["vector"](x[2]).numpy(), rows[2], rtol=1e-6)
    x[1, 3], x[2, 5] = np.nan, np.inf
    got = machine["matrix"](x).numpy()
    np.testing.assert_array_equal(got[[0, 3]], rows[[0, 3]])
    assert not np.isfinite(got[1:3]).any()


@pytest.mark.codegen
def test_weights_that_are_parameters() -> None:
    @I.ir_module
    class Program:
        @R.function
        def main(x: R.Tensor(("n", 67), "float32"), w: R.Tensor((35, 67), "float32")):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                y = R.matmul(x, R.permute_dims(w))
                R.output(y)
            return y

    int8 = transform.ToMixedPrecision(dtype="int8")
    lifted = transform.LiftTransformParams()(int8(Program))
    vm = relax.VirtualMachine(relax.build(lifted))
    weights = vm["main_transform_params"]((np.ascontiguousarray(W.T),))
    assert sorted(str(each.dtype) for each in weights) == ["float32", "int8"]
    x = RNG.normal(size=(5, 67)).astype("float32")
    want = quantized(x, -1)[0] @ quantized(W, -2)[0]
    np.testing.assert_allclose(vm["main"](x, *weights).numpy(), want, rtol=1e-4, atol=1e-4)


def test_arguments() -> None:
    with pytest.raises(PassError, match="fp16_input_names are for a half precision"):
        transform.ToMixedPrecision(dtype="int8", fp16_input_names=["x"])(Products)
