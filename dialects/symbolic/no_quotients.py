"""Symbolic integers refuse float quotients."""

from relax_mlir.errors import ExprTypeError


class NoQuotients:
    """Integers that raise for `/`, which could mean `//` or a float quotient."""

    __slots__ = ()

    def __truediv__(self, other: object) -> "NoQuotients":
        return self._refused(other)

    def __rtruediv__(self, other: object) -> "NoQuotients":
        return self._refused(other)

    def _refused(self, other: object) -> "NoQuotients":
        if hasattr(other, "dtype") and not isinstance(other, NoQuotients):
            # An expression knows what to do with an integer operand.
            return NotImplemented
        raise ExprTypeError(
            f"'/' of the integer {self}: // rounds down, tir.ceildiv up; as a float it is "
            f"tir.Cast('float32', {self})"
        )
