"""Assertions of prim funcs: an error with the message and the kernel's name, and nothing after."""

import numpy as np
import pytest
from targets import with_threads

from relax_mlir import ir, relax, tir
from relax_mlir.errors import ScriptError, VMError
from relax_mlir.script import from_source

HEAD = """
from relax_mlir.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @T.prim_func
    def pick(a: T.handle, j: T.Buffer((1,), "int64"), b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
"""

MAIN = """
    @T.prim_func
    def outer(a: T.handle, j: T.Buffer((1,), "int64"), b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        Module.pick(A, j, B)
        for i in range(n):
            B[i] = B[i] * T.float32(2)

    @R.function
    def main(x: R.Tensor(("n",), "float32"), j: R.Tensor((1,), "int64")):
        n = T.int64()
        y = R.negative(x)
        z = R.call_tir(Module.pick, (y, j), out_sinfo=R.Tensor((n,), "float32"))
        w = R.negative(z)
        return w
"""

BODIES = {
    "block": """
        for i in range(n):
            with T.block("b"):
                vi = T.axis.spatial(n, i)
                T.Assert(j[0] + vi < n, "j is too large")
                B[vi] = A[j[0] + vi]
        T.Assert(j[0] >= 0, "later")
""",
    "branch": """
        for i in range(n):
            if i > 1:
                assert j[0] + i < n, "j is too large"
                B[i] = A[j[0] + i]
            else:
                B[i] = A[i]
""",
    "while": """
        k = T.alloc_buffer((1,), "int64")
        k[0] = T.int64(0)
        while k[0] < n:
            assert j[0] + k[0] < n, "j is too large"
            B[k[0]] = A[j[0] + k[0]]
            k[0] = k[0] + T.int64(1)
""",
    "parallel": """
        for i in T.parallel(n):
            with T.Assert(j[0] + i < n, "j is too large"):
                B[i] = A[j[0] + i]
""",
    "top": """
        C = T.alloc_buffer((n,), "float32")
        for i in range(n):
            C[i] = A[i]
        T.Assert(j[0] < 1, "j is too large")
        for i in range(n):
            B[i] = C[i]
""",
}


def program(body):
    return from_source(HEAD + body + MAIN)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("name", BODIES)
def test_a_failed_assertion_is_an_error(name, threads):
    target = with_threads(threads)
    vm = relax.VirtualMachine(relax.build(program(BODIES[name]), target))
    for n in (3, 7, 67):
        x = np.arange(n, dtype=np.float32)
        zero, two = np.array([0], np.int64), np.array([2], np.int64)
        np.testing.assert_array_equal(vm["main"](x, zero), x)
        with pytest.raises(VMError, match="pick: assertion failed: j is too large"):
            vm["main"](x, two)
        for function, factor in (("pick", 1), ("outer", 2)):
            out = np.full(n, -1, np.float32)
            vm[function](x, zero, out)
            np.testing.assert_array_equal(out, factor * x)
            out[:] = -1
            with pytest.raises(VMError, match="pick: assertion failed: j is too large"):
                vm[function](x, two, out)
            # Nothing ran after the failure, nor did what `outer` does afterwards.
            assert out[-1] == -1
    empty = np.zeros(0, np.float32)
    assert vm["main"](empty, zero).shape == (0,)


def test_a_branch_in_a_parallel_loop():
    body = """
        for i in T.parallel(n):
            if i % 2 == j[0]:
                B[i] = A[i]
            else:
                B[i] = T.float32(-1)
"""
    target = with_threads(4)
    vm = relax.VirtualMachine(relax.build(program(body), target))
    x, out = np.arange(31, dtype=np.float32), np.zeros(31, np.float32)
    vm["pick"](x, np.array([1], np.int64), out)
    np.testing.assert_array_equal(out, np.where(np.arange(31) % 2 == 1, x, -1))


def test_the_first_of_several_is_reported():
    body = """
        T.Assert(n > 2, "at least \\\\"three\\\\" élements, 100%")
        for i in range(n):
            assert j[0] + i != 3
            assert j[0] + i != 4, "four"
            B[i] = A[i]
""".replace("\\\\", "\\")
    vm = relax.VirtualMachine(relax.build(program(body)))

    def message(n, j):
        with pytest.raises(VMError) as caught:
            vm["pick"](np.zeros(n, np.float32), np.array([j], np.int64), np.zeros(n, np.float32))
        return str(caught.value)

    assert message(2, 3) == 'pick: assertion failed: at least "three" élements, 100%'
    assert message(9, 0) == "pick: assertion failed: j[0] + i != 3"
    assert message(9, 4) == "pick: assertion failed: four"


def test_equal_kernels_keep_their_names():
    source = HEAD + BODIES["top"]
    both = source + source[source.index("    @T.prim_func") :].replace("def pick", "def other")
    vm = relax.VirtualMachine(relax.build(from_source(both)))
    for name in ("pick", "other"):
        with pytest.raises(VMError, match=f"^{name}: assertion failed"):
            vm[name](np.zeros(3, np.float32), np.array([1], np.int64), np.zeros(3, np.float32))


def test_no_memory_after_an_assertion():
    body = """
        T.Assert(j[0] < 1, "j is too large")
        C = T.alloc_buffer((n * 10000000000000,), "float32")
        for i in range(n):
            C[i] = A[i]
        for i in range(n):
            B[i] = C[i]
"""
    vm = relax.VirtualMachine(relax.build(program(body)))
    x = np.zeros(16, np.float32)
    for function in ("pick", "outer"):
        with pytest.raises(VMError, match="there is no memory"):
            vm[function](x, np.array([0], np.int64), x.copy())
        with pytest.raises(VMError, match=r"pick: assertion failed"):
            vm[function](x, np.array([1], np.int64), x.copy())


@pytest.mark.parametrize("name", BODIES)
def test_scripts_say_assertions(name):
    module = program(BODIES[name])
    text = module.script()
    again = from_source(text)
    assert again.script() == text
    assert ir.structural_equal(again, module)
    other = from_source(text.replace("j is too large", "something else"))
    assert not ir.structural_equal(other, module)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("assert A[0] > 0, 1", "the message of an assertion must be a string"),
        ("T.Assert(A[0] > 0, f'{n}')", "the message of an assertion must be a string"),
        (r"T.Assert(A[0] > 0, 'a\0b')", "the message of an assertion must be printable"),
        ("T.Assert()", "T.Assert needs"),
        ("assert A[0]", "the condition must be a bool, got float32"),
    ],
)
def test_wrong_assertions(statement, message):
    with pytest.raises(ScriptError, match=message):
        program(f"\n        {statement}\n        B[0] = A[0]\n")


def test_checks_in_the_condition_of_a_while() -> None:
    mod = from_source("""from relax_mlir.script import tir as T

@T.prim_func
def main(A: T.Buffer((9,), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = 0
    while A[B[0]] < 9:
        B[0] = B[0] + 1
""")
    first_large = tir.build(tir.transform.InstrumentBoundCheckers()(mod))["main"]
    found = np.empty(1, "int32")
    first_large(np.arange(9, dtype="int32") * 4, found)
    assert found[0] == 3
    with pytest.raises(VMError, match="index out of bounds of buffer 'A'"):
        first_large(np.zeros(9, "int32"), found)


def test_many_assertions() -> None:
    """They stand one after the other: code for them grows with their number, not their square."""
    checks = "".join(f"        T.Assert(A[0] != {i}, 'no {i}')\n" for i in range(200))
    vm = relax.VirtualMachine(
        relax.build(
            from_source(f"""
from relax_mlir.script import tir as T

@T.prim_func
def f(A: T.Buffer((2,), "int32")):
    for i in range(2):
{checks}        A[1] = A[1] + 1
""")
        )
    )
    a = np.array([200, 0], "int32")
    vm["f"](a)
    assert a[1] == 2
    a[0] = 199
    with pytest.raises(VMError, match="no 199"):
        vm["f"](a)
    assert a[1] == 2


def test_bound_checks_inside_of_choices_read_back() -> None:
    module = from_source("""
from relax_mlir.script import tir as T

@T.prim_func
def main(a: T.handle, x: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    X = T.match_buffer(x, (n,), "int32")
    B = T.match_buffer(b, (n, m), "float32")
    for i, j in T.grid(n, m):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.if_then_else(X[vi] >= 0, A[X[vi], vj] + A[vi, 0], T.float32(7))
""")
    checked = tir.transform.InstrumentBoundCheckers()(module)
    ir.assert_structural_equal(from_source(checked.script()), checked)
    run = tir.build(checked)["main"]
    a, x, b = np.ones((3, 2), "f4"), np.array([2, -5, 0], "i4"), np.zeros((3, 2), "f4")
    run(a, x, b)
    np.testing.assert_array_equal(b, [[2, 2], [7, 7], [2, 2]])
    x[2] = 3
    with pytest.raises(Exception, match="index out of bounds of buffer 'A'"):
        run(a, x, b)
