"""Functions that make patterns, under TVM's names."""

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.relax.dpl.classes import (
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataflowVarPattern,
    DataTypePattern,
    DFPattern,
    ExprPattern,
    ExternFuncPattern,
    GlobalVarPattern,
    NotPattern,
    PrimArrPattern,
    ShapePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
    op_pattern,
)
from relax_mlir.relax.dpl.compound import (
    TupleGetItemPattern,
    TuplePattern,
    UnorderedTuplePattern,
)


def wildcard() -> WildcardPattern:
    """Return the pattern of anything."""
    return WildcardPattern()


def is_var(name: str = "") -> VarPattern:
    """Return the pattern of a variable."""
    return VarPattern(name)


def is_dfv(name: str = "") -> DataflowVarPattern:
    """Return the pattern of a variable that is visible in its dataflow block only."""
    return DataflowVarPattern(name)


def is_gv(name: str = "") -> GlobalVarPattern:
    """Return the pattern of the name of a function of the module."""
    return GlobalVarPattern(name)


def is_const() -> ConstantPattern:
    """Return the pattern of a constant."""
    return ConstantPattern()


def is_expr(expr: Any) -> ExprPattern:
    """Return the pattern of one expression."""
    return ExprPattern(expr)


def is_op(op_name: str) -> ExprPattern:
    """Return the pattern of an operation by name: `is_op("relax.add")(wildcard(), is_const())`.

    Raises:
        ExprError: there is none.
    """
    return op_pattern(op_name)


def is_tuple(
    fields: Sequence[DFPattern], unordered: bool = False
) -> TuplePattern | UnorderedTuplePattern:
    """Return the pattern of a tuple."""
    return UnorderedTuplePattern(fields) if unordered else TuplePattern(fields)


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """Return the pattern of a field of a tuple, of any where `index` is None."""
    return TupleGetItemPattern(tuple_value, index)


def is_shape(shape: Sequence[Any]) -> PrimArrPattern:
    """Return the pattern of a shape as a value; `has_shape` is about a tensor's."""
    return PrimArrPattern(shape)


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DataTypePattern:
    """Return a pattern, or that of anything, of a dtype."""
    return (pattern or wildcard()).has_dtype(dtype)


def has_shape(shape: Sequence[Any], pattern: DFPattern | None = None) -> ShapePattern:
    """Return a pattern, or that of anything, of a shape."""
    return (pattern or wildcard()).has_shape(shape)


def has_ty(ty: Any, pattern: DFPattern | None = None) -> TypePattern:
    """Return a pattern, or that of anything, of a type."""
    return (pattern or wildcard()).has_ty(ty)


has_struct_info = has_ty


def has_attr(attrs: Mapping[str, Any], pattern: DFPattern | None = None) -> AttrPattern:
    """Return a pattern, or that of anything, with attributes."""
    return (pattern or wildcard()).has_attr(attrs)


def reject(pattern: DFPattern) -> NotPattern:
    """Return the pattern of what another does not match."""
    return NotPattern(pattern)


def is_call_tir(func_name: str, args: Sequence[DFPattern] | None = None) -> CallPattern:
    """Return the pattern of `R.call_tir` of a prim func by name.

    Args:
        func_name: the name.
        args: patterns of the tensors; None for any.
    """
    return _call("relax.call_tir", GlobalVarPattern(func_name), args)


def is_call_dps_packed(func_name: str, args: Sequence[DFPattern] | None = None) -> CallPattern:
    """Return the pattern of `R.call_dps_packed` of a packed function by name."""
    return _call("relax.call_dps_packed", ExternFuncPattern(func_name), args)


def is_call_packed(func_name: str, args: Sequence[DFPattern] | None = None) -> CallPattern:
    """Return the pattern of `R.call_packed` of a packed function by name."""
    func = ExternFuncPattern(func_name)
    if args is None:
        return func(varg_default_wildcard=True, add_constraint=False)
    return func(*args)


def _call(op_name: str, func: DFPattern, args: Any) -> CallPattern:
    if args is None:
        args = wildcard()
    elif not isinstance(args, DFPattern):
        args = TuplePattern(args)
    return is_op(op_name)(func, args, add_constraint=False)


def make_fused_bias_activation_pattern(
    op_name: str, with_bias: bool = False, activation: str | None = None,
    allow_reshape: bool = False,
) -> DFPattern:  # fmt: skip
    """Return the pattern of an operation of two operands with what often follows it.

    Args:
        op_name: the operation.
        with_bias: whether something is added to its result.
        activation: the operation on that, None for none.
        allow_reshape: whether what is added comes from a reshape.
    """
    out: DFPattern = is_op(op_name)(wildcard(), wildcard())
    if with_bias:
        bias: DFPattern = wildcard()
        if allow_reshape:
            bias = is_op("relax.reshape")(bias, wildcard())
        out = is_op("relax.add")(out, bias)
    return out if activation is None else is_op(activation)(out)
