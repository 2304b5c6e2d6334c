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


@R.rewriter
class Joined:
    @R.function
    def pattern(a: R.Tensor((4, 4)), b: R.Tensor((4, 4)), x: R.Tensor((4,))):
        left = R.matmul(a, x)
        right = R.matmul(b, x)
        return (left, right)

    @R.function
    def replacement(a: R.Tensor((4, 4)), b: R.Tensor((4, 4)), x: R.Tensor((4,))):
        return R.split(R.matmul(R.concat([a, b]), x), 2)


def test_a_tuple_that_nothing_makes() -> None:
    @R.function
    def main(x: R.Tensor((4,)), a: R.Tensor((4, 4)), b: R.Tensor((4, 4)), c: R.Tensor((4, 4))):
        y = R.matmul(a, x)
        z = R.matmul(b, x)
        w = R.add(y, z)
        # What it multiplies comes after the only product that it could be joined to.
        v = R.matmul(c, w)
        u = R.matmul(a, w)
        t = R.add(v, u)
        return t

    calls = [binding.value for binding in Joined(main).body.blocks[0].bindings]
    names = [getattr(getattr(call, "op", None), "name", str(call)) for call in calls]
    half = ["relax.concat", "relax.matmul", "relax.split"]
    assert [name for name in names if name.startswith("relax.")] == [*half, "relax.add"] * 2
    assert len(names) == 12


def test_fields_with_an_effect_between_them_stay() -> None:
    @R.function(pure=False)
    def main(x: R.Tensor((4,)), a: R.Tensor((4, 4)), b: R.Tensor((4, 4))):
        y = R.matmul(a, x)
        _ = R.print(y, format="")
        z = R.matmul(b, x)
        w = R.add(y, z)
        return w

    assert_structural_equal(Joined(main), main)
