"""Arithmetic of symbolic integers defers to operands that build expressions of their own."""

from collections.abc import Callable
from typing import Any, TypeVar

from relax_mlir.errors import ExprTypeError

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


class NoQuotients:
    """Integers that raise for `/`, which could mean `//` or a float quotient."""

    __slots__ = ()

    def __truediv__(self, other: object) -> "NoQuotients":
        return self._refused(other)

    def __rtruediv__(self, other: object) -> "NoQuotients":
        return self._refused(other)

    def _refused(self, other: object) -> "NoQuotients":
        if hasattr(other, "dtype") and not isinstance(other, NoQuotients):
            # An expression knows what to do with an integer beside it.
            return NotImplemented
        raise ExprTypeError(
            f"'/' of the integer {self}: // rounds down, tir.ceildiv up; as a float it is "
            f"tir.Cast('float32', {self})"
        )
