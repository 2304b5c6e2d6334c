"""The TIR language construct by construct: printed, read back equal, run against numpy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tir_language import HEAD, read, run, source

from relax_mlir import relax, tir
from relax_mlir.errors import (
    ExecutableFormatError,
    PassError,
    ScriptError,
    ShapeMismatchError,
)
from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import from_source

EIGHT = 'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")'


A = np.array([1.5, -2.0, 3.25, 0.0, -0.5, 7.0, -8.0, 2.0], "float32")

# Body, and what B is then; A is as above, B begins as zeros.
CASES: dict[str, tuple[str, Callable[[], Any]]] = {
    "predicate": ("""
for i, j in T.grid(3, 3):
    with T.block("b"):
        v = T.axis.spatial(8, i * 3 + j)
        T.where(i * 3 + j < 8 and j < 2)
        B[v] = A[v]
""", lambda: np.where(np.arange(8) % 3 < 2, A, 0)),
    "predicate_over_iterators": ("""
for i in range(8):
    with T.block("b"):
        v = T.axis.spatial(8, i)
        T.where(v > 2 and A[v] > T.float32(0))
        B[v] = A[v]
""", lambda: np.where((np.arange(8) > 2) & (A > 0), A, 0)),
    "init_of_a_counter": ("""
for i in range(8):
    B[i] = 1.0
for k, i in T.grid(3, 8):
    with T.block("b"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi] = T.Cast("float32", i + 2)
        B[vi] = B[vi] + A[vk]
""", lambda: np.arange(8) + 2 + A[:3].sum()),
    "init_of_the_reductions_counter": ("""
for i, k in T.grid(8, 3):
    with T.block("b"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi] = T.Cast("float32", i * 10 + k)
        B[vi] = B[vi] + A[vk]
""", lambda: np.arange(8) * 10 + A[:3].sum()),
    "variables_that_begin_as_elements": ("""
for i in range(8):
    with T.block("b"):
        v = T.axis.spatial(8, i)
        x: T.float32 = A[v]
        steps: T.int32 = 0
        while T.abs(x) > T.float32(1):
            x = x / T.float32(2)
            steps += 1
        B[v] = T.Cast("float32", steps)
""", lambda: [1, 1, 2, 0, 0, 3, 3, 1]),
    "init_under_a_predicate": ("""
for i, k0, k1 in T.grid(8, 2, 3):
    with T.block("b"):
        vi = T.axis.spatial(8, i)
        vk = T.axis.reduce(5, k0 * 3 + k1)
        T.where(k0 * 3 + k1 < 5 and i < 6)
        with T.init():
            B[vi] = T.float32(100)
        B[vi] = B[vi] + A[vk]
""", lambda: np.where(np.arange(8) < 6, 100 + A[:5].sum(), 0)),
    "predicate_of_both_kinds": ("""
for i, k in T.grid(8, 8):
    with T.block("b"):
        vi, vk = T.axis.remap("SR", [i, k])
        T.where(k < i)
        with T.init():
            B[vi] = T.float32(1)
        B[vi] = B[vi] + A[vk]
""", lambda: np.array([1 + A[:i].sum() if i else 0 for i in range(8)])),
    "annotations": ("""
for i in T.serial(2, annotations={"pragma_unroll": 1, "stages": [0, 1.5, "x"], "d": {"k": True}}):
    for j in T.parallel(4, annotations={"p": "q"}):
        with T.block("b"):
            v = T.axis.spatial(8, i * 4 + j)
            T.block_attr({"meta_schedule.tiling": "SSR", "n": -3})
            B[v] = A[v]
""", lambda: A),
    "regions": ("""
for i in range(2):
    with T.block("b"):
        v = T.axis.spatial(2, i)
        T.reads(A[v * 4 : v * 4 + 4])
        T.writes([B[v * 4 : v * 4 + 4]])
        for j in range(4):
            B[v * 4 + j] = A[v * 4 + 3 - j]
""", lambda: A.reshape(2, 4)[:, ::-1].ravel()),
    "nested_and_opaque_blocks": ("""
with T.block("root"):
    T.reads()
    T.writes()
    W = T.alloc_buffer((8,), "float32", scope="local")
    for i in T.serial(8):
        with T.sblock("a"):
            v = T.axis.S(8, i)
            T.reads(A[v])
            T.writes(W[v])
            W[v] = A[v] + T.float32(1)
    for i in T.serial(8):
        with T.block("b"):
            v = T.axis.opaque(8, i)
            with T.block("inner"):
                B[v] = W[v] * T.float32(2)
""", lambda: (A + 1) * 2),
    "loops_with_bounds_and_steps": ("""
for i in T.serial(1, 8, step=3):
    B[i] = A[i]
for i in range(0, 8, 4):
    B[i] = T.float32(9)
""", lambda: np.array([9, A[1], 0, 0, 9, 0, 0, A[7]])),
    "strided_memory": ("""
W = T.alloc_buffer((2, 4), "float32", strides=(7, 1), scope="shared", align=128)
V = T.decl_buffer((3,), "float32", data=A.data, strides=(2,), elem_offset=1)
for i, j in T.grid(2, 4):
    W[i, j] = A[i * 4 + j]
for i, j in T.grid(2, 4):
    B[i * 4 + j] = W[i, j]
for i in range(3):
    B[i] = V[i]
""", lambda: np.concatenate([A[1:7:2], A[3:]])),
    "regions_under_a_name": ("""
for i in range(2):
    with T.block("b"):
        v = T.axis.spatial(2, i)
        S = T.match_buffer(A[v * 4 : v * 4 + 4], (4,), "float32", strides=("s",), offset_factor=1)
        for j in range(4):
            B[v * 4 + j] = S[3 - j]
""", lambda: A.reshape(2, 4)[:, ::-1].ravel()),
    "vectors": ("""
for i in range(2):
    B[i * 4 : i * 4 + 4] = A[T.Ramp(i * 4 + 3, -1, 4)] * T.Broadcast(T.float32(2), 4)
""", lambda: 2 * A.reshape(2, 4)[:, ::-1].ravel()),
    "vectors_are_read_before_they_are_stored": ("""
B[0:8] = A[0:8]
B[1:8] = B[0:7]
B[0:2] = T.Shuffle([A[0:2], A[2:4]], [3, 0])
T.buffer_store(B, T.max(A[7], T.float32(-1)), [7])
""", lambda: np.concatenate([[A[3], A[0]], A[1:6], [2]])),
    "branches_as_contexts": ("""
for i in range(8):
    with T.If(T.LT(A[i], T.float32(0))):
        with T.Then():
            B[i] = -A[i]
        with T.Else():
            B[i] = T.call_intrin("float32", "tir.sqrt", A[i])
""", lambda: np.where(A < 0, -A, np.sqrt(np.abs(A)))),
    "launched_threads": ("""
bx = T.env_thread("blockIdx.x")
with T.launch_thread(bx, 2):
    with T.launch_thread("threadIdx.x", 4) as tx:
        with T.attr(0, "pragma_auto_unroll_max_step", 16):
            B[bx * 4 + tx] = A[bx * 4 + tx]
""", lambda: A),
    "constant_memory": ("""
W = T.allocate_const([1, 2, 3, 4], "float32", [2, 2])
V = T.Buffer((2, 2), "float32", data=W)
for i in range(8):
    B[i] = V[i // 2 % 2, i % 2]
""", lambda: np.tile([1, 2, 3, 4], 2)),
    "promises": ("""
for i in range(8):
    T.assume(A[i] > T.float32(-100))
    T.evaluate(T.assume(i < 8))
    T.evaluate(A[i] + T.float32(1))
    B[i] = T.Select(T.likely(T.GE(A[i], T.float32(0))), A[i], T.undef(dtype="float32"))
""", lambda: np.where(A >= 0, A, 0)),
    "promises_of_a_block": ("""
C = T.alloc_buffer(A.shape, "float32")
for i in range(8):
    with T.block("promise"):
        vi = T.axis.spatial(8, i)
        T.reads(A[vi])
        T.assume(A[vi] > T.float32(-100))
    with T.block("copy"):
        vi = T.axis.spatial(8, i)
        C[vi] = A[vi]
        B[vi] = C[vi]
""", lambda: A),
    "rounding": ("""
for i in range(8):
    B[i] = T.floor(A[i]) + T.ceil(A[i]) + T.trunc(A[i]) + T.nearbyint(A[i])
""", lambda: np.floor(A) + np.ceil(A) + np.trunc(A) + np.rint(A)),
    "hyperbolic": ("""
for i in range(8):
    B[i] = T.sinh(A[i] / T.float32(9)) + T.cosh(A[i]) + T.asinh(A[i]) + T.atanh(A[i] / 9.0)
""", lambda: np.sinh(A / 9) + np.cosh(A) + np.arcsinh(A) + np.arctanh(A / 9)),
    "lazy_and_eager": ("""
for i in range(8):
    B[i] = T.if_then_else(i < 7, A[T.min(i + 1, 7)], T.float32(0)) + T.Select(
        T.And(i > 0, T.Or(i < 3, T.Not(i < 6))), T.float32(10), T.float32(20))
""", lambda: np.append(A[1:], 0) + np.where([0, 1, 1, 0, 0, 0, 1, 1], 10, 20)),
}  # fmt: skip


@pytest.fixture(scope="module")
def machine() -> relax.VirtualMachine:
    parts = [source(f"f_{name}", EIGHT, body) for name, (body, _) in CASES.items()]
    return relax.VirtualMachine(relax.build(read("\n".join(parts))))


@pytest.mark.parametrize("name", CASES)
def test_constructs(machine: relax.VirtualMachine, name: str) -> None:
    b = np.zeros(8, "float32")
    machine[f"f_{name}"](A.copy(), b)
    np.testing.assert_allclose(b, np.asarray(CASES[name][1]()).astype("float32"), rtol=1e-5)


STRIDED = """
n = T.int64()
m = T.int64()
s0 = T.int64()
s1 = T.int64()
A = T.match_buffer(a, (n, m), "float32", strides=(s0, s1), align=64, offset_factor=1)
B = T.match_buffer(b, (n, m), "float32", strides=(s0 * 0 + m + 2, 1), axis_separators=[1])
for i, j in T.grid(n, m):
    with T.block("b"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] + T.Cast("float32", s1)
"""


@pytest.fixture(scope="module")
def strided() -> Callable[..., Any]:
    module = read(source("f", "a: T.handle, b: T.handle", STRIDED))
    return relax.VirtualMachine(relax.build(module))["f"]


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[::2, 1::3], lambda x: x[::-1, ::-2], lambda x: x.T, lambda x: x[3:4, ::5],
        lambda x: x[2:2], lambda x: x,
    ],
)  # fmt: skip
def test_views_are_passed_as_they_are(strided: Callable[..., Any], view: Callable) -> None:
    whole = np.random.default_rng(0).standard_normal((9, 11)).astype("float32")
    a = view(whole)
    out = np.full((a.shape[0], a.shape[1] + 2), 5, "float32")
    strided(a, out[:, : a.shape[1]])
    step = a.strides[1] // 4
    np.testing.assert_array_equal(out[:, :-2], a + step)
    np.testing.assert_array_equal(out[:, -2:], 5)


def test_wrong_strides_and_overlaps(strided: Callable[..., Any]) -> None:
    a = np.zeros((4, 4), "float32")
    with pytest.raises(ShapeMismatchError, match=r"'B' dimension 0: expected stride 6 .*, got 4"):
        strided(a, np.zeros((4, 4), "float32"))
    memory = np.zeros((8, 6), "float32")
    with pytest.raises(ShapeMismatchError, match="overlaps"):
        strided(memory[:4, :4], memory[3:7, :4])


def test_compact_functions_copy_views() -> None:
    f = relax.VirtualMachine(
        relax.build(read(source("f", EIGHT, "for i in range(8):\n    B[i] = A[i]")))
    )["f"]
    whole, out = np.arange(16, dtype="float32"), np.zeros(16, "float32")
    f(whole[::2], out[::-2])
    np.testing.assert_array_equal(out[::-2], whole[::2])


@pytest.mark.parametrize("step", ["v", "4 - v"])
def test_vectors_of_four_bits(step: str) -> None:
    """Halves of bytes have no addresses: the steps of the loop run one after another."""
    signature = 'A: T.Buffer((5,), "uint4"), B: T.Buffer((5,), "uint4")'
    body = f"""
for i in T.vectorized(5):
    with T.block("b"):
        v = T.axis.spatial(5, i)
        B[{step}] = A[v] + T.uint8(1)
"""
    a, b = np.arange(11, 16).astype(ml_dtypes.uint4), np.zeros(5, ml_dtypes.uint4)
    run(signature, body, a, b)
    want = [12, 13, 14, 15, 0]
    np.testing.assert_array_equal(b.astype("int32"), want if step == "v" else want[::-1])


_COPIED = """
for i in range(5):
    B[i] = A[4 - i]
    F[i] = T.Cast("float32", A[i]) * 0.5
    C[i] = T.Cast("int32", A[i]) + T.Cast("int32", T.Cast("int8", A[i]) > T.int8(-1))
    D[i] = C[i] > 3
"""


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_four_bits_read_back_after_passes(dtype: str) -> None:
    """Casts that passes merge are printed as casts that give the same."""
    signature = (
        f'A: T.Buffer((5,), "{dtype}"), B: T.Buffer((5,), "{dtype}"), '
        'F: T.Buffer((5,), "float32"), C: T.Buffer((5,), "int32"), D: T.Buffer((5,), "bool")'
    )
    folded = tir.transform.Simplify()(read(source("f", signature, _COPIED)))
    again = tir.transform.Simplify()(read(folded.script()))
    assert again.script() == folded.script()
    assert_structural_equal(again, folded)


def test_buffers_of_four_bits() -> None:
    rng = np.random.default_rng(1)
    signature = 'P: T.Buffer((8,), "uint8"), x: T.handle, y: T.handle, B: T.Buffer((3, 5), "int32")'
    body = """
n = T.int64()
X = T.match_buffer(x, (n, 5), "int4")
Y = T.match_buffer(y, (n, 5), "uint4")
V = T.decl_buffer((3, 5), "int4", data=P.data)
W = T.alloc_buffer((n, 5), "uint4")
for i in T.parallel(n):
    for j in range(5):
        W[i, j] = 3
        W[i, j] = T.Cast("uint8", X[i, 4 - j]) + T.uint8(16) * W[i, j]
for i, j in T.grid(n, 5):
    with T.block("b"):
        vi, vj = T.axis.remap("SS", [i, j])
        Y[vi, vj] = W[vi, vj] // T.uint8(2)
for i, j in T.grid(3, 5):
    B[i, j] = T.Cast("int32", V[i, j]) - T.Cast("int32", T.Cast("int4", P[0] << T.uint8(1)))
"""
    x, packed = rng.integers(-8, 8, (7, 5)), rng.integers(0, 256, 8).astype("uint8")
    y, b = np.zeros((7, 5), ml_dtypes.uint4), np.zeros((3, 5), "int32")
    run(signature, body, packed, x.astype(ml_dtypes.int4), y, b)
    np.testing.assert_array_equal(y.astype("int32"), (x[:, ::-1] & 15) // 2)
    halves = np.stack([packed & 15, packed >> 4], 1).astype("int32").ravel()[:15].reshape(3, 5)
    low = (int(packed[0]) * 2 + 8) % 16 - 8
    np.testing.assert_array_equal(b, np.where(halves > 7, halves - 16, halves) - low)


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ('V = T.decl_buffer((17,), "int4", data=P.data)', "'P' has 8 bytes, 17 elements of 4"),
        ('V = T.decl_buffer((4,), "int4", data=F.data)', "'F' holds float32, not int4"),
        ('V = T.alloc_buffer((4,), "int3")', "unknown dtype 'int3'"),
        ('V = T.alloc_buffer((4,), "int4")\nV[0] = T.float32(1)', "buffer 'V' holds int8"),
        ('P[0] = T.Cast("int4", P[1])', "buffer 'P' holds uint8, got a value of int8"),
    ],
)
def test_wrong_buffers_of_four_bits(declaration: str, message: str) -> None:
    text = source("f", 'P: T.Buffer((8,), "uint8"), F: T.Buffer((2,), "float32")', declaration)
    with pytest.raises(ScriptError) as caught:
        from_source(HEAD + text)
    assert caught.value.message.startswith(message)


def test_calls_of_c_functions() -> None:
    """Any C function of the process: numbers of all widths, addresses of buffers, results."""
    a, b = np.linspace(-2, 2, 8).astype("float32"), np.zeros(8, "float32")
    c, d = np.array([3, -5, 100], "int8"), np.zeros(2, "int64")
    body = """
for i in range(8):
    with T.block("b"):
        v = T.axis.spatial(8, i)
        B[v] = T.call_extern("float32", "cbrtf", A[v]) + T.call_pure_extern(
            "float32", "hypotf", A[v], T.float32(2))
for i in range(3):
    C[i] = T.Cast("int8", T.call_extern("int32", "abs", T.Cast("int32", C[i]))) + T.int8(1)
D[0] = T.call_extern("int64", "llabs", D[0] - T.int64(2**40))
T.call_extern("void", "memcpy", T.address_of(B[4]), A.data, T.uint64(8))
T.evaluate(T.call_extern("int32", "toupper", 97))
D[1] = T.Cast("int64", T.call_extern("int32", "toupper", 97))
U[0] = T.call_extern("uint16", "htons", U[0]) + T.uint16(1)
"""
    u = np.array([0xFE01], "uint16")
    more = 'C: T.Buffer((3,), "int8"), D: T.Buffer((2,), "int64"), U: T.Buffer((1,), "uint16")'
    run(f"{EIGHT}, {more}", body, a, b, c, d, u)
    assert u[0] == (0x01FE + 1 if sys.byteorder == "little" else 0xFE02)
    expected = np.cbrt(a) + np.hypot(a, np.float32(2))
    expected[4:6] = a[:2]
    np.testing.assert_allclose(b, expected, rtol=1e-6)
    np.testing.assert_array_equal(c, [4, 6, 101])
    np.testing.assert_array_equal(d, [2**40, 65])


def test_c_functions_that_are_not_there() -> None:
    module = read(source("f", EIGHT, 'T.call_extern("void", "relax_mlir_has_no_such_function")'))
    with pytest.raises(ExecutableFormatError, match="cannot link"):
        relax.VirtualMachine(relax.build(module))
    body = 'T.call_extern("int32", "abs", 1)\nT.call_extern("int32", "abs", T.int64(1))'
    with pytest.raises(PassError, match="'abs' is called as"):
        relax.build(read(source("f", EIGHT, body)))


def test_scheduled_strides_in_relax() -> None:
    """A strided prim func in a Relax program: its tensors have no gaps, which it takes as well."""
    text = source("f", "a: T.handle, B: T.Buffer((4, 3), 'float32')", """
s = T.int64()
A = T.match_buffer(a, (4, 3), "float32", strides=(s, 1))
for i, j in T.grid(4, 3):
    B[i, j] = A[i, j] * T.Cast("float32", s)
""") + """
@R.function
def main(x: R.Tensor((4, 3), "float32")):
    return R.call_tir(f, (x,), R.Tensor((4, 3), "float32"))
"""  # fmt: skip
    x = np.ones((4, 3), "float32")
    np.testing.assert_array_equal(relax.VirtualMachine(relax.build(read(text)))["main"](x), 3 * x)
