"""Idioms of TVMScript as people write kernels: read, printed, read back, and run against numpy."""

from typing import Any

import numpy as np
import pytest

from relax_mlir import compile as compile_
from relax_mlir.errors import ScriptError
from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import from_source, script

R = np.random.default_rng(5)
X = R.normal(size=64).astype("float32")
EIGHT = 'A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")'

# Name -> text, what it must make of X.
ONE = {
    # Threads and attributes as statements hold what follows them.
    "threads": (
        """
bx = T.launch_thread("blockIdx.x", 4)
tx = T.launch_thread("threadIdx.x", 16)
T.attr(0, "pragma_auto_unroll_max_step", 16)
B[bx * 16 + tx] = 0.0
if A[bx * 16 + tx] > 0.0:
    B[bx * 16 + tx] = A[bx * 16 + tx] * 2.0
""",
        np.where(X > 0, 2 * X, 0),
    ),
    "environment": (
        """
t = T.env_thread("threadIdx.x")
T.launch_thread(t, 64)
T.attr(A.data, "storage_alignment", 64)
B[t] = -A[t]
""",
        -X,
    ),
    "leaving": (
        """
for i in range(64):
    B[i] = 0.0
t = T.launch_thread("threadIdx.x", 64)
if A[t] < 0.0:
    return
B[t] = A[t]
""",
        # What a thread returns from is its own part.
        np.where(X < 0, 0, X),
    ),
    "inner_macro": (
        """
for i in T.serial(0, 64, step=2):
    @T.macro
    def put(k, v, scale=2):
        B[k] = v * scale + T.Cast("float32", i)
    put(i, A[i])
    put(i + 1, A[i + 1], scale=3)
""",
        X * np.tile([2, 3], 32) + np.arange(64) // 2 * 2,
    ),
    "ring": (
        """
ring = T.alloc_buffer((5,), "float32", scope="local")
for i in T.serial(64):
    ring[T.floormod(i, 5)] = A[i]
    B[i] = 0.0
    if T.likely(i >= 4):
        s: T.float32 = 0.0
        for k in T.unroll(5):
            s += ring[k]
        B[i] = s
""",
        np.r_[np.zeros(4), np.lib.stride_tricks.sliding_window_view(X, 5).sum(1)],
    ),
    "sort": (
        """
for i in range(64):
    B[i] = A[i]
key = T.alloc_buffer((1,), "float32", scope="local")
j = T.alloc_buffer((1,), "int32", scope="local")
for i in range(1, 64):
    key[0] = B[i]
    j[0] = i - 1
    while j[0] >= 0 and B[T.max(j[0], 0)] > key[0]:
        B[j[0] + 1] = B[j[0]]
        j[0] = j[0] - 1
    B[j[0] + 1] = key[0]
""",
        np.sort(X),
    ),
    "allocated": (
        """
data = T.allocate([64], "float32", "global")
C = T.Buffer((64,), "float32", data=data)
for i in range(64):
    C[i] = A[63 - i]
for i in range(64):
    B[i] = C[i] + T.float32(1)
""",
        X[::-1] + 1,
    ),
    "transposed_parts": (
        """
S = T.decl_buffer((8, 8), "float32", data=A.data)
D = T.decl_buffer((8, 8), "float32", data=B.data)
for i, j in T.grid(2, 2):
    with T.block("tile"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(S[vi * 4 : vi * 4 + 4, vj * 4 : vj * 4 + 4])
        T.writes(D[vj * 4 : vj * 4 + 4, vi * 4 : vi * 4 + 4])
        P = T.match_buffer(S[vi * 4 : vi * 4 + 4, vj * 4 : vj * 4 + 4], (4, 4), strides=[8, 1],
                           offset_factor=1)
        Q = T.match_buffer(D[vj * 4 : vj * 4 + 4, vi * 4 : vi * 4 + 4], (4, 4), strides=["q", 1],
                           offset_factor=1)
        for x, y in T.grid(4, 4):
            with T.block("turn"):
                vx, vy = T.axis.remap("SS", [x, y])
                Q[vy, vx] = P[vx, vy]
""",
        X.reshape(8, 8).T.ravel(),
    ),
}


def text_of(name: str, body: str) -> str:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    return f"@T.prim_func\ndef {name}({EIGHT}):\n{lines}\n"


def read(text: str) -> Any:
    module = from_source(text)
    printed = script(module)
    back = from_source(printed)
    assert_structural_equal(module, back)
    assert script(back) == printed
    return module


def test_one_buffer_to_another() -> None:
    run = compile_(read("\n".join(text_of(name, body) for name, (body, _) in ONE.items())))
    for name, (_, wanted) in ONE.items():
        out = np.full(64, np.nan, "float32")
        run[name](X, out)
        np.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-5, err_msg=name)


MODULE = """
@T.macro
def square(B, i, x, power=2):
    B[i] = x if power == 1 else x * x

@T.prim_func(private=True)
def twice(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,))
    B = T.match_buffer(b, (n,))
    for i in range(n):
        square(B, i, A[i] + A[i])

@T.prim_func
def main(a: T.handle, b: T.handle):
    m = T.int64()
    A = T.match_buffer(a, (m,))
    B = T.match_buffer(b, (m,))
    C = T.alloc_buffer((m,))
    twice(A.data, C.data)
    twice(C, B.data)
"""


def test_macros_of_a_text_and_calls_by_handles() -> None:
    run = compile_(read(MODULE))["main"]
    out = np.zeros(64, "float32")
    run(X, out)
    np.testing.assert_allclose(out, (2 * (2 * X) ** 2) ** 2, rtol=1e-5)


@pytest.mark.parametrize(
    ("body", "message", "line"),
    [
        ("def f(x):\n    B[0] = x\nf(1.0)", r"'f' needs @T\.macro", 3),
        (
            "@T.macro\ndef f(x, y=A):\n    B[0] = x\nf(1.0)",
            "defaults and options of a macro are",
            4,
        ),
        ("@T.macro\ndef f(x):\n    B[0] = x\nf()", "needs argument 'x'", 6),
        ('T.launch_thread("threadIdx.x", 4)\nB[0] = 1.0', "takes a thread", 3),
        ('T.attr(A.data, "some_key", 1)\nB[0] = 1.0', "'some_key' means something to TVM's", 3),
    ],
)
def test_mistakes(body: str, message: str, line: int) -> None:
    with pytest.raises(ScriptError, match=message) as error:
        from_source(text_of("f", body))
    assert error.value.lineno == line
