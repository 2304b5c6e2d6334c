"""What visitors and mutators do at their limits: many outputs, deep branches, old variables."""

import time

import pytest

from relax_mlir import relax
from relax_mlir.errors import ExprError
from relax_mlir.ir import IRModule
from relax_mlir.relax import op
from relax_mlir.script import relax as R


def test_a_dataflow_block_with_very_many_outputs() -> None:
    x = relax.Var("x", R.Tensor((4,), "float32"))
    bb = relax.BlockBuilder()
    begin = time.monotonic()
    with bb.function("main", [x]):
        with bb.dataflow():
            value, count = x, 4000
            for _ in range(count):
                value = bb.emit_output(op.add(value, x))
        bb.emit_func_output(value)
    func = relax.Function.of(bb.get()["main"])
    (block,) = (each for each in func.body.blocks if isinstance(each, relax.DataflowBlock))
    assert not any(isinstance(binding.var, relax.DataflowVar) for binding in block.bindings)
    assert len(block.outputs) == count
    relax.PyExprVisitor().visit_expr(func)
    assert relax.PyExprMutator(bb.get()).visit_expr(func) is func
    # A second or two; the minute that a search per output takes is what this is about.
    assert time.monotonic() - begin < 30


def _nested(depth: int) -> IRModule:
    x = relax.Var("x", R.Tensor((4,), "float32"))
    condition = relax.Var("c", R.Tensor((), "bool"))
    bb = relax.BlockBuilder()
    with bb.function("main", [condition, x]):
        opened = []
        for _ in range(depth):
            scope = bb.if_(condition).__enter__()
            then = scope.then_()
            then.__enter__()
            opened.append((scope, then))
        value = bb.emit(op.exp(x))
        for scope, then in reversed(opened):
            scope.yield_(value)
            then.__exit__(None, None, None)
            with scope.else_():
                scope.yield_(x)
            scope.__exit__(None, None, None)
            value = scope.result
        bb.emit_func_output(value)
    return bb.get()


def test_branches_in_branches_have_a_limit_that_is_told() -> None:
    module = _nested(400)
    func = relax.Function.of(module["main"], module)
    with pytest.raises(ExprError, match="'main' are nested too deep"):
        relax.PyExprVisitor().visit_expr(func)
    with pytest.raises(ExprError, match="'main' are nested too deep"):
        relax.PyExprMutator().visit_expr(func)
    with pytest.raises(ExprError, match="'main' are nested too deep for a script"):
        module.script()
    module = _nested(30)
    relax.PyExprVisitor().visit_expr(relax.Function.of(module["main"], module))


def test_a_variable_whose_binding_was_replaced() -> None:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        a = R.exp(x)
        b = R.add(a, a)
        return b

    func = main
    kept = []

    class Mutator(relax.PyExprMutator):
        def visit_var_binding_(self, binding: relax.VarBinding) -> None:
            if binding.var.name_hint == "b":
                first = func.body.blocks[0].bindings[0].var
                kept.append(self.get_var_remap(first))
                self.set_var_remap(first, self.builder_.emit(op.sin(func.params[0])))
            super().visit_var_binding_(binding)

    Mutator(main.module).visit_expr(func)
    (old,) = kept
    with pytest.raises(ExprError, match="binding of 'a' has been replaced or removed"):
        _ = old.ty
    with pytest.raises(ExprError, match="has been replaced or removed"):
        _ = old + 1
