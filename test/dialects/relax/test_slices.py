"""Symbolic slices against Python's own, for bounds of every sign."""

import itertools
from collections.abc import Iterator

import pytest

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.dialects.relax import SymExpr
from relax_mlir.dialects.relax.infer import InferError
from relax_mlir.dialects.relax.slices import check_slice, is_inbound, slice_bounds, split_points

n, b, e = (SymExpr.var(name) for name in "nbe")
FAR = 2**63 - 1


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with default_context(), ir.Location.unknown():
        yield


def _agree(begin: SymExpr, end: SymExpr, stride: int, **env: int) -> None:
    start, size = slice_bounds(begin, end, stride, n)
    taken = range(env["n"])[begin.evaluate(env) : end.evaluate(env) : stride]
    assert size.evaluate(env) == len(taken), (begin, end, stride, env, size)
    if taken:
        assert start.evaluate(env) == taken[0], (begin, end, stride, env, start)


@pytest.mark.parametrize("stride", [1, 2, 3, -1, -2])
def test_bounds_of_which_nothing_is_known(stride: int) -> None:
    values = (0, 3, 4, 5, 7, 9, 12)
    for length, first, last in itertools.product((0, 1, 4), values, values):
        _agree(b - 5, e - 5, stride, n=length, b=first, e=last)


@pytest.mark.parametrize("stride", [1, 2, -1])
def test_bounds_at_some_distance_from_an_edge(stride: int) -> None:
    for first, last in itertools.product((-4, -2, -1, 0, 1, 2, 4), repeat=2):
        constants = SymExpr.const(first), SymExpr.const(last)
        for pair in itertools.product((constants[0], n + first), (constants[1], n + last)):
            for length in (0, 1, 2, 5):
                _agree(*pair, stride, n=length)


def test_what_is_certain_is_not_clamped() -> None:
    zero = SymExpr.const(0)
    for begin, end, stride, size in (
        (zero, n, 1, "n"),
        (zero, n, 2, "((n + 1) // 2)"),
        (zero, SymExpr.const(FAR), 1, "n"),
        (SymExpr.const(-1), SymExpr.const(-FAR), -1, "n"),
        (zero, n - 1, 1, "T.max(0, n - 1)"),
        (zero, SymExpr.const(4), 1, "T.min(4, n)"),
        (SymExpr.const(1), n, 1, "T.max(0, n - 1)"),
    ):
        assert str(slice_bounds(begin, end, stride, n)[1]) == size
    assert slice_bounds(b, e, 1, n, inbound=True) == (b, e - b)
    assert is_inbound(zero, n, 1, n + 1)
    assert is_inbound(n, SymExpr.const(-1), -1, n + 1)
    assert not is_inbound(zero, b, 1, n)
    assert not is_inbound(n, zero, 1, n)


@pytest.mark.parametrize("parts", [1, 2, 3, 5])
def test_parts_are_all_there_is(parts: int) -> None:
    pieces = split_points(parts, n)
    for length in range(12):
        sizes = [size.evaluate({"n": length}) for _, size in pieces]
        assert sum(sizes) == length
        assert min(sizes) >= 0
        assert length % parts or set(sizes) == {length // parts}
    assert [str(size) for _, size in split_points(parts, n * parts)] == ["n"] * parts


def test_lists_that_do_not_go_together() -> None:
    one = [SymExpr.const(1)]
    assert check_slice([-1], one, one, None, 3) == ([2], [1])
    assert check_slice([-1], one, one, [2], -1) == ([-1], [2])
    with pytest.raises(InferError, match="must have one length, got 1, 2, 1, 1"):
        check_slice([0], one * 2, one, None, 3)
    with pytest.raises(InferError, match="a stride cannot be 0"):
        check_slice([0], one, one, [0], 3)
    with pytest.raises(InferError, match="axis 3 is out of range"):
        check_slice([3], one, one, None, 3)
    with pytest.raises(InferError, match="at least one section, got 0"):
        split_points(0, n)
