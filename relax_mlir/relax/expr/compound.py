"""Fields of tuples, and branches."""

import operator
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import ExprTypeError
from relax_mlir.relax.expr.base import OperationExpr
from relax_mlir.relax.expr.types import TupleType


def field_index(index: Any, count: int) -> int:
    """Return which of a tuple's fields an index means, from 0.

    Raises:
        ExprTypeError: it is no integer.
        IndexError: there is no such field.
    """
    try:
        found = operator.index(index)
    except TypeError:
        raise ExprTypeError(f"the index of a tuple is an integer, got {index!r}") from None
    if not -count <= found < count:
        raise IndexError(f"index {found} is out of range for {count} fields")
    return found % count


class TupleGetItem(OperationExpr):
    """One field of a tuple."""

    __slots__ = ("_index", "_tuple")

    def __init__(self, tuple_value: Any, index: int) -> None:
        super().__init__()
        from relax_mlir.relax.expr.convert import convert

        self._tuple = convert(tuple_value)
        type_ = self._tuple.ty
        if not isinstance(type_, TupleType):
            raise ExprTypeError(f"only tuples have fields, this is {type_}")
        self._index = field_index(index, len(type_.fields))
        self._ty = type_.fields[self._index]

    @property
    def tuple_value(self) -> Any:
        """The tuple."""
        if self._op is None:
            return self._tuple
        from relax_mlir.relax.expr.views import view

        return view(self._op.operands[0], self._keep)

    @property
    def index(self) -> int:
        """Which field, from 0."""
        if self._op is None:
            return self._index
        return ir.IntegerAttr(self._op.attributes["index"]).value

    def _identity(self) -> Any:
        return None if self._op is None else (TupleGetItem, self._op)


class If(OperationExpr):
    """Two branches on a scalar bool; each is a sequence of bindings with a value."""

    __slots__ = ("_branches", "_cond")

    def __init__(self, cond: Any, true_branch: Any, false_branch: Any) -> None:
        super().__init__()
        from relax_mlir.relax.expr.convert import convert

        self._cond = convert(cond)
        self._branches = (convert(true_branch), convert(false_branch))

    @property
    def cond(self) -> Any:
        """The condition."""
        if self._op is None:
            return self._cond
        from relax_mlir.relax.expr.views import view

        return view(self._op.operands[0], self._keep)

    @property
    def true_branch(self) -> Any:
        """What happens when the condition holds: a SeqExpr, or an expression not emitted yet."""
        return self._branch(0)

    @property
    def false_branch(self) -> Any:
        """What happens otherwise."""
        return self._branch(1)

    def _branch(self, index: int) -> Any:
        if self._op is None:
            return self._branches[index]
        from relax_mlir.relax.expr.blocks import SeqExpr

        return SeqExpr.of(self._op.regions[index].blocks[0], self._keep)

    def _identity(self) -> Any:
        return None if self._op is None else (If, self._op)
