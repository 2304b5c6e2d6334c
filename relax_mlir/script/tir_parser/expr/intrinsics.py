"""Intrinsics that need more than one operation of arith or math."""

import ast
import math
from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir import externs
from relax_mlir.dialects.tir import scalar as S
from relax_mlir.dialects.tir.builder import Buffer
from relax_mlir.dialects.tir.scalar import Scalar
from relax_mlir.lowering.relax_to_tir.support import scalar_functions as F
from relax_mlir.script.parser.arguments import arguments
from relax_mlir.script.parser.env import MISSING
from relax_mlir.script.parser.source import Node
from relax_mlir.script.tir_parser import memory
from relax_mlir.script.tir_parser.expr.bit_functions import NUMBERS
from relax_mlir.script.tir_parser.expr.externs import call_extern
from relax_mlir.script.tir_parser.expr.lanes import dot_product, lane_of
from relax_mlir.script.tir_parser.expr.parser import Number, TirExprParser


def call_packed(p: TirExprParser, node: Node) -> Any:
    """Parse a call of a function of the registry, which gets buffers as tensors.

    Returns:
        What it returns, an `int32` unless `dtype=` says another.

    Raises:
        ScriptError: it has no name, or an argument is no number, buffer or string.
    """
    name = getattr(node.args[0], "value", None) if node.args else None
    dtypes = [k.value for k in node.keywords if k.arg == "dtype"]
    if not isinstance(name, str) or not name or not name.isprintable():
        p.scope.fail(node, f"{ast.unparse(node.func)} takes the name of a function and arguments")
    if len(dtypes) != len(node.keywords):
        p.scope.fail(node.keywords[0].value, "a packed function has no named arguments")
    dtype = getattr(dtypes[0], "value", "") if dtypes else "int32"
    if not p.is_dtype(str(dtype)):
        p.scope.fail(node, 'expected a dtype such as "float32"')
    return externs.call_packed(
        name, [_packed_argument(p, arg) for arg in node.args[1:]], str(dtype)
    )


def _packed_argument(p: TirExprParser, node: Node) -> Scalar | Buffer | str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if not node.value.isprintable():
            p.scope.fail(node, "strings for packed functions must be printable")
        return node.value
    if isinstance(node, ast.Attribute) and node.attr == "data":
        return p.buffer(node.value)
    value = p.scope.lookup_or(node, MISSING) if isinstance(node, ast.Name) else MISSING
    if isinstance(value, memory.Allocation):
        return value.buffer
    return value if isinstance(value, Buffer) else p.scalar(node)


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


def _values(p: TirExprParser, node: Node, count: int) -> list[Scalar]:
    """Return the arguments as scalars of one dtype, bare numbers in that of the others."""
    p.count(node, count)
    raws = [p.evaluate(arg) for arg in node.args]
    known = next((raw.dtype for raw in raws if isinstance(raw, (Scalar, Number))), "float32")
    scalars = [p.to_scalar(raw, arg, known) for raw, arg in zip(raws, node.args, strict=True)]
    for scalar in scalars[1:]:
        S.unify(scalars[0], scalar)
    return scalars


def _float_operand(p: TirExprParser, node: Node) -> Scalar:
    (x,) = _values(p, node, 1)
    if not S.is_float(x.dtype):
        p.scope.fail(node, f"{ast.unparse(node.func)} needs a float, got {x.dtype}")
    return x


def _isnan(p: TirExprParser, node: Node) -> Scalar:
    x = _float_operand(p, node)
    return S.compare("ne", x, x)


def _isinf(p: TirExprParser, node: Node) -> Scalar:
    return S.compare("eq", S.unary("abs", _float_operand(p, node)), math.inf)


def _isfinite(p: TirExprParser, node: Node) -> Scalar:
    return S.compare("lt", S.unary("abs", _float_operand(p, node)), math.inf)


def _exp10(p: TirExprParser, node: Node) -> Scalar:
    return S.binary("pow", 10.0, _float_operand(p, node))


def _fmod(p: TirExprParser, node: Node) -> Scalar:
    return S.binary("truncmod", *_values(p, node, 2))


def _hypot(p: TirExprParser, node: Node) -> Scalar:
    x, y = _values(p, node, 2)
    return F.hypot(x, y)


def _ldexp(p: TirExprParser, node: Node) -> Scalar:
    p.count(node, 2)
    x = p.scalar(node.args[0])
    power = p.convert(p.evaluate(node.args[1]), x.dtype, node.args[1])
    return F.ldexp(x, p.to_scalar(power, node.args[1]))


def _fma(p: TirExprParser, node: Node) -> Scalar:
    return S.multiply_add(*_values(p, node, 3))


def _bitwise_not(p: TirExprParser, node: Node) -> Scalar:
    p.count(node, 1)
    return p.invert(p.evaluate(node.args[0]), node)


def _reinterpret(p: TirExprParser, node: Node) -> Scalar:
    p.count(node, 2)
    dtype, value = node.args
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        dtype, value = value, dtype
    return S.reinterpret(p.scalar(value), _dtype_argument(p, dtype))


def _let(p: TirExprParser, node: Node) -> Any:
    """Parse `T.Let(body, where={x: value})`."""
    where = next((k.value for k in node.keywords if k.arg == "where"), None)
    if len(node.args) == 2 and where is None:
        where = node.args[1]
    if not node.args or not isinstance(where, ast.Dict):
        p.scope.fail(node, "T.Let takes an expression and where={variable: value}")
    with p.scope.nested("block"):
        for key, value in zip(where.keys, where.values, strict=True):
            if not isinstance(key, ast.Name):
                p.scope.fail(key or where, "T.Let gives values to variables")
            p.scope.bind(key.id, p.evaluate(value))
        return p.evaluate(node.args[0])


def _lanes(path: str) -> Callable[[TirExprParser, Node], Any]:
    return lambda p, node: lane_of(p, node, path)


def _comparison(kind: str) -> Callable[[TirExprParser, Node], Scalar]:
    def parse(p: TirExprParser, node: Node) -> Scalar:
        p.count(node, 2)
        left, right = (p.evaluate(arg) for arg in node.args)
        return S.compare(kind, *p.pair(left, right, node))

    return parse


def _bind(p: TirExprParser, node: Node) -> Any:
    """Parse `T.bind(value)`, which gives its value to the variable that it is assigned to."""
    given = arguments(p.scope, node, ("value", "type_annotation", "var"), 1)
    return p.evaluate(given["value"])


def _buffer_load(p: TirExprParser, node: Node) -> Any:
    """Parse `T.BufferLoad(A, [i, j])`."""
    p.count(node, 2)
    buffer, indices = node.args
    if not isinstance(indices, (ast.List, ast.Tuple)):
        p.scope.fail(indices, "T.BufferLoad takes a list of indices")
    place = ast.copy_location(ast.Tuple(indices.elts, ast.Load()), indices)
    return p.evaluate(ast.copy_location(ast.Subscript(buffer, place, ast.Load()), node))


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
    "isnan": _isnan,
    "isinf": _isinf,
    "isfinite": _isfinite,
    "exp10": _exp10,
    "fmod": _fmod,
    "hypot": _hypot,
    "ldexp": _ldexp,
    "fma": _fma,
    "bitwise_not": _bitwise_not,
    "reinterpret": _reinterpret,
    "Let": _let,
    **dict.fromkeys(
        ("call_packed", "call_cpacked", "tvm_call_packed", "tvm_call_cpacked"), call_packed
    ),
    "call_extern": call_extern,
    "call_pure_extern": call_extern,
    **{name: _lanes(f"T.{name}") for name in (
        "ramp", "Ramp", "broadcast", "Broadcast", "Shuffle", "vectorlow", "vectorhigh",
        "vectorcombine",
    )},
    "dp4a": dot_product,
    **dict.fromkeys(("bind", "Bind"), _bind),
    "BufferLoad": _buffer_load,
    "BitwiseNot": _bitwise_not,
    "ignore_loop_partition": _likely,
    **{kind.upper(): _comparison(kind) for kind in ("eq", "ne", "lt", "le", "gt", "ge")},
    **NUMBERS,
}  # fmt: skip
