"""Axes of loop nests and their extents."""

from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.sizes import size_of
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.ir.range import Range
from relax_mlir.tir.scalar.dtypes import SIZE
from relax_mlir.tir.scalar.prim_expr import Leaf

Dim = int | SymExpr


def plain(dim: SymExpr) -> Dim:
    """Return a size as an integer where it is one."""
    return dim if dim.value is None else dim.value


def dims_of(shape: Any, what: str) -> tuple[Dim, ...]:
    """Return a shape given as one size or several.

    Raises:
        ExprTypeError: an element is no integer and no symbolic one.
        ExprError: a size is negative.
    """
    items = shape if isinstance(shape, (list, tuple)) else getattr(shape, "values", [shape])
    dims = []
    for item in items:
        size = size_of(item)
        if size is None:
            raise ExprTypeError(
                f"the shape of {what} takes integers, tir.Var and expressions of them, got {item!r}"
            )
        if size.value is not None and size.value < 0:
            raise ExprError(f"the shape of {what} has a negative size, {size}")
        if size.value is not None and size.value >= 1 << 63:
            raise ExprError(f"the shape of {what} has a size that int64 does not hold, {size}")
        dims.append(plain(size))
    return tuple(dims)


class IterVar(Leaf):
    """An axis of a stage: the variable that runs over it, and what it runs over.

    Attributes:
        dom: the range that it runs over.
        iter_type: `spatial` or `reduction`.
    """

    __slots__ = ("dom", "iter_type")

    dom: Range
    iter_type: str

    def __init__(self, dom: tuple[SymExpr, SymExpr], name: str, iter_type: str) -> None:
        super().__init__(name, SIZE)
        self.dom, self.iter_type = Range.from_min_extent(*dom), iter_type

    @property
    def var(self) -> "IterVar":
        """The variable itself."""
        return self
