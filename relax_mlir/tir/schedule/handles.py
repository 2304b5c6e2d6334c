"""Random variables of a schedule, and the integers that expressions of them are."""

from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprTypeError
from relax_mlir.tir.scalar import nodes as N
from relax_mlir.tir.scalar.conversion import Cast
from relax_mlir.tir.scalar.prim_expr import IntImm, Leaf, PrimExpr, Size


class RandomVariable:
    """Names something of the program that a schedule works on; two are the same only as objects."""

    __slots__ = ()


class BlockRV(RandomVariable):
    """A random variable that stands for a block."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"BlockRV({hex(id(self))})"


class LoopRV(RandomVariable):
    """A random variable that stands for a loop."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"LoopRV({hex(id(self))})"


class ExprRV(Leaf):
    """A random variable that stands for an integer, with Python's operators.

    `sch.split(loop, factors=[None, v * 2])` keeps the product in the trace.
    """

    __slots__ = ()

    def __init__(self, name: str = "v") -> None:
        super().__init__(name, "int32")


SBlockRV = BlockRV
# The letters that their names in traces begin with.
VARIABLES = {"b": BlockRV, "l": LoopRV, "v": ExprRV}


_OPERATORS: dict[type[PrimExpr], Callable[[Any, Any], Any]] = {
    N.Add: lambda a, b: a + b,
    N.Sub: lambda a, b: a - b,
    N.Mul: lambda a, b: a * b,
    N.FloorDiv: lambda a, b: a // b,
    N.FloorMod: lambda a, b: a % b,
    N.Min: lambda a, b: SymExpr.of(a).min(b),
    N.Max: lambda a, b: SymExpr.of(a).max(b),
}


def evaluate(value: Any, value_of: Callable[[ExprRV], int]) -> int | SymExpr:
    """Return the integer, or symbolic size, that an expression is.

    Args:
        value: an integer, a symbolic size, an `ExprRV`, or an expression of these.
        value_of: what an `ExprRV` stands for.

    Raises:
        ExprTypeError: it is none of these.
    """
    if isinstance(value, ExprRV):
        return value_of(value)
    if isinstance(value, SymExpr):
        return value
    if isinstance(value, IntImm):
        return value.value
    if isinstance(value, Size):
        return value.expr
    if isinstance(value, Cast):
        return evaluate(value.value, value_of)
    if type(value) in _OPERATORS:
        return _OPERATORS[type(value)](evaluate(value.a, value_of), evaluate(value.b, value_of))
    if not isinstance(value, (bool, PrimExpr)) and hasattr(value, "__index__"):
        return int(value.__index__())
    raise ExprTypeError(
        f"an integer, a size or an ExprRV is needed, got {value!r} of {type(value).__name__}"
    )
