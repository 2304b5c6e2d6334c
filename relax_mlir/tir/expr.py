"""Symbolic integers under TVM's names: `SymExpr`."""

from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.tir.scalar.dtypes import checked
from relax_mlir.tir.scalar.prim_expr import Leaf


@dataclass(frozen=True)
class Param:
    """A parameter: `handle` is the dtype of one that is a buffer."""

    name: str
    dtype: str

    def __str__(self) -> str:
        return self.name

    def same_as(self, other: object) -> bool:
        """Whether the other is the same parameter."""
        return self == other


class StringImm(str):
    """A text under TVM's name: a Python string."""

    __slots__ = ()

    @property
    def value(self) -> str:
        """The string."""
        return str(self)


class _Symbol(type):
    """What `isinstance` takes for a `Var`: every size that is a symbol."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, SymExpr) and value.name is not None


class Var(SymExpr, metaclass=_Symbol):
    """A symbol: `n = tir.Var("n", "int64")`; shapes take it and expressions of it.

    Symbols of one name are the same within a function, and two functions' are unrelated. The sizes
    of a shape that are symbols count as instances.
    """

    __slots__ = ("_dtype",)

    def __new__(cls, name: str, dtype: str = "int64", *, ty: str | None = None) -> "Any":
        """Return a symbol; of another dtype than those of sizes a scalar, of `handle` a `Param`."""
        dtype = ty or dtype
        if dtype in ("int64", "int32"):
            return super().__new__(cls)
        return Param(name, "handle") if dtype == "handle" else Leaf(name, checked(dtype))

    def __init__(self, name: str, dtype: str = "int64", *, ty: str | None = None) -> None:
        dtype = ty or dtype
        if not isinstance(name, str):
            raise ExprTypeError(f"the name of a symbol is a string, got {name!r}")
        if not name.isidentifier():
            raise ExprError(f"the name of a symbol must be an identifier, got '{name}'")
        symbol = SymExpr.var(name)
        super().__init__(symbol._terms, symbol._atoms)
        self._dtype = dtype

    @property
    def dtype(self) -> str:
        """The dtype that it was made with; one of int32 counts in kernels, and shapes refuse it."""
        return self._dtype

    def __reduce__(self) -> tuple[Any, ...]:
        return Var, (str(self), self.dtype)

    @property
    def name_hint(self) -> str:
        """The symbol's name."""
        return str(self)


SizeVar = Var


def var(name: str, dtype: str = "int64") -> Var:
    """Return a symbol, as the design document writes it: `tir.var("n")`.

    Raises:
        ExprError: the name is no identifier, or there is no such dtype.
    """
    return Var(name, dtype)
