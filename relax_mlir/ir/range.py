"""`ir.Range`: a first integer and an extent."""

from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.sizes import size_of
from relax_mlir.errors import ExprTypeError


@dataclass(frozen=True, init=False, eq=False)
class Range:
    """Integers, possibly symbolic: `Range(begin, end)` without `end`, `Range(extent)` from 0.

    `te.reduce_axis` and `arith.Analyzer().bind` take one.

    Attributes:
        min: the first.
        extent: how many there are.
    """

    min: SymExpr
    extent: SymExpr

    def __init__(self, begin: Any, end: Any = None) -> None:
        first, last = (0, begin) if end is None else (begin, end)
        low, high = _integer(first), _integer(last)
        object.__setattr__(self, "min", low)
        object.__setattr__(self, "extent", high - low)

    @classmethod
    def from_min_extent(cls, min_value: Any, extent: Any) -> "Range":
        """Return the range of so many integers from a first one on."""
        low = _integer(min_value)
        return cls(low, low + _integer(extent))

    def __repr__(self) -> str:
        return f"ir.Range({self.min}, {self.min + self.extent})"


def _integer(value: Any) -> SymExpr:
    size = size_of(value)
    if size is None:
        raise ExprTypeError(f"ir.Range takes integers and sizes, got {value!r}")
    return size
