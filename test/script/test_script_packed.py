"""`T.call_packed`: functions of the registry called from prim funcs."""

import gc

import numpy as np
import pytest

from relax_mlir import relax, tir
from relax_mlir.errors import FunctionNotFoundError, ScriptError
from relax_mlir.ir import assert_structural_equal
from relax_mlir.runtime import register_func
from relax_mlir.script import from_source

_HEAD = "from relax_mlir.script import tir as T\n\n@T.prim_func\n"
CALLS: list[tuple[object, ...]] = []


@register_func("test.packed.note", override=True)
def note(*args: object) -> int:
    CALLS.append(tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args))
    return len(CALLS)


@register_func("test.packed.scale", override=True)
def scale(to: np.ndarray, by: float) -> None:
    to[...] = to * by


@register_func("test.packed.half", override=True)
def half(x: float) -> float:
    return x / 2


@register_func("test.packed.wrong", override=True)
def wrong(*args: object) -> None:
    raise ZeroDivisionError("on purpose")


def built(text: str):
    module = from_source(_HEAD + text)
    assert_structural_equal(from_source(module.script()), module)
    return tir.build(module)["main"]


def test_arguments() -> None:
    CALLS.clear()
    main = built("""def main(A: T.Buffer((3, 4), "float32"), I: T.Buffer((5,), "int8"), n: T.int32,
             b: T.bool, x: T.float64):
    T.call_packed("test.packed.note", A, I, n, b, x, "text", T.int16(-3), A[1, 2], T.float16(0.5))
    T.call_packed("test.packed.note")
""")
    a, i = np.arange(12, dtype="float32").reshape(3, 4), np.arange(5, dtype="int8")
    main(a, i, -7, True, 0.1)
    (first, second), empty = CALLS[0][:2], CALLS[1]
    np.testing.assert_array_equal(first, a)
    np.testing.assert_array_equal(second, i)
    assert (first.dtype, second.dtype) == (a.dtype, i.dtype)
    assert CALLS[0][2:] == (-7, True, 0.1, "text", -3, 6.0, 0.5)
    assert empty == ()


def test_writes_and_results() -> None:
    main = built("""def main(a: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n,), "float32")
    C = T.alloc_buffer((n, m), "float32")
    for i, j in T.grid(n, m):
        C[i, j] = A[i, j] + 1.0
    T.call_packed("test.packed.scale", C, 10)
    for i in T.parallel(n):
        B[i] = T.call_packed("test.packed.half", C[i, 0], dtype="float32")
    x = T.call_packed("test.packed.scale", C, 1)
    B[0] = B[0] + T.cast(x, "float32")
""")
    for n, m in ((1, 1), (5, 3), (64, 7)):
        a, b = np.random.default_rng(n).random((n, m), "float32"), np.zeros(n, "float32")
        main(a, b)
        np.testing.assert_allclose(b, (a[:, 0] + 1) * 5, rtol=1e-6)


def test_strides() -> None:
    CALLS.clear()
    built("""def main(A: T.Buffer((4, 6), "int32")):
    P = T.decl_buffer((4, 3), "int32", data=A.data, strides=(6, 2))
    T.call_packed("test.packed.note", P)
""")(np.arange(24, dtype="int32").reshape(4, 6))
    np.testing.assert_array_equal(CALLS[0][0], np.arange(24).reshape(4, 6)[:, ::2])


def test_errors_end_the_call() -> None:
    main = built("""def main(A: T.Buffer((4,), "float32")):
    for i in range(4):
        if A[i] < 0.0:
            T.call_packed("test.packed.wrong", A)
        A[i] = A[i] * 2.0
    A[0] = 55.0
""")
    data = np.array([1, 2, -3, 4], "float32")
    with pytest.raises(Exception, match="on purpose"):
        main(data)
    np.testing.assert_array_equal(data, [2, 4, -3, 4])
    main(data[[0, 1, 1, 1]])
    with pytest.raises(FunctionNotFoundError, match=r"no packed function 'test\.packed\.none'"):
        built("def main():\n    T.call_packed('test.packed.none', 1)\n")()


def test_from_relax_and_after_saving(tmp_path) -> None:
    module = from_source("""
from relax_mlir.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @T.prim_func
    def tenfold(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i]
        T.call_packed("test.packed.scale", B, 10)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y = R.call_tir(Module.tenfold, (x,), out_sinfo=R.Tensor((4,), "float32"))
        return y + y
""")
    executable = relax.build(module)
    path = tmp_path / "packed.rx"
    executable.save(path)
    loaded = type(executable).load(path)
    for each in (executable, loaded):
        got = relax.VirtualMachine(each)["main"](np.arange(4, dtype="float32"))
        np.testing.assert_array_equal(np.asarray(got), np.arange(4) * 20)


def test_many_calls_keep_nothing() -> None:
    main = built("""def main(A: T.Buffer((1000,), "float32")):
    for i in range(200):
        T.call_packed("test.packed.scale", A, 1)
""")
    data = np.ones(1000, "float32")
    main(data)
    gc.collect()
    np.testing.assert_array_equal(data, 1)


def test_refusals() -> None:
    for call, why in (
        ("T.call_packed()", "takes the name of a function"),
        ("T.call_packed('f', x=1)", "has no named arguments"),
        ("T.call_packed('f', None)", "has no meaning as a scalar"),
        ("T.call_packed('f', dtype='nothing')", "expected a dtype"),
    ):
        with pytest.raises(ScriptError, match=why):
            from_source(f"{_HEAD}def main():\n    {call}\n")
