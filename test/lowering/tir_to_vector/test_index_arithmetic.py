"""Indices that are numbers and those that run time knows: one expression gives the same of both."""

import itertools
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.index_emit import (
    BoolValue,
    IndexEmitter,
    IndexValue,
    ceil_div,
    larger,
    round_up,
)
from relax_mlir.lowering.walk import defining_op

_OPS = {
    "arith.addi": operator.add, "arith.subi": operator.sub, "arith.muli": operator.mul,
    "arith.divui": operator.floordiv, "arith.maxsi": max, "arith.andi": operator.and_,
    "arith.ori": operator.or_,
}  # fmt: skip
_COMPARISONS = {2: operator.lt, 3: operator.le, 4: operator.gt, 5: operator.ge}


@contextmanager
def _emitter() -> Iterator[IndexEmitter]:
    with ir.Context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            yield IndexEmitter(module.body)


def _number(emit: IndexEmitter, number: int) -> IndexValue:
    """Return a value that stands for a number, of which nothing is known."""
    attr = ir.IntegerAttr.get(emit.index_type, number)
    return emit.op("test.number", [], emit.index_type, value=attr)


def _evaluated(value: int | ir.Value) -> int:
    """Return what code computes at run time."""
    if not isinstance(value, ir.Value):
        return value
    op = defining_op(value)
    if op.name in ("test.number", "arith.constant"):
        return ir.IntegerAttr(op.attributes["value"]).value
    operands = map(_evaluated, op.operands)
    if op.name == "arith.cmpi":
        return _COMPARISONS[ir.IntegerAttr(op.attributes["predicate"]).value](*operands)
    return _OPS[op.name](*operands)


@pytest.mark.parametrize(
    "compute",
    [
        lambda a, b: a + b, lambda a, b: a + b - b, lambda a, b: a * b, lambda a, b: -a + b * 2,
        lambda a, b: a // (b + 1), lambda a, b: 7 - a, lambda a, b: 7 // (b + 1), larger,
        lambda a, b: ceil_div(a, b + 1), lambda a, b: round_up(a, b + 1), operator.lt, operator.le,
        operator.gt, operator.ge, lambda a, b: (a < b) & (b < 5), lambda a, b: (a < 3) | (b < a),
    ],
)  # fmt: skip
def test_values_compute_what_numbers_do(compute: Callable) -> None:
    with _emitter() as emit:
        for a, b in itertools.product((0, 1, 2, 5, 8), repeat=2):
            expected = compute(a, b)
            for x, y in itertools.product((a, _number(emit, a)), (b, _number(emit, b))):
                assert _evaluated(compute(x, y)) == expected


def test_what_is_known_is_not_written() -> None:
    with _emitter() as emit:
        x = _number(emit, 3)
        assert x + 0 is x
        assert 1 * x is x
        assert x // 1 is x
        assert x * 0 == 0
        condition = x < 5
        assert isinstance(condition, BoolValue)
        assert (condition & True) is condition
        assert (False & condition) is False
        assert (True | condition) is True
        assert emit.select(True, x, 2) is x


def test_conditions_of_run_time_decide_nothing_before() -> None:
    with _emitter() as emit, pytest.raises(TypeError, match="run-time sizes"):
        bool(_number(emit, 3) < 5)
