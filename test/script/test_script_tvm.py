"""Programs as TVM prints them are read, mean the same and print in its spelling."""

# ruff: noqa: E501

from typing import Any

import numpy as np
import pytest
from scripts import assembly, round_trip
from tvm_scripts import PRINTED

from relax_mlir import relax
from relax_mlir.errors import ScriptError
from relax_mlir.script import from_source

RNG = np.random.default_rng(0)


def run(name: str, *args: np.ndarray) -> Any:
    return relax.VirtualMachine(relax.build(from_source(PRINTED[name])))["main"](*args)


def random(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


@pytest.mark.parametrize("name", PRINTED)
def test_round_trip(name: str) -> None:
    printed = round_trip(PRINTED[name])
    assert "        cls = Module\n" in printed
    assert round_trip(printed) == printed


@pytest.mark.parametrize("n", [0, 1, 13])
def test_matmul_add_relu(n: int) -> None:
    x, w, b = random(n, 7), random(7, 5), random(5)
    found = run("matmul_add_relu", x, w, b)
    np.testing.assert_allclose(found, np.maximum(x @ w + b, 0), rtol=1e-5, atol=1e-6)


def test_softmax() -> None:
    x = random(3, 11)
    powers = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(run("softmax", x), powers / powers.sum(1, keepdims=True), rtol=1e-5)


def test_layer_norm() -> None:
    x, gamma, beta = random(2, 3, 7), random(7), random(7)
    mean, variance = x.mean(2, keepdims=True), x.var(2, keepdims=True)
    expected = (x - mean) / np.sqrt(variance + 1e-5) * gamma + beta
    np.testing.assert_allclose(run("layer_norm", x, gamma, beta), expected, rtol=1e-4, atol=1e-5)


def test_transpose_reshape() -> None:
    x = random(3, 5)
    np.testing.assert_array_equal(run("transpose_reshape", x), x.T.reshape(15))


@pytest.mark.parametrize("n", [1, 12, 17])
def test_scheduled(n: int) -> None:
    x, y = random(1, n), random(10)
    padded, (numbers, values) = run("scheduled", x, y)
    np.testing.assert_array_equal(padded, np.pad(x, ((0, 0), (2, 2)), constant_values=0.5))
    b = np.clip(np.arange(10) - 3, 0, 4)
    c = b * y[::-1] + np.arange(10) // 2 * 2
    c[8:] += 1
    b[8 // 3], b[9 // 3] = 8, 0
    b[2] = 8
    np.testing.assert_array_equal(numbers, b)
    np.testing.assert_allclose(values, c, rtol=1e-5)


HEAD = "from tvm.script import tir as T\n@T.prim_func\n"


def body(text: str) -> str:
    """Return a function over float32 A[8], int64 B[8] and bool C[8]."""
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    params = ", ".join(f'{b}: T.Buffer((8,), "{d}")' for b, d in
                       (("A", "float32"), ("B", "int64"), ("C", "bool")))  # fmt: skip
    return f"{HEAD}def f({params}):\n{lines}"


@pytest.mark.parametrize(
    ("typed", "plain"),
    [
        ("for i in range(T.int64(8)):", "for i in range(8):"),
        ("for i in T.serial(T.int64(2), T.int64(8)):", "for i in range(2, 8):"),
        ("for i in T.serial(T.int32(8)):", "for i in range(8):"),
        ('for i in T.parallel(T.IntImm("int64", 8)):', "for i in T.parallel(8):"),
        ("for i in T.unroll(T.int64(2) * T.int64(4)):", "for i in T.unroll(8):"),
        ("for i in range(T.max(T.int64(8), T.int64(4))):", "for i in range(T.max(8, 4)):"),
        ("for i in T.serial(T.int64(1), T.int64(8), step=T.int64(3)):", "for i in range(1, 8, 3):"),
        ("for i in T.grid(T.int64(8)):", "for i in T.grid(8):"),
    ],
)
def test_typed_extents(typed: str, plain: str) -> None:
    first, second = (from_source(body(f"{text}\n    A[i] = A[i] * 2.0")) for text in (typed, plain))
    assert assembly(first) == assembly(second)


@pytest.mark.parametrize(
    ("typed", "plain"),
    [
        ("A[i] = A[i * T.int64(1) + T.int64(0)]", "A[i] = A[i * 1 + 0]"),
        ("A[T.int64(3)] = A[T.min(i, T.int64(3))]", "A[3] = A[T.min(i, 3)]"),
        ("A[i] = A[i // T.int64(2)] + A[i % T.int64(3)]", "A[i] = A[i // 2] + A[i % 3]"),
        ("A[i] = A[T.floordiv(i, T.int64(2))]", "A[i] = A[T.floordiv(i, 2)]"),
        ("A[i] = A[T.truncdiv(i, T.int64(2))]", "A[i] = A[T.truncdiv(i, 2)]"),
        ("A[i] = A[T.floormod(i, T.int64(2))]", "A[i] = A[T.floormod(i, 2)]"),
        ("A[i] = T.Select(i < T.int64(3), A[i], T.float32(0))", "A[i] = T.Select(i < 3, A[i], 0.0)"),
        ("B[i] = T.if_then_else(i < T.int64(3), i, T.int64(0))", "B[i] = T.if_then_else(i < 3, i, 0)"),
        ("B[i] = T.max(B[i], T.int64(3))", "B[i] = T.max(B[i], 3)"),
        ('B[i] = T.Cast("int64", A[i]) + T.int64(1)', 'B[i] = T.cast(A[i], "int64") + 1'),
        ("C[i] = T.bool(True)", "C[i] = True"),
        ("A[i] = A[i] + T.float32(1.0e-5)", "A[i] = A[i] + 1.0e-5"),
        ('A[i] = A[i] * T.FloatImm("float32", 0.5)', "A[i] = A[i] * 0.5"),
        ('A[i] = T.max(A[i], T.min_value("float32"))', "A[i] = T.max(A[i], -3.4028234663852886e38)"),
        ("A[i] = T.Cast(\"float32\", i + T.int64(1))", 'A[i] = T.cast(i + 1, "float32")'),
        ("A[i] = T.exp(A[i]) + T.tanh(A[i]) + T.Add(A[i], A[i])", "A[i] = T.exp(A[i]) + T.tanh(A[i]) + (A[i] + A[i])"),
    ],
)  # fmt: skip
def test_typed_expressions(typed: str, plain: str) -> None:
    first, second = (
        from_source(body(f"for i in range(8):\n    {text}")) for text in (typed, plain)
    )
    assert assembly(first) == assembly(second)


def test_typed_shapes() -> None:
    text = """
@T.prim_func
def f(a: T.handle, B: T.Buffer((T.int64(8), T.Mul), "float32")):
    n = T.int64()
    A = T.match_buffer(a, (n, MAX, T.Cast("int64", n) * T.int64(2)), "float32")
    S = T.alloc_buffer((n, T.IntImm("int64", 4)), "float32")
    for i in range(T.min(n, T.int64(8))):
        with T.block("S"):
            vi = T.axis.spatial(T.int64(8), i)
            vk = T.axis.reduce(T.int64(1), T.int64(0))
            S[vi, vk] = A[vi, vk, T.int64(0)] + B[vi, vk]
"""
    typed = text.replace("T.Mul", "T.int64(2)").replace("MAX", "T.max(T.int64(4), T.int64(3))")
    plain = text.replace("T.Mul", "2").replace("MAX", "4").replace('T.Cast("int64", n)', "n")
    plain = plain.replace("T.int64(8)", "8").replace('T.IntImm("int64", 4)', "4")
    first, second = (from_source("from tvm.script import tir as T\n" + t) for t in (typed, plain))
    assert assembly(first) == assembly(second)


def test_dtypes_of_constants_still_matter() -> None:
    with pytest.raises(ScriptError, match="holds int64, got a value of int32"):
        from_source(body("B[0] = T.int32(1)"))
    with pytest.raises(ScriptError, match="the step of a loop must be a positive integer"):
        from_source(body("for i in range(8, 0, -1):\n    A[i] = 0.0"))
    with pytest.raises(ScriptError, match="must be an integer"):
        from_source(body("for i in range(T.float32(8)):\n    A[i] = 0.0"))


def test_func_attr_literals() -> None:
    text = body('T.func_attr({"tir.noalias": T.bool(True), "op_pattern": T.int64(4)})\nA[0] = 0.0')
    printed = round_trip(text)
    assert 'T.func_attr({"tir.noalias": True, "op_pattern": 4})' in printed
