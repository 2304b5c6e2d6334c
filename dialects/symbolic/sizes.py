"""Values that can be a size: integers, symbolic integers and scalar expressions of them."""

from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr


def size_of(value: Any) -> SymExpr | None:
    """Return a value as a symbolic size, None when it depends on more than symbols.

    Args:
        value: an integer, a symbolic one, or an expression, whose `as_size()` says what it is.
    """
    if isinstance(value, SymExpr):
        return value
    if hasattr(value, "as_size"):
        return value.as_size()
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return None
    return SymExpr.const(value.__index__())
