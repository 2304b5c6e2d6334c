"""PyExprVisitor: what is visited, in which order, and what of it can be overridden."""

import pytest

from relax_mlir import relax
from relax_mlir.errors import ExprTypeError
from relax_mlir.ir import IRModule
from relax_mlir.relax.expr import (
    Call,
    DataflowVar,
    Function,
    GlobalVar,
    If,
    Op,
    Tuple,
    TupleGetItem,
    Var,
    functions,
)
from relax_mlir.relax.expr_functor import ExprVisitor, PyExprVisitor, visitor
from relax_mlir.script import from_source
from relax_mlir.script import relax as R

SOURCE = """
from relax_mlir.script import ir as I, relax as R, tir as T
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), flag: R.Tensor((), "bool")):
        n = T.int64()
        with R.dataflow():
            a = R.exp(x)
            b = R.add(a, R.const(1.0))
            R.output(b)
        p = (x, b)
        q = p[1]
        if flag:
            r = R.abs(q)
        else:
            r = R.reshape(q, R.shape([n, 4]))
        m = R.match_cast(r, R.Tensor((n, 4), "float32"))
        z = R.call_packed("f", m, sinfo_args=R.Object)
        return m
"""


@pytest.fixture(scope="module")
def main():
    return from_source(SOURCE)


class Log(PyExprVisitor):
    def __init__(self):
        self.seen = []

    def visit_var_def(self, var):
        self.seen.append(f"def {var.name_hint}{' local' * isinstance(var, DataflowVar)}")

    def visit_var_(self, var):
        self.seen.append(var.name_hint)

    def visit_op_(self, op):
        self.seen.append(op.name)

    def visit_constant_(self, expr):
        self.seen.append("constant")

    def visit_shape_expr_(self, expr):
        self.seen.append(str(expr.values))

    def visit_extern_func_(self, expr):
        self.seen.append(expr.global_symbol)


def test_order(main):
    log = Log()
    log.visit_expr(functions(main)["main"])
    assert log.seen == [
        "def x", "def flag",
        "relax.exp", "x", "def a local",
        "relax.add", "a", "constant", "def b",
        "x", "b", "def p",
        "p", "def q",
        "flag", "relax.abs", "q", "def r", "r", "relax.reshape", "q", "(n, 4)", "def r", "r",
        "def r",
        "r", "def m",
        "f", "m", "def z",
        "m",
    ]  # fmt: skip
    again = Log()
    again.visit_expr(main)
    assert again.seen == log.seen
    by_op = Log()
    by_op.visit_expr(main["main"])
    assert by_op.seen == log.seen


def test_methods_by_kind(main):
    found = []

    @visitor
    class Kinds(ExprVisitor):
        def visit_call_(self, call):
            found.append(type(call))
            super().visit_call_(call)

        def visit_if_(self, expr):
            found.append(type(expr))
            super().visit_if_(expr)

        def visit_tuple_(self, expr):
            found.append(type(expr))

        def visit_tuple_getitem_(self, expr):
            found.append(type(expr))

        def visit_match_cast_(self, binding):
            found.append("match_cast")

        def visit_dataflow_block_(self, block):
            found.append("dataflow")
            super().visit_dataflow_block_(block)

    Kinds().visit_expr(functions(main)["main"])
    assert found == [
        "dataflow", Call, Call, Tuple, TupleGetItem, If, Call, Call, "match_cast", Call,
    ]  # fmt: skip


def test_what_an_override_does_not_visit_is_not_seen(main):
    class Shallow(Log):
        def visit_if_(self, expr):
            self.seen.append("if")

        def visit_dataflow_block_(self, block):
            self.seen.append(f"{len(block)} bindings")

    log = Shallow()
    log.visit_expr(functions(main)["main"])
    assert "relax.abs" not in log.seen
    assert log.seen[2] == "2 bindings"


def test_expressions_not_emitted():
    x = Var("x", R.Tensor((4,), "float32"))
    log = Log()
    log.visit_expr(Call(Op.get("relax.add"), [x, relax.op.exp(x)]))
    assert log.seen == ["relax.add", "x", "relax.exp", "x"]
    log = Log()
    log.visit_expr(Function([x], relax.If(relax.const(True), x, Call(GlobalVar("f"), [x]))))
    assert log.seen == ["def x", "constant", "x", "x"]


def test_bad_use():
    with pytest.raises(ExprTypeError, match="expected an expression"):
        PyExprVisitor().visit_expr(3)
    with pytest.raises(TypeError, match="PyExprVisitor"):
        visitor(dict)


def test_many_bindings():
    count = 20000
    lines = "".join(
        f'%v{i + 1} = "relax.exp"(%v{i}) : (tensor<4xf32>) -> tensor<4xf32>\n' for i in range(count)
    )
    mod = IRModule.parse(
        "func.func @main(%v0: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {\n"
        f"{lines}return %v{count} : tensor<4xf32> }}"
    )

    class Count(PyExprVisitor):
        calls = 0

        def visit_call_(self, call):
            self.calls += 1

    found = Count()
    found.visit_expr(functions(mod)["main"])
    assert found.calls == count
