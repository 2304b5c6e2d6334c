"""`relax.dpl`: patterns of expressions and of dataflow blocks."""

from collections.abc import Callable

import pytest

from relax_mlir import relax
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.relax import analysis
from relax_mlir.relax.dpl import (
    ExternFuncPattern,
    FunctionPattern,
    PatternContext,
    has_dtype,
    has_shape,
    is_call_dps_packed,
    is_call_packed,
    is_const,
    is_dfv,
    is_expr,
    is_gv,
    is_op,
    is_shape,
    is_tuple,
    is_tuple_get_item,
    is_var,
    make_fused_bias_activation_pattern,
    reject,
    wildcard,
)
from relax_mlir.script import relax as R


@R.function
def chain(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 4), "float32")):
    with R.dataflow():
        a = R.matmul(x, w)
        b = R.add(a, R.const(1.0))
        c = R.nn.relu(b)
        d = R.multiply(b, c)
        R.output(d)
    return d


BLOCK = chain.body.blocks[0]
A, B, C, D = (binding.value for binding in BLOCK.bindings)
VALUES = analysis.get_var2val(chain)
x = relax.Var("x", R.Tensor((2, 3), "float32"))
n = relax.ShapeExpr((2, 3))
ADD, RELU, MATMUL = is_op("relax.add"), is_op("relax.nn.relu"), is_op("relax.matmul")


@pytest.mark.parametrize(
    ("pattern", "expr", "found"),
    [
        (wildcard(), x, True),
        (is_var(), x, True),
        (is_var("x"), x, True),
        (is_var("y"), x, False),
        (is_dfv(), x, False),
        (is_dfv("y"), relax.DataflowVar("y"), True),
        (is_gv("f"), relax.GlobalVar("f"), True),
        (is_gv("g"), relax.GlobalVar("f"), False),
        (is_gv(), x, False),
        (is_const(), relax.const(1.0), True),
        (is_const(), x, False),
        (is_expr(x), x, True),
        (is_expr(relax.const(1)), relax.const(1), True),
        (is_expr(relax.const(1)), relax.const(2), False),
        (has_dtype("float32"), x, True),
        (has_dtype("int8"), x, False),
        (has_shape((2, 3)), x, True),
        (has_shape((3, 3)), x, False),
        (is_shape((2, 3)), n, True),
        (is_shape((2, 4)), n, False),
        (reject(is_const()), x, True),
        (~is_var("x"), x, False),
        (is_var("y") | is_var("x"), x, True),
        (is_var("x") & has_dtype("int8"), x, False),
        (is_tuple([is_var("x"), is_const()]), relax.Tuple([x, 1.0]), True),
        (is_tuple([is_const(), is_var("x")]), relax.Tuple([x, 1.0]), False),
        (is_tuple([is_const(), is_var("x")], unordered=True), relax.Tuple([x, 1.0]), True),
        (is_tuple([wildcard()]), relax.Tuple([x, 1.0]), False),
        (is_tuple_get_item(wildcard(), 1), relax.TupleGetItem(relax.Tuple([x, x]), 1), True),
        (is_tuple_get_item(wildcard(), 0), relax.TupleGetItem(relax.Tuple([x, x]), 1), False),
        (is_tuple([is_gv("f"), is_var("x")])[-1],
         relax.TupleGetItem(relax.Tuple([relax.GlobalVar("f"), x]), 1), True),
        (wildcard().has_ty(R.Tensor((2, "m"))), x, True),
        (wildcard().has_ty(R.Tensor(("m", "m"))), x, False),
        (ADD(is_var("a"), is_const()), B, True),
        (ADD(is_const(), is_var("a")), B, True),
        (ADD(wildcard()), B, False),
        (ADD(wildcard(), varg_default_wildcard=True), B, True),
        (is_op("relax.multiply")(RELU(wildcard()), ADD(wildcard(), is_const())), D, True),
        (RELU(ADD(MATMUL(is_var("x"), is_var("w")), is_const())), C, True),
        (RELU(ADD(MATMUL(is_var("w"), is_var("x")), is_const())), C, False),
        (make_fused_bias_activation_pattern("relax.matmul", True, "relax.nn.relu"), C, True),
        (ADD(wildcard(), is_const()).optional(RELU), C, True),
        (ADD(wildcard(), is_const()).optional(RELU), B, True),
        (is_call_packed("f"), relax.call_packed("f", x, ty_args=R.Tensor), True),
        (is_call_packed("f", [is_var("y")]), relax.call_packed("f", x, ty_args=R.Tensor), False),
        (is_call_dps_packed("f", [is_var("x")]),
         relax.call_dps_packed("f", (x,), R.Tensor((2, 3), "float32")), True),
        (ExternFuncPattern("f"), relax.ExternFunc("f"), True),
        (is_op("relax.sum")(wildcard()).has_attr({"axis": [1]}), relax.op.sum(x, axis=[1]), True),
        (is_op("relax.sum")(wildcard()).has_attr({"axis": [0]}), relax.op.sum(x, axis=[1]), False),
        (FunctionPattern([is_var("x")], RELU(is_var("x"))),
         relax.Function([x], relax.op.nn.relu(x)), True),
        (FunctionPattern([is_var(), is_var()], wildcard()),
         chain, True),
    ],
)  # fmt: skip
def test_match(pattern: object, expr: object, found: bool) -> None:
    assert pattern.match(expr, VALUES) is found  # type: ignore[attr-defined]


def test_one_pattern_is_one_value() -> None:
    same = wildcard()
    assert is_op("relax.multiply")(same, RELU(same)).match(D, VALUES)
    assert not ADD(same, RELU(same)).match(relax.op.add(x, relax.op.nn.relu(n)), VALUES)


def test_variables_are_opaque_without_their_values() -> None:
    assert not RELU(ADD(wildcard(), wildcard())).match(C)
    assert RELU(wildcard()).match(C)


def test_extract() -> None:
    left = wildcard()
    whole = RELU(ADD(left, is_const()))
    found = whole.extract_matched_expr(C, VALUES)
    assert found is not None
    assert found[left].same_as(A)
    assert found[whole].same_as(C)
    assert whole.extract_matched_expr(A, VALUES) is None


def test_block() -> None:
    with PatternContext() as context:
        arg = wildcard()
        relu = RELU(arg)
        product = is_op("relax.multiply")(arg, relu)
    found = context.match_dfb(BLOCK)
    assert found is not None
    assert found[product] == BLOCK.bindings[3].var
    assert found[relu] == BLOCK.bindings[2].var
    assert PatternContext.current() is None


@pytest.mark.parametrize(
    ("relate", "found"),
    [
        (lambda a, b, c, d: a >> b, True),
        (lambda a, b, c, d: a >> b ^ c, True),
        (lambda a, b, c, d: b.fork_to(c, d), True),
        (lambda a, b, c, d: c >> d, True),
        (lambda a, b, c, d: b.used_by(d, 0), True),
        (lambda a, b, c, d: b.used_by(d, 1), False),
        (lambda a, b, c, d: b >> c, False),
        (lambda a, b, c, d: a ^ c, False),
        (lambda a, b, c, d: a.same_shape_as(b, c), True),
    ],
)
def test_uses(relate: Callable[..., object], found: bool) -> None:
    with PatternContext() as outer:
        parts = [is_op(f"relax.{name}").dup() for name in ("matmul", "add", "relu", "multiply")]
        calls = [op(varg_default_wildcard=True, add_constraint=False) for op in parts]
        for call in calls:
            outer.add(call)
        relate(*calls)
        assert (outer.match_dfb(BLOCK) is not None) is found
        with PatternContext(incremental=True) as inner:
            calls[1] ^ calls[3]
            assert (inner.match_dfb(BLOCK) is not None) is found


def test_sequences_are_copied_with_their_uses() -> None:
    with PatternContext() as context:
        chain_of_two = ADD(wildcard(), is_const()) ^ RELU(wildcard())
        other = chain_of_two.dup()
        assert len(other) == 2
        assert other[0] is not chain_of_two[0]
        # There is one addition only, and two patterns stand for two values.
        assert context.match_dfb(BLOCK) is None


def test_refused() -> None:
    with pytest.raises(ExprError, match="there is no operation"):
        is_op("relax.no_such_op")
    with pytest.raises(ExprTypeError, match=r"is_expr\(x\) is the pattern of x"):
        ADD(x, wildcard())
    with pytest.raises(IndexError):
        is_tuple([wildcard()])[1]
