"""PyExprMutator: functions rewritten binding by binding."""

import numpy as np
import pytest
from mutation import ADD, EXP, HEAD, MULTIPLY, Same, module, put, replaced, rewrite

from relax_mlir import ir, relax, transform
from relax_mlir.errors import BuilderError, ExprError, ExprTypeError, RelaxMLIRError
from relax_mlir.relax import analysis
from relax_mlir.relax.expr import Call, Constant, Function, Op, Tuple, Var, VarBinding, functions
from relax_mlir.relax.expr_functor import PyExprMutator, mutator
from relax_mlir.script import from_source
from relax_mlir.script import relax as R


def test_nothing_changed():
    rewrite(Same)


@mutator
class AddToMultiply(PyExprMutator):
    def visit_call_(self, call):
        call = self.visit_expr_post_order(call)
        if call.op == ADD:
            return relax.op.multiply(*call.args)
        return call


def test_one_to_one():
    rewrite(AddToMultiply, expected=replaced("R.add", "R.multiply"))


class ExpTwice(PyExprMutator):
    def visit_call_(self, call):
        call = self.visit_expr_post_order(call)
        if call.op == EXP:
            first = self.builder_.emit(relax.op.negative(call.args[0]))
            return relax.op.exp(self.builder_.emit(relax.op.negative(first)))
        return call


def test_one_to_many():
    lines = "f = R.negative(a)\n            g = R.negative(f)\n            b = R.exp(g)"
    rewrite(ExpTwice, expected=replaced("b = R.exp(a)", lines))


class Nested(PyExprMutator):
    def visit_call_(self, call):
        call = self.visit_expr_post_order(call)
        return relax.op.exp(relax.op.negative(relax.op.negative(call.args[0]))) \
            if call.op == EXP else call  # fmt: skip


def test_nested_expressions_are_taken_apart():
    lines = "f = R.negative(a)\n            g = R.negative(f)\n            b = R.exp(g)"
    rewrite(Nested, expected=replaced("b = R.exp(a)", lines))


class Fuse(PyExprMutator):
    """Multiply of what an add made, by what was added: looked up in what stands there now."""

    def visit_call_(self, call):
        call = self.visit_expr_post_order(call)
        if call.op == MULTIPLY:
            bound = self.lookup_binding(call.args[0])
            if isinstance(bound, Call) and bound.op == ADD:
                return relax.op.subtract(bound.args[0], call.args[1])
        return call


def test_many_to_one():
    rewrite(Fuse, expected=replaced("R.multiply(c, b)", "R.subtract(b, b)"))


def test_lookup_sees_what_was_replaced():
    class Both(Fuse):
        def visit_call_(self, call):
            if call.op == ADD and isinstance(call.args[1], Constant):
                return relax.op.add(call.args[0], relax.const(5.0))
            return super().visit_call_(call)

    wanted = replaced("R.multiply(c, b)", "R.subtract(b, b)").replace("1.0", "5.0")
    rewrite(Both, expected=wanted)


class ToVar(PyExprMutator):
    def visit_call_(self, call):
        call = self.visit_expr_post_order(call)
        return call.args[0] if call.op == EXP else call


def test_a_variable_takes_the_place_of_a_binding():
    wanted = (
        replaced("            b = R.exp(a)\n", "").replace("(b,", "(a,").replace(", b)", ", a)")
    )
    rewrite(ToVar, expected=wanted)


class Half(PyExprMutator):
    """Everything in float16: types of what follows change with it."""

    def visit_call_(self, call):
        call = self.visit_expr_post_order(call)
        args = [
            relax.op.astype(arg, "float16") if arg.dtype == "float32" else arg for arg in call.args
        ]
        return Call(call.op, args, call.attrs)


SMALL = """
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), flag: R.Tensor((), "bool")):
        with R.dataflow():
            a = R.exp(x)
            b = R.abs(a)
            c = R.sum(b, axis=[1])
            R.output(b, c)
        if flag:
            r = R.abs(b)
        else:
            r = R.exp(b)
        return (r, c)
"""


def test_types_follow():
    class OnlyExp(Half):
        def visit_call_(self, call):
            return super().visit_call_(call) if call.op == EXP and call.args[0].name_hint == "x" \
                else self.visit_expr_post_order(call)  # fmt: skip

    made = rewrite(
        OnlyExp,
        SMALL,
        SMALL.replace("a = R.exp(x)", 'y = R.astype(x, "float16")\n            a = R.exp(y)'),
    )
    assert str(functions(made)["main"].ret_type) == (
        'R.Tuple(R.Tensor((n, 4), "float16"), R.Tensor((n,), "float16"))'
    )


def test_types_that_do_not_fit_are_an_error():
    class Flat(PyExprMutator):
        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            return relax.op.flatten(call.args[0]) if call.op == EXP else call

    mod = module()
    with pytest.raises(ExprError):
        Flat(mod).visit_expr(functions(mod)["main"])
    assert mod.function_names == ["main"]


def test_parameters_get_types():
    class Wide(PyExprMutator):
        def visit_var_def_(self, var):
            return self.with_struct_info(var, R.Tensor((3, 4), "float32")) if var.ndim == 2 else var

    mod = module(SMALL)
    found = Wide(mod).visit_expr(functions(mod)["main"])
    made = put(mod, found)
    ir.assert_structural_equal(made, module(SMALL.replace('"n"', "3")))


def test_branches_are_written_into():
    class InBranch(PyExprMutator):
        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            if call.op == Op.get("relax.abs"):
                return relax.op.negative(self.builder_.emit(relax.op.exp(call.args[0])))
            return call

    lines = "f = R.exp(c)\n            e = R.negative(f)"
    rewrite(InBranch, expected=replaced("e = R.abs(c)", lines))


def test_conditions_and_results():
    class Ends(PyExprMutator):
        def visit_tuple_(self, expr):
            expr = self.visit_expr_post_order(expr)
            return Tuple([*expr.fields, expr.fields[0]])

        def visit_if_(self, expr):
            found = super().visit_if_(expr)
            assert found is expr
            return found

    rewrite(Ends, expected=replaced("return (r, d)", "return (r, d, r)"))


def test_if_of_the_other_branch():
    class Negate(PyExprMutator):
        def visit_if_(self, expr):
            found = super().visit_if_(expr)
            return relax.If(relax.op.logical_not(found.cond), relax.op.exp(self.x), self.x)

        def visit_var_def_(self, var):
            if var.name_hint == "x":
                self.x = var
            return var

    source = SMALL.replace("            r = R.abs(b)\n", "            r = R.exp(x)\n").replace(
        "            r = R.exp(b)\n", "            r = R.abs(x)\n"
    )
    mod = module(source)
    found = put(mod, Negate(mod).visit_expr(functions(mod)["main"]))
    assert "logical_not" in found.script()


def test_match_cast_is_kept():
    source = """
    @R.function
    def main(x: R.Tensor("float32", ndim=2)):
        n = T.int64()
        a = R.exp(x)
        b = R.match_cast(a, R.Tensor((n, 4), "float32"))
        c = R.exp(b)
        return c
"""
    rewrite(Same, source)
    wanted = source.replace("        a = R.exp(x)\n", "").replace("        c = R.exp(b)\n", "")
    rewrite(ToVar, source, wanted.replace("(a,", "(x,").replace("return c", "return b"))


def test_own_ways_with_bindings():
    class Own(PyExprMutator):
        def visit_var_binding_(self, binding):
            value = self.visit_expr(binding.value)
            if isinstance(value, Call) and value.op == EXP:
                value = relax.op.abs(value.args[0])
            self.builder_.emit_normalized(VarBinding(self.visit_var_def(binding.var), value))

    mod = module(SMALL)
    made = put(mod, Own(mod).visit_expr(functions(mod)["main"]))
    ir.assert_structural_equal(made, module(SMALL.replace("exp", "abs")))

    class Remap(PyExprMutator):
        def visit_var_binding_(self, binding):
            value = binding.value
            if isinstance(value, Call) and value.op == EXP:
                var = self.builder_.emit(relax.op.abs(*value.args))
                self.set_var_remap(binding.var.vid, var)
                assert self.get_var_remap(binding.var.vid).same_as(var)
            else:
                super().visit_var_binding_(binding)

    made = put(mod, Remap(mod).visit_expr(functions(mod)["main"]))
    ir.assert_structural_equal(made, module(SMALL.replace("exp", "abs")))


def test_new_outputs_of_a_dataflow_block():
    class More(PyExprMutator):
        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            if call.op == EXP and self.builder_.current_block_is_dataflow():
                self.more = self.builder_.emit_output(relax.op.negative(call.args[0]))
            return call

        def visit_tuple_(self, expr):
            return Tuple([*self.visit_expr_post_order(expr).fields, self.more])

    wanted = replaced("b = R.exp(a)", "m = R.negative(a)\n            b = R.exp(a)")
    wanted = wanted.replace("R.output(c, d)", "R.output(c, d, m)").replace("(r, d)", "(r, d, m)")
    rewrite(More, expected=wanted)
    single = SMALL.replace("(b, c)", "(b)").replace("return (r, c)", "return (r, b)")
    mod = module(single)
    made = put(mod, More(mod).visit_expr(functions(mod)["main"]))
    assert len(functions(made)["main"].body.blocks[0].outputs) == 2


@pytest.mark.parametrize(
    "what", ["nothing", "number", "foreign", "undefined", "dropped", "local", "twice"]
)
def test_bad_use_is_an_error(what):
    other = functions(module(SMALL))["main"]

    class Bad(PyExprMutator):
        def visit_call_(self, call):
            if call.op != EXP:
                return call
            return {
                "nothing": lambda: None,
                "number": lambda: object(),
                "foreign": lambda: other.params[0],
                "undefined": lambda: relax.op.exp(Var("q", R.Tensor((4,), "float32"))),
                "dropped": lambda: call,
                "local": lambda: call,
                "twice": lambda: call,
            }[what]()

        def visit_var_binding_(self, binding):
            if what == "dropped" and binding.var.name_hint == "a":
                return
            super().visit_var_binding_(binding)
            if what == "twice":
                for _ in range(2):
                    self.builder_.emit_normalized(VarBinding(binding.var, relax.const(1.0)))

        def visit_tuple_(self, expr):
            if what == "local":
                names = analysis.name_to_binding(self.func)
                return Tuple([names["b"][0].var])
            return expr

    mod = module()
    mutator_ = Bad(mod)
    mutator_.func = functions(mod)["main"]
    with pytest.raises(RelaxMLIRError):
        mutator_.visit_expr(mutator_.func)
    mod.verify()
    # And it can be used again.
    assert Same(mod).visit_expr(mutator_.func) is mutator_.func
    assert not mutator_.builder_.edits


def test_bad_places():
    mod = module()
    func = functions(mod)["main"]
    with pytest.raises(BuilderError, match="visit_expr"):
        Same(mod).visit_binding_block(func.body.blocks[0])
    with pytest.raises(ExprTypeError):
        Same(mod).visit_expr(3)
    made = Function([], relax.const(1.0))
    assert Same(mod).visit_expr(made) is made
    with pytest.raises(TypeError, match="PyExprMutator"):
        mutator(int)


def test_in_passes():
    @transform.function_pass(opt_level=0)
    def by_function(func, mod, ctx):
        return AddToMultiply().visit_expr(func)

    @transform.module_pass(opt_level=0)
    def by_module(mod, ctx):
        found = AddToMultiply(mod)
        for name, func in functions(mod).items():
            found.builder_.update_func(name, found.visit_expr(func))
        return found.builder_.get()

    expected = module(replaced("R.add", "R.multiply"))
    ir.assert_structural_equal(by_function(module()), expected)
    ir.assert_structural_equal(by_module(module()), expected)
    vm = relax.VirtualMachine(relax.build(by_function(module())))
    x = np.full((2, 4), 2, "float32")
    r, d = vm["main"](x, x, np.array(True))
    np.testing.assert_allclose(d, np.exp(4) * np.exp(4) * np.ones((2, 4)), rtol=1e-5)
    np.testing.assert_allclose(r, np.exp(4) * d, rtol=1e-5)


def test_many_bindings():
    count = 3000
    lines = "".join(f"        v{i + 1} = R.exp(v{i})\n" for i in range(count))
    source = (
        '    @R.function\n    def main(v0: R.Tensor((4,), "float32")):\n'
        f"{lines}        return v{count}\n"
    )
    mod = from_source(HEAD + source)
    found = ToVar(mod).visit_expr(functions(mod)["main"])
    assert len(analysis.bound_vars(found)) == 1
