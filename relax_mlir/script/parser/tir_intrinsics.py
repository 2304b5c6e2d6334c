"""Intrinsics of the TIR language that are more than one operation of arith or math."""

import ast
import math
from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.dialects.tir import scalar as S
from relax_mlir.dialects.tir.scalar import Scalar
from relax_mlir.script.parser.source import Node
from relax_mlir.script.parser.tir_expr import Number, TirExprParser

_LARGEST = {
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float32": 3.4028234663852886e38,
    "float64": 1.7976931348623157e308,
}


def _float(p: TirExprParser, node: Node) -> float:
    try:
        return float(ast.literal_eval(node.args[0]))
    except (ValueError, IndexError) as error:
        p.scope.fail(node, str(error))


def _if_then_else(p: TirExprParser, node: Node) -> Scalar:
    p.count(node, 3)
    test, then, other = node.args
    return p.if_then_else(test, then, other, node)


def _select(p: TirExprParser, node: Node) -> Scalar:
    p.count(node, 3)
    condition = p.condition(node.args[0])
    left, right = (p.evaluate(arg) for arg in node.args[1:])
    return S.select(condition, *p.pair(left, right, node))


def _and(p: TirExprParser, node: Node) -> Scalar:
    p.count(node, 2)
    return S.binary("and", *(p.condition(arg) for arg in node.args))


def _or(p: TirExprParser, node: Node) -> Scalar:
    p.count(node, 2)
    return S.binary("or", *(p.condition(arg) for arg in node.args))


def _not(p: TirExprParser, node: Node) -> Scalar:
    p.count(node, 1)
    return S.compare("eq", p.condition(node.args[0]), S.const(False, "bool"))


def _ceildiv(p: TirExprParser, node: Node) -> Any:
    p.count(node, 2)
    left, right = (p.evaluate(arg) for arg in node.args)
    if all(isinstance(x, (int, SymExpr)) for x in (left, right)):
        return SymExpr.of(left).ceildiv(right)
    left, right = p.pair(left, right, node)
    return (left + right - 1) // right


def _likely(p: TirExprParser, node: Node) -> Any:
    p.count(node, 1)
    return p.evaluate(node.args[0])


def _limit(p: TirExprParser, node: Node, sign: int) -> Number:
    """Return the lowest or the largest number of a dtype."""
    p.count(node, 1)
    dtype = _dtype_argument(p, node.args[0])
    if dtype == "bool":
        return Number(sign > 0, dtype)
    if S.is_float(dtype):
        return Number(sign * _LARGEST[dtype], dtype)
    bits = 8 * T.dtype_size(dtype)
    if S.is_unsigned(dtype):
        return Number(2**bits - 1 if sign > 0 else 0, dtype)
    return Number(2 ** (bits - 1) - 1 if sign > 0 else -(2 ** (bits - 1)), dtype)


def _dtype_argument(p: TirExprParser, node: Node) -> str:
    try:
        dtype = T.normalize_dtype(str(getattr(node, "value", "")))
    except ValueError as error:
        p.scope.fail(node, str(error))
    return dtype or p.scope.fail(node, 'expected a dtype such as "float32"')


def _min_value(p: TirExprParser, node: Node) -> Number:
    return _limit(p, node, -1)


def _max_value(p: TirExprParser, node: Node) -> Number:
    return _limit(p, node, 1)


def _infinity(p: TirExprParser, node: Node) -> Number:
    p.count(node, 1)
    return Number(math.inf, _dtype_argument(p, node.args[0]))


INTRINSICS: dict[str, Callable[[TirExprParser, Node], Any]] = {
    "float": _float,
    "if_then_else": _if_then_else,
    "Select": _select,
    "And": _and,
    "Or": _or,
    "Not": _not,
    "ceildiv": _ceildiv,
    "likely": _likely,
    "min_value": _min_value,
    "max_value": _max_value,
    "infinity": _infinity,
    "meta_var": _likely,
}
