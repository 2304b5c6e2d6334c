"""DataflowMutator and DataflowBlockRewrite: what is inside of dataflow blocks rewritten."""

import pytest
from mutation import ADD, BEFORE, EXP, MULTIPLY, module, put, replaced, rewrite

from relax_mlir import ir, relax
from relax_mlir.errors import BuilderError, ExprTypeError, RelaxMLIRError
from relax_mlir.relax.expr import Call, DataflowBlock, MatchCast, Var, VarBinding, functions
from relax_mlir.relax.expr_functor import BindingRewriter, DataflowBlockRewrite, DataflowMutator
from relax_mlir.script import from_source
from relax_mlir.script import relax as R


class DataflowAdd(DataflowMutator):
    def visit_call_(self, call):
        call = self.visit_expr_post_order(call)
        return relax.op.multiply(*call.args) if call.op == ADD else call


def test_dataflow_mutator():
    rewrite(DataflowAdd, expected=replaced("c = R.add", "c = R.multiply"))
    source = replaced("        with R.dataflow():\n", "").replace(
        "            R.output(c, d)\n", ""
    )
    for name in "bcd":
        source = source.replace(f"            {name} =", f"        {name} =")
    rewrite(DataflowAdd, source)


def test_dataflow_mutator_calls_nothing_outside():
    class Strict(DataflowAdd):
        def visit_expr(self, expr):
            inside = self.builder_.current_block_is_dataflow()
            assert inside or not isinstance(expr, Call) or expr.op != EXP
            return super().visit_expr(expr)

        def visit_tuple_(self, expr):
            raise AssertionError("the result of the function is outside")

        def visit_if_(self, expr):
            raise AssertionError("the branch is outside")

    rewrite(Strict, expected=replaced("c = R.add", "c = R.multiply"))
    in_branch = replaced("            e = R.abs(c)\n", """            with R.dataflow():
                g = R.add(c, d)
                e = R.abs(g)
                R.output(e)
""")  # fmt: skip
    wanted = in_branch.replace("c = R.add", "c = R.multiply").replace("g = R.add", "g = R.multiply")
    rewrite(Strict, in_branch, wanted)
    with pytest.raises(ExprTypeError):
        DataflowAdd().visit_expr(3)


def test_dataflow_mutator_keeps_what_leaves():
    class Drop(DataflowMutator):
        def visit_var_binding_(self, binding):
            if binding.var.name_hint != "c":
                super().visit_var_binding_(binding)

    class Retype(DataflowMutator):
        def visit_call_(self, call):
            if call.op == MULTIPLY:
                return relax.op.astype(call.args[0], "float16")
            return call

    mod = module()
    with pytest.raises(BuilderError, match="'c' leaves its dataflow block"):
        Drop(mod).visit_expr(functions(mod)["main"])
    with pytest.raises(BuilderError, match="'d' leaves its dataflow block"):
        Retype(mod).visit_expr(functions(mod)["main"])


# Single changes


def start(source=BEFORE):
    mod = module(source)
    func = functions(mod)["main"]
    block = next(each for each in func.body.blocks if isinstance(each, DataflowBlock))
    names = {b.var.name_hint: b.var for b in block.bindings}
    return mod, func, names, DataflowBlockRewrite(block, func)


def test_add_and_replace():
    mod, func, names, edit = start()
    assert BindingRewriter is DataflowBlockRewrite
    assert edit.mutated_root_fn() is func
    new = edit.add(relax.op.negative(func.body.blocks[0].bindings[0].var), "m", is_dfvar=True)
    edit.replace_all_uses(names["b"], new)
    edit.remove_unused(names["b"])
    wanted = replaced("b = R.exp(a)", "b = R.negative(a)")
    ir.assert_structural_equal(put(mod, edit.mutated_root_fn()), module(wanted))
    ir.assert_structural_equal(edit.mutate_irmodule(mod), module(wanted))
    made = edit.mutated_dfb()
    assert [b.var.name_hint for b in made.bindings] == ["m", "c", "d"]
    assert made in edit.mutated_root_fn().body.blocks
    # What was returned stays as it is.
    edit.add(relax.op.exp(func.params[0]), "late", is_dfvar=True)
    assert len(made.bindings) == 3
    assert len(edit.mutated_dfb().bindings) == 4


def test_add_an_output():
    mod, _, names, edit = start()
    edit.add(VarBinding(Var("m"), relax.op.negative(names["b"])))
    found = edit.mutated_root_fn()
    assert [var.name_hint for var in found.body.blocks[1].outputs] == ["c", "d", "m"]
    put(mod, found)


def test_remove():
    mod, func, names, edit = start()
    with pytest.raises(BuilderError, match="'b' is used"):
        edit.remove_unused(names["b"])
    with pytest.raises(BuilderError, match="does not bind 'x'"):
        edit.remove_unused(func.params[0])
    edit.remove_unused(func.params[0], allow_undef=True)
    edit.replace_all_uses(names["b"], func.body.blocks[0].bindings[0].var)
    edit.add(relax.op.exp(names["c"]), is_dfvar=True)
    edit.remove_all_unused()
    wanted = (
        replaced("            b = R.exp(a)\n", "").replace("(b,", "(a,").replace(", b)", ", a)")
    )
    ir.assert_structural_equal(put(mod, edit.mutated_root_fn()), module(wanted))


def test_what_was_removed_can_be_looked_at():
    mod, _, names, edit = start()
    new = edit.add(relax.op.exp(names["c"]), "m", is_dfvar=True)
    edit.remove_unused(new)
    assert str(new.ty) == 'R.Tensor((n, 4), "float32")'
    with pytest.raises(BuilderError):
        edit.replace_all_uses(names["b"], new)
    with pytest.raises(BuilderError):
        edit.remove_unused(new)
    ir.assert_structural_equal(put(mod, edit.mutated_root_fn()), module(BEFORE))


def test_match_cast_in_a_block():
    mod, _, names, edit = start()
    edit.add(MatchCast(Var("m"), names["b"], R.Tensor(("n", 4), "float32")))
    put(mod, edit.mutated_root_fn())


def test_bad_changes():
    _, func, names, edit = start()
    other = functions(module())["main"]
    with pytest.raises(BuilderError, match="no variable of the function"):
        edit.replace_all_uses(names["b"], other.params[0])
    with pytest.raises(BuilderError, match="cannot be used for"):
        edit.replace_all_uses(names["b"], func.params[2])
    with pytest.raises(RelaxMLIRError):
        edit.add(relax.op.exp(other.params[0]))
    with pytest.raises(ExprTypeError):
        DataflowBlockRewrite(func.body.blocks[0], func)
    with pytest.raises(BuilderError, match="another function"):
        DataflowBlockRewrite(other.body.blocks[1], func)
    edit.replace_all_uses(names["b"], names["c"])
    with pytest.raises(BuilderError, match="need each other"):
        edit.mutated_root_fn()
    with pytest.raises(BuilderError, match="no function 'main'"):
        start()[3].mutate_irmodule(module(replaced("main", "other")))


def test_unused_chains_go_with_their_tuples():
    main = from_source("""
from relax_mlir.script import relax as R
@R.function
def main(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        y = R.exp(x)
        a = R.call_dps_packed("f", (x,), R.Tensor((4,), dtype="float32"))
        b = R.call_dps_packed("f", (a,), R.Tensor((4,), dtype="float32"))
        R.output(y)
    return y
""")["main"]
    rewrite = DataflowBlockRewrite(main.body.blocks[0], main)
    rewrite.remove_all_unused()
    assert [b.var.name for b in rewrite.mutated_dfb().bindings] == ["y"]


def test_messages_of_the_block_rewriter():
    mod = module()
    func = functions(mod)["main"]
    block = next(block for block in func.body.blocks if isinstance(block, DataflowBlock))
    names = {b.var.name: b.var for b in block.bindings}
    rewrite = DataflowBlockRewrite(block, func)
    with pytest.raises(BuilderError, match="Cannot find"):
        rewrite.replace_all_uses(Var("missing"), names["b"])
    used = next(name for name, var in names.items() if list(var.mlir_value.uses))
    with pytest.raises(BuilderError, match=rf"'{used}' is used by \d var"):
        rewrite.remove_unused(names[used])
