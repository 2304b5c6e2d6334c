"""`vload`, `vstore` and several iterators in one line, as TVM's scripts have them."""

import numpy as np
import pytest

from relax_mlir import relax
from relax_mlir.errors import ScriptError
from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import from_source, script

HEAD = (
    "from relax_mlir.script import tir as T\n\n@T.prim_func\n"
    'def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):\n'
)


def indented(body: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in body.strip().splitlines())


def test_what_they_compute() -> None:
    module = from_source(
        indented("""
for i in range(2):
    B.vstore([i * 4], A.vload([i * 4], "float32x4") * T.Broadcast(T.float32(2), 4))
for i, j in T.grid(2, 1):
    with T.block("b"):
        v, w = T.axis.S(2, i), T.axis.spatial(1, j)
        B.vstore([v + w], B.vload([v + w]) + A.vload((v,), dtype="float32"))
B.vstore([T.ramp(4, 1, 4)], A.vload([T.ramp(7, -1, 4)], "float32x4"))
""")
    )
    assert_structural_equal(from_source(script(module)), module)
    a = np.arange(1, 9, dtype="float32")
    b = np.zeros(8, "float32")
    relax.VirtualMachine(relax.build(module))["f"](a, b)
    np.testing.assert_array_equal(b, np.concatenate([3 * a[:2], 2 * a[2:4], a[:3:-1]]))


def check(text: str, underlined: str, message: str) -> None:
    with pytest.raises(ScriptError) as caught:
        from_source(text, {}, filename="bad.py")
    error = caught.value
    assert error.message[: len(message)] == message
    assert error.source_line[error.col_offset : error.end_col_offset] == underlined


@pytest.mark.parametrize(
    ("line", "underlined", "message"),
    [
        ('A.vstore([0], A.vload([0], "float16"))', '"float16"', "'A' has elements of float32"),
        ("A.vstore([0], A.vload())", "A.vload()", "vload takes begin, dtype"),
        ("A.vstore([0])", "A.vstore([0])", "vstore takes indices and a value"),
        ('A[0] = A.vload([0], "float32x2")', 'A.vload([0], "float32x2")', "a buffer is read"),
        ("A.vstore([0], A.vload([0], predicate=T.bool(True)))", "T.bool(True)", "loads and stores"),
        ("A.vstor([0], 1)", "A.vstor([0], 1)", ""),
    ],
)
def test_vector_accesses(line: str, underlined: str, message: str) -> None:
    check(indented(line), underlined, message)


def test_iterators_and_names_differ_in_number() -> None:
    body = 'for i in range(4):\n    with T.block("b"):\n        v, w = T.axis.S(4, i), 1\n'
    check(indented(body + "        A[v] = A[v]"), "1", "expected T.axis.S(extent, value)")
    body = body.replace(", 1", ", T.axis.S(1, 0), T.axis.S(1, 0)")
    value = "T.axis.S(4, i), T.axis.S(1, 0), T.axis.S(1, 0)"
    check(indented(body + "        A[v] = A[v]"), value, "3 iterators for 2 names")
