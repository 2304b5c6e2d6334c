"""`relax.dpl.PatternMatchingRewriter`, and `R.rewriter`, which makes one of two functions."""

import pytest

from relax_mlir import relax, transform
from relax_mlir.ir import IRModule, assert_structural_equal
from relax_mlir.relax.dpl import PatternMatchingRewriter, is_op, wildcard
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R


@R.rewriter
class Doubled:
    @R.function
    def pattern(a: R.Tensor(("n",), "float32")):
        return R.add(a, a)

    @R.function
    def replacement(a: R.Tensor(("n",), "float32")):
        return Doubled.twice(a)

    @R.function(private=True)
    def twice(a: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return R.multiply(a, R.const(2.0))


@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y = R.add(x, x)
        z = R.add(y, x)
        return z

    @R.function
    def other(x: R.Tensor((8,), "float32")):
        y = R.add(x, x)
        return y


@I.ir_module
class After:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y: R.Tensor((4,), "float32") = After.twice(x)
        z = R.add(y, x)
        return z

    @R.function
    def other(x: R.Tensor((8,), "float32")):
        y: R.Tensor((8,), "float32") = After.twice(x)
        return y

    @R.function(private=True)
    def twice(a: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return R.multiply(a, R.const(2.0))


@pytest.mark.parametrize("run", [Doubled, transform.Sequential([Doubled])])
def test_a_module(run: transform.Pass) -> None:
    made = run(Before)
    made.verify()
    assert_structural_equal(made, After)


def test_a_function_and_alternatives() -> None:
    left, right = wildcard(), wildcard()
    swapped = PatternMatchingRewriter.from_pattern(
        is_op("relax.subtract")(left, right), lambda _, m: relax.op.negative(m[left])
    )
    simple = PatternMatchingRewriter.from_pattern(
        is_op("relax.add")(left, left), lambda _, m: relax.op.subtract(m[left], m[left])
    )
    (main, _) = Before.functions.values()
    made = (simple | swapped)(main)
    assert [binding.value.op.name for binding in made.body.blocks[0].bindings] == [
        "relax.negative",
        "relax.add",
    ]


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        (["pattern", "other"], KeyError, "replacement"),
        (["other", "replacement"], KeyError, "pattern"),
        (["pattern", "replacement", "main"], ValueError, "'main' is publicly exposed"),
    ],
)
def test_refused(names: list[str], error: type[Exception], message: str) -> None:
    (_, func) = Before.functions.values()
    made = {name: func for name in names}
    with pytest.raises(error, match=message):
        PatternMatchingRewriter.from_module(IRModule(made))


def test_signatures_differ() -> None:
    (main, other) = Before.functions.values()
    with pytest.raises(ValueError, match="must have the same signature"):
        PatternMatchingRewriter.from_module(IRModule({"pattern": main, "replacement": other}))
