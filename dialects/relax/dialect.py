"""The Relax dialect object, its attribute and its types."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ext, ir
from relax_mlir.dialects.symbolic.expr import IntLike, SymExpr
from relax_mlir.dialects.symbolic.parse import read_affine

# Verifiers and rules ask the same few attributes again and again. The text is the key because it
# and an expression belong to no context, which an attribute as key would keep alive.
_DIMS_OF_TEXT: dict[str, tuple[SymExpr, ...]] = {}
_REMEMBERED = 1024


def remember(table: dict[str, Any], key: str, value: Any) -> None:
    """Store an answer in a table that starts over when it is full."""
    if len(table) >= _REMEMBERED:
        table.clear()
    table[key] = value


class Relax(ext.Dialect, name="relax"):
    """Tensor programs whose shapes are symbolic and part of the program."""


class Dims(Relax.Attribute, name="dims"):
    """Known dimensions: names of symbols, and one affine expression over them per dimension.

    `#relax.dims<["n"], affine_map<()[s0] -> (s0, s0 * 4)>>` is the shape `(n, n * 4)`. What is not
    affine, a minimum or maximum, has its text among the names and an affine symbol for it:
    `#relax.dims<["T.max(m, n)"], affine_map<()[s0] -> (s0 + 1)>>` is `(T.max(m, n) + 1,)`.
    """

    names: ir.ArrayAttr
    exprs: ir.AffineMapAttr

    @staticmethod
    def of(dims: Sequence[IntLike]) -> "Dims":
        """Return the attribute for these dimensions, in normal form."""
        exprs = [SymExpr.of(dim) for dim in dims]
        names = sorted(set().union(*(expr.leaves for expr in exprs)))
        position = {name: i for i, name in enumerate(names)}
        affine = ir.AffineMap.get(0, len(names), [expr.to_affine(position) for expr in exprs])
        return Dims.get(
            ir.ArrayAttr.get([ir.StringAttr.get(name) for name in names]),
            ir.AffineMapAttr.get(affine),
        )

    @property
    def symbol_names(self) -> list[str]:
        """The symbols' names in order."""
        return sorted(set().union(*(expr.symbols for expr in self.dims)))

    @property
    def dims(self) -> list[SymExpr]:
        """One expression per dimension."""
        text = str(self)
        known = _DIMS_OF_TEXT.get(text)
        if known is None:
            names = [ir.StringAttr(name).value for name in ir.ArrayAttr(self.names)]
            affine = ir.AffineMapAttr(self.exprs).value
            known = tuple(read_affine(expr, names) for expr in affine.results)
            remember(_DIMS_OF_TEXT, text, known)
        return list(known)


class Shape(Relax.Type, name="shape"):
    """A tuple of integers at run time.

    The parameter is `#relax.dims<...>` where the values are known symbolically, `N : i64` where
    only their number is, and `unit` where nothing is.
    """

    known: Any


class Object(Relax.Type, name="object"):
    """Any run-time value: an opaque handle of a library, a Python object."""


class AnyDtype(Relax.Type, name="any_dtype"):
    """The element type of a tensor whose dtype is not known until run time."""
