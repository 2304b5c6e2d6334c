"""Set operations, whose result shapes depend on data."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import normalize_axes
from relax_mlir.dialects.relax.ops.base import Param, declare
from relax_mlir.dialects.symbolic.expr import SymExpr


def _unique(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    dtype, ndim, axis = T.tensor_dtype(types[0]), T.tensor_ndim(types[0]), attrs["axis"]
    if axis is not None and ndim >= 0:
        normalize_axes([axis], ndim)
    # A scalar is one distinct element.
    shape = [SymExpr.const(1)] if ndim == 0 else None
    values = T.tensor_type(shape, dtype, 1 if axis is None else ndim)
    wanted = ("return_index", "return_inverse", "return_counts")
    extra = [T.tensor_type(shape, "int64", 1) for name in wanted if attrs[name]]
    return ir.TupleType.get_tuple([values, *extra]) if extra else values


def _nonzero(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    return T.tensor_type(None, "int64", 2)


declare(
    "unique",
    "The distinct elements, or parts along an axis, ascending or by first occurrence; "
    "where they first occur, which is which, how many there are.",
    [
        Param("x", "tensor"),
        Param("sorted", "bool", True),
        Param("return_index", "bool", False),
        Param("return_inverse", "bool", False),
        Param("return_counts", "bool", False),
        Param("axis", "int", None),
    ],
    _unique,
)
declare(
    "nonzero",
    "Where the elements that are not zero are: a row for each dimension, a column for each.",
    [Param("x", "tensor")],
    _nonzero,
)
