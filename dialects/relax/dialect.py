"""The Relax dialect object, its attribute and its types."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ext, ir
from relax_mlir.dialects.symbolic.expr import IntLike, SymExpr
from relax_mlir.dialects.symbolic.parse import read_affine


def remembered(what: str, about: ir.Attribute | ir.Type) -> dict[int, Any]:
    """Return the answers to a question that the context of an attribute or a type remembers.

    Verifiers and rules ask the same few again and again. The key is `hash(about)`, its address,
    which no other one has while the context lives. A key that is an attribute would keep the
    context, which keeps the answers.
    """
    return about.context.__dict__.setdefault(what, {})


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
        answers, key = remembered("_relax_dims", self), hash(self)
        known = answers.get(key)
        if known is None:
            names = [ir.StringAttr(name).value for name in ir.ArrayAttr(self.names)]
            affine = ir.AffineMapAttr(self.exprs).value
            known = answers[key] = tuple(read_affine(expr, names) for expr in affine.results)
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
