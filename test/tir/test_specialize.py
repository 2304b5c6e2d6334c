"""`func.specialize`: symbols and integer parameters become numbers."""

import numpy as np
import pytest

import relax_mlir
from relax_mlir import te, tir
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T
from relax_mlir.tir.specialize import specialize


@T.prim_func
def scaled(a: T.handle, b: T.handle, n: T.int32, s: T.float32):
    T.func_attr({"tir.noalias": True})
    m = T.int64()
    A = T.match_buffer(a, (m, n), "float32")
    B = T.match_buffer(b, (m, n * 2), "float32")
    for i, j in T.grid(m, n):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj + n] = A[vi, vj] * s


@T.prim_func(private=True)
def expected(A: T.Buffer((3, 5), "float32"), B: T.Buffer((3, 10), "float32"), s: T.float32):
    T.func_attr({"tir.noalias": True})
    for i, j in T.grid(3, 5):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj + 5] = A[vi, vj] * s


A_, B_, N, S = scaled.params


@pytest.mark.parametrize(
    "values",
    [
        {"m": 3, "n": 5},
        {"m": 3, N: tir.IntImm("int32", 5)},
        {A_: tir.decl_buffer((3, 5))},
        {A_: tir.decl_buffer((3, 5)), B_: tir.decl_buffer((3, 10)), N: 5},
    ],
)
def test_all_numbers(values):
    made = scaled.specialize(values)
    assert_structural_equal(
        made.with_attr("global_symbol", "f"), expected.with_attr("global_symbol", "f")
    )
    assert [str(param) for param in made.params] == ["A", "B", "s"]
    a, b = np.arange(15, dtype="float32").reshape(3, 5), np.zeros((3, 10), "float32")
    relax_mlir.build(made)(a, b, 2.0)
    np.testing.assert_array_equal(b, np.hstack([np.zeros_like(a), 2 * a]))


def test_some_numbers():
    made = scaled.specialize({"m": 3})
    assert [str(param) for param in made.params] == ["A", "B", "n", "s"]
    assert [str(dim) for dim in made.buffer_map[made.params[1]].shape] == ["3", "n * 2"]


def test_functions_of_modules_and_of_te():
    n = te.var("n")
    a = te.placeholder((n,), name="a")
    func = te.create_prim_func([a, te.compute((n,), lambda i: a[i] + 1.0, name="b")])
    made = relax_mlir.IRModule({"f": func})["f"].specialize({n: 7})
    out = np.zeros(7, "float32")
    relax_mlir.build(made)(np.zeros(7, "float32"), out)
    assert (out == 1).all()


@I.ir_module
class Model:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        return R.add(x, x)


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"mm": 1}, ExprError, "no parameter or symbol 'mm'.*did you mean 'm'"),
        ({S: 2}, ExprTypeError, "'s' is of float32; only integers"),
        ({A_: 3}, ExprTypeError, "tir.decl_buffer.* says its shape, got 3"),
        ({A_: tir.decl_buffer((2, 3), "int8")}, ExprError, r"float32 and shape \(m, n\), got one"),
        ({A_: tir.decl_buffer((2,))}, ExprError, r"got one of float32 and shape \(2,\)"),
        ({A_: tir.decl_buffer((2, 3)), "n": 4}, ExprError, "'n' is 3 and 4"),
        ({B_: tir.decl_buffer((2, 7))}, ExprError, r"which \(2, 7\) is not"),
        ({"n": 2.5}, ExprTypeError, "'n' becomes a number, got 2.5"),
        ({"n": -1}, ExprError, "with n = -1: a dimension cannot be negative"),
        (3, ExprTypeError, "numbers and buffers by parameter, .* got 3"),
    ],
)
def test_errors(values, error, message):
    with pytest.raises(error, match=message):
        scaled.specialize(values)


def test_relax_functions_are_none():
    with pytest.raises(ExprTypeError, match="takes a prim func, this is a Relax function"):
        specialize(Model["main"], {"n": 3})
