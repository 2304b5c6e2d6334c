"""`arith.Analyzer`: what it proves holds, and what the documents want proved is proved."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relax_mlir.arith import Analyzer
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.script import from_source

n, m, k = map(SymExpr.var, "nmk")


@pytest.mark.parametrize(
    "condition",
    [
        n * 4 == 4 * n,
        n * 2 + n == n * 3,
        (n * 8) % 4 == 0,
        (n * 4 + 3) // 4 == n,
        n // 4 <= n,
        n // 4 * 4 <= n,
        n.ceildiv(4) * 4 >= n,
        n < n + 1,
        n >= 0,
        n + m >= m,
        n * m >= 0,
        n != n + 1,
        n.max(m) >= n,
        n.min(m) <= n,
        n.max(m) >= n.min(m),
        n.max(m) == m.max(n),
        n.max(n + 3) == n + 3,
        n.max(0) == n,
        (n + 2).min(n + 5) == n + 2,
        n % 8 <= 7,
        (n * m).max(4) >= 4,
    ],
    ids=str,
)
def test_proved_without_help(condition) -> None:
    assert Analyzer().can_prove(condition)


@pytest.mark.parametrize(
    "condition",
    [n == m, n != m, n <= m, n % 4 == 0, n * m >= n, n > 0, n.max(m) == n, n - m >= 0],
    ids=str,
)
def test_not_proved_without_help(condition) -> None:
    assert not Analyzer().can_prove(condition)


def test_bounds() -> None:
    analyzer = Analyzer()
    analyzer.bind(n, lower=1, upper=16)
    assert analyzer.can_prove(n > 0)
    assert analyzer.can_prove(n <= 16)
    assert analyzer.can_prove(n * m >= m)
    assert analyzer.can_prove(n // 32 == 0)
    assert analyzer.can_prove(n % 32 == n)
    assert analyzer.can_prove(n.min(20) == n)
    assert not analyzer.can_prove(n <= 15)
    assert analyzer.const_int_bound(n * 3 + 1) == (4, 49)
    assert analyzer.const_int_bound(m) == (0, None)
    assert analyzer.simplify(n // 32 + m) == m


def test_ranges_and_values() -> None:
    analyzer = Analyzer()
    analyzer.bind(n, range(2, 5))
    analyzer.bind("m", (0, n))
    analyzer.bind(k, n * 2)
    assert analyzer.const_int_bound(n) == (2, 4)
    assert analyzer.can_prove(m < n)
    assert analyzer.can_prove(m * 2 < n * 2)
    assert analyzer.can_prove(k % 2 == 0)
    assert analyzer.can_prove(k == n + n)
    assert analyzer.can_prove(m < 4)


def test_equalities() -> None:
    analyzer = Analyzer()
    analyzer.assume(n * 2 == m * 2)
    assert analyzer.can_prove(n == m)
    assert analyzer.can_prove(n * k == k * m)
    analyzer.assume(k == m + 3)
    assert analyzer.can_prove(k > n)
    assert analyzer.simplify(k - n) == 3


def test_divisibility() -> None:
    analyzer = Analyzer()
    analyzer.bind(n, lower=6, upper=19)
    analyzer.assume(n % 4 == 0)
    assert analyzer.can_prove(n % 4 == 0)
    assert analyzer.can_prove(n * m % 4 == 0)
    assert analyzer.can_prove((n + 8) % 4 == 0)
    assert analyzer.can_prove(n // 4 * 4 == n)
    assert analyzer.can_prove_divisible(n * 3, 2)
    assert analyzer.can_prove(n >= 8)
    assert analyzer.can_prove(n <= 16)
    assert not analyzer.can_prove(n % 8 == 0)
    assert analyzer.simplify(n * m).symbols == {"n", "m"}


def test_orders() -> None:
    analyzer = Analyzer()
    analyzer.assume(n <= m)
    analyzer.assume(m <= k)
    assert analyzer.can_prove(n <= k)
    assert analyzer.can_prove(n * 3 <= m * 3)
    assert analyzer.can_prove(n < k + 1)
    assert analyzer.can_prove(n.max(m) == m)
    assert not analyzer.can_prove(n < k)


def test_scope() -> None:
    analyzer = Analyzer()
    with analyzer.constraint_scope(n == 4):
        assert analyzer.can_prove(n * m == m * 4)
    assert not analyzer.can_prove(n * m == m * 4)


def test_what_a_function_declares() -> None:
    module = from_source("""
@R.function
def main(x: R.Tensor(("n", "m"), "float32")):
    R.func_attr({"tir_var_upper_bound": {"n": 8}, "tir_var_lower_bound": {"n": 2}})
    R.func_attr({"bounds": {"m": [1, 4]}})
    return x
""")
    analyzer = Analyzer.of_function(module["main"])
    assert analyzer.const_int_bound(n) == (2, 8)
    assert analyzer.can_prove(m * n <= n * 4)


def test_misuse() -> None:
    with pytest.raises(TypeError, match="takes a symbol, got the expression n \\+ 1"):
        Analyzer().bind(n + 1, 4)
    with pytest.raises(ValueError, match="step 2"):
        Analyzer().bind(n, range(0, 8, 2))
    with pytest.raises(TypeError, match="whether n <= m holds depends on its symbols"):
        bool(n <= m)


def _conditions():
    leaf = st.sampled_from([n, m, k]) | st.integers(0, 9).map(SymExpr.const)

    def combine(inner):
        pair = st.tuples(inner, inner)
        return st.one_of(
            pair.map(lambda p: p[0] + p[1]),
            pair.map(lambda p: p[0] - p[1]),
            pair.map(lambda p: p[0] * p[1]),
            pair.map(lambda p: p[0].max(p[1])),
            pair.map(lambda p: p[0].min(p[1])),
            st.tuples(inner, st.integers(1, 5)).map(lambda p: p[0] // p[1]),
            st.tuples(inner, st.integers(1, 5)).map(lambda p: p[0] % p[1]),
            st.tuples(inner, st.integers(1, 5)).map(lambda p: p[0].ceildiv(p[1])),
        )

    expr = st.recursive(leaf, combine, max_leaves=5)
    kinds = [
        lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a <= b, lambda a, b: a < b,
    ]  # fmt: skip
    return st.tuples(expr, expr, st.sampled_from(kinds)).map(lambda t: t[2](t[0], t[1]))


_COMPARE = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
    "<=": lambda a, b: a <= b, "<": lambda a, b: a < b,
}  # fmt: skip


def _holds(condition, values) -> bool:
    sides = condition.lhs.evaluate(values), condition.rhs.evaluate(values)
    return _COMPARE[condition.kind](*sides)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(_conditions(), max_size=3),
    _conditions(),
    st.lists(st.fixed_dictionaries({name: st.integers(0, 12) for name in "nmk"}), max_size=30),
)
@pytest.mark.slow
def test_what_is_proved_holds(known, condition, cases) -> None:
    analyzer = Analyzer()
    for each in known:
        analyzer.assume(each)
    proved = analyzer.can_prove(condition)
    simple = analyzer.simplify(condition.lhs)
    for values in cases:
        if all(_holds(each, values) for each in known):
            assert not proved or _holds(condition, values)
            assert simple.evaluate(values) == condition.lhs.evaluate(values)
