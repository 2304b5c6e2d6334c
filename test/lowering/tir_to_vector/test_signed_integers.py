"""Integers that a program computes may be negative: nothing is folded as if they were sizes."""

import numpy as np
import pytest

from relax_mlir import relax
from relax_mlir.arith import Analyzer
from relax_mlir.dialects.symbolic.atoms import signed
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import from_source, script_with_metadata

i, n = SymExpr.var(signed("i")), SymExpr.var("n")


def run(source: str, *args):
    """Run `main`, after its script has been read back as the same program."""
    module = from_source(source)
    text, metadata = script_with_metadata(module)
    assert "__signed" not in text
    again = from_source(text, {"metadata": metadata})
    assert_structural_equal(again, module)
    assert script_with_metadata(again)[0] == text
    return relax.VirtualMachine(relax.build(module))["main"](*args)


def test_what_is_certain_of_them() -> None:
    analyzer = Analyzer()
    assert str(i.max(0)) != str(i)
    assert str(n.max(0)) == "n"
    assert (i + 2).max(i) == i + 2
    assert not analyzer.can_prove(i >= 0)
    assert not analyzer.can_prove(i * n >= 0)
    assert not analyzer.can_prove(i * i * i >= 0)
    assert not analyzer.can_prove(i // 4 <= i)
    analyzer.assume(i >= 0)
    assert analyzer.can_prove(i // 4 <= i)
    assert analyzer.can_prove(i.max(0) == i)
    analyzer = Analyzer()
    analyzer.assume(i == n - 3)
    assert not analyzer.can_prove(n >= 3)
    analyzer = Analyzer()
    analyzer.assume(i % 4 == 0)
    assert analyzer.can_prove((i + 4) % 4 == 0)
    assert not analyzer.can_prove(i >= 0)


def test_loops_count_below_zero() -> None:
    source = """
@R.function
def main(x: R.Tensor(("n",), "float32"), k: R.Prim("int64")):
    i = 3
    y = x
    while i >= -2:
        y = R.concat((y, R.zeros((T.max(i, 0),), "float32")))
        i = i - 1
    total = T.max(i, 0)
    for j in range(-3, 3):
        for up in range(4):
            total = total + T.max(j, 0) + T.max(up, 0)
    return (i, total, y, R.shape([T.max(k, 0)]), T.min(k, 0), k // 4)
"""
    for k in (-5, 0, 7):
        last, total, y, shape, least, quarter = run(source, np.ones(2, "float32"), k)
        assert (last, total, len(y)) == (-3, 3 * 4 + 6 * 6, 2 + 6)
        assert (shape, least, quarter) == ((max(k, 0),), min(k, 0), k // 4)


@pytest.mark.parametrize("k", [-9, -2, 0, 2, 9])
def test_slices_count_from_the_end(k) -> None:
    source = """
@R.function
def main(x: R.Tensor(("n",), "int64"), k: R.Prim("int64")):
    return x[k:], x[:k]
"""
    x = np.arange(5)
    tail, head = run(source, x, k)
    np.testing.assert_array_equal(tail, x[k:])
    np.testing.assert_array_equal(head, x[:k])


def test_an_integer_parameter_of_a_kernel() -> None:
    source = """
@T.prim_func
def f(a: T.handle, b: T.handle, k: T.int64):
    n = T.int64()
    A = T.match_buffer(a, (n,), "int64")
    B = T.match_buffer(b, (n,), "int64")
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] + T.max(k, T.int64(0)) * T.int64(10) + T.min(k, 0)

@R.function
def main(x: R.Tensor(("n",), "int64"), k: R.Prim("int64")):
    return R.call_tir(f, (x,), R.Tensor(("n",), "int64"), tir_vars=R.shape([k]))
"""
    for k in (-5, 4):
        np.testing.assert_array_equal(
            run(source, np.zeros(3, "int64"), k), max(k, 0) * 10 + min(k, 0)
        )


def test_a_symbol_that_somebody_named_is_a_size() -> None:
    source = """
@R.function
def main(x: R.Tensor(("n",), "int64"), k: R.Prim(value="k")):
    return R.shape([T.max(k, 0), n])
"""
    assert run(source, np.zeros(3, "int64"), 2) == (2, 3)
    with pytest.raises(ValueError, match=r"symbol 'k' is a size.*k is -1 \(by argument 'k'\)"):
        run(source, np.zeros(3, "int64"), -1)


def test_the_builder_knows_too() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(("n",), "float32"))
    with bb.function("main", [x]):
        with bb.for_((-3, 3), [0]) as loop, loop.body() as (j, total):
            loop.yield_(total.value + j.value.max(0))
        (total,) = loop.results
        bb.emit_func_output(total)
    main = relax.VirtualMachine(relax.build(bb.get()))["main"]
    assert main(np.ones(2, "float32")) == 3


def test_arithmetic_with_tensors() -> None:
    source = """
@R.function
def main(x: R.Tensor(("n",), "int64"), k: R.Prim("int64")):
    f = R.astype(x, "float32")
    with R.dataflow():
        a = x * (k - 10)
        R.output(a)
    return (a, x + T.max(k * 2 + 1, n), x - k // 3, f / (k % 5 + 1), k * x, x > k,
            R.zeros((T.max(k, 2), n), "bool"))
"""
    x = np.arange(3)
    for k in (-7, 0, 5):
        wanted = (
            x * (k - 10), x + max(k * 2 + 1, 3), x - k // 3, x.astype("float32") / (k % 5 + 1),
            k * x, x > k, np.zeros((max(k, 2), 3), bool),
        )  # fmt: skip
        for got, want in zip(run(source, x, k), wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6)
            assert got.dtype == want.dtype
