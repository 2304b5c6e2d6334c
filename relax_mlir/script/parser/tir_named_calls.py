"""Calls in expressions of the TIR language: functions of `T` by name, Python's, casts, loads."""

import ast
from typing import Any

from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.tir import scalar as S
from relax_mlir.dialects.tir.scalar import Scalar
from relax_mlir.errors import did_you_mean
from relax_mlir.script.parser import macros, tir_casts
from relax_mlir.script.parser.source import Node
from relax_mlir.script.parser.tir_dtype_keywords import call_with_dtype, has_dtype
from relax_mlir.script.parser.tir_expr import TirExprParser
from relax_mlir.script.parser.tir_intrinsics import INTRINSICS
from relax_mlir.script.parser.tir_lanes import lane_of, split_lanes
from relax_mlir.script.parser.tir_refused import refusal
from relax_mlir.script.parser.tir_tables import BINARY, OTHERS, UNARY
from relax_mlir.script.parser.tir_values import Number
from relax_mlir.script.parser.tir_vectors import is_access, load_vector


def call(parser: TirExprParser, node: Node) -> Any:
    """Return what a call in an expression is, as `TirExprParser.evaluate` does."""
    if is_access(node, "vload"):
        return load_vector(parser, node)
    if isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
        parser.count(node, 1)
        return tir_casts.cast(parser, parser.evaluate(node.func.value), node.args[0], node)
    path = parser.scope.path(node.func) or ""
    if isinstance(node.func, ast.Name) and node.func.id in ("max", "min", "abs", "float"):
        path = path or f"T.{node.func.id}"
    python = macros.python_function(parser.scope, node.func) if not path else None
    if python is not None:
        value = macros.call_python(parser.scope, python, node, parser.evaluate)
        return parser.python_value(value, node)
    if not path.startswith("T."):
        parser.scope.fail(
            node.func,
            "only names of the TIR language can be called here; T.macro makes another, and "
            "T.call_extern calls a function of C",
        )
    name = path[2:]
    if has_dtype(name, node):
        return call_with_dtype(parser, name, node)
    if name in ("cast", "Cast"):
        parser.count(node, 2)
        value, dtype = node.args if name == "cast" else reversed(node.args)
        return tir_casts.cast(parser, parser.evaluate(value), dtype, node)
    if name in ("IntImm", "FloatImm"):
        parser.count(node, 2)
        return tir_casts.cast(parser, parser.evaluate(node.args[1]), node.args[0], node)
    if name in INTRINSICS:
        return INTRINSICS[name](parser, node)
    if name in UNARY:
        parser.count(node, 1)
        raw = parser.evaluate(node.args[0])
        wanted = "float32" if isinstance(raw, (int, float)) else ""
        return S.unary(UNARY[name], parser.settle(raw, node.args[0], wanted))
    if name in BINARY:
        parser.count(node, 2)
        left, right = (parser.evaluate(arg) for arg in node.args)
        if BINARY[name] == "pow" and type(right) is int:
            power = _whole_power(parser, left, right, node)
            if power is not None:
                return power
        if name in ("truncdiv", "Div"):
            return S.binary("div", *parser.operands(left, right, node))
        return parser.binary(BINARY[name], left, right, node)
    base, lanes = split_lanes(name)
    if parser.is_dtype(base):
        if lanes and parser.lane is None:
            return lane_of(parser, node, path)
        return tir_casts.typed(parser, T.normalize_dtype(base), node)
    why = refusal(path)
    if why is not None:
        parser.scope.fail(node.func, why)
    near = did_you_mean(name, [*UNARY, *BINARY, *INTRINSICS, *OTHERS, "float32", "int64"])
    parser.scope.fail(node.func, f"there is no T.{name}{near}")


def _whole_power(parser: TirExprParser, base: Any, exponent: int, node: Node) -> Any:
    """Return a power of an integer by multiplications; None for a base that is no integer."""
    if isinstance(base, (Number, int)) and isinstance(getattr(base, "value", base), int):
        base = parser.settle(base, node)
    if not isinstance(base, Scalar) or S.is_float(base.dtype):
        return None
    if exponent < 0:
        parser.scope.fail(node, "an integer has no negative power; cast it to a float")
    result, square = None, base
    while exponent:
        if exponent & 1:
            result = square if result is None else result * square
        exponent >>= 1
        square = square * square if exponent else square
    return S.const(1, base.dtype) if result is None else result
