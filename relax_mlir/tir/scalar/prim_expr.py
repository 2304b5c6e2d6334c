"""PrimExpr: scalar expressions as trees; the bodies of tensor expressions are such trees.

`relax_mlir.tir.scalar.emission` writes a tree as operations. A Python number takes the dtype of the
other operand, as in scripts; other mixtures are promoted as TVM does it.
"""

from typing import Any, Union

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.extension_points import extension
from relax_mlir.tir.scalar.dtypes import SIZE, bits, checked, is_float, is_unsigned

PrimLike = Union["PrimExpr", SymExpr, bool, int, float]


def _apply(kind: str, a: Any, b: Any) -> "PrimExpr":
    return extension("tir.binary")(kind, a, b)


# Functions of numpy that are operators, with what the dialect calls them.
_OPERATIONS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv",
    "floor_divide": "floordiv", "remainder": "mod", "maximum": "max", "minimum": "min",
    "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge", "equal": "eq",
    "not_equal": "ne", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor",
}  # fmt: skip
# Functions of numpy that have another name in `tir`.
_NAMES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
    "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "rint": "round",
}  # fmt: skip


class PrimExpr:
    """A scalar expression with Python's operators; `==` makes an expression too.

    Attributes:
        dtype: name of its dtype.
    """

    __slots__ = ("dtype",)
    # Symbolic sizes leave operations with expressions to these.
    __takes_sizes__ = True
    dtype: str

    @property
    def operands(self) -> tuple["PrimExpr", ...]:
        """The expressions that this one is made of."""
        return ()

    @property
    def ty(self) -> Any:
        """The type, an `ir.PrimType`."""
        return extension("tir.PrimType")(self.dtype)

    def as_size(self) -> SymExpr | None:
        """Return the expression as a symbolic size, None when it depends on more than symbols."""
        return None

    def astype(self, dtype: str) -> "PrimExpr":
        """Return the expression converted to another dtype."""
        return extension("tir.cast")(self, dtype)

    def __add__(self, other: Any) -> "PrimExpr":
        return _apply("add", self, other)

    def __radd__(self, other: Any) -> "PrimExpr":
        return _apply("add", other, self)

    def __sub__(self, other: Any) -> "PrimExpr":
        return _apply("sub", self, other)

    def __rsub__(self, other: Any) -> "PrimExpr":
        return _apply("sub", other, self)

    def __mul__(self, other: Any) -> "PrimExpr":
        return _apply("mul", self, other)

    def __rmul__(self, other: Any) -> "PrimExpr":
        return _apply("mul", other, self)

    def __truediv__(self, other: Any) -> "PrimExpr":
        return _apply("truediv", self, other)

    def __rtruediv__(self, other: Any) -> "PrimExpr":
        return _apply("truediv", other, self)

    def __floordiv__(self, other: Any) -> "PrimExpr":
        return _apply("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> "PrimExpr":
        return _apply("floordiv", other, self)

    def __mod__(self, other: Any) -> "PrimExpr":
        return _apply("mod", self, other)

    def __rmod__(self, other: Any) -> "PrimExpr":
        return _apply("mod", other, self)

    def __neg__(self) -> "PrimExpr":
        return self * -1

    def __lshift__(self, other: Any) -> "PrimExpr":
        return _apply("shl", self, other)

    def __rlshift__(self, other: Any) -> "PrimExpr":
        return _apply("shl", other, self)

    def __rshift__(self, other: Any) -> "PrimExpr":
        return _apply("shr", self, other)

    def __rrshift__(self, other: Any) -> "PrimExpr":
        return _apply("shr", other, self)

    def __and__(self, other: Any) -> "PrimExpr":
        return _apply("and", self, other)

    def __rand__(self, other: Any) -> "PrimExpr":
        return _apply("and", other, self)

    def __or__(self, other: Any) -> "PrimExpr":
        return _apply("or", self, other)

    def __ror__(self, other: Any) -> "PrimExpr":
        return _apply("or", other, self)

    def __xor__(self, other: Any) -> "PrimExpr":
        return _apply("xor", self, other)

    def __rxor__(self, other: Any) -> "PrimExpr":
        return _apply("xor", other, self)

    def __invert__(self) -> "PrimExpr":
        ones = (1 << bits(self.dtype)) - 1 if is_unsigned(self.dtype) else -1
        return _apply("xor", self, ones)

    def __lt__(self, other: Any) -> "PrimExpr":
        return _apply("lt", self, other)

    def __le__(self, other: Any) -> "PrimExpr":
        return _apply("le", self, other)

    def __gt__(self, other: Any) -> "PrimExpr":
        return _apply("gt", self, other)

    def __ge__(self, other: Any) -> "PrimExpr":
        return _apply("ge", self, other)

    def __eq__(self, other: Any) -> Any:
        return _apply("eq", self, other) if other is not None else False

    def __ne__(self, other: Any) -> Any:
        return _apply("ne", self, other) if other is not None else True

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        raise ExprTypeError(
            "a scalar expression has no truth value while it is being built: use tir.all, tir.any, "
            "tir.Not and tir.if_then_else instead of and, or, not and if"
        )

    def __float__(self) -> float:
        raise ExprTypeError(
            f"{self} has no number while it is being built: tir.exp and its kin make expressions, "
            "math.exp takes numbers"
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Return what `tir` has of a function of numpy: `np.exp(A[i])`, `np.float32(2) * A[i]`."""
        name = ufunc.__name__
        if method == "__call__" and not kwargs:
            if name in _OPERATIONS:
                return _apply(_OPERATIONS[name], *inputs)
            tir = extension("tir.functions")
            own = _NAMES.get(name, name)
            if own in dir(tir):
                return getattr(tir, own)(*inputs)
        raise ExprTypeError(f"numpy's {name} takes no scalar expression; see the functions of tir")

    def same_as(self, other: Any) -> bool:
        """Whether both are the same object."""
        return self is other


class _Number(type):
    """What `isinstance` takes for an `IntImm`: sizes that are numbers as well."""

    def __instancecheck__(cls, value: object) -> bool:
        return type.__instancecheck__(cls, value) or (isinstance(value, SymExpr) and value.is_const)


class IntImm(PrimExpr, metaclass=_Number):
    """An integer, or a bool, of a dtype; the sizes of a shape that are numbers are instances."""

    __slots__ = ("value",)

    value: int

    def __init__(self, dtype: str, value: int) -> None:
        self.dtype: str = checked(dtype)
        self.value = int(value)
        if is_float(self.dtype):
            raise ExprTypeError(f"tir.IntImm takes an integer dtype, got {dtype}")
        low = 0 if is_unsigned(self.dtype) else -1 << (bits(self.dtype) - 1)
        if not low <= self.value < low + (1 << bits(self.dtype)):
            raise ExprError(f"{value} does not fit {dtype}")

    def as_size(self) -> SymExpr:
        """Return the integer as a size."""
        return SymExpr.const(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return self.value

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        return str(bool(self.value)) if self.dtype == "bool" else str(self.value)


class FloatImm(PrimExpr):
    """A floating-point number of a dtype."""

    __slots__ = ("value",)

    value: float

    def __init__(self, dtype: str, value: float) -> None:
        self.dtype: str = checked(dtype)
        self.value = float(value)
        if not is_float(self.dtype):
            raise ExprTypeError(f"tir.FloatImm takes a floating-point dtype, got {dtype}")

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        return repr(self.value)


class Leaf(PrimExpr):
    """A name that something outside of the expression gives a value: a loop variable, ..."""

    __slots__ = ("name",)

    name: str

    def __init__(self, name: str, dtype: str = SIZE) -> None:
        self.name = name
        self.dtype: str = dtype

    @property
    def name_hint(self) -> str:
        """Its name."""
        return self.name

    def __repr__(self) -> str:
        return self.name


class Size(PrimExpr):
    """A symbolic size as a number of the program."""

    __slots__ = ("expr",)

    expr: SymExpr

    def __init__(self, expr: SymExpr) -> None:
        self.expr = expr
        self.dtype: str = SIZE

    def as_size(self) -> SymExpr:
        """Return the size itself."""
        return self.expr

    def __repr__(self) -> str:
        return self.expr.as_operand()
