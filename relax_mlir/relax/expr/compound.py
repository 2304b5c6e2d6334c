"""Tuple fields and branches."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import ExprTypeError
from relax_mlir.relax.expr.base import OperationExpr
from relax_mlir.relax.expr.blocks import SeqExpr, as_sequence
from relax_mlir.relax.expr.types import TupleType
from relax_mlir.relax.expr.values import Tuple, convert, field_index
from relax_mlir.relax.expr.views import register_view, view


class TupleGetItem(OperationExpr):
    """One field of a tuple."""

    __slots__ = ("_index", "_tuple")

    def __init__(self, tuple_value: Any, index: int) -> None:
        super().__init__()
        self._tuple = convert(tuple_value)
        type_ = self._tuple.ty
        if isinstance(self._tuple, Tuple):
            # It has no type of its own while a field has none.
            types = [field.ty for field in self._tuple.fields]
        elif isinstance(type_, TupleType):
            types = type_.fields
        else:
            raise ExprTypeError(f"only tuples have fields, this is {type_}")
        self._index = field_index(index, len(types))
        self._ty = types[self._index]

    @property
    def tuple_value(self) -> Any:
        """The tuple."""
        if self._op is None:
            return self._tuple
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
        self._cond = convert(cond)
        self._branches = (as_sequence(true_branch), as_sequence(false_branch))

    @property
    def cond(self) -> Any:
        """The condition."""
        if self._op is None:
            return self._cond
        return view(self._op.operands[0], self._keep)

    @property
    def true_branch(self) -> SeqExpr:
        """What happens when the condition holds."""
        return self._branch(0)

    @property
    def false_branch(self) -> SeqExpr:
        """What happens otherwise."""
        return self._branch(1)

    def _branch(self, index: int) -> SeqExpr:
        if self._op is None:
            return self._branches[index]
        return SeqExpr.of(self._op.regions[index].blocks[0], self._keep)

    def _identity(self) -> Any:
        return None if self._op is None else (If, self._op)


register_view("relax.tuple_get_item", TupleGetItem)
register_view("relax.if", If)
