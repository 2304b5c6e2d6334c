"""relax.analysis: variables, symbols, chains, purity, recursion, order of visits."""

import re

import pytest
from mutation import BEFORE, HEAD

from relax_mlir import ir, relax, transform
from relax_mlir.compiler.pipeline import DEFAULT_PIPELINE
from relax_mlir.errors import ExprTypeError, RelaxMLIRError, ScriptError, VerifyError
from relax_mlir.ir import IRModule
from relax_mlir.relax import analysis
from relax_mlir.relax.expr import (
    Call,
    DataflowVar,
    Function,
    GlobalVar,
    If,
    Op,
    Tuple,
    Var,
    functions,
)
from relax_mlir.relax.expr_functor import PyExprMutator, PyExprVisitor
from relax_mlir.script import from_source
from relax_mlir.script import relax as R

MAIN = BEFORE.replace("return (r, d)", "unused = R.exp(r)\n        return (r, d)")


def module(*functions):
    return from_source(HEAD + "".join(functions or (MAIN,)))


def names(found):
    return [each.name_hint if hasattr(each, "name_hint") else str(each) for each in found]


@pytest.fixture(scope="module")
def main():
    return module()


@pytest.mark.parametrize("form", ["module", "view", "op", "mlir"])
def test_variables(main, form):
    node = {
        "module": main,
        "view": functions(main)["main"],
        "op": main["main"],
        "mlir": main.mlir_module,
    }[form]
    bound = ["x", "y", "flag", "a", "b", "c", "d", "r", "e", "r", "r", "unused"]
    assert sorted(names(analysis.bound_vars(node))) == sorted(bound)
    assert names(analysis.free_vars(node)) == []
    assert names(analysis.used_vars(node)) == [
        "x",
        "y",
        "a",
        "b",
        "c",
        "d",
        "flag",
        "e",
        "r",
        "r",
        "r",
    ]
    assert set(analysis.all_vars(node)) == set(analysis.bound_vars(node))


def test_variables_of_parts(main):
    func = functions(main)["main"]
    dataflow = func.body.blocks[1]
    assert names(analysis.free_vars(dataflow)) == ["a"]
    assert names(analysis.bound_vars(dataflow)) == ["b", "c", "d"]
    kinds = [type(each) for each in analysis.bound_vars(dataflow)]
    assert kinds == [DataflowVar, Var, Var]
    add = dataflow.bindings[2].value
    assert names(analysis.all_vars(add)) == ["c", "b"]
    assert analysis.bound_vars(add) == []
    assert names(analysis.bound_vars(dataflow.bindings[2])) == ["d"]
    branch = next(v for v in analysis.get_var2val(func).values() if isinstance(v, If))
    assert names(analysis.free_vars(branch)) == ["flag", "c", "d", "x"]
    assert names(analysis.bound_vars(branch.true_branch)) == ["e", "r"]
    assert names(analysis.free_vars(func.params[0])) == ["x"]


def test_pending_expressions():
    x, y = Var("x", R.Tensor((4,), "float32")), Var("y", R.Tensor((4,), "float32"))
    call = Call(Op.get("relax.add"), [x, Call(GlobalVar("f"), [Tuple([y, x])])])
    assert analysis.free_vars(call) == [x, y]
    assert analysis.all_global_vars(call) == [GlobalVar("f")]
    func = Function([x], call)
    assert analysis.free_vars(func) == [y]
    assert analysis.bound_vars(func) == [x]
    seen = []
    analysis.post_order_visit(call, seen.append)
    assert seen[-1] is call
    assert [each for each in seen if isinstance(each, Var)] == [x, y]


def test_chains(main):
    func = functions(main)["main"]
    chain = {
        var.name_hint: names(users) for var, users in analysis.udchain(func.body.blocks[1]).items()
    }
    assert chain == {"a": ["b"], "b": ["c", "d"], "c": ["d"], "d": []}
    whole = {var.name_hint: names(users) for var, users in analysis.udchain(main).items()}
    assert whole["c"] == ["d", "e", "r"]
    assert len(analysis.name_to_binding(func)["r"]) == 3
    (binding,) = analysis.name_to_binding(func)["d"]
    assert binding.value.op.name == "relax.multiply"
    values = analysis.get_var2val(func)
    assert values[binding.var].same_as(binding.value)
    assert not set(func.params) & set(values)


SHAPES = """
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("n * 2",), "float32"), s: R.Shape):
        n = T.int64()
        m = T.int64()
        k = T.int64()
        z = R.match_cast(y, R.Tensor((k,), "float32"))
        w = R.call_dps_packed("f", (z,), R.Tensor((k - 1, n), "float32"))
        return w
"""


def test_symbols():
    mod = module(SHAPES)
    assert names(analysis.defined_symbolic_vars(mod)) == ["n", "m", "k"]
    assert analysis.free_symbolic_vars(mod) == []
    loose = IRModule.parse(str(mod).replace("match_cast", "exp"))
    assert names(analysis.free_symbolic_vars(loose)) == ["k"]
    type_ = R.Tensor(("n", "m * 2", "n + k"), "float32")
    assert names(analysis.tir_vars_in_type(type_)) == ["n", "m", "k"]
    assert names(analysis.definable_tir_vars_in_type(type_)) == ["n"]
    assert names(analysis.collect_non_negative_expressions(type_)) == ["n", "m * 2", "k + n"]
    shape = R.Tuple(R.Shape(["n", "m - 1", 3]), R.Prim(value="k"))
    assert names(analysis.collect_non_negative_expressions(shape)) == ["n", "m - 1"]
    assert "k - 1" in names(analysis.collect_non_negative(mod))


def test_well_formed():
    good = module(SHAPES)
    assert analysis.check_well_formed(good)
    assert analysis.well_formed(good)
    assert analysis.check_well_formed(good["main"])
    bad = IRModule.parse(str(good).replace('"relax.match_cast"', '"relax.exp"'))
    found = analysis.check_well_formed(bad)
    assert not found
    assert any("symbol 'k'" in each.message for each in found)
    assert not analysis.check_well_formed(functions(bad)["main"], check_ty=False)
    with pytest.raises(VerifyError, match="symbol 'k'"):
        analysis.well_formed(bad)
    with pytest.raises(ExprTypeError):
        analysis.check_well_formed(3)


UNCHECKED = """
from relax_mlir.script import ir as I, relax as R, tir as T

@I.ir_module(check_well_formed=False)
class Module:
    @T.prim_func
    def flatten(a: T.handle, b: T.handle):
        m, n = T.int64(), T.int64()
        A = T.match_buffer(a, (m, n), "float16")
        B = T.match_buffer(b, (m * n,), "float16")
        for i in range(m * n):
            B[i] = A[i // n, i % n]

    @R.function
    def main(A: R.Tensor({argument})):
        return R.call_tir(Module.flatten, A, out_ty=R.Tensor({result}))
"""


@pytest.mark.parametrize(
    ("argument", "result", "problem"),
    [
        ('(8, 4), "float16"', '(32,), "float16"', ""),
        ('(8, 4), "float16"', '(64,), "float16"', r"shape \(m \* n\) where m is 8, n is 4"),
        ('(8, 4, 2), "float16"', '(64,), "float16"', "a buffer of 2 dimensions"),
        ('(8, 4), "float16"', '(8, 4), "float16"', "a buffer of 1 dimensions"),
        ('(8, 4), "float32"', '(32,), "float16"', "a buffer of float16"),
        ('(8, 4), "float16"', '(32,), "float32"', "a buffer of float16"),
    ],
)
def test_calls_that_scripts_leave_unchecked(argument, result, problem):
    mod = from_source(UNCHECKED.format(argument=argument, result=result))
    assert analysis.check_well_formed(mod, check_ty=False)
    found = analysis.check_well_formed(mod)
    assert len(found) == bool(problem)
    if problem:
        assert re.search(problem, found[0].message)
        with pytest.raises(RelaxMLIRError, match="call_tir"):
            relax.build(mod)


def test_verifiers_that_scripts_leave_unchecked():
    mod = from_source("""
from relax_mlir.script import ir as I, relax as R, tir as T

@I.ir_module(check_well_formed=False)
class Module:
    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        A[0] = T.float32(0)

    @R.function
    def main(A: R.Tensor((4,), "float32")):
        return R.call_tir_inplace(
            Module.f, A, inplace_indices=[0], out_ty=R.Tensor((5,), "float32")
        )
""")
    assert "cannot overwrite argument 0" in str(analysis.check_well_formed(mod))
    assert "call_tir_inplace" in mod.script()


@pytest.mark.parametrize("args", ["(R.shape([1, 2]),)", "(x,)", "()"])
def test_calls_of_other_counts_that_scripts_leave_unchecked(args):
    text = f"""
@I.ir_module(check_well_formed=False)
class Module:
    @R.function
    def main(x: R.Tensor((1,), "float32")):
        return R.call_tir(Module.f, {args}, out_ty=R.Tensor((1,), "float32"))

    @T.prim_func
    def f(m: T.int64, n: T.int64, B: T.Buffer((1,), "float32")):
        B[0] = T.Cast("float32", m + n)
"""
    assert "@f takes 3 in all" in str(analysis.check_well_formed(from_source(text)))
    with pytest.raises(ScriptError, match="of its 2 integers"):
        from_source(text.replace("(check_well_formed=False)", ""))


@pytest.mark.parametrize("declared", ["ndim=3", '(4,), "int32"', '(5,), "float32"'])
def test_declarations_that_scripts_leave_unchecked(declared):
    text = f"""
from relax_mlir.script import ir as I, relax as R

@I.ir_module(check_well_formed=False)
class Module:
    @R.function
    def main(A: R.Tensor((4,), "float32")):
        B: R.Tensor({declared}) = R.add(A, A)
        return B
"""
    assert "match_cast" in str(analysis.check_well_formed(from_source(text)))
    with pytest.raises(ScriptError, match=r"declared .*, but the value is"):
        from_source(text.replace("(check_well_formed=False)", ""))


def test_emitted_variables_keep_their_types():
    with pytest.raises(ExprTypeError, match="has been emitted"):
        relax.expr._update_type(functions(module())["main"].params[0], R.Object)


PURE = """
    @R.function(private=True)
    def quiet(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.exp(x)
        return y

    @R.function(private=True)
    def loud(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.call_packed("f", x, sinfo_args=R.Tensor((4,), "float32"))
        return y

    @R.function
    def calls_quiet(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        y = cls.quiet(x)
        return y

    @R.function
    def calls_loud(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        y = cls.loud(x)
        return y

    @R.function
    def recurses(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        y = cls.recurses(x)
        return y

    @R.function
    def even(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        y = cls.odd(x)
        return y

    @R.function
    def odd(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        y = cls.even(x)
        return y
"""


def test_impure_calls():
    found = functions(module(PURE))
    impure = {name for name, func in found.items() if analysis.contains_impure_call(func)}
    assert impure == {"loud", "calls_loud"}
    assert analysis.contains_impure_call(module(PURE))
    assert not analysis.contains_impure_call(found["calls_loud"], own_name=GlobalVar("loud"))
    assert not analysis.contains_impure_call(module())
    bindings = found["loud"].body.blocks[0].bindings
    for each, pure in ((bindings, False), (found["quiet"].body.blocks[0].bindings, True)):
        body = relax.SeqExpr([relax.BindingBlock(each)], each[-1].var)
        assert analysis.contains_impure_call(body) is not pure


def test_functions_in_functions_are_impure_themselves():
    outer = module("""
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        @R.function(pure=False)
        def inner(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            z = R.call_packed("f", y, sinfo_args=R.Tensor((4,), "float32"))
            return z
        y = R.exp(x)
        return y
""")["main"]
    assert not analysis.contains_impure_call(outer)
    assert analysis.contains_impure_call(outer.body.blocks[0].bindings[0].value)


def test_recursion():
    groups = analysis.detect_recursion(module(PURE))
    assert [names(group) for group in groups] == [["recurses"], ["even", "odd"]]
    assert names(analysis.all_global_vars(module(PURE))) == [
        "quiet",
        "loud",
        "recurses",
        "odd",
        "even",
    ]
    with pytest.raises(ExprTypeError, match="IRModule"):
        analysis.detect_recursion(functions(module(PURE))["odd"])


def test_a_long_chain_of_calls():
    one = """func.func @f{0}(%x: tensor<f32>) -> tensor<f32> attributes {{relax.function}} {{
        %t = builtin.unrealized_conversion_cast %x : tensor<f32> to tuple<tensor<f32>>
        %y = "relax.call"(%t) {{callee = @f{1}}} : (tuple<tensor<f32>>) -> tensor<f32>
        return %y : tensor<f32> }}
    """
    count = 3000
    mod = IRModule.parse("".join(one.format(i, (i + 1) % count) for i in range(count)))
    (group,) = analysis.detect_recursion(mod)
    assert len(group) == count
    assert not analysis.contains_impure_call(mod["f0"])


WEIGHTS = """
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 4), "float32"),
             v: R.Tensor(("m", 4), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            a = R.permute_dims(w)
            b = R.add(a, R.const(1.0))
            c = R.matmul(x, b)
            d = R.exp(v)
            e = R.call_pure_packed("f", w, sinfo_args=R.Tensor(("n", 4), "float32"))
            R.output(c, d, e)
        f = R.call_packed("g", w, sinfo_args=R.Tensor((4, 4), "float32"))
        return (c, d, e, f)
"""


def test_computable_at_compile_time():
    found = analysis.computable_at_compile_time(functions(module(WEIGHTS))["main"])
    assert names(found) == ["w", "v", "a", "b", "d"]
    assert analysis.computable_at_compile_time(functions(module())["main"]) == []


def test_post_order_visit(main):
    seen = []
    analysis.post_order_visit(main, seen.append)
    assert isinstance(seen[-1], Function)
    order = {id(each): i for i, each in enumerate(seen)}
    calls = [each for each in seen if isinstance(each, Call)]
    assert [call.op.name for call in calls] == [
        "relax.add", "relax.exp", "relax.add", "relax.multiply", "relax.abs", "relax.add",
        "relax.add", "relax.exp",
    ]  # fmt: skip
    for call in calls:
        before = [each for each in seen[: order[id(call)]]]
        assert all(argument in before for argument in call.args)
    assert len({each for each in seen if isinstance(each, Var)}) == sum(
        isinstance(each, Var) for each in seen
    )


def test_remove_all_unused(main):
    before = ir.structural_hash(main)
    func = analysis.remove_all_unused(functions(main)["main"])
    assert "unused" not in names(analysis.bound_vars(func))
    assert ir.structural_hash(main) == before
    cleaned = analysis.remove_all_unused(main)
    ir.assert_structural_equal(cleaned["main"], func)
    body = analysis.remove_all_unused(functions(main)["main"].body)
    assert names(analysis.bound_vars(body)) == names(analysis.bound_vars(func.body))
    ir.assert_structural_equal(body, func.body, map_free_vars=True)
    with pytest.raises(ExprTypeError):
        analysis.remove_all_unused(3)


STAGES = """
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), flag: R.Tensor((), "bool")):
        n = T.int64()
        with R.dataflow():
            a = R.exp(x)
            b = R.reshape(a, R.shape([n * 4]))
            R.output(a, b)
        if flag:
            c = R.abs(a)
        else:
            c = R.call_packed("test.f", a, sinfo_args=R.Tensor((n, 4), "float32"))
        return (b, c)
"""
QUESTIONS = (
    analysis.free_vars, analysis.all_global_vars, analysis.free_symbolic_vars, analysis.udchain,
    analysis.get_var2val, analysis.contains_impure_call, analysis.collect_non_negative,
    analysis.estimate_memory_usage, analysis.to_dot, analysis.detect_recursion, ir.structural_hash,
)  # fmt: skip


def test_every_stage_of_a_build():
    mod = module(STAGES)
    for name in DEFAULT_PIPELINE:
        make = getattr(transform, name, None)
        mod = (make() if make else transform.mlir(name))(mod)
        for ask in QUESTIONS:
            ask(mod)
        analysis.post_order_visit(mod, lambda expr: None)
        ir.assert_structural_equal(mod, mod.clone())


def test_declarations():
    text = "func.func private @d(tensor<4xf32>) -> tensor<4xf32> attributes {relax.function}"
    mod = IRModule.parse(text)
    for ask in QUESTIONS:
        ask(mod)
    seen = []
    analysis.post_order_visit(mod, seen.append)
    assert [func.name for func in seen] == ["d"]
    PyExprVisitor().visit_expr(mod)
    (func,) = functions(mod).values()
    assert PyExprMutator(mod).visit_expr(func) is func


def test_dot(main):
    text = analysis.to_dot(main["main"])
    assert text.startswith("digraph {")
    assert "shape=diamond, style=filled, fillcolor=turquoise" in text
    assert "fillcolor=mistyrose" in text
    assert '[label="arg1"]' in text
    assert 'label="exp(1)"' in text
    assert "constant" not in text


def test_variables_of_shared_expressions_take_linear_time():
    x = Var("x", R.Tensor((2,), "float32"))
    expr = x
    for _ in range(200):
        expr = expr + expr
    assert analysis.free_vars(expr) == [x]
    assert analysis.all_global_vars(expr) == []
