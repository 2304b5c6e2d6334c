"""Functions that are called often: the same results, checks and messages as at first."""

import gc
import sys
import threading
import tracemalloc

import numpy as np
import pytest

from relax_mlir import relax, script
from relax_mlir.errors import VMError
from relax_mlir.runtime import register_func

CALLS = 16

MODULE = """
@I.ir_module
class Module:
    @R.function
    def static(x: R.Tensor((4, 8), "float32"), w: R.Tensor((8, 8), "float32")):
        with R.dataflow():
            y = R.nn.softmax(R.nn.relu(R.matmul(x, w)))
            R.output(y)
        return y

    @R.function
    def dynamic(x: R.Tensor(("n", "k"), "float32"), w: R.Tensor(("k", "m"), "float32")):
        with R.dataflow():
            y = R.nn.softmax(R.matmul(x, w))
            R.output(y)
        return y

    @R.function
    def several(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")):
        with R.dataflow():
            a = R.subtract(x, y)
            b = R.multiply(x, R.const([2.0], "float32"))
            R.output(a, b)
        return (a, b, a)

    @R.function
    def scalar(x: R.Tensor((), "float64")):
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        return y

    @R.function
    def half(x: R.Tensor((3,), "float16"), y: R.Tensor((3,), "int8"), z: R.Tensor((3,), "bool")):
        with R.dataflow():
            a = R.add(x, x)
            b = R.add(y, y)
            c = R.logical_not(z)
            R.output(a, b, c)
        return (a, b, c)

    @R.function
    def brain(x: R.Tensor((3,), "bfloat16")):
        with R.dataflow():
            y = R.add(x, x)
            R.output(y)
        return y

    @R.function
    def branch(c: R.Tensor((), "bool"), x: R.Tensor((3,), "float32")):
        if c:
            y = R.add(x, x)
        else:
            y = R.multiply(x, x)
        return y

    @R.function
    def deep(x: R.Tensor((1, 2, 1, 1, 1, 1, 1, 1, 3), "float32")):
        with R.dataflow():
            y = R.add(x, x)
            R.output(y)
        return y

    @R.function
    def same(x: R.Tensor((3,), "float32")):
        return x

    @T.prim_func
    def careful(x: T.Buffer((3,), "float32"), y: T.Buffer((3,), "float32")):
        T.func_attr({"tir.noalias": True})
        assert x[0] > 0.0, "too small"
        for i in range(3):
            with T.block("copy"):
                vi = T.axis.spatial(3, i)
                y[vi] = x[vi] + T.float32(1)

    @R.function
    def checked(x: R.Tensor((3,), "float32")):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.careful, (x,), out_sinfo=R.Tensor((3,), "float32"))
            R.output(y)
        return y
"""
X = np.linspace(-1, 1, 32, dtype="float32").reshape(4, 8)
W = np.linspace(-2, 1, 64, dtype="float32").reshape(8, 8)
V = np.arange(3, dtype="float32") + 1
DEEP = np.arange(6, dtype="float32").reshape(1, 2, 1, 1, 1, 1, 1, 1, 3)


@pytest.fixture(scope="module")
def executable() -> relax.Executable:
    return relax.build(script.from_source(MODULE))


@pytest.fixture(scope="module")
def seasoned(executable: relax.Executable) -> relax.VirtualMachine:
    """Return a machine whose functions have been called often."""
    vm = relax.VirtualMachine(executable)
    calls = {
        "static": (X, W), "dynamic": (X, W), "several": (V, V), "scalar": (np.array(0.5),),
        "half": (V.astype("float16"), V.astype("int8"), V > 1), "branch": (np.array(True), V),
        "deep": (DEEP,), "same": (V,), "checked": (V,), "careful": (V, np.empty_like(V)),
    }  # fmt: skip
    for name, args in calls.items():
        for _ in range(2 * CALLS):
            vm[name](*args)
    return vm


def outcome(vm: relax.VirtualMachine, name: str, args: tuple) -> object:
    """Return a result, or the error's type and text."""
    try:
        return vm[name](*args)
    except Exception as error:
        return type(error), str(error)


def assert_same(got: object, expected: object) -> None:
    if isinstance(expected, np.ndarray):
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)
    elif isinstance(expected, tuple) and isinstance(expected[0], np.ndarray):
        for each, other in zip(got, expected, strict=True):
            assert_same(each, other)
    else:
        assert got == expected


READ_ONLY = X.copy()
READ_ONLY.flags.writeable = False
ARGUMENTS = [
    ("static", (X, W)), ("static", (X + 1, W)), ("static", (X.astype("f8"), W)),
    ("static", (X[:3], W)), ("static", (X, W[:, :7])), ("static", (X[0], W)),
    ("static", (np.asfortranarray(X), W)), ("static", (X[::-1], W)), ("static", (READ_ONLY, W)),
    ("static", (X.astype(">f4"), W)), ("static", (X.tolist(), W)), ("static", (X, 3)),
    ("static", (X,)), ("static", (X, W, W)), ("static", (None, W)), ("static", ("x", W)),
    ("static", (np.ma.masked_array(X), W)), ("static", (X.view(np.matrix), W)),
    ("static", (np.broadcast_to(X[0], (4, 8)), W)), ("static", (X, X)),
    ("dynamic", (X, W)), ("dynamic", (W, W)), ("dynamic", (X[:0], W)), ("dynamic", (W, X)),
    ("dynamic", (X[:, :0], W[:0])), ("dynamic", (X[:2, :5].copy(), W[:5])),
    ("dynamic", (X, W.astype("i4"))), ("dynamic", (X.ravel(), W)), ("dynamic", (X.T, X)),
    ("dynamic", (np.tile(X, (200, 40)), np.tile(W, (40, 40)))),
    ("several", (V, V)), ("several", (V, 2 * V)), ("several", (V, X)), ("several", (V[:1], V[:1])),
    ("scalar", (np.array(0.5),)), ("scalar", (np.float64(0.5),)), ("scalar", (0.5,)),
    ("half", (V.astype("float16"), V.astype("int8"), V > 2)), ("half", (V, V, V)),
    ("half", (V.astype("float16"), V.astype("uint8"), V > 2)),
    ("branch", (np.array(False), V)), ("branch", (np.array(True), V)), ("branch", (V, V)),
    ("deep", (DEEP,)), ("same", (V,)), ("checked", (V,)), ("checked", (-V,)), ("checked", (V[:2],)),
    ("careful", (V, np.empty(3, "f4"))), ("careful", (-V, np.empty(3, "f4"))),
    ("careful", (V, np.empty(4, "f4"))), ("careful", (V, np.empty((3, 1), "f4"))),
    ("careful", (V, V)), ("careful", (V,)), ("careful", (V, 3)), ("careful", (V, "y")),
    ("careful", (V.astype("f8"), np.empty(3, "f4"))), ("careful", (np.float32(1), V.copy())),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args"), ARGUMENTS, ids=range(len(ARGUMENTS)))
def test_same_as_the_first_call(
    executable: relax.Executable, seasoned: relax.VirtualMachine, name: str, args: tuple
) -> None:
    expected = outcome(relax.VirtualMachine(executable), name, args)
    for _ in range(2):
        assert_same(outcome(seasoned, name, args), expected)


def test_keywords_and_kept_inputs(seasoned: relax.VirtualMachine) -> None:
    expected = seasoned["static"](X, W)
    assert_same(seasoned["static"](w=W, x=X), expected)
    seasoned.set_input("static", X, W)
    seasoned.invoke_stateful("static")
    assert_same(seasoned.get_outputs("static"), expected)


def test_results_are_the_callers(seasoned: relax.VirtualMachine) -> None:
    first = seasoned["static"](X, W)
    kept = first.copy()
    second = seasoned["static"](X + 1, W)
    assert first.flags.carray
    assert first.base.base is None
    assert not np.shares_memory(first, second)
    np.testing.assert_array_equal(first, kept)
    assert np.shares_memory(seasoned["same"](V), V)
    a, b, c = seasoned["several"](V, V)
    assert np.shares_memory(a, c)
    assert a is not b
    assert seasoned["static"].__name__ == "static"


def test_bfloat16(executable: relax.Executable) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    vm = relax.VirtualMachine(executable)
    x = V.astype(ml_dtypes.bfloat16)
    for _ in range(2 * CALLS):
        result = vm["brain"](x)
        assert result.dtype == x.dtype
        np.testing.assert_array_equal(result, x + x)


def test_other_sizes_in_turn(executable: relax.Executable) -> None:
    # More of them than plans are kept.
    vm = relax.VirtualMachine(executable)
    rng = np.random.default_rng(0)
    for turn in range(3):
        for n in (1, 2, 3, 5, 7, 31, 4, 6, 9):
            x, w = rng.random((n, n + 1), "float32"), rng.random((n + 1, 3), "float32")
            fresh = relax.VirtualMachine(executable)["dynamic"](x, w)
            for _ in range(CALLS + turn):
                np.testing.assert_array_equal(vm["dynamic"](x, w), fresh)


def test_nothing_leaks(seasoned: relax.VirtualMachine) -> None:
    x, w = X.copy(), W.copy()
    functions = seasoned["static"], seasoned["several"], seasoned["checked"]

    def calls() -> None:
        for _ in range(200):
            functions[0](x, w)
            functions[1](V, V)
            with pytest.raises(VMError):
                functions[2](-V)

    calls()
    gc.collect()
    counts = sys.getrefcount(x), sys.getrefcount(w), sys.getrefcount(V)
    tracemalloc.start()
    calls()
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    calls()
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 5000
    assert counts == (sys.getrefcount(x), sys.getrefcount(w), sys.getrefcount(V))


def test_instruments_see_calls(executable: relax.Executable) -> None:
    vm = relax.VirtualMachine(executable)
    for _ in range(2 * CALLS):
        expected = vm["static"](X, W)
    seen: list[str] = []
    vm.set_instrument(lambda func, name, before, result, *args: seen.append(name))
    for _ in range(2 * CALLS):
        np.testing.assert_array_equal(vm["static"](X, W), expected)
    assert len(seen) >= 8 * CALLS
    vm.set_instrument(None)
    count = len(seen)
    for _ in range(2 * CALLS):
        np.testing.assert_array_equal(vm["static"](X, W), expected)
    assert len(seen) == count


def test_threads_share_a_machine(executable: relax.Executable) -> None:
    vm = relax.VirtualMachine(executable)
    wrong: list[object] = []

    def work(n: int) -> None:
        x = np.full((n, 8), n, "float32")
        fresh = relax.VirtualMachine(executable)["dynamic"]
        expected = {len(rows): fresh(rows, W) for rows in (x, x[:1])}
        for i in range(200):
            rows = x if i % 3 else x[:1]
            got = vm["dynamic"](rows, W)
            if not np.array_equal(got, expected[len(rows)]):
                wrong.append((n, i))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_functions_that_call_python_are_run_as_at_first() -> None:
    calls: list[int] = []
    register_func("test_quick.note", calls.append, override=True)
    module = script.from_source("""
@I.ir_module
class Module:
    @T.prim_func
    def noting(x: T.Buffer((3,), "float32"), y: T.Buffer((3,), "float32")):
        T.evaluate(T.call_packed("test_quick.note", 5))
        for i in range(3):
            with T.block("copy"):
                vi = T.axis.spatial(3, i)
                y[vi] = x[vi]

    @R.function
    def main(x: R.Tensor((3,), "float32")):
        cls = Module
        y = R.call_tir(cls.noting, (x,), out_sinfo=R.Tensor((3,), "float32"))
        return y
""")
    vm = relax.VirtualMachine(relax.build(module))
    for _ in range(2 * CALLS):
        vm["main"](V)
    assert len(calls) == 2 * CALLS
