"""Statements made in Python: `tir.For`, `tir.Block`, ... written by `tir.PrimFunc`."""

import math
from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import te, tir
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import from_source

P, J, K, N = (tir.Var(name) for name in "ijkn")
A, B = (tir.decl_buffer((N, 16), name=name) for name in "AB")
X, Y, Z = (
    tir.decl_buffer(shape, name=name)
    for name, shape in (("X", (8, 4)), ("Y", (4, 6)), ("Z", (8, 6)))
)
SERIAL = tir.ForKind.SERIAL


def same_as_its_script(func: Any) -> None:
    module = relax_mlir.IRModule({func.name: func})
    assert_structural_equal(from_source(module.script()), module)


def test_loops_and_choices() -> None:
    one = tir.decl_buffer((1,), name="one")
    handles = [tir.Var("a", "handle"), tir.Var("b", "handle")]
    choice = tir.IfThenElse(
        tir.all(P * 2 < N, J >= 3), tir.BufferStore(B, one[0] + 1, [P, J]),
        B.vstore((P, J), tir.exp(A[P, 15 - J])),
    )  # fmt: skip
    inner = [tir.AllocBuffer(one), tir.BufferStore(one, A[P, J] * 2.0, [0]), choice]
    loop = tir.For(J, 0, 16, SERIAL, tir.SeqStmt(inner))
    root = tir.For(P, 0, N, tir.ForKind.PARALLEL, loop, annotations={"note": 1})
    func = tir.PrimFunc(
        handles, root, buffer_map=dict(zip(handles, (A, B), strict=True)),
        attrs={"global_symbol": "f", "tir.noalias": True},
    )  # fmt: skip
    assert (func.name, func.attrs["tir.noalias"]) == ("f", True)
    same_as_its_script(func)
    x, y = np.random.default_rng(0).random((5, 16), "float32"), np.zeros((5, 16), "float32")
    relax_mlir.build(func)(x, y)
    taken = (np.arange(5)[:, None] * 2 < 5) & (np.arange(16) >= 3)
    np.testing.assert_allclose(y, np.where(taken, x * 2 + 1, np.exp(x[:, ::-1])), rtol=1e-5)
    seen: list[Any] = []
    tir.stmt_functor.post_order_visit(func, seen.append)
    for cls, count in ((tir.For, 2), (tir.BufferStore, 3), (tir.IfThenElse, 1), (tir.Block, 0)):
        assert sum(isinstance(each, cls) for each in seen) == count
    assert isinstance(root, tir.For)
    assert isinstance(root, tir.Stmt)
    assert not isinstance(root, tir.While)
    assert tir.stmt_list(tir.stmt_seq(root, [loop, choice])) == [root, loop, choice]


def test_blocks() -> None:
    vi, vj, vk = (tir.Var(name) for name in ("vi", "vj", "vk"))
    block = tir.Block(
        [tir.IterVar((0, 8), vi, 0), tir.IterVar((0, 6), "vj", "spatial"),
         tir.IterVar((0, 4), vk, tir.IterVar.CommReduce)], [], [], "Z",
        tir.BufferStore(Z, Z[vi, vj] + X[vi, vk] * Y[vk, vj], [vi, vj]),
        init=tir.BufferStore(Z, 0.0, [vi, vj]),
    )  # fmt: skip
    root: Any = tir.BlockRealize([P, J, K], True, block)
    for variable, extent in ((K, 4), (J, 6), (P, 8)):
        root = tir.For(variable, 0, extent, SERIAL, root)
    func = tir.PrimFunc([X, Y, Z], root)
    same_as_its_script(func)
    schedule = tir.Schedule(func)
    schedule.split(schedule.get_loops(schedule.get_block("Z"))[0], [2, 4])
    rng = np.random.default_rng(1)
    x, y, z = (rng.random(shape, "float32") for shape in ((8, 4), (4, 6), (8, 6)))
    relax_mlir.build(schedule.mod)(x, y, z)
    np.testing.assert_allclose(z, x @ y, rtol=1e-5)


def test_other_statements() -> None:
    count, m = tir.decl_buffer((1,), "int32", "count"), tir.Var("m")
    turn = tir.BufferStore(count, count[0] + tir.Cast("int32", m), [0])
    func = tir.PrimFunc([Z, N], tir.SeqStmt([
        tir.AllocBuffer(count), tir.BufferStore(count, 0, [0]),
        tir.LetStmt(m, tir.if_then_else(N > 2, N, 1), tir.While(count[0] < 20, turn)),
        tir.AssertStmt(count[0] >= 20, "enough"),
        tir.BufferStore(Z, tir.Cast("float32", count[0]), [0, 0]),
    ]))  # fmt: skip
    same_as_its_script(func)
    run, z = relax_mlir.build(relax_mlir.IRModule({"main": func})), np.zeros((8, 6), "float32")
    for n, want in ((7, 21), (1, 20)):
        run(z, n)
        assert z[0, 0] == want


STORE = tir.BufferStore(Z, 0.0, [P, J])


@pytest.mark.parametrize(
    ("make", "error", "why"),
    [
        (lambda: tir.For("i", 0, 8, SERIAL, STORE), ExprTypeError, "is a variable, tir.Var"),
        (lambda: tir.For(P, 0, 8, "fast", STORE), ExprError, "kind of tir.For is tir.ForKind.SERI"),
        (lambda: tir.For(P, 0, 8, SERIAL, Z[0, 0]), ExprTypeError, "tir.Evaluate"),
        (lambda: tir.BufferStore(Z, 0.0, [P]), ExprError, "'Z' has 2 dimensions, got 1 indices"),
        (lambda: tir.BufferStore(Z, N, [P, J]), ExprTypeError, r"tir.Cast\('float32', value\)"),
        (lambda: tir.BufferStore(3, N, [P, J]), ExprTypeError, "takes a buffer, tir.decl_buffer"),
        (lambda: Z[0.5, 0], ExprTypeError, "an index is an integer, got 0.5 of float32"),
        (lambda: tir.IfThenElse(P, STORE), ExprTypeError, "needs a condition of dtype bool"),
        (lambda: tir.SeqStmt(STORE), ExprTypeError, "takes a list of statements"),
        (lambda: tir.Block([3], [], [], "b", STORE), ExprTypeError, "iter_vars of tir.Block"),
        (lambda: tir.IterVar((1, 3), "v", 0), ExprError, "begins at 0, got 1"),
        (lambda: tir.IterVar((0, 3), "v", 7), ExprError, "spatial, reduction, scan, opaque"),
        (lambda: tir.LetStmt(P, 0.5, STORE), ExprTypeError, "names an integer"),
        (lambda: tir.PrimFunc(Z, STORE), ExprTypeError, "a list of parameters"),
        (lambda: tir.PrimFunc([3], STORE), ExprTypeError, "a buffer, a handle"),
        (lambda: tir.PrimFunc([tir.Var("a", "handle")], STORE), ExprError, "buffer_map does not"),
        (lambda: tir.PrimFunc([X], STORE), ExprError, "buffer 'Z' is no parameter of tir.PrimFunc"),
        (lambda: tir.PrimFunc([Z], tir.BufferStore(Z, X[0, 0], [0, 0])), ExprError, "'X' is not"),
        (lambda: tir.PrimFunc([Z], STORE), ExprError, "'j' has no value: no loop"),
        (lambda: tir.PrimFunc([tir.decl_buffer((N * 2,), name="Q")], [STORE]), ExprError, "'Z' is"),
        (lambda: list(Z), ExprTypeError, "is read by its indices"),
        (lambda: tir.PrimFunc([Z], tir.For(P, 0, 9, SERIAL, tir.BufferStore(Z, 0.0, [P, 0]))),
         ExprError, "index 0 of buffer 'Z' goes from 0 to 8, outside a dimension of 8"),
        (lambda: tir.PrimFunc([Z], [STORE], ret_type=3), ExprTypeError, "returns nothing"),
    ],
)  # fmt: skip
def test_refusals(make: Any, error: type[Exception], why: str) -> None:
    with pytest.raises(error, match=why):
        make()


def test_functions_of_numpy_make_expressions() -> None:
    a = te.placeholder((3,), name="a")
    outs = [
        te.compute((3,), body)
        for body in (
            lambda i: np.sqrt(np.abs(a[i])) + np.float32(2) * a[i],
            lambda i: np.maximum(a[i], np.float32(0)) - np.arctan2(a[i], np.float32(3)),
        )
    ]
    x = np.float32([-4, 0, 9])
    got = [np.empty_like(x) for _ in outs]
    relax_mlir.build(te.create_prim_func([a, *outs]))(x, *got)
    np.testing.assert_allclose(got[0], np.sqrt(np.abs(x)) + 2 * x, rtol=1e-6)
    np.testing.assert_allclose(got[1], np.maximum(x, 0) - np.arctan2(x, 3), rtol=1e-6)
    for body, why in ((lambda i: np.cbrt(a[i]), "numpy's cbrt takes no scalar expression"),
                      (lambda i: math.exp(a[i]), "math.exp takes numbers")):  # fmt: skip
        with pytest.raises(ExprTypeError, match=why):
            te.compute((3,), body)
    assert float(tir.const(1.5)) == 1.5
