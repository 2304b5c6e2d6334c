"""Emission of intrinsics, by the scalar functions of legalization."""

from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.tir import scalar as S
from relax_mlir.dialects.tir.scalar import Scalar
from relax_mlir.errors import ExprTypeError
from relax_mlir.lowering.relax_to_tir.support import scalar_functions as F
from relax_mlir.tir.scalar.conversion import as_expr, matched
from relax_mlir.tir.scalar.dtypes import is_float
from relax_mlir.tir.scalar.nodes import Call
from relax_mlir.tir.scalar.prim_expr import PrimExpr

_ANY = ("abs", "negative", "relu", "relu6", "square", "sign", "isnan", "isinf", "isfinite")
_INTEGER = ("clz", "ctz", "popcount", "bitwise_not")
_PREDICATES = ("isnan", "isinf", "isfinite", "logical_not", "equal", "not_equal", "less",
               "less_equal", "greater", "greater_equal", "logical_and", "logical_or",
               "logical_xor")  # fmt: skip


def _plain(kind: str) -> Callable[..., Scalar]:
    return lambda a, b: S.binary(kind, a, b)


# Name -> function of scalars. Those of the library of Relax give the kernels that it gives.
FUNCTIONS: dict[str, Callable[..., Scalar]] = {
    **{name: _plain(name) for name in S.BINARY_NAMES},
    **{name: (lambda x, name=name: S.unary(name, x)) for name in S.UNARY_NAMES},
    **F.UNARY,
    **{f"relax.{name}": function for name, function in F.BINARY.items()},
    **F.PARAMETRIC,
    "fma": S.multiply_add,
    "hypot": F.hypot,
    "ldexp": F.ldexp,
    "reinterpret": lambda x, attrs: S.reinterpret(x, attrs["dtype"]),
}


def unary(name: str, x: Any) -> PrimExpr:
    """Apply a function of one number.

    Raises:
        ExprTypeError: the function is not defined for its dtype.
    """
    value = as_expr(x, "float32" if name not in (*_ANY, *_INTEGER) else "")
    if name in ("floor", "ceil", "round", "trunc") and not is_float(value.dtype):
        return value
    if name not in (*_ANY, *_INTEGER, "logical_not") and not is_float(value.dtype):
        raise ExprTypeError(f"'{name}' needs a floating-point operand, got {value.dtype}")
    if name in _INTEGER and is_float(value.dtype):
        raise ExprTypeError(f"'{name}' needs an integer operand, got {value.dtype}")
    if name not in FUNCTIONS:
        raise ExprTypeError(f"there is no intrinsic '{name}'")
    return Call("bool" if name in _PREDICATES else value.dtype, name, [value])


def binary(name: str, a: Any, b: Any, floats: bool = False) -> PrimExpr:
    """Apply a function of two numbers.

    Raises:
        ExprTypeError: it is not defined for their dtype.
    """
    x, y = matched(a, b)
    if floats and not is_float(x.dtype):
        raise ExprTypeError(f"'{name}' needs floating-point operands, got {x.dtype}")
    return Call("bool" if name.removeprefix("relax.") in _PREDICATES else x.dtype, name, [x, y])


def call(name: str, args: list[Any], attrs: dict[str, Any], dtype: str = "") -> PrimExpr:
    """Apply a function that takes other numbers than expressions too."""
    values = [as_expr(arg) for arg in args]
    return Call(dtype or values[0].dtype, name, values, attrs)
