"""Dimensions and dtypes as people write them: `("n * 2", 4)`, `np.float32`."""

from typing import Any

from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.parse import read_expression
from relax_mlir.errors import ExprError, ExprTypeError, SizeTypeError
from relax_mlir.tir.scalar.prim_expr import Leaf


def as_dtype(dtype: Any) -> str:
    """Return TVM's name of a dtype: a name, a numpy dtype or scalar class, an `R.Prim`.

    Raises:
        ExprError: there is no such dtype.
        ExprTypeError: it names none.
    """
    if dtype is None:
        return ""
    if not isinstance(dtype, str):
        # A scalar type has it by that name.
        names = (getattr(dtype, key, None) for key in ("name", "__name__", "prim_dtype"))
        name = next(filter(None, names), None)
        if not isinstance(name, str):
            raise ExprTypeError(f'expected a dtype such as "float32", got {dtype!r}')
        dtype = name
    try:
        return T.normalize_dtype(dtype)
    except ValueError as error:
        raise ExprError(str(error)) from error


def as_dim(value: Any) -> SymExpr:
    """Return one dimension: an integer, a symbol or expression, or the text of one.

    Expressions of `tir` over symbols and integers are dimensions too, `tir.const(3) * 4`.

    Raises:
        ExprTypeError: it is none of them, or a symbol of another dtype than int64.
        ExprError: the text spells no expression.
    """
    value = getattr(value, "sym", value)
    if isinstance(value, SymExpr):
        if value.dtype != "int64":
            raise SizeTypeError(
                "the value in ShapeType can only have dtype of int64, "
                f"'{value}' is a symbol of {value.dtype}"
            )
        return value
    # A scalar expression of `tir`, a layer below: its class has it by that name.
    if hasattr(value, "as_size"):
        size = value.as_size()
        if size is None and isinstance(value, Leaf):
            raise SizeTypeError(
                "the value in ShapeType can only have dtype of int64, "
                f"'{value}' is a scalar of {value.dtype}"
            )
        if size is None:
            raise ExprTypeError(f"a dimension is made of integers and symbols, got {value}")
        return size
    try:
        return read_expression(value) if isinstance(value, str) else SymExpr.of(value)
    except TypeError as error:
        raise ExprTypeError(str(error)) from error
    except ValueError as error:
        raise ExprError(str(error)) from error


def read_shape(shape: Any) -> tuple[tuple[SymExpr, ...] | None, Any, int]:
    """Return dimensions where known, the expression where one gives them, and their number.

    Raises:
        ExprTypeError: it is no shape.
    """
    type_ = getattr(shape, "ty", None)
    if type_ is not None and hasattr(type_, "values"):
        return type_.dims, None if hasattr(type(shape), "values") else shape, type_.ndim
    if isinstance(shape, (list, tuple)):
        dims = tuple(as_dim(dim) for dim in shape)
        return dims, None, len(dims)
    raise ExprTypeError(f"expected a shape such as (n, 4), got {type(shape).__name__} {shape!r}")
