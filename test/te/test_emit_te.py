"""`bb.emit_te`, `call_te`, `te_tensor` and `emit` of a tensor, over the real te."""

from typing import Any

import numpy as np
import pytest

from relax_mlir import relax, te, tir, topi
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.ir import assert_structural_equal, structural_equal
from relax_mlir.script import from_source
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

floordiv = tir.floordiv


def run(bb: relax.BlockBuilder, *args: Any) -> Any:
    return relax.VirtualMachine(relax.build(bb.get()))["main"](*args)


def test_the_documents_program() -> None:
    """`x + 1` by the library, `te_tensor` of it, a te function over both."""
    bb = relax.BlockBuilder()
    n, m = tir.Var("n"), tir.Var("m")
    x = relax.Var("x", R.Tensor((n, m), "float32"))

    def te_func(first: te.Tensor, second: te.Tensor) -> te.Tensor:
        return te.compute((n, m), lambda i, j: first[i, j] + second[i, j])

    with bb.function("main", [x]):
        with bb.dataflow():
            a = bb.emit(x + 1)
            A = relax.te_tensor(a)
            lv = bb.emit(te.compute((n, m), lambda i, j: A[i, j] * 2, name="twice"))
            out = bb.emit_output(bb.call_te(te_func, lv, a))
        bb.emit_func_output(out)
    ones = np.ones((3, 5), "float32")
    np.testing.assert_array_equal(run(bb, ones), ones * 6)


def test_the_documents_dynamic_case() -> None:
    """`2 * floordiv(m, 2)`: `m` goes with the call as one more argument."""

    @T.prim_func(private=True)
    def ewise_fun(a: T.handle, b: T.handle, m: T.int64) -> None:
        n = T.int64()
        A = T.match_buffer(a, (n, m // 2 * 2), "float32")
        B = T.match_buffer(b, (n, m // 2 * 2), "float32")
        with T.block([n, m // 2 * 2]) as [i, j]:
            B[i, j] = A[i, j] + 1.0

    bb = relax.BlockBuilder()
    n, m = tir.Var("n"), tir.Var("m")
    x = relax.Var("x", R.Tensor((n, 2 * floordiv(m, 2)), "float32"))
    with bb.function("main", [x, relax.Var("s", R.Shape((m,)))]):
        A = relax.te_tensor(x)
        B = bb.emit(te.compute([n, 2 * floordiv(m, 2)], lambda i, j: A[i, j] + 1, name="B"))
        assert bb.lookup_binding(B).attrs.tir_vars == [m]
        bb.emit_func_output(B)
    mod = bb.get()
    assert_structural_equal(mod["B"], ewise_fun)
    for width in (0, 1, 4, 7):
        value = np.random.default_rng(0).random((3, width // 2 * 2), "float32")
        np.testing.assert_array_equal(run(bb, value, (width,)), value + 1)


def test_arguments_of_every_kind() -> None:
    """Tensors, tuples, lists, dicts, shapes, numbers and keywords, nested."""
    bb = relax.BlockBuilder()
    n = tir.Var("n")
    x = relax.Var("x", R.Tensor((n, 4), "float32"))
    pair = relax.Var("pair", R.Tuple(R.Tensor((n, 4), "float32"), R.Tensor((4,), "float32")))

    def mixed(both: Any, shape: Any, by: int, more: Any = None, factor: Any = 1.0) -> te.Tensor:
        first, row = both
        assert shape == [n, 4]
        extra = more["list"][0]
        return te.compute(
            shape, lambda i, j: (first[i, j] + row[j] * by) * factor + extra[i, j] * n
        )

    with bb.function("main", [x, pair]):
        out = bb.emit_te(mixed, pair, x.shape, 3, more={"list": [x]}, factor=0.5)
        bb.emit_func_output(out)
    a, b, c = (np.random.default_rng(i).random((3, 4), "float32") for i in range(3))
    want = (b + c[0] * 3) * np.float32(0.5) + a * 3
    np.testing.assert_allclose(run(bb, a, (b, c[0].copy())), want, rtol=1e-6)


def test_identical_prim_funcs_are_one() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor(("n", 4), "float32"))
    y = relax.Var("y", R.Tensor(("n", 4), "float32"))
    with bb.function("main", [x, y]):
        with bb.dataflow():
            lv = bb.emit_te(topi.add, x, y)
            lv1 = bb.emit_te(topi.add, y, lv)
            lv2 = bb.emit_te(topi.nn.relu, lv1)
            out = bb.emit_output(bb.emit_te(topi.subtract, lv2, x))
        bb.emit_func_output(out)
    assert bb.get().function_names == ["add", "relu", "subtract", "main"]
    a, b = (np.random.default_rng(i).random((3, 4), "float32") for i in range(2))
    np.testing.assert_allclose(run(bb, a, b), a + 2 * b - a, rtol=1e-5)


def test_several_outputs_and_inputs_handed_back() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor(("n", 4), "float32"))

    def halves(a: te.Tensor) -> list[te.Tensor]:
        parts = topi.split(a, 2, 1)
        return [*parts, a, parts[0]]

    with bb.function("main", [x]):
        t = bb.emit_te(halves, x)
        bb.emit_func_output((t[0], t[1], t[2], t[3]))
    a = np.random.default_rng(0).random((3, 4), "float32")
    for got, want in zip(run(bb, a), (a[:, :2], a[:, 2:], a, a[:, :2]), strict=True):
        np.testing.assert_array_equal(got, want)


def test_made_functions_print_and_parse_back() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((2, "m"), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit_te(topi.nn.softmax, x, primfunc_name_hint="softmax"))
    mod = bb.get()
    mod.verify()
    text = mod.script()
    assert 'cls.softmax, (x,), out_ty=R.Tensor((2, m), dtype="float32")' in text
    assert structural_equal(from_source(text), mod)


def test_attributes_of_the_prim_func() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((2, 3), "float32"))
    with bb.function("main", [x]):
        attrs = {"op_pattern": 8, "tir.noalias": True}
        bb.emit_func_output(bb.emit_te(topi.exp, x, primfunc_attrs=attrs))
    text = bb.get().script()
    assert 'T.func_attr({"tir.noalias": True, "op_pattern": 8})' in text


@pytest.mark.parametrize(
    "function",
    [
        lambda x: topi.concatenate([x, x * 2], 1),
        lambda x: topi.reshape(x, (-1,)),
        lambda x: topi.nn.pad(x, (1, 0), (0, 2)),
        lambda x: topi.cumsum(x, 1),
        lambda x: topi.strided_slice(x, [1], [-1], [2]),
        lambda x: topi.variance(x, 1),
        lambda x: topi.tile(x, (2, 3)),
    ],
)
def test_stages_round_trip(function: Any) -> None:
    x = te.placeholder((tir.Var("n"), 5), name="x")
    mod = te.create_prim_func([x, function(x)]).module
    mod.verify()
    assert structural_equal(from_source(mod.script()), mod)


def test_names_that_script_cannot_have() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((2, 3), "float32"))
    with bb.function("main", [x]):
        out = bb.emit_te(lambda a: te.compute(a.shape, lambda *i: a[i] * 2, name="while"), x)
        bb.emit_func_output(out)
    assert bb.get().function_names == ["te_func", "main"]
    assert structural_equal(from_source(bb.get().script()), bb.get())


def test_misuse() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((2, 3), "float32"))
    with bb.function("main", [x]):
        with pytest.raises(ExprTypeError, match="gives te tensors, 'bad' gave 3"):
            bb.emit_te(lambda a: 3, x, primfunc_name_hint="bad")
        stray = te.placeholder((2, 3), name="stray")
        with pytest.raises(ExprError, match="'stray' is read, but is not in the list"):
            bb.emit_te(lambda a: te.compute((2, 3), lambda *i: a[i] + stray[i]), x)
        with pytest.raises(ExprError, match="'compute': 'A' has 2 dimensions"):
            bb.emit_te(lambda a: te.compute((2,), lambda i: a[i]), x)
        bb.emit_func_output(x)
