"""ExprFunctor and what is built on it for expressions that are not emitted: sharing, depth."""

import numpy as np
import pytest

from relax_mlir import ir, relax
from relax_mlir.errors import BuilderError, ExprError, ExprTypeError
from relax_mlir.relax import analysis
from relax_mlir.relax.expr_functor import (
    ExprFunctor,
    ExprMutatorBase,
    ExprRewriter,
    MixedModeMutator,
    MixedModeVisitor,
    PyExprMutator,
    PyExprVisitor,
    mutator,
    post_order_rewrite,
    visitor,
)
from relax_mlir.relax.testing import dump_ast
from relax_mlir.script import relax as R

x = relax.Var("x", R.Tensor((2, 3), "float32"))
y = relax.Var("y", R.Tensor((2, 3), "float32"))


def shared(count):
    expr = x
    for _ in range(count):
        expr = relax.op.add(expr, expr)
    return expr


def nested(count):
    expr = x
    for _ in range(count):
        expr = relax.op.add(expr, y)
    return expr


class Depth(ExprFunctor):
    def visit_call_(self, call, unit):
        return unit + max(self.visit_expr(arg, unit) for arg in call.args)

    def visit_var_(self, var, unit):
        return 0


def test_results_and_further_arguments():
    assert Depth().visit_expr(nested(5), 2) == 10


def test_kinds_without_a_method():
    with pytest.raises(ExprTypeError, match=r"Depth has no default for a Constant: define visit_c"):
        Depth().visit_expr(relax.op.add(x, relax.const(1.0)), 1)

    class Zero(Depth):
        def visit_expr_default_(self, expr, unit):
            return 0

    assert Zero().visit_expr(relax.op.add(x, relax.const(1.0)), 1) == 1


@pytest.mark.parametrize("cls", [ExprFunctor, PyExprVisitor, PyExprMutator, ExprMutatorBase])
def test_null_nodes(cls):
    with pytest.raises(ExprTypeError, match="null node"):
        cls().visit_expr(None)


class Counter(PyExprVisitor):
    def __init__(self):
        self.calls = 0

    def visit_call_(self, call):
        self.calls += 1
        super().visit_call_(call)


class MixedCounter(Counter, MixedModeVisitor):
    pass


@pytest.mark.parametrize("cls", [Counter, MixedCounter])
def test_shared_expressions_are_visited_once(cls):
    found = cls()
    for _ in range(2):
        found.calls = 0
        found.visit_expr(relax.Tuple([expr := shared(14), expr]))
        assert found.calls == 14
        assert found.visit_counter_[expr] == 2
        assert found.visit_counter_[expr.args[0]] == 2


@pytest.mark.parametrize("cls", [Counter, MixedCounter])
@pytest.mark.parametrize("wrap", [lambda e: e, lambda e: relax.Function([x, y], e)])
def test_deep_expressions(cls, wrap):
    found = cls()
    found.visit_expr(wrap(nested(3000)))
    assert found.calls == 3000
    assert len(analysis.free_vars(nested(3000))) == 2
    assert repr(nested(3000))


@pytest.mark.slow
def test_expressions_too_deep_for_recursion():
    found = MixedCounter()
    found.visit_expr(nested(50_000))
    assert found.calls == 50_000


def test_deep_bindings_of_functions_that_python_built():
    func = relax.Function([x, y], nested(3000))
    assert func.script().count("R.add") == 3000
    assert analysis.well_formed(func)
    assert PyExprMutator().visit_expr(func) is func


class Swap(PyExprMutator):
    calls = 0

    def visit_call_(self, call):
        self.calls += 1
        call = super().visit_call_(call)
        return relax.op.multiply(*call.args) if call.op.name == "relax.add" else call


class BaseSwap(ExprMutatorBase):
    calls = 0
    visit_call_ = Swap.visit_call_


class MixedSwap(MixedModeMutator):
    calls = 0

    def rewrite_(self, pre, post):
        self.calls += isinstance(pre, relax.Call)
        add = isinstance(post, relax.Call) and post.op.name == "relax.add"
        return relax.op.multiply(*post.args) if add else post


BaseSwap.visit_call_ = lambda self, call: Swap.visit_call_.__get__(self)(call)


class AddToMultiply(ExprRewriter):
    def rewrite_call_(self, pre, post):
        return relax.op.multiply(*post.args) if pre.op.name == "relax.add" else post


@pytest.mark.parametrize("rewritten", [
    lambda e: Swap().visit_expr(e), lambda e: Swap().mutate(e), lambda e: MixedSwap().visit_expr(e),
    lambda e: post_order_rewrite(e, AddToMultiply()),
])  # fmt: skip
def test_mutators_share_what_is_shared(rewritten):
    found = rewritten(shared(14))
    assert found.op.name == "relax.multiply"
    assert found.args[0] is found.args[1]
    deep = rewritten(nested(3000))
    assert relax.Function([x, y], deep).script().count("R.multiply") == 3000
    assert rewritten(same := relax.Tuple([relax.op.exp(x), y])) is same
    func = rewritten(relax.Function([x, y], nested(4)))
    assert func.script().count("R.multiply") == 4


def test_memo_holds_what_was_made():
    swap = Swap()
    found = swap.visit_expr(expr := shared(3))
    assert swap.calls == 3
    assert swap.memo_[expr] is found


def test_deep_mutation_without_recursion():
    found = MixedSwap().visit_expr(nested(20_000))
    assert sum(each.op.name == "relax.multiply" for each in _chain(found)) == 20_000


def _chain(expr):
    while isinstance(expr, relax.Call):
        yield expr
        expr = expr.args[0]


def test_mutator_base_leaves_bindings_to_builders():
    binding = relax.VarBinding(relax.Var("v"), relax.op.exp(x))
    with pytest.raises(ExprTypeError, match="derive from PyExprMutator"):
        ExprMutatorBase().visit_expr(relax.SeqExpr([relax.BindingBlock([binding])], x))
    with pytest.raises(ExprTypeError, match="has no default for a Function"):
        ExprMutatorBase().visit_expr(relax.Function([x], x))
    branch = relax.If(relax.const(True), relax.op.exp(x), x)
    assert ExprMutatorBase().visit_expr(branch) is branch


def test_sequences_that_python_built():
    v = relax.Var("v")
    blocks = [relax.BindingBlock([relax.VarBinding(v, relax.op.add(x, y))])]
    sequence = relax.SeqExpr(blocks, v)
    assert PyExprMutator().visit_expr(sequence) is sequence
    found = Swap().visit_expr(sequence)
    assert [b.value.op.name for b in found.blocks[0].bindings] == ["relax.multiply"]
    block = Swap().visit_binding_block(relax.BindingBlock(
        [relax.VarBinding(relax.Var("v"), relax.op.add(x, y))]
    ))  # fmt: skip
    assert block.bindings[0].value.op.name == "relax.multiply"


def test_types_and_patterns_have_hooks():
    class Half(PyExprMutator):
        def visit_type(self, ty):
            if isinstance(ty, relax.TensorType) and ty.dtype == "float32":
                return relax.TensorType(ty.shape, "float16")
            return ty

    v = relax.Var("v", R.Tensor((2, 3), "float32"))
    cast = relax.MatchCast(v, relax.op.exp(x), R.Tensor((2, 3), "float32"))
    func = relax.Function([x], relax.SeqExpr([relax.BindingBlock([cast])], relax.op.exp(v)))
    found = Half().visit_expr(func)
    assert found.params[0].ty.dtype == found.ret_ty.dtype == "float16"
    assert "float32" not in found.script()


def test_clauses_have_a_hook():
    class Clauses(PyExprMutator):
        seen = 0

        def visit_clause(self, clause):
            self.seen += 1
            return super().visit_clause(clause)

    flag = relax.Var("flag", R.Tensor((), "bool"))
    found = Clauses()
    func = relax.Function([flag, x], relax.If(flag, relax.op.exp(x), x))
    assert found.visit_expr(func) is func
    assert found.seen == 2


def test_recursion_is_an_error_of_ours(monkeypatch):
    monkeypatch.setattr("relax_mlir.relax.expr_functor.sharing._MAX_FRAMES", 300)
    with pytest.raises(ExprError, match="3001 expressions are nested in one another"):
        Counter().visit_expr(nested(3000))


def test_decorated_classes_are_inherited():
    @visitor
    class Inner(Counter):
        pass

    @mutator
    class Outer(Swap):
        pass

    assert issubclass(visitor(type("Leaf", (Inner._cls,), {})), Inner)
    assert Outer._cls is Outer
    with pytest.raises(ExprTypeError, match="must derive from"):
        visitor(Outer)


def test_functions_in_functions():
    z = relax.Var("z", R.Tensor(("n", 3), "float32"))
    g = relax.Var("g")
    inner = relax.VarBinding(g, relax.Function([z], relax.op.add(z, z)))
    outer = relax.Function([x], relax.SeqExpr([relax.BindingBlock([inner])], relax.Call(g, [x])))
    assert str(outer.ret_ty) == 'R.Tensor((2, 3), "float32")'
    assert "def g(z:" in outer.script()
    assert ir.structural_equal(Swap().visit_expr(outer), Swap().visit_expr(outer))


def test_functions_that_call_themselves():
    n = relax.Var("n", R.Tensor((), "int64"))
    f = relax.Var("f")
    body = relax.If(
        relax.op.less(n, relax.const(1, "int64")),
        n,
        relax.Call(f, [relax.op.subtract(n, relax.const(1, "int64"))], ty_args=[n.ty]),
    )
    bind = relax.VarBinding(f, relax.Function([n], body))
    m = relax.Var("m", R.Tensor((), "int64"))
    main = relax.Function([m], relax.SeqExpr(
        [relax.BindingBlock([bind])], relax.Call(f, [m], ty_args=[m.ty])
    ))  # fmt: skip
    run = relax.VirtualMachine(relax.build(main))["main"]
    assert run(np.int64(4)).item() == 0


def test_normalizing_shares_what_is_shared():
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y]):
        bb.emit_func_output(bb.normalize(relax.Tuple([same := shared(3), same])))
        with pytest.raises(BuilderError):
            bb.normalize(nested(2))
    (block,) = bb.get()["main"].body.blocks
    assert len(block.bindings) == 3
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y]):
        bb.emit_func_output(bb.normalize(nested(3000)))
    (block,) = bb.get()["main"].body.blocks
    assert len(block.bindings) == 3000


def test_text_of_deep_expressions():
    assert dump_ast(nested(150), include_ty_annotations=False).count("Call(") == 150
    with pytest.raises(ExprError, match="too deep for JSON"):
        ir.save_json(nested(5000))


def test_variables_of_earlier_builders_are_parameters_again():
    v = relax.Var("v", R.Tensor((2,), "float32"))
    for _ in range(2):
        bb = relax.BlockBuilder()
        bb.begin_scope()
        assert str(bb.emit(relax.op.exp(v)).ty) == 'R.Tensor((2,), "float32")'
        bb.end_scope()


def test_sequences_are_visited_once_by_overrides():
    class Log(PyExprMutator):
        def __init__(self):
            super().__init__()
            self.seen = []

        def visit_seq_expr_(self, expr):
            self.seen.append("sequence")
            return self.visit_expr_post_order(expr)

        def visit_var_def_(self, var):
            self.seen.append(var.name)
            return var

    v = relax.Var("v")
    block = relax.BindingBlock([relax.VarBinding(v, relax.op.exp(x))])
    log = Log()
    sequence = relax.SeqExpr([block], v)
    assert log.visit_expr(sequence) is sequence
    assert log.seen == ["sequence", "v"]
    log = Log()
    assert log.visit_binding_block(block) is block
    assert log.seen == ["v"]
