"""Letting operands that build expressions of their own have the say over symbolic integers."""

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T", bound=type)
_OPERATORS = ("add", "sub", "mul", "floordiv", "mod", "lt", "le", "gt", "ge", "eq", "ne")


def defers(cls: T) -> T:
    """Make a class's operators leave operands alone that have `__takes_sizes__`.

    Python then asks the operand's own operators: of a symbolic size and an element of a tensor,
    `n + a[i]` is an expression of the element's kind.
    """
    for name in _OPERATORS:
        method = f"__{name}__"
        setattr(cls, method, _deferring(getattr(cls, method)))
    return cls


def _deferring(operate: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if type(other) is not type(self) and hasattr(other, "__takes_sizes__"):
            return NotImplemented
        return operate(self, other)

    operator.__name__, operator.__qualname__ = operate.__name__, operate.__qualname__
    operator.__doc__ = operate.__doc__
    return operator
