"""`relax.dpl`: rewriting what patterns match."""

from typing import Any

import pytest

from relax_mlir import relax
from relax_mlir.errors import BuilderError, ExprTypeError
from relax_mlir.ir import assert_structural_equal
from relax_mlir.relax.dpl import (
    PatternContext,
    is_const,
    is_op,
    rewrite_bindings,
    rewrite_call,
    wildcard,
)
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R


@I.ir_module
class Sums:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.add(x, y)
            b = R.add(a, x)
            c = R.multiply(b, R.const(5.0))
            R.output(c)
        return c


ARG, OTHER, NUMBER = wildcard(), wildcard(), is_const()
SCALED_SUM = is_op("relax.multiply")(is_op("relax.add")(ARG, OTHER), NUMBER)


def distribute(expr: Any, found: Any) -> Any:
    return found[ARG] * found[NUMBER] + found[OTHER] * found[NUMBER]


@I.ir_module
class Distributed:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.multiply(x, R.const(5.0))
            b = R.multiply(y, R.const(5.0))
            c = R.add(a, b)
            d = R.add(c, a)
            R.output(d)
        return d


def test_rewrites_until_nothing_matches() -> None:
    before = str(Sums)
    assert_structural_equal(rewrite_call(SCALED_SUM, distribute, Sums), Distributed)
    (func,) = Sums.functions.values()
    assert isinstance(rewrite_call(SCALED_SUM, distribute, func), relax.Function)
    assert str(Sums) == before


def test_other_matches_are_tried_where_the_rewriter_declines() -> None:
    declined, zeros, arg = (is_op("relax.add")(wildcard(), wildcard()), is_op("relax.zeros")(
        varg_default_wildcard=True), wildcard())  # fmt: skip
    taken = is_op("relax.add")(arg, zeros)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        z = R.zeros((4,), "float32")
        y = R.add(x, z)
        return y

    def rewriter(expr: Any, found: Any) -> Any:
        return expr if declined in found else found[arg]

    made = rewrite_call(declined | taken, rewriter, main)
    assert made.body.body == made.params[0]


def test_effects_are_not_crossed() -> None:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")):
        a = R.add(x, x)
        _ = R.print(a, format="{}")
        b = R.multiply(a, R.const(5.0))
        return b

    assert_structural_equal(rewrite_call(SCALED_SUM, distribute, main), main)


def test_without_end() -> None:
    with pytest.raises(BuilderError, match="without end"):
        rewrite_call(is_op("relax.add")(ARG, OTHER), lambda _, m: m[OTHER] + (m[ARG] + 1.0), Sums)


def test_refused() -> None:
    with pytest.raises(ExprTypeError, match="returned nothing"):
        rewrite_call(SCALED_SUM, lambda *_: None, Sums)
    with pytest.raises(ExprTypeError, match="expected a Relax function"):
        rewrite_call(SCALED_SUM, distribute, 3)


def test_bindings_are_replaced_together() -> None:
    with PatternContext() as context:
        data, first, second = wildcard(), wildcard(), wildcard()
        left = is_op("relax.matmul")(data, first)
        right = is_op("relax.matmul")(data, second)

    def rewriter(found: Any, values: Any) -> Any:
        both = R.matmul(found[data], R.concat([found[first], found[second]], axis=1))
        halves = R.split(both, 2, axis=1)
        return {found[left]: halves[0], found[right]: halves[1]}

    @R.function(private=True)
    def before(x: R.Tensor((2, 4)), a: R.Tensor((4, 3)), b: R.Tensor((4, 3))):
        with R.dataflow():
            y = R.matmul(x, a)
            u = R.nn.relu(y)
            z = R.matmul(x, b)
            out = R.add(u, z)
            R.output(out)
        return out

    @R.function(private=True)
    def expected(x: R.Tensor((2, 4)), a: R.Tensor((4, 3)), b: R.Tensor((4, 3))):
        with R.dataflow():
            w = R.concat((a, b), axis=1)
            both = R.matmul(x, w)
            halves = R.split(both, 2, axis=1)
            y = halves[0]
            u = R.nn.relu(y)
            z = halves[1]
            out = R.add(u, z)
            R.output(out)
        return out

    made = rewrite_bindings(context, rewriter, before)
    assert made.script().count("matmul") == 1
    made.module.verify()
    assert [b.value.op.name for b in made.body.blocks[0].bindings if hasattr(b.value, "op")] == [
        b.value.op.name for b in expected.body.blocks[0].bindings if hasattr(b.value, "op")
    ]


def test_what_replacements_share_is_made_once() -> None:
    @R.function
    def main(x: R.Tensor((2, 4)), v: R.Tensor((3, 4)), w: R.Tensor((5, 4))):
        with R.dataflow():
            a = R.matmul(x, R.permute_dims(v))
            b = R.matmul(x, R.permute_dims(w))
            out = (a, b)
            R.output(out)
        return out

    with PatternContext() as ctx:
        x, v, w = wildcard(), wildcard(), wildcard()
        first, second = (
            is_op("relax.matmul")(x, is_op("relax.permute_dims")(each)) for each in (v, w)
        )

    def join(found: Any, _: Any) -> Any:
        both = relax.op.permute_dims(relax.op.concat([found[v], found[w]]))
        parts = relax.op.split(relax.op.matmul(found[x], both), [found[v].ty.shape[0]], -1)
        return {found[first]: parts[0], found[second]: parts[1]}

    made = rewrite_bindings(ctx, join, main).script()
    assert made.count("R.split(") == made.count("R.matmul(") == 1
