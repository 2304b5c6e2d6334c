"""Python's operators and methods on expressions, as calls of operations."""

import functools
import operator
from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError, ExprTypeError, did_you_mean
from relax_mlir.relax.expr.base import COMPARE, Expr
from relax_mlir.relax.expr.call import Call, Op
from relax_mlir.relax.expr.types import PrimType
from relax_mlir.relax.expr.values import PrimValue
from relax_mlir.relax.op.make import make

# What symbolic integers have of the operators.
_INTEGER: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "floor_divide": operator.floordiv,
    "mod": operator.mod,
}

_COMPARISONS = frozenset(COMPARE.values())


def operation(name: str, *args: Any, **attrs: Any) -> Any:
    """Return a call of `relax.op.<name>`.

    Raises:
        ExprError: there is no such operation, or its arguments are wrong.
    """
    return make(name, args, attrs)


def binary(name: str, lhs: Any, rhs: Any) -> Any:
    """Return what an operator gives for two operands, one of them an expression."""
    integers = [_integer(side) for side in (lhs, rhs)]
    if None not in integers:
        if name in _COMPARISONS:
            sides = [PrimValue(side) for side in integers]
            return Call(Op.get("relax.compare_prim"), sides, {"kind": name}, [PrimType("bool")])
        combine = _INTEGER.get(name)
        if combine is None:
            raise ExprTypeError(f"'{name}' is not defined for symbolic integers")
        try:
            return PrimValue(combine(*integers))
        except ZeroDivisionError as error:
            raise ExprError(f"{lhs!r} and {rhs!r}: {error}") from error
    for side in (lhs, rhs):
        if not isinstance(side, (Expr, int, float, complex)) and not hasattr(side, "__array__"):
            raise ExprTypeError(
                f"'{name}' takes expressions and numbers, got {type(side).__name__} {side!r}"
            )
    return operation(name, lhs, rhs)


def _integer(side: Any) -> Any:
    """Return the symbolic integer that an operand is, None when it is none."""
    if isinstance(side, PrimValue):
        side = side.value
    return side if isinstance(side, (int, SymExpr)) and not isinstance(side, bool) else None


# `getattr` with a default asks again and again for what expressions of some kinds have.
@functools.lru_cache(256)
def _no_attribute(cls: type[Expr], name: str) -> str:
    near = did_you_mean(name, [*COMPUTE_OPS, *dir(cls)])
    if hasattr(ir.Operation, name):
        near = f"; the MLIR operation has it, .mlir_op.{name}"
    return f"'{cls.__name__}' has no attribute '{name}'{near}"


def method(expr: Expr, name: str) -> Callable[..., Any]:
    """Return an operation bound to its first operand.

    Raises:
        AttributeError: there is no operation of that name on tensors.
    """
    cls = COMPUTE_OPS.get(name)
    if cls is None or not cls.PARAMS or cls.PARAMS[0].kind != "tensor":
        raise AttributeError(_no_attribute(type(expr), name))

    def call(*args: Any, **attrs: Any) -> Any:
        return operation(name, expr, *args, **attrs)

    return call
