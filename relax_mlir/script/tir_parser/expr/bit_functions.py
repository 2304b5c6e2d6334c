"""Intrinsics computed on the bits of numbers."""

import ast
from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir import scalar as S
from relax_mlir.dialects.tir.scalar import Scalar
from relax_mlir.script.parser.source import Node
from relax_mlir.script.tir_parser.expr.externs import literal_strings
from relax_mlir.script.tir_parser.expr.parser import Number, TirExprParser


def _nextafter(p: TirExprParser, node: Node) -> Scalar:
    """Return the number next to one on the way to another: the bits of a float are in order."""
    p.count(node, 2)
    left, right = (p.evaluate(arg) for arg in node.args)
    x, y = p.pair(left, right, node)
    if not S.is_float(x.dtype):
        p.scope.fail(node, f"T.nextafter needs floats, got {x.dtype}")
    whole = f"int{8 * T.dtype_size(x.dtype)}"
    bits = S.reinterpret(x, whole)
    away = S.binary("xor", S.cast(x < y, whole), S.cast(x < 0.0, whole))
    stepped = bits + (away * 2 - 1)
    least = S.select(y < 0.0, S.reinterpret(S.const(-0.0, x.dtype), whole) + 1, 1)
    moved = S.reinterpret(S.select(x == 0.0, least, stepped), x.dtype)
    unordered = S.binary("or", x != x, y != y)
    return S.select(unordered, x + y, S.select(x == y, y, moved))


def _q_multiply_shift(p: TirExprParser, node: Node) -> Scalar:
    """Multiply numbers of `q` fractional bits and shift, rounding half up, as TVM does."""
    p.count(node, 4)
    raws = [p.evaluate(arg) for arg in node.args]
    q, s = (_literal(p, raw, arg) for raw, arg in zip(raws[2:], node.args[2:], strict=True))
    wide = []
    for raw, arg in zip(raws[:2], node.args, strict=False):
        value = p.to_scalar(raw, arg, "int32")
        if value.dtype != "int32":
            p.scope.fail(arg, f"T.q_multiply_shift takes int32, got {value.dtype}")
        wide.append(S.cast(value, "int64"))
    total = q + max(-s, 0)
    if not (0 < total < _WIDE and 0 <= max(s, 0) < _WIDE):
        p.scope.fail(node, f"T.q_multiply_shift shifts by {total}; 64 bits have room for 1 to 63")
    left = S.binary("shl", wide[0], s) if s > 0 else wide[0]
    return S.cast(S.binary("shr", left * wide[1] + (1 << (total - 1)), total), "int32")


def _q_multiply_shift_per_axis(p: TirExprParser, node: Node) -> Scalar:
    """Multiply and shift as above, by shifts of each channel, as TVM does.

    The arguments: the numbers, the left and the right shifts, `q`, and whether each of the two
    shifts is needed.
    """
    p.count(node, 7)
    raws = [p.evaluate(arg) for arg in node.args[4:]]
    q, left, right = (
        _literal(p, int(raw) if isinstance(raw, bool) else raw, arg)
        for raw, arg in zip(raws, node.args[4:], strict=True)
    )

    def wide(place: int) -> Scalar:
        return S.cast(p.scalar(node.args[place], "int32"), "int64")

    x, y = wide(0), wide(1)
    total = wide(3) + q if right else S.const(q, "int64")
    x = S.binary("shl", x, wide(2)) if left else x
    half = S.binary("shl", S.const(1, "int64"), total - 1)
    return S.cast(S.binary("shr", x * y + half, total), "int32")


_WIDE = 64


def _literal(p: TirExprParser, raw: Any, node: Node) -> int:
    value = raw.value if isinstance(raw, (Number, SymExpr)) else raw
    if type(value) is not int:
        p.scope.fail(node, "T.q_multiply_shift takes a constant here")
    return value


def _undef(p: TirExprParser, node: Node) -> Number:
    """Return what may be any number: 0."""
    dtype = node.keywords[0].value if node.keywords else node.args[0] if node.args else None
    name = getattr(dtype, "value", "float32")
    try:
        return Number(0, T.normalize_dtype(str(name)))
    except ValueError as error:
        p.scope.fail(node, str(error))


def _boolean(p: TirExprParser, node: Node) -> Any:
    p.count(node, 1)
    return p.convert(p.evaluate(node.args[0]), "bool", node)


def _call_intrin(p: TirExprParser, node: Node) -> Any:
    """Parse `T.call_intrin("float32", "tir.exp", x)`."""
    heads = literal_strings(node.args[:2])
    if len(heads) != 2:
        p.scope.fail(node, "T.call_intrin takes a dtype, a name such as 'tir.exp', and arguments")
    attribute = ast.Attribute(node.func.value, heads[1].rpartition(".")[2], ast.Load())
    inner = ast.Call(ast.copy_location(attribute, node.args[1]), node.args[2:], [])
    return p.evaluate(ast.copy_location(inner, node))


NUMBERS: dict[str, Callable[[TirExprParser, Node], Any]] = {
    "nextafter": _nextafter,
    "q_multiply_shift": _q_multiply_shift,
    "q_multiply_shift_per_axis": _q_multiply_shift_per_axis,
    "undef": _undef,
    "Bool": _boolean,
    "boolean": _boolean,
    "call_intrin": _call_intrin,
}
