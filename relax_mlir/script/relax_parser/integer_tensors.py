"""Run-time integers as scalar tensors, for arithmetic with tensors: `x * (i + 1)`."""

from collections.abc import Callable

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.ops.base import build
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.script.parser.interfaces import ExprParser
from relax_mlir.script.parser.source import Node

_OPERATIONS = {"floordiv": "floor_divide", "mod": "floor_mod", "max": "maximum", "min": "minimum"}


class _Scalar:
    """A scalar tensor under construction, with the operators that `SymExpr.fold` uses."""

    def __init__(self, value: ir.Value, make: Callable[..., ir.Value]) -> None:
        self.value, self._make = value, make

    def then(self, op: str, other: "_Scalar") -> "_Scalar":
        """Return the result of an operation on both."""
        return _Scalar(self._make(op, self.value, other.value), self._make)

    def __add__(self, other: "_Scalar") -> "_Scalar":
        return self.then("add", other)

    def __mul__(self, other: "_Scalar") -> "_Scalar":
        return self.then("multiply", other)


def as_tensor(p: ExprParser, expr: SymExpr, dtype: str, node: Node) -> ir.Value:
    """Return the scalar tensor that has the value of an integer expression.

    A shape cannot hold a negative integer unless a symbol of its own stands for it, so only symbols
    come from shapes, and what is made of them is computed by tensors.

    Args:
        p: the parser.
        expr: the integer.
        dtype: what the other operand is of; the integer is computed as int64 first.
        node: where it stands.
    """
    loc = p.scope.location(node)

    def make(op: str, *operands: ir.Value) -> ir.Value:
        return build(op, operands, {}, loc)

    def symbol(name: str) -> _Scalar:
        vector = make("shape_to_tensor", p.shape([SymExpr.var(name)], node))
        return _Scalar(make("reshape", vector, p.shape([], node)), make)

    def constant(value: int) -> _Scalar:
        return _Scalar(p.constant(value, node, None, "int64"), make)

    def divide(kind: str, lhs: _Scalar, rhs: _Scalar) -> _Scalar:
        if kind == "ceildiv":
            minus = constant(-1)
            return (lhs * minus).then("floor_divide", rhs) * minus
        return lhs.then(_OPERATIONS[kind], rhs)

    value = expr.fold(symbol, constant, divide).value
    return value if dtype == "int64" else build("astype", [value], {"dtype": dtype}, loc)
