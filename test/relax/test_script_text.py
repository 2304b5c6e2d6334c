"""`script()` of types, expressions and bindings, emitted or not."""

from typing import Any

import numpy as np
import pytest

from relax_mlir import relax
from relax_mlir.errors import ExprError
from relax_mlir.relax.expr import FuncType, PrimType, ShapeType, TensorType, TupleType
from relax_mlir.script import from_source
from relax_mlir.script import relax as R


def var(name: str, *dims: Any) -> relax.Var:
    return relax.Var(name, TensorType(dims, "float32"))


A, B, C = var("a", 1, "x", 3), var("b", 1, "x", 3), var("c", 1, "x", 3)
LOCAL = relax.DataflowVar("b", TensorType((1, "x", 3), "float32"))
FREE = ["x = T.int64()", 'a: R.Tensor((1, x, 3), dtype="float32")']
TYPE = 'R.Tensor((1, x, 3), dtype="float32")'

CASES = {
    "any": (relax.AnyType(), ["R.Any"]),
    "scalar": (PrimType("float32"), ["T.float32"]),
    "shape of any rank": (ShapeType(), ["R.Shape(ndim=-1)"]),
    "shape": (ShapeType((1, "n", 3)), ["n = T.int64()", "R.Shape([1, n, 3])"]),
    "tensor": (TensorType(("n * 2", "m"), "int8"),
               ["n = T.int64()", "m = T.int64()", 'R.Tensor((n * 2, m), dtype="int8")']),
    "rank": (TensorType(dtype=None, ndim=2), ["R.Tensor(ndim=2)"]),
    "nothing": (TupleType([]), ["R.Tuple"]),
    "tuple": (TupleType([relax.AnyType(), PrimType("int64")]), ["R.Tuple(R.Any, T.int64)"]),
    "function": (FuncType([relax.AnyType()], PrimType("bool"), purity=False),
                 ["R.Callable((R.Any,), T.bool, False)"]),
    "any function": (FuncType(), ["R.Callable"]),
    "packed function": (relax.PackedFuncType(), ["R.PackedFunc"]),
    "variable": (A, [*FREE, "a"]),
    "reserved": (relax.Var("R", R.Any), ["R_1: R.Any", "R_1"]),
    "constant": (relax.const([1.5, 2], "float32"), ['R.const([1.5, 2.0], "float32")']),
    "large": (relax.const(np.zeros(65, "int8")), ['R.const(<R.Tensor((65,), "int8")>)']),
    "dimensions": (relax.ShapeExpr([1, "n"]), ["n = T.int64()", "R.shape([1, n])"]),
    "integer": (relax.PrimValue(3), ["3"]),
    "text": (relax.StringImm('say "a"'), [r'R.str("say \"a\"")']),
    "dtype": (relax.DataTypeImm("float32"), ['R.dtype("float32")']),
    "field": (relax.TupleGetItem(relax.Tuple([A, A]), 0), [*FREE, "(a, a)[0]"]),
    "operation": (relax.op.nn.softmax(relax.op.sum(A, axis=[0]), axis=-1),
                  [*FREE, "R.nn.softmax(R.sum(a, axis=[0]))"]),
    "prim func": (relax.op.call_tir(relax.GlobalVar("f"), (A,), [A.ty, A.ty]),
                  [*FREE, f"R.call_tir(f, (a,), out_ty=[{TYPE}, {TYPE}])"]),
    "gradient": (relax.op.call_tir_with_grad(relax.GlobalVar("f"), (A,), A.ty, "g", {"k": "x"}),
                 [*FREE, f'R.call_tir_with_grad(f, (a,), out_ty={TYPE}, te_grad_name="g", '
                  'te_grad_kwargs={"k": "x"})']),
    "packed": (relax.op.call_packed("f", A, ty_args=A.ty),
               [*FREE, f'R.call_packed("f", a, ty_args=({TYPE},))']),
    "library": (relax.op.call_dps_packed("f", A, A.ty),
                [*FREE, f'R.call_dps_packed("f", (a,), out_ty={TYPE})']),
    "binding": (relax.VarBinding(B, relax.op.sin(A)), [*FREE, f"b: {TYPE} = R.sin(a)"]),
    "match": (relax.MatchCast(B, A, TensorType((1, 5, 3), "float32")),
              [*FREE, f'b: {TYPE} = R.match_cast(a, R.Tensor((1, 5, 3), dtype="float32"))']),
    "block": (relax.BindingBlock([relax.VarBinding(B, relax.op.sin(A)),
                                  relax.VarBinding(C, relax.op.sin(B))]),
              [*FREE, f"b: {TYPE} = R.sin(a)", f"c: {TYPE} = R.sin(b)"]),
    "sequence": (relax.SeqExpr([relax.DataflowBlock([
                     relax.VarBinding(LOCAL, relax.op.sin(A)),
                     relax.VarBinding(C, relax.op.sin(LOCAL))])], C),
                 [*FREE, "with R.dataflow():", f"    b: {TYPE} = R.sin(a)",
                  f"    c: {TYPE} = R.sin(b)", "    R.output(c)", "c"]),
    "branches": (relax.If(relax.Var("p", R.Tensor((), "bool")), relax.SeqExpr([], A),
                          relax.SeqExpr([], B)),
                 ['p: R.Tensor((), dtype="bool")', "if p:", "    x = T.int64()", f"    a: {TYPE}",
                  "    a", "else:", f"    b: {TYPE}", "    b"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_text(name: str) -> None:
    node, lines = CASES[name]
    assert node.script(verbose_expr=True).split("\n") == lines
    plain = node._relax_script().split("\n")
    assert plain == lines[len(lines) - len(plain) :]


def test_views_are_written_as_they_stand() -> None:
    module = from_source(
        """
@R.function
def main(a: R.Tensor(("n", 4), "float32"), p: R.Tensor((), "bool")):
    with R.dataflow():
        lv = R.add(a, R.const(1.0, "float32"))
        gv = R.split(lv, 2, axis=1)
        R.output(gv)
    if p:
        y = gv[0]
    else:
        y = gv[1]
    return y
"""
    )
    text = module["main"].body.script()
    assert 'R.add(a, R.const(1.0, "float32"))' in text
    assert "R.output(gv)" in text
    assert "if p:" in text
    assert '    y: R.Tensor((n, 2), dtype="float32") = ' in text
    binding = module["main"].body.blocks[0].bindings[0]
    assert binding.var.script() == "lv"
    assert binding.script(verbose_expr=True).split("\n")[0] == "n = T.int64()"


def test_mistakes() -> None:
    with pytest.raises(TypeError, match="colour"):
        A.script(colour=True)
    deep: Any = A
    for _ in range(20_000):
        deep = relax.Tuple([deep])
    with pytest.raises(ExprError, match="nested too deep"):
        deep.script()
