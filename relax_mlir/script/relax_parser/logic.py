"""Comparisons, `and`, `or`, `not`: of tensors and of run-time integers."""

import ast
import operator
from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import describe
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.dialects.relax.ops.control import is_condition
from relax_mlir.dialects.relax.tuples import make_tuple
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.script.parser import tables
from relax_mlir.script.parser.interfaces import ExprParser
from relax_mlir.script.parser.source import Node

_DECIDED = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip


def integer(p: ExprParser, raw: Any, node: Node) -> Any:
    """Return the symbolic integer that an `i64` value is, anything else as it is."""
    if isinstance(raw, ir.Value):
        hint = node.id if isinstance(node, ast.Name) else "i"
        expr = p.scope.symbol_of(raw, hint, node)
        return raw if expr is None else expr
    return raw


def integers(p: ExprParser, raws: Sequence[Any], node: Node) -> list[Any]:
    """Return the items of a shape, integers among them as symbolic ones."""
    places = node.elts if isinstance(node, (ast.Tuple, ast.List)) else []
    if len(places) != len(raws):
        places = [node] * len(raws)
    return [integer(p, raw, place) for raw, place in zip(raws, places, strict=True)]


def _is_integer(raw: Any) -> bool:
    return isinstance(raw, SymExpr) or (isinstance(raw, int) and not isinstance(raw, bool))


def compare(p: ExprParser, node: ast.Compare, name: str | None) -> Any:
    """Parse a comparison; `0 < n < m` is that of both pairs.

    Raises:
        ScriptError: the operands cannot be compared.
    """
    terms = [node.left, *node.comparators]
    # What a call returns needs no symbol: nothing else names it.
    raws = [
        p.evaluate(term) if isinstance(term, ast.Call) else integer(p, p.evaluate(term), term)
        for term in terms
    ]
    result = [
        _pair(p, kind, (terms[i], raws[i]), (terms[i + 1], raws[i + 1]), node, name)
        for i, kind in enumerate(node.ops)
    ]
    return result[0] if len(result) == 1 else _combine(p, "and", result, node, name)


def _pair(
    p: ExprParser, kind: ast.cmpop, left: tuple[Node, Any], right: tuple[Node, Any],
    node: Node, name: str | None,
) -> Any:  # fmt: skip
    word = tables.COMPARISONS.get(type(kind))
    if word is None:
        p.scope.fail(node, "compare with == != < <= > >=")
    a, b = left[1], right[1]
    if _is_integer(a) and _is_integer(b):
        left_, right_ = SymExpr.of(a), SymExpr.of(b)
        if left_.is_const and right_.is_const:
            return _DECIDED[type(kind)](left_.value, right_.value)
        return _compared(p, word, (left, right), node, name)
    if all(_is_integer(raw) or _is_number(raw) for raw in (a, b)):
        return _compared(p, word, (left, right), node, name)
    if not any(isinstance(raw, ir.Value) for raw in (a, b)):
        if any(isinstance(raw, SymExpr) for raw in (a, b)):
            p.scope.fail(node, "an integer is compared with another, or a tensor with a tensor")
        return _DECIDED[type(kind)](a, b)
    return p.compute(word, [left, right], node, name)


def _is_number(raw: Any) -> bool:
    return isinstance(raw, ir.Value) and raw.type == ir.IntegerType.get_signless(64)


def _compared(
    p: ExprParser, word: str, sides: Sequence[tuple[Node, Any]], node: Node, name: str | None
) -> ir.Value:
    operands = [p.materialize(raw, place) for place, raw in sides]
    i1, kind = ir.IntegerType.get_signless(1), ir.StringAttr.get(word)
    return p.emit("relax.compare_prim", operands, i1, node, name, kind=kind)


def combine(p: ExprParser, node: ast.BoolOp, name: str | None) -> Any:
    """Parse `and` and `or`; all operands are computed, as nothing that asks has an effect.

    Raises:
        ScriptError: an operand is no scalar bool.
    """
    word = "and" if isinstance(node.op, ast.And) else "or"
    raws = [_scalar(p, p.evaluate(item), item) for item in node.values]
    return _combine(p, word, raws, node, name)


def negate(p: ExprParser, node: ast.UnaryOp, name: str | None) -> Any:
    """Parse `not`.

    Raises:
        ScriptError: the operand is no scalar bool.
    """
    raw = _scalar(p, p.evaluate(node.operand), node.operand)
    if not isinstance(raw, ir.Value):
        return not raw
    if T.is_tensor(raw.type) and "logical_not" in COMPUTE_OPS:
        return p.compute("logical_not", [(node.operand, raw)], node, name)
    return _logic(p, "not", [raw], node, name)


def _scalar(p: ExprParser, raw: Any, node: Node) -> Any:
    if isinstance(raw, bool) or (isinstance(raw, ir.Value) and is_condition(raw.type)):
        return raw
    what = describe(raw.type) if isinstance(raw, ir.Value) else repr(raw)
    hint = "; R.logical_and, R.logical_or and R.logical_not take tensors"
    p.scope.fail(node, f"'and', 'or' and 'not' take scalar bools, this is {what}{hint}")


def _combine(p: ExprParser, word: str, raws: list[Any], node: Node, name: str | None) -> Any:
    known = [raw for raw in raws if isinstance(raw, bool)]
    values = [raw for raw in raws if isinstance(raw, ir.Value)]
    absorbing = word == "or"
    if absorbing in known or not values:
        return absorbing if absorbing in known else not absorbing
    if len(values) == 1:
        return values[0]
    op = f"logical_{word}"
    if op in COMPUTE_OPS and all(T.is_tensor(value.type) for value in values):
        result = values[0]
        for position, value in enumerate(values[1:], 2):
            last = name if position == len(values) else None
            result = p.compute(op, [(node, result), (node, value)], node, last)
        return result
    return _logic(p, word, values, node, name)


def _logic(
    p: ExprParser, word: str, values: list[ir.Value], node: Node, name: str | None
) -> ir.Value:
    operand = make_tuple(values, p.scope.location(node))
    i1 = ir.IntegerType.get_signless(1)
    return p.emit("relax.logic_prim", [operand], i1, node, name, kind=ir.StringAttr.get(word))
