"""PyExprMutator over loops, lambdas, every form of call, and random functions."""

import random

import pytest
from mutation import BEFORE, EXP, Same, module, put, rewrite

from relax_mlir import ir, relax
from relax_mlir.ir import IRModule
from relax_mlir.relax import analysis
from relax_mlir.relax.expr import Call, GlobalVar, Tuple, TupleGetItem, functions
from relax_mlir.relax.expr_functor import PyExprMutator
from relax_mlir.script import from_source

LOOP = """
func.func @main(%x: tensor<4xf32>, %n: i64) -> tuple<tensor<4xf32>> attributes {relax.function} {
  %a = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("a")
  %bounds = builtin.unrealized_conversion_cast %n, %n, %n : i64, i64, i64 to tuple<i64, i64, i64>
  %t = builtin.unrealized_conversion_cast %x : tensor<4xf32> to tuple<tensor<4xf32>>
  %r = "relax.for"(%bounds, %t) ({
  ^bb0(%i: i64 loc("i"), %v: tensor<4xf32> loc("v")):
    %b = "relax.add"(%a, %v) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("b")
    %c = "relax.exp"(%b) : (tensor<4xf32>) -> tensor<4xf32> loc("c")
    %u = builtin.unrealized_conversion_cast %c : tensor<4xf32> to tuple<tensor<4xf32>>
    "relax.yield"(%u) : (tuple<tensor<4xf32>>) -> ()
  }) : (tuple<i64, i64, i64>, tuple<tensor<4xf32>>) -> tuple<tensor<4xf32>> loc("r")
  return %r : tuple<tensor<4xf32>>
}
"""
LAMBDA = BEFORE.replace(
    "        a = R.add(x, y)\n",
    """        @R.function
        def inner(p: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
            q = R.exp(p)
            s = R.add(q, x)
            return s
        a = R.add(x, y)
""",
)


class ExpToNegative(PyExprMutator):
    def visit_call_(self, call):
        call = super().visit_call_(call)
        return relax.op.negative(call.args[0]) if call.op == EXP else call


def test_loops_and_lambdas():
    mod = IRModule.parse(LOOP)
    assert Same(mod).visit_expr(functions(mod)["main"]) is not None
    made = put(mod, ExpToNegative(mod).visit_expr(functions(mod)["main"]))
    wanted = IRModule.parse(LOOP.replace("relax.exp", "relax.negative"))
    ir.assert_structural_equal(made, wanted)
    rewrite(ExpToNegative, LAMBDA, LAMBDA.replace("R.exp", "R.negative"))


FORMS = """
    @R.function(private=True)
    def callee(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        y = R.abs(x)
        return y

    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        cls = Module
        a = R.exp(x)
        b = R.call_packed("f", a, x, sinfo_args=R.Tensor((n, 4), "float32"))
        c = cls.callee(a)
        d = R.call_dps_packed("g", (a, c), R.Tensor((n, 4), "float32"))
        e = R.call_pure_packed("h", a, R.shape([n, 4]), sinfo_args=R.Object)
        f = R.reshape(a, R.shape([n * 4]))
        g = R.concat((a, b), axis=0)
        h = R.split(a, 2, axis=1)
        i = h[0]
        j = R.shape_of(a)
        return (b, c, d, e, f, g, i, j)
"""


class Anew(PyExprMutator):
    """Makes every expression anew, so that all are emitted again."""

    def visit_call_(self, call):
        call = super().visit_call_(call)
        return Call(call.op, call.args, call.attrs, call.sinfo_args)

    def visit_tuple_getitem_(self, expr):
        expr = super().visit_tuple_getitem_(expr)
        return TupleGetItem(expr.tuple_value, expr.index)

    def visit_tuple_(self, expr):
        return Tuple(super().visit_tuple_(expr).fields)


def test_every_form_of_call():
    rewrite(Anew, FORMS, FORMS)
    rewrite(ExpToNegative, FORMS, FORMS.replace("R.exp", "R.negative"))


def test_callees_are_visited():
    class Rename(PyExprMutator):
        def visit_global_var_(self, expr):
            return GlobalVar("other") if expr.name_hint == "callee" else expr

    mod = module(FORMS)
    found = Rename(mod).visit_expr(functions(mod)["main"])
    assert [each.name_hint for each in analysis.all_global_vars(found)] == ["other"]


def random_function(rng):
    lines, values = [], ["x", "y"]
    count = 0

    def block(depth, scope, most):
        nonlocal count
        inner = list(scope)
        for _ in range(rng.randint(1, most)):
            count += 1
            name, a, b = f"v{count}", rng.choice(inner), rng.choice(inner)
            kind = rng.random()
            pad = "    " * depth
            if kind < 0.15 and depth < 4:
                lines.append(f"{pad}if flag:")
                then = block(depth + 1, inner, 3)
                lines.append(f"{pad}    {name} = R.abs({then[-1]})")
                lines.append(f"{pad}else:")
                lines.append(f"{pad}    {name} = R.exp({a})")
            elif kind < 0.3 and depth == 2:
                lines.append(f"{pad}with R.dataflow():")
                found = [f"{name}_{i}" for i in range(3)]
                for each in found:
                    lines.append(f"{pad}    {each} = R.add({rng.choice(inner)}, {a})")
                    inner.append(each)
                leaving = rng.sample(found, rng.randint(1, 3))
                lines.append(f"{pad}    R.output({', '.join(leaving)})")
                inner = [each for each in inner if each not in found or each in leaving]
                continue
            elif kind < 0.45:
                lines.append(f"{pad}{name}_t = ({a}, {b})")
                lines.append(f"{pad}{name} = {name}_t[{rng.randint(0, 1)}]")
            else:
                lines.append(f"{pad}{name} = R.{rng.choice(['add', 'multiply'])}({a}, {b})")
            inner.append(name)
        return inner

    values = block(2, values, 10)
    return (
        """    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n", 4), "float32"),
             flag: R.Tensor((), "bool")):
"""
        + "\n".join(lines)
        + f"\n        return ({rng.choice(values)}, {values[-1]})\n"
    )


@pytest.mark.parametrize("seed", range(20))
def test_random_functions(seed):
    source = random_function(random.Random(seed))
    rewrite(Same, source)
    rewrite(Anew, source, source)
    mod = module(source)
    ir.assert_structural_equal(mod, from_source(mod.script()))
    live = analysis.liveness(functions(mod)["main"])
    for binding, alive in live.live_sets():
        assert set(alive) == set(live.live_in(binding))
    assert analysis.free_vars(mod) == []
