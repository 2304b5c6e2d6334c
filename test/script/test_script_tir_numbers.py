"""Numbers of the TIR language: every dtype as buffers, parameters, counters and choices."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tir_language import read, run, source

from relax_mlir import ir, relax, tir
from relax_mlir.errors import ArgumentTypeError, ScriptError
from relax_mlir.script import from_source

DTYPES = {
    "float16": -1.5, "bfloat16": -1.5, "float32": 1.25, "float64": 1e300, "int8": -7, "int16": -300,
    "int32": -70000, "int64": -(2**40), "uint8": 250, "uint16": 65000, "uint32": 4000000000,
    "uint64": 2**62, "bool": True,
}  # fmt: skip


def numpy_dtype(name: str) -> Any:
    return getattr(ml_dtypes, name) if name == "bfloat16" else np.dtype(name)


@pytest.fixture(scope="module")
def numbers() -> relax.VirtualMachine:
    parts = []
    for dtype in DTYPES:
        value = "alpha" if dtype == "bool" else "A[i] - alpha"
        signature = f'A: T.Buffer((5,), "{dtype}"), alpha: T.{dtype}, B: T.Buffer((5,), "{dtype}")'
        parts.append(source(f"f_{dtype}", signature, f"for i in range(5):\n    B[i] = {value}"))
        back = f'A: T.Buffer((5,), "{dtype}"), B: T.Buffer((5,), "float64")'
        body = 'for i in range(5):\n    B[i] = T.Cast("float64", A[i])'
        parts.append(source(f"to_{dtype}", back, body))
    return relax.VirtualMachine(relax.build(read("\n".join(parts))))


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_of_every_dtype(numbers: relax.VirtualMachine, dtype: str) -> None:
    """Buffers and parameters: a number in the middle of the parameters, as Python's."""
    kind, value = numpy_dtype(dtype), DTYPES[dtype]
    a, b = np.arange(5).astype(kind), np.zeros(5, kind)
    numbers[f"f_{dtype}"](a, value, b)
    scalar = np.array(value).astype(kind)
    expected = np.broadcast_to(scalar, 5) if dtype == "bool" else a - scalar
    np.testing.assert_array_equal(b, expected)
    if dtype != "bfloat16":
        numbers[f"f_{dtype}"](a, kind.type(value), b)
        np.testing.assert_array_equal(b, expected)
    wide = np.zeros(5)
    numbers[f"to_{dtype}"](b, wide)
    np.testing.assert_array_equal(wide, b.astype("float64"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_numbers_are_rounded_once(numbers: relax.VirtualMachine, dtype: str) -> None:
    kind = numpy_dtype(dtype)
    rng = np.random.default_rng(0)
    near = [1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-8 + 2.0**-30, 1e-8, 3e-41, 65520.0, 65519.99, 1e39]
    special = [np.inf, -np.inf, np.nan, -0.0, *rng.standard_normal(20)]
    b = np.zeros(5, kind)
    for value in [*near, *special]:
        numbers[f"f_{dtype}"](np.zeros(5, kind), float(value), b)
        # ml_dtypes rounds by way of float32; a number that float32 holds is rounded once.
        expected = -np.array(value).astype(kind) if dtype == "float16" else None
        if expected is None and float(np.float32(value)) == value:
            expected = -np.array(value).astype(kind)
        if expected is not None:
            np.testing.assert_array_equal(b, np.broadcast_to(expected, 5))


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        (("x", 1), ArgumentTypeError, "argument 'a': expected a number"),
        ((None, 1), ArgumentTypeError, "argument 'a': expected a number"),
        ((1.0, 200), ArgumentTypeError, "argument 'k': expected an integer from -128 to 127"),
        ((1.0, 1.5), ArgumentTypeError, "argument 'k': expected an integer"),
        ((np.zeros(2, "float32"), 1), ArgumentTypeError, "argument 'a': expected a number"),
        ((1.0,), ArgumentTypeError, "expected 3 arguments, got 2"),
    ],
)
def test_wrong_numbers(args: tuple, error: type, message: str) -> None:
    body = source("f", 'B: T.Buffer((1,), "float32"), a: T.float32, k: T.int8', "B[0] = a")
    f = relax.VirtualMachine(relax.build(read(body)))["f"]
    with pytest.raises(error, match=message):
        f(np.zeros(1, "float32"), *args)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_next_numbers(dtype: str) -> None:
    tiny = np.finfo(dtype).smallest_subnormal
    points = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, tiny, -tiny, 2, 3e4], dtype)
    x, y = (side.ravel() for side in np.meshgrid(points, points))
    found = y.copy()
    body = "for i in range(121):\n    B[i] = T.nextafter(A[i], B[i])"
    run(f'A: T.Buffer((121,), "{dtype}"), B: T.Buffer((121,), "{dtype}")', body, x, found)
    expected = np.nextafter(x, y)
    np.testing.assert_array_equal(found, expected)
    # Of equal numbers numpy gives the first in half precision, C the second.
    there = ~np.isnan(expected) & (x != y)
    np.testing.assert_array_equal(np.signbit(found[there]), np.signbit(expected[there]))


@pytest.mark.parametrize(("q", "s"), [(31, -3), (31, 4), (15, 0), (1, 0)])
def test_fixed_point_products(q: int, s: int) -> None:
    x = np.random.default_rng(2).integers(-(2**20), 2**20, 16).astype("int32")
    b = np.zeros(16, "int32")
    body = f"for i in range(16):\n    B[i] = T.q_multiply_shift(A[i], 1395, {q}, {s})"
    run('A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")', body, x, b)
    total = q + max(-s, 0)
    wide = [((int(v) << max(s, 0)) * 1395 + (1 << (total - 1))) >> total for v in x]
    np.testing.assert_array_equal(b, np.array(wide).astype("int32"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_counters_as_numbers_of_every_dtype(dtype: str) -> None:
    text = f"""from relax_mlir.script import tir as T

@T.prim_func
def main(A: T.Buffer((4,), "{dtype}"), B: T.Buffer((4,), "{dtype}")):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] + T.cast(vi, "{dtype}")
"""
    kind = getattr(ml_dtypes, dtype) if dtype == "bfloat16" else np.dtype(dtype)
    a, b = np.ones(4, kind), np.empty(4, kind)
    tir.build(from_source(text))["main"](a, b)
    np.testing.assert_array_equal(b.astype("float64"), [1, 2, 3, 4])


@pytest.mark.parametrize(
    "expression",
    [
        'T.Select(T.cast(A[vi], "uint8") > T.uint8(0), T.cast(A[vi], "uint8"), T.uint8(200))',
        'U[vi] + T.if_then_else(vi < 2, T.cast(A[vi], "uint8"), T.uint8(200))',
        'T.cast(T.if_then_else(vi < 2, A[vi], T.int8(-3)), "uint8")',
        'T.Select(A[vi] > 0, T.Select(A[vi] > 1, T.cast(A[vi], "uint8"), U[vi]), U[0])',
        'T.if_then_else(T.cast(A[vi], "uint8") > U[vi], U[vi], T.cast(A[0], "uint8"))',
        'T.Select(vi < 2, T.cast(A[vi] * 2, "uint8"), T.cast(T.Select(A[vi] > 1, A[vi], A[0]), '
        '"uint8"))',
    ],
)
def test_choices_of_numbers_that_change_their_sign(expression: str) -> None:
    mod = from_source(f"""from relax_mlir.script import tir as T

@T.prim_func
def main(A: T.Buffer((4,), "int8"), U: T.Buffer((4,), "uint8"), B: T.Buffer((4,), "uint8")):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = {expression}
""")
    ir.assert_structural_equal(from_source(mod.script()), mod)


def test_dtypes_of_intrinsics() -> None:
    """`dtype=`, which TVM wrote with every intrinsic up to 0.10, says nothing new or is refused."""
    plain = """
for i in range(4):
    B[i] = T.if_then_else(A[i] > T.float32(0), T.sqrt(A[i]), T.pow(A[i], T.float32(2)))
    C[i] = T.reinterpret("int32", A[i]) + T.popcount(C[i])
    B[i] = B[i] + T.call_extern("float32", "cbrtf", A[i])
"""
    noted = """
for i in range(4):
    B[i] = T.if_then_else(
        A[i] > T.float32(0), T.sqrt(A[i], dtype="float32"),
        T.pow(A[i], T.float32(2), dtype="float32"), dtype="float32")
    C[i] = T.reinterpret(A[i], dtype="int32") + T.popcount(C[i], dtype="int32")
    B[i] = B[i] + T.call_extern("cbrtf", A[i], dtype="float32")
"""
    params = ", ".join(f'{n}: T.Buffer((4,), "{d}")' for n, d in
                       (("A", "float32"), ("B", "float32"), ("C", "int32")))  # fmt: skip
    ir.assert_structural_equal(read(source("f", params, plain)), read(source("f", params, noted)))
    for body, message in (
        ('B[0] = T.exp(A[0], dtype="float64")', "T.exp gives float32 here, not float64; cast it"),
        ('B[0] = T.exp(A[0], dtype="float3")', "unknown dtype 'float3'"),
        ("B[0] = T.exp(A[0], where=A)", "T.exp takes 1 argument, got 1 and where="),
    ):
        with pytest.raises(ScriptError, match=message):
            read(source("f", params, body))


def test_floats_cast_to_signed_numbers_beside_unsigned_ones() -> None:
    """A cast to the sign of what stands beside it would lose negative numbers."""
    module = read(source("f", 'A: T.Buffer((2,), "uint8"), X: T.Buffer((2,), "float32"), '
                         'B: T.Buffer((2,), "int8")', """
        for i in range(2):
            B[i] = T.Cast("int8", A[i]) - T.Cast("int8", X[i])
    """))  # fmt: skip
    assert 'T.Cast("int8", X[i])' in module.script()


MIXED = {
    "A[i] + B[i]": lambda a, b, c, d, i: a + b,
    "B[i] * i - (i + 1) / B[i]": lambda a, b, c, d, i: b * i - (i + 1) / b,
    "T.max(A[i], T.float64(0.5))": lambda a, b, c, d, i: np.maximum(a, 0.5),
    "T.if_then_else(A[i] < B[i], A[i], B[i])": lambda a, b, c, d, i: np.where(a < b, a, b),
    "T.Select(C[i] < A[i], C[i], D[i])": lambda a, b, c, d, i: np.where(c < a, c, d),
    "C[i] + D[i]": lambda a, b, c, d, i: (c + d.astype("int8")).astype("int8"),
    "C[i] * A[i]": lambda a, b, c, d, i: c * a,
    "(C[i] > 0) + D[i]": lambda a, b, c, d, i: (c > 0) + d,
}


def test_operands_of_different_dtypes_are_converted_as_tvm_does_it() -> None:
    arrays = [
        np.array([-3, 0, 2, 7, 70000], "int32"), np.array([0.5, -1, 2, 8, 1e6], "float32"),
        np.array([-5, 1, 2, 100, 3], "int8"), np.array([1, 0, 2, 20, 250], "uint8"),
    ]  # fmt: skip
    signature = ", ".join(
        f'{name}: T.Buffer((5,), "{array.dtype}")'
        for name, array in zip("ABCD", arrays, strict=True)
    )
    stores = "".join(f'    E[{k}, i] = T.cast({text}, "float64")\n' for k, text in enumerate(MIXED))
    got = np.empty((len(MIXED), 5))
    body = f"for i in range(5):\n{stores}"
    run(f'{signature}, E: T.Buffer(({len(MIXED)}, 5), "float64")', body, *arrays, got)
    for row, expected in zip(got, MIXED.values(), strict=True):
        np.testing.assert_allclose(row, expected(*arrays, np.arange(5)), rtol=1e-6)
    with pytest.raises(ScriptError, match="neither of float16 and bfloat16 holds the other"):
        run('A: T.Buffer((1,), "float32")', "A[0] = T.float16(1) * T.bfloat16(2)", arrays[1])
