"""Indexing, `x[...]`: tuples, shapes, and tensors by numpy's rules."""

import operator
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.extension_points import extension
from relax_mlir.relax.expr.base import Expr
from relax_mlir.relax.expr.compound import TupleGetItem
from relax_mlir.relax.expr.operators import operation
from relax_mlir.relax.expr.types import ShapeType, TensorType, TupleType
from relax_mlir.relax.expr.values import PrimValue
from relax_mlir.tir.scalar.prim_expr import IntImm, PrimExpr

# A slice without an end goes to the last element of however many there are.
_END = 2**63 - 1


def index_expr(expr: Expr, index: Any) -> Any:
    """Return the part of an expression that an index names.

    Integers and slices (symbolic bounds too), `...` and None are known for tensors, and a tensor of
    integers as the only index, which takes along the first axis. Axes of `te.compute` read one
    element of the tensor expression that stands for the tensor.

    Raises:
        IndexError: out of range of a tuple or shape, or more indices than dimensions.
        ExprTypeError: the expression or the index is of a wrong kind.
    """
    type_ = expr.ty
    if isinstance(type_, TupleType):
        return TupleGetItem(expr, index)
    if isinstance(type_, ShapeType):
        if type_.dims is None:
            raise ExprError(f"the values of {expr!r} are not known here; bind them by match_cast")
        return type_.dims[index]
    if not isinstance(type_, TensorType):
        raise ExprTypeError(f"{expr!r} of type {type_} cannot be indexed")
    if isinstance(index, Expr) and isinstance(index.ty, TensorType):
        return operation("take", expr, index, axis=0)
    items = index if isinstance(index, tuple) else (index,)
    if any(isinstance(item, PrimExpr) and not isinstance(item, IntImm) for item in items):
        return extension("relax.te_tensor")(expr)[items]
    return _tensor(expr, type_, items)


def _tensor(expr: Expr, type_: TensorType, items: tuple[Any, ...]) -> Any:
    used = sum(item is not None and item is not Ellipsis for item in items)
    gaps = sum(item is Ellipsis for item in items)
    if gaps > 1:
        raise IndexError("an index can have one '...' only")
    if type_.ndim < 0 and gaps and items[-1] is not Ellipsis:
        raise ExprError("indices after '...' need a tensor whose number of dimensions is known")
    if type_.ndim >= 0 and used > type_.ndim:
        raise IndexError(f"{used} indices for a tensor of {type_.ndim} dimensions")
    axes: list[int] = []
    begin: list[Any] = []
    end: list[Any] = []
    strides: list[int] = []
    dropped: list[int] = []
    added: list[int] = []
    axis = place = 0
    for item in items:
        if item is None:
            added.append(place)
            place += 1
        elif item is Ellipsis:
            skipped = max(type_.ndim - used, 0)
            axis += skipped
            place += skipped
        elif isinstance(item, slice):
            if any(bound is not None for bound in (item.start, item.stop, item.step)):
                step = 1 if item.step is None else _bound(item.step)
                if isinstance(step, SymExpr):
                    raise ExprTypeError("the step of a slice must be an integer")
                if step == 0:
                    raise ExprError("the step of a slice cannot be 0")
                axes.append(axis)
                begin.append(_bound(item.start, 0 if step > 0 else _END))
                end.append(_bound(item.stop, _END if step > 0 else -_END))
                strides.append(step)
            axis += 1
            place += 1
        else:
            position = _bound(item)
            known = type_.dims[axis].value if type_.dims is not None else None
            if known is not None and isinstance(position, int) and not -known <= position < known:
                raise IndexError(f"index {position} is out of range for dimension {axis}, {known}")
            axes.append(axis)
            begin.append(position)
            end.append(_END if position == -1 else position + 1)
            strides.append(1)
            dropped.append(axis)
            axis += 1
    if axes:
        expr = operation("strided_slice", expr, axes=axes, begin=begin, end=end, strides=strides)
    if dropped:
        expr = operation("squeeze", expr, axis=dropped)
    return operation("expand_dims", expr, axis=added) if added else expr


def _bound(value: Any, default: Any = None) -> Any:
    """Return an index as an integer or a symbolic one."""
    if value is None:
        return default
    if isinstance(value, (PrimValue, IntImm)):
        value = value.value
    if isinstance(value, SymExpr):
        return value if value.value is None else value.value
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise ExprTypeError(
            f"an index is an integer, a symbol, a slice, None or '...', got {value!r}"
        ) from None
