"""Calls in expressions: functions of `T`, of Python, casts, loads."""

import ast
from typing import Any

from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.tir import scalar as S
from relax_mlir.dialects.tir.layout import INT4
from relax_mlir.dialects.tir.scalar import INDEX, Scalar
from relax_mlir.errors import did_you_mean
from relax_mlir.script.parser import macros
from relax_mlir.script.parser.dims import captured_value
from relax_mlir.script.parser.env import MISSING
from relax_mlir.script.parser.source import Node
from relax_mlir.script.tir_parser.expr.intrinsics import INTRINSICS
from relax_mlir.script.tir_parser.expr.lanes import is_access, lane_of, load_vector, split_lanes
from relax_mlir.script.tir_parser.expr.parser import TirExprParser
from relax_mlir.script.tir_parser.expr.tables import BINARY, OTHERS, UNARY
from relax_mlir.script.tir_parser.expr.values import Number
from relax_mlir.script.tir_parser.unsupported import unsupported_reason


def call(parser: TirExprParser, node: Node) -> Any:
    """Return what a call in an expression is, as `TirExprParser.evaluate` does."""
    if is_access(node, "vload"):
        return load_vector(parser, node)
    if isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
        parser.count(node, 1)
        return _cast(parser, parser.evaluate(node.func.value), node.args[0], node)
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
    if _has_dtype(name, node):
        return _call_with_dtype(parser, name, node)
    if name in ("cast", "Cast"):
        parser.count(node, 2)
        value, dtype = node.args if name == "cast" else reversed(node.args)
        return _cast(parser, parser.evaluate(value), dtype, node)
    if name in ("IntImm", "FloatImm"):
        parser.count(node, 2)
        return _cast(parser, parser.evaluate(node.args[1]), node.args[0], node)
    if name in INTRINSICS:
        return INTRINSICS[name](parser, node)
    if name in UNARY:
        parser.count(node, 1)
        raw = parser.evaluate(node.args[0])
        wanted = "float32" if isinstance(raw, (int, float)) else ""
        return S.unary(UNARY[name], parser.to_scalar(raw, node.args[0], wanted))
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
        return _typed(parser, T.normalize_dtype(base), node)
    why = unsupported_reason(path)
    if why is not None:
        parser.scope.fail(node.func, why)
    near = did_you_mean(name, [*UNARY, *BINARY, *INTRINSICS, *OTHERS, "float32", "int64"])
    parser.scope.fail(node.func, f"there is no T.{name}{near}")


def _whole_power(parser: TirExprParser, base: Any, exponent: int, node: Node) -> Any:
    """Return a power of an integer by multiplications; None for a base that is no integer."""
    if isinstance(base, (Number, int)) and isinstance(getattr(base, "value", base), int):
        base = parser.to_scalar(base, node)
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


def _typed(p: TirExprParser, dtype: str, node: Node) -> Any:
    """Parse `T.float32(x)`, also of a number as text: `T.float32("inf")`."""
    p.count(node, 1)
    value = node.args[0]
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        try:
            return Number(float(value.value), dtype)
        except ValueError:
            p.scope.fail(value, f"'{value.value}' is not a number")
    return p.convert(p.evaluate(value), dtype, value)


def _cast(p: TirExprParser, raw: Any, dtype: Node, node: Node) -> Any:
    """Return what `evaluate` gave in the dtype that an expression names."""
    name = dtype.value if isinstance(dtype, ast.Constant) else captured_value(p.scope, dtype)
    if isinstance(dtype, ast.Attribute) and dtype.attr == "dtype" and name is MISSING:
        name = p.buffer(dtype.value).dtype
    if name is MISSING:
        p.scope.fail(dtype, 'expected a dtype such as "float32"')
    name = str(name)
    try:
        name = split_lanes(name)[0] if p.lane is not None else name
        known = T.normalize_dtype(INT4.get(name, name))
    except ValueError as error:
        p.scope.fail(dtype, str(error))
    result = p.convert(raw, known, node)
    # What a load gives of what a store keeps.
    return S.low_bits(p.to_scalar(result, node, known)) if name in INT4 else result


# Those whose first argument it is.
_FIRST = ("call_extern", "call_intrin", "call_pure_extern", "infinity", "max_value", "min_value",
          "reinterpret")  # fmt: skip
_OTHERS = ("bitwise_not", "ceildiv", "exp10", "fma", "fmod", "hypot", "if_then_else", "isfinite",
           "isinf", "isnan", "ldexp", "likely", "nextafter", "q_multiply_shift",
           "Select")  # fmt: skip


def _has_dtype(name: str, node: Node) -> bool:
    """Whether an intrinsic is called with a `dtype=` that says what follows from its arguments."""
    taken = name in UNARY or name in BINARY or name in _FIRST or name in _OTHERS
    return taken and any(each.arg == "dtype" for each in node.keywords)


def _call_with_dtype(p: TirExprParser, name: str, node: Node) -> Any:
    """Parse such a call.

    Raises:
        ScriptError: the result has another dtype.
    """
    (keyword,) = [each for each in node.keywords if each.arg == "dtype"]
    rest = [each for each in node.keywords if each is not keyword]
    first = [keyword.value] if name in _FIRST else []
    plain = ast.copy_location(ast.Call(node.func, [*first, *node.args], rest), node)
    result = p.evaluate(plain)
    said = getattr(keyword.value, "value", None)
    if not first and isinstance(said, str) and isinstance(result, Scalar):
        try:
            dtype = T.normalize_dtype(said)
        except ValueError as error:
            p.scope.fail(keyword.value, str(error))
        if result.dtype not in (dtype, INDEX):
            p.scope.fail(
                keyword.value, f"T.{name} gives {result.dtype} here, not {said}; cast it by T.Cast"
            )
    return result
