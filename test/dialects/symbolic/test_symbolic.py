"""Symbolic integers: values against Python's, normal forms, round trips, the prover."""

import operator

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.symbolic import prover
from relax_mlir.dialects.symbolic.binding import bound_symbols, solutions
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.dialects.symbolic.parse import leaf, read_affine

NAMES = ("n", "m", "k")
n, m, k = map(SymExpr.var, NAMES)


def ceildiv(a, b):
    if isinstance(a, SymExpr) or isinstance(b, SymExpr):
        return SymExpr.of(a).ceildiv(b)
    return -(-a // b)


def largest(a, b):
    if isinstance(a, SymExpr) or isinstance(b, SymExpr):
        return SymExpr.of(a).max(b)
    return max(a, b)


def smallest(a, b):
    if isinstance(a, SymExpr) or isinstance(b, SymExpr):
        return SymExpr.of(a).min(b)
    return min(a, b)


def tree():
    """Expressions as trees: a name, an integer, or an operator and two trees."""
    leaf = st.sampled_from(NAMES) | st.integers(-6, 12)
    arithmetic = st.sampled_from((operator.add, operator.sub, operator.mul, largest, smallest))
    division = st.sampled_from((operator.floordiv, operator.mod, ceildiv))
    divisor = st.integers(1, 8) | st.sampled_from(NAMES)
    return st.recursive(
        leaf,
        lambda inner: st.tuples(arithmetic, inner, inner) | st.tuples(division, inner, divisor),
        max_leaves=7,
    )


def build(node, leaf):
    """Compute a tree with `leaf` in the place of names; the operators are those of its results."""
    if isinstance(node, str):
        return leaf(node)
    if isinstance(node, int):
        return node
    function, lhs, rhs = node
    return function(build(lhs, leaf), build(rhs, leaf))


def symbolic(node):
    try:
        return SymExpr.of(build(node, SymExpr.var))
    except ZeroDivisionError:
        assume(False)


VALUES = st.fixed_dictionaries({name: st.integers(1, 40) for name in NAMES})


@settings(max_examples=250)
@given(tree(), VALUES)
def test_value_is_pythons(node, values) -> None:
    try:
        expected = build(node, values.__getitem__)
    except ZeroDivisionError:
        assume(False)
    assert symbolic(node).evaluate(values) == expected


@settings(max_examples=250)
@given(tree(), VALUES)
def test_affine_round_trip_keeps_the_normal_form(node, values) -> None:
    expr = symbolic(node)
    with default_context():
        dims = Dims.of([expr, 4])
        back = dims.dims
        text = str(dims)
        again = ir.Attribute.parse(text)
    assert back == [expr, 4]
    assert str(again) == text
    assert dims.symbol_names == sorted(set(dims.symbol_names))
    assert back[0].evaluate(values) == expr.evaluate(values)


@settings(max_examples=200)
@given(tree(), tree(), VALUES)
def test_equal_forms_have_equal_values(left, right, values) -> None:
    a, b = symbolic(left), symbolic(right)
    assert (a + b) - b == a
    assert a - a == 0
    assert a * b == b * a
    if a == b:
        assert hash(a) == hash(b)
        assert a.evaluate(values) == b.evaluate(values)


@settings(max_examples=200)
@given(tree(), tree(), VALUES)
def test_substitution_commutes_with_evaluation(node, inner, values) -> None:
    expr, replaced = symbolic(node), symbolic(inner)
    value = replaced.evaluate(values)
    try:
        expected = expr.evaluate({**values, "n": value})
        substituted = expr.substitute({"n": replaced})
        found = substituted.evaluate(values)
    except ZeroDivisionError:
        assume(False)
    assert found == expected


@settings(max_examples=200)
@given(tree(), VALUES)
def test_printed_text_is_the_expression(node, values) -> None:
    class T:
        ceildiv = staticmethod(ceildiv)
        max = staticmethod(largest)
        min = staticmethod(smallest)

    expr = symbolic(node)
    names = {name: SymExpr.var(name) for name in NAMES}
    assert SymExpr.of(eval(str(expr), {"T": T, **names})) == expr


@settings(max_examples=250)
@given(tree(), tree(), VALUES)
def test_what_is_proved_holds(left, right, values) -> None:
    a, b = symbolic(left), symbolic(right)
    x, y = a.evaluate(values), b.evaluate(values)
    low, high = prover.lower_bound(a), prover.upper_bound(a)
    assert low is None or low <= x
    assert high is None or x <= high
    if prover.can_prove_less_equal(a, b):
        assert x <= y
    if prover.can_prove_equal(a, b):
        assert x == y
    if prover.can_prove_different(a, b):
        assert x != y
    for divisor in (2, 3, 4, n):
        if prover.can_prove_divisible(a, divisor):
            by = divisor if isinstance(divisor, int) else divisor.evaluate(values)
            assert x % by == 0


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (n * 4, 4 * n),
        ((n + 1) * (m + 2), n * m + 2 * n + m + 2),
        (n * 4 // 4, n),
        ((6 * n + 4) // 4, (3 * n + 2) // 2),
        ((4 * n + 3) // 8, n // 2),
        (n - n // 4 * 4, n % 4),
        (n * m % m, SymExpr.const(0)),
        (n.ceildiv(4), (n + 3) // 4),
        (-((-n) // 4), (n + 3) // 4),
        (-((2 - n - m) // 4), (n + m + 1) // 4),
        (n // -4, (-n) // 4),
        ((n - 3) // 2 + 1, (n - 1) // 2),
        ((n % 6) % 3, n % 3),
    ],
)
def test_proved_equal(left, right) -> None:
    assert prover.can_prove_equal(left, right)
    assert hash(left) == hash(right)


def test_prover_says_no_where_it_cannot_tell() -> None:
    assert not prover.can_prove_equal(n, m)
    assert not prover.can_prove_less_equal(n, m)
    assert not prover.can_prove_different(n, m)
    assert not prover.can_prove_divisible(n, 0)
    assert prover.can_prove_less_equal(n % 4, 3)
    assert prover.can_prove_less_equal(n, n + m)
    assert prover.can_prove_different(n + 1, 0)
    assert prover.can_prove_divisible(n * 6, 3)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (n * 4, "n * 4"),
        (n % 4, "(n % 4)"),
        ((n + 1) % 4 + 3, "((n + 1) % 4) + 3"),
        (n - m, "-m + n"),
        (SymExpr.const(0), "0"),
        (n.ceildiv(m), "T.ceildiv(n, m)"),
        (product([n, m, SymExpr.const(2)]), "m * n * 2"),
    ],
)
def test_text(expr, text) -> None:
    assert str(expr) == text


def test_a_rest_that_takes_off_is_rounded_up() -> None:
    # (2 * n + 1 - n) // 2, whose whole part is drawn out first.
    quotient = (2 * ((n + 1) // 2) - n + 1) // 2
    assert str(quotient) == "((n + 1) // 2) - (n // 2)"
    bounded = quotient.max(0)
    assert leaf(str(bounded)) == bounded


def test_constants_are_integers_of_python() -> None:
    assert [int(size) for size in (SymExpr.const(3), SymExpr.const(-2))] == [3, -2]
    with pytest.raises(TypeError, match="n is no number: its symbols have values at run time"):
        int(SymExpr.var("n"))


@pytest.mark.parametrize("value", [1.5, "n", None, True, [1]])
def test_only_integers_become_dimensions(value) -> None:
    with pytest.raises(TypeError, match="must be an integer or symbolic"):
        SymExpr.of(value)


def test_integers_of_numpy_are_integers() -> None:
    import numpy as np

    assert SymExpr.of(np.int64(3)) == 3
    assert n * np.int32(2) == 2 * n


def test_errors() -> None:
    for divide in (lambda: n // 0, lambda: n % 0, lambda: n.ceildiv(0), lambda: n // (m - m)):
        with pytest.raises(ZeroDivisionError):
            divide()
    with pytest.raises(KeyError):
        n.evaluate({})
    with default_context():
        with pytest.raises(ValueError, match="64 bits"):
            Dims.of([n + 2**63])
        for affine, message in [
            ("affine_map<(d0)[s0] -> (d0)>", "cannot contain 'd0'"),
            ("affine_map<()[s0, s1] -> (s1)>", "has no name"),
            ("affine_map<()[s0] -> (s0 floordiv 0)>", "by zero"),
        ]:
            expr = ir.AffineMapAttr(ir.Attribute.parse(affine)).value.results[0]
            with pytest.raises(ValueError, match=message):
                read_affine(expr, ["n"])


@pytest.mark.slow
def test_a_long_sum_needs_no_deep_stack() -> None:
    total = SymExpr.const(0)
    for i in range(1200):
        total = total + SymExpr.var(f"s{i}")
    with default_context():
        assert Dims.of([total]).dims == [total]


def test_extrema_are_folded() -> None:
    assert n.max(m) == m.max(n)
    assert n.max(m, k).min(0) == 0
    assert n.max(m).max(k) == n.max(m, k)
    assert (n + 3).max(n + 1, 2) == n + 3
    assert SymExpr.const(4).max(9) == 9
    assert n.max(m).substitute({"n": 4, "m": 7}) == 7
    assert n.max(m).substitute({"n": m + 1}) == m + 1
    assert str(n.max(m, 4) * 2) == "T.max(T.max(4, m), n) * 2"


def test_extrema_in_mlir_are_symbols_of_their_own() -> None:
    with default_context():
        dims = Dims.of([n.max(m) + 1, n])
        assert str(dims) == (
            '#relax.dims<["T.max(m, n)", "n"], affine_map<()[s0, s1] -> (s0 + 1, s1)>>'
        )
        assert dims.symbol_names == ["m", "n"]
        assert dims.dims == [n.max(m) + 1, n]


@pytest.mark.parametrize("text", ["T.max(n, m)", "n + 1", "T.abs(n)", "n m", "max(m, n)", "4"])
def test_names_in_dims_are_symbols_or_extrema(text) -> None:
    with pytest.raises(ValueError, match="must be an identifier, or a minimum or maximum"):
        leaf(text)


def test_conditions() -> None:
    assert n * 4 == 4 * n
    assert not bool(n == m)
    assert n != m
    assert n <= n + 1
    assert n + 1 > n
    assert not n < 0
    assert str(n * 2 <= m) == "n * 2 <= m"
    assert str(~(n < m)) == "m <= n"
    assert str(~(n == m)) == "n != m"
    assert [n, m].index(m) == 1
    with pytest.raises(TypeError, match="depends on its symbols"):
        bool(n < m)


@pytest.mark.parametrize(
    ("dims", "bound"),
    [
        ([n], {"n"}),
        ([n * 2], {"n"}),
        ([n * 2 + m], set()),
        ([n * 2 + m, m], {"n", "m"}),
        ([n * m, m], {"m"}),
        ([n // 4], set()),
        ([n // 4, n + 1], {"n"}),
        ([n.max(m)], set()),
        ([7 - n], {"n"}),
        ([n + m, m + k, k], {"n", "m", "k"}),
    ],
    # Sets have another order in every process, and pytest-xdist compares the names.
    ids=lambda value: str(sorted(value) if isinstance(value, set) else value),
)
def test_what_dimensions_bind(dims, bound) -> None:
    assert bound_symbols(dims) == bound


@settings(max_examples=200)
@given(st.lists(tree(), min_size=1, max_size=4), VALUES)
def test_solutions_give_the_values_back(nodes, values) -> None:
    dims = [symbolic(node) for node in nodes]
    found: dict[str, int] = {}
    for solution in solutions(dims):
        size = dims[solution.index].evaluate(values)
        value, rest = divmod(size - solution.rest.evaluate(found), solution.factor)
        assert rest == 0
        found[solution.symbol] = value
    assert found == {name: values[name] for name in found}


def test_a_proof_with_many_quotients_ends() -> None:
    total = sum(((n * i + i) // (i + 2) for i in range(1, 14)), SymExpr.const(0))
    assert not prover.can_prove_less_equal(m, total)
    assert prover.can_prove_less_equal(total, total + m)
