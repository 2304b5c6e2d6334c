"""Quantize and dequantize against numpy: dtypes, scales of all and of channels, in products."""

from itertools import product

import numpy as np
import pytest
from op_cases import EMPTY, SIZES, Case, run_cases
from samples import INTEGERS, edges, sample
from targets import AVX2

from relax_mlir import relax
from relax_mlir.compiler.pipeline import lower
from relax_mlir.dialects.context import default_context
from relax_mlir.dialects.relax.infer import InferError
from relax_mlir.script import from_source, script

pytestmark = pytest.mark.unoptimized

HALF_LIMITS = {"float16": 65504.0}


def quantized(x, scale, zero, axis, dtype):
    wide = np.float64 if "float64" in (x.dtype, scale.dtype) else np.float32
    scale, zero = (along(each, x, axis).astype(wide) for each in (scale, zero))
    value = np.round(x.astype(wide) / scale) + zero
    limits = np.iinfo(dtype)
    # Python's integers, as the largest of 64 bits are none of a float.
    flat = [
        0 if np.isnan(v) else limits.min if v < limits.min else
        limits.max if v > limits.max else int(v)
        for v in value.ravel()
    ]  # fmt: skip
    return np.array(flat, dtype).reshape(x.shape)


def dequantized(x, scale, zero, axis, dtype):
    wide = np.float64 if "float64" in (x.dtype, scale.dtype, dtype) else np.float32
    scale, zero = along(scale, x, axis).astype(wide), along(zero, x, axis)
    floats = "f" in (x.dtype.kind, zero.dtype.kind)
    exact = wide if floats else np.float64 if max(x.itemsize, zero.itemsize) > 4 else np.int64
    value = (x.astype(exact) - zero.astype(exact)).astype(wide) * scale
    limit = HALF_LIMITS.get(dtype)
    return (value if limit is None else np.clip(value, -limit, limit)).astype(dtype)


def along(parameter, x, axis):
    if parameter.size == 1:
        return parameter.reshape(())
    return parameter.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])


def data(shape, dtype, place):
    """Return data that begin with the edges of their dtype; scales are not near zero."""
    values = sample(shape, dtype, place, 40.0)
    if place == 1:
        return (np.abs(values) + 0.25).astype(dtype)
    if place == 2 and dtype != "float32":
        return np.random.default_rng(7).integers(0, 9, shape).astype(dtype)
    if place == 0:
        flat = values.reshape(-1)
        special = edges(dtype)[: flat.size]
        flat[: special.size] = special
    return values


def case(name, inputs, axis, dtype, sizes=(*SIZES, *EMPTY)):
    function = quantized if name == "quantize" else dequantized

    def reference(x, s, z, **_):
        return function(x, s, z, axis, dtype)

    return Case(name, inputs, reference, {"axis": axis, "out_dtype": dtype}, sizes=sizes, data=data)


def test_quantize() -> None:
    cases = [
        case("quantize", [(["n", "m"], source), (["m"], "float32"), (["m"], zero)], -1, target)
        for (source, zero), target in zip(
            [*product(("float16", "float32", "float64"), ("int8", "int32")), ("float32", "uint8"),
             ("float32", "float32")], INTEGERS, strict=True)
    ]  # fmt: skip
    cases += [
        case("quantize", [(["n", "m", "k"], "float32"), (["n"], "float16"), ([1], "uint8")], 0,
             "uint8"),
        case("quantize", [(["n", "m"], "float32"), ([], "float32"), (["n"], "int8")], -2, "int16"),
        case("quantize", [([], "float32"), ([1, 1], "float32"), ([], "int8")], 0, "int8"),
    ]  # fmt: skip
    run_cases(cases)


def test_dequantize() -> None:
    pairs = [*zip(INTEGERS, (*INTEGERS[1:], "int8"), strict=True), ("float16", "float32")]
    targets = ("float32", "float16", "float64")
    cases = [
        case("dequantize", [(["n", "m"], source), (["m"], "float32"), (["m"], zero)], 1,
             targets[i % 3])
        for i, (source, zero) in enumerate(pairs)
    ]  # fmt: skip
    cases += [
        case("dequantize", [(["n", "m"], "int8"), (["n"], "float64"), ([], "int8")], 0, "float32"),
        case("dequantize", [(["n", "m"], "uint8"), ([1], "float16"), ([1], "float16")], 0,
             "float16"),
    ]  # fmt: skip
    run_cases(cases)


QUANTISED = """
@I.ir_module
class Module:
    @R.function
    def weights(x: R.Tensor(("n", 256), "{dtype}")):
        with R.dataflow():
            w = R.dequantize(R.const(W), R.const(S), R.const(Z), axis=1, out_dtype="{dtype}")
            y = R.matmul(x, w)
            R.output(y)
        return y

    @R.function
    def single(x: R.Tensor(("n", 256), "{dtype}")):
        with R.dataflow():
            w = R.dequantize(R.const(W), R.const(0.5, "float32"), R.const(3, "int8"),
                             out_dtype="{dtype}")
            y = R.matmul(x, w)
            R.output(y)
        return y
"""


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_weights_stay_small(dtype: str) -> None:
    """The product reads the integers in panels; nothing of their size is made of floats."""
    rng = np.random.default_rng(3)
    w = rng.integers(-128, 128, (256, 320)).astype("int8")
    s, z = rng.random(320).astype("float32"), rng.integers(-9, 9, 320).astype("int8")
    mod = from_source(QUANTISED.format(dtype=dtype), {"W": w, "S": s, "Z": z})
    packed = str(lower(mod, "PackWeights", target=AVX2).mlir_module)
    calls = [line for line in packed.splitlines() if '"relax.call_tir"' in line]
    assert len(calls) == 2, calls
    assert all("_packed" in line and "xi8>" in line for line in calls)
    vm = relax.VirtualMachine(relax.build(mod))
    for rows in (0, 1, 7, 33):
        x = rng.normal(size=(rows, 256)).astype(dtype)
        wide = x.astype("float64")
        for name, weights in (
            ("weights", (w.astype("float64") - z) * s), ("single", (w.astype("float64") - 3) * 0.5),
        ):  # fmt: skip
            tolerance = {"float32": 1e-5, "float16": 2e-3}[dtype] * 1000
            np.testing.assert_allclose(vm[name](x), wide @ weights, atol=tolerance, rtol=1e-2)


def test_script() -> None:
    text = """
@R.function
def main(x: R.Tensor(("n", 4), "float32"), s: R.Tensor((4,), "float32")):
    with R.dataflow():
        q = R.quantize(x, s, 3, axis=1, out_dtype="uint8")
        y = R.dequantize(q, s, R.const(3, "int32"), 1)
        R.output(y)
    return y
"""
    printed = script(from_source(text))
    assert 'R.quantize(x, s, R.const(3, "int32"), axis=1, out_dtype="uint8")' in printed
    assert script(from_source(printed)) == printed


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("R.quantize(i, s, z)", "data must have a floating-point dtype, got int8"),
        ("R.quantize(x, z, z)", "scale must have a floating-point dtype, got int8"),
        ("R.quantize(x, s, b)", "zero_point must have a numeric dtype, got bool"),
        ("R.quantize(x, x, z)", "scale must have one element or one dimension, got 2"),
        ("R.quantize(x, s, z, axis=0)", "zero_point has 4 elements for 3 along axis 0"),
        ("R.quantize(x, s, z, axis=2)", "axis 2 is out of range"),
        ('R.quantize(x, s, z, out_dtype="float32")', "out_dtype must have an integer dtype"),
        ('R.dequantize(x, s, z, out_dtype="int8")', "out_dtype must have a floating-point dtype"),
        ('R.dequantize(i, s, z, out_dtype="flot32")', "unknown dtype 'flot32'"),
    ],
)
def test_refused(call: str, message: str) -> None:
    text = f"""
@R.function
def main(x: R.Tensor((3, 4), "float32"), i: R.Tensor((3, 4), "int8"),
         s: R.Tensor((), "float32"), z: R.Tensor((4,), "int8"), b: R.Tensor((), "bool")):
    y = {call}
    return y
"""
    with default_context(), pytest.raises((InferError, ValueError, SyntaxError), match=message):
        from_source(text)
