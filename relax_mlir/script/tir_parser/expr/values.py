"""Literals and mutable scalars before they become operations."""

from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import Buffer
from relax_mlir.dialects.tir.scalar import INDEX, Scalar
from relax_mlir.script.tir_parser.expr.tables import INDEX_DTYPES


@dataclass(frozen=True)
class Number:
    """A number with a dtype, `T.uint8(3)`, that nothing has needed as a value yet."""

    value: bool | int | float
    dtype: str

    @property
    def index(self) -> int | None:
        """The number as an extent or an index, None when its dtype is not one of these."""
        return int(self.value) if self.dtype in INDEX_DTYPES else None


@dataclass(frozen=True)
class MutableScalar:
    """A variable that statements change: a buffer of one element, which its name reads."""

    buffer: Buffer


def dtype_of(raw: Any) -> str:
    """Return the dtype of what an expression gives, for memory that holds it."""
    if isinstance(raw, (Scalar, Number)):
        return "int64" if raw.dtype == INDEX else raw.dtype
    if isinstance(raw, SymExpr):
        return "int64"
    return "bool" if isinstance(raw, bool) else "float32" if isinstance(raw, float) else "int32"


def bare(operand: Any, other: Any) -> Any:
    """Return a number without its dtype where the other operand has the same one, or an index."""
    if isinstance(operand, SymExpr) and operand.is_const:
        return operand.value
    if not isinstance(operand, Number):
        return operand
    if isinstance(other, Scalar) and operand.dtype == other.dtype:
        return operand.value
    index = (isinstance(other, Scalar) and other.dtype == INDEX) or (
        isinstance(other, SymExpr) and not other.is_const
    )
    return operand.index if index and operand.index is not None else operand


def whole(left: Any, right: Any) -> tuple[str, int, int] | None:
    """Return the dtype (`""` for none) and the values of two whole numbers of one dtype."""
    dtypes = {x.dtype for x in (left, right) if isinstance(x, Number)}
    values: list[Any] = [x.index if isinstance(x, Number) else x for x in (left, right)]
    if len(dtypes) > 1 or not all(type(x) is int for x in values):
        return None
    return next(iter(dtypes), ""), values[0], values[1]
