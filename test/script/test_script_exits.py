"""Variables that change, ways out of loops and functions, numbers that prim funcs return."""

import numpy as np
import pytest

from relax_mlir import tir
from relax_mlir.errors import ScriptError
from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import from_source

_HEAD = "from relax_mlir.script import tir as T\n\n@T.prim_func\n"


def built(text: str):
    module = from_source(_HEAD + text)
    assert_structural_equal(from_source(module.script()), module)
    return tir.build(module)["main"]


def refused(text: str) -> str:
    with pytest.raises(ScriptError) as caught:
        from_source(_HEAD + text)
    return str(caught.value)


FIRST = """def main(A: T.Buffer((n,), "float32"), v: T.float32) -> T.int64:
    for i in range(n):
        if A[i] == v:
            return i
        A[i] = -A[i]
    return -1
"""


def test_returns_from_a_loop() -> None:
    first = built(FIRST.replace("n,", "6,").replace("(n)", "(6)"))
    for wanted, value in enumerate((3.0, 5.0, 7.0, 8.0, 9.0, 4.0)):
        data = np.array([3, 5, 7, 8, 9, 4], "float32")
        assert first(data, value) == wanted
        signs = [-1] * wanted + [1] * (6 - wanted)
        np.testing.assert_array_equal(data, np.array([3, 5, 7, 8, 9, 4]) * signs)
    assert first(np.zeros(6, "float32"), 1.0) == -1


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("int8", -5), ("int16", 300), ("int32", -70000), ("int64", 1 << 40), ("uint8", 200),
     ("uint32", 3_000_000_000), ("float16", 0.5), ("bfloat16", 1.5), ("float32", 0.25),
     ("float64", 0.1), ("bool", True)],
)  # fmt: skip
def test_returned_dtypes(dtype: str, value: float) -> None:
    same = built(f"def main(x: T.{dtype}) -> T.{dtype}:\n    return x\n")
    got = same(value)
    assert got == value
    assert type(got) is type(value)


def test_returns_in_branches() -> None:
    sign = built("""def main(x: T.float32) -> T.int32:
    if x > 0.0:
        return 1
    elif x < 0.0:
        return -1
    return 0
""")
    assert [sign(x) for x in (2.5, -0.5, 0.0)] == [1, -1, 0]
    largest = built("""def main(a: T.int32, b: T.int32, c: T.int32) -> T.int32:
    if a > b:
        if a > c:
            return a
    else:
        if b > c:
            return b
    return c
""")
    for triple in ((1, 2, 3), (3, 2, 1), (1, 3, 2), (2, 2, 2), (3, 1, 9)):
        assert largest(*triple) == max(triple)


def python_of(data: np.ndarray, stop: float) -> np.ndarray:
    out = data.copy()
    for i in range(len(data)):
        if out[i] > stop:
            break
        j = 0
        while True:
            j += 1
            if j == 2:
                continue
            if j > 4:
                break
            out[i] += j
        if out[i] < 0.0:
            out[i] = 100.0
            continue
        out[i] *= 2.0
    return out


NESTED = """def main(A: T.Buffer((7,), "float32"), stop: T.float32):
    for i in range(7):
        if A[i] > stop:
            break
        j = 0
        while True:
            j += 1
            if j == 2:
                continue
            if j > 4:
                T.break_loop()
            A[i] += T.cast(j, "float32")
        if A[i] < 0.0:
            A[i] = 100.0
            T.continue_loop()
        A[i] = A[i] * 2.0
"""


@pytest.mark.parametrize("stop", [-100.0, 4.0, 9.0, 100.0])
def test_breaks_and_continues(stop: float) -> None:
    data = np.array([1, -20, 3, 5, -2, 9, 11], "float32")
    want = python_of(data, stop)
    built(NESTED)(data, stop)
    np.testing.assert_array_equal(data, want)


def test_break_in_a_block() -> None:
    copy = built("""def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.sblock("copy"):
            v = T.axis.spatial(8, i)
            if A[v] < 0:
                break
            B[v] = A[v]
        B[i] += 1
""")
    out = np.zeros(8, "int32")
    copy(np.array([5, 6, 7, -1, 8, 9, 10, 11], "int32"), out)
    np.testing.assert_array_equal(out, [6, 7, 8, 0, 0, 0, 0, 0])


def test_continue_in_a_parallel_loop() -> None:
    odd = built("""def main(A: T.Buffer((4096,), "float32")):
    for i in T.parallel(4096):
        if i % 2 == 0:
            if A[i] > 0.0:
                continue
            A[i] = 3.0
        A[i] += 1.0
""")
    data = np.tile(np.array([1, 2, 0, 5], "float32"), 1024)
    odd(data)
    np.testing.assert_array_equal(data, np.tile(np.array([1, 3, 4, 6], "float32"), 1024))


def test_variables() -> None:
    total = built("""def main(A: T.Buffer((9,), "float32"), n: T.int64) -> T.float32:
    s = T.alloc_scalar("float32")
    s = 0.0
    k: T.int32 = 0
    largest: T.float32
    largest = A[0]
    once: T.let = A[1]
    while k < 9:
        s += A[k]
        if A[k] > largest:
            largest = A[k]
        k = k + 1
    step = n
    for i in range(3):
        step = step * 2
    return s + largest * 100.0 + T.cast(step, "float32") * 10000.0 + once
""")
    data = np.array([1, 2, 3, 9, 4, 5, 6, 7, 8], "float32")
    assert total(data, 3) == data.sum() + 900 + 240000 + 2


def test_refusals() -> None:
    loop = "def main(A: T.Buffer((8,), 'float32')):\n    for i{} in {}:\n        {}\n"
    assert "'break' leaves a parallel loop" in refused(loop.format("", "T.parallel(8)", "break"))
    several = refused(loop.format(", j", "T.grid(2, 4)", "return"))
    assert "'return' leaves several loops at once" in several
    assert "'break' is outside of loops" in refused(
        "def main(A: T.Buffer((8,), 'float32')):\n    break\n"
    )
    assert "say what the function returns" in refused(
        "def main(A: T.Buffer((8,), 'float32')):\n    return A[0]\n"
    )
    assert "this loop never ends" in refused(
        "def main(A: T.Buffer((8,), 'float32')):\n    while True:\n        A[0] = 1.0\n"
    )
    assert "returns one number" in refused("def main(x: T.int32) -> T.handle:\n    return x\n")
    assert "does not hold: four" in refused(
        "def main(A: T.Buffer((8,), 'float32')):\n    T.static_assert(3 * 2 > 6, 'four')\n"
    )
