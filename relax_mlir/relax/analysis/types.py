"""Relations between types: which contains which, their least common type, results of calls."""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import can_prove_different, can_prove_equal
from relax_mlir.errors import ExprError, ExprTypeError, wrong_count
from relax_mlir.relax.expr import (
    Call,
    Expr,
    FuncType,
    ObjectType,
    PrimType,
    ShapeType,
    TensorType,
    TupleType,
    Type,
    as_type,
)
from relax_mlir.relax.expr.types import ranked, without_shape


class BaseCheckResult(IntEnum):
    """How one type relates to another: the worse, the smaller.

    FAIL_L0: no value has both types. FAIL_L1: some values of the second may not have the first.
    FAIL_L2: as that, but only for want of what is known of dimensions. PASS: every value of
    the second has the first.
    """

    FAIL_L0 = 0
    FAIL_L1 = 1
    FAIL_L2 = 2
    PASS = 3


def type_base_check(base: Any, derived: Any) -> BaseCheckResult:
    """Return whether every value of the second type is one of the first.

    Raises:
        ExprTypeError: one of them is no type.
    """
    worst = BaseCheckResult.PASS
    stack = [(as_type(base), as_type(derived))]
    while stack and worst:
        wide, narrow = stack.pop()
        if isinstance(wide, ObjectType):
            continue
        if isinstance(wide, TupleType) and isinstance(narrow, TupleType):
            if len(wide.fields) != len(narrow.fields):
                return BaseCheckResult.FAIL_L0
            stack += zip(wide.fields, narrow.fields, strict=True)
            continue
        if isinstance(wide, FuncType) and isinstance(narrow, FuncType):
            verdict = _functions(wide, narrow, stack)
        else:
            verdict = _one(wide, narrow)
        worst = min(worst, verdict)
    return worst


def contains_type(base: Any, derived: Any) -> bool:
    """Return whether every value of the second type surely is one of the first.

    Raises:
        ExprTypeError: one of them is no type.
    """
    return type_base_check(base, derived) is BaseCheckResult.PASS


def type_lca(lhs: Any, rhs: Any) -> Type:
    """Return the smallest type that has all values of both: what is unequal is unknown in it.

    Raises:
        ExprTypeError: one of them is no type.
    """
    lhs, rhs = as_type(lhs), as_type(rhs)
    if isinstance(lhs, TensorType) and isinstance(rhs, TensorType):
        dtype = lhs.dtype if lhs.dtype == rhs.dtype else None
        ndim = lhs.ndim if lhs.ndim == rhs.ndim else -1
        return ranked(
            TensorType, lhs.dims if _same_dims(lhs.dims, rhs.dims) else None, ndim, dtype=dtype
        )
    if isinstance(lhs, ShapeType) and isinstance(rhs, ShapeType):
        if _same_dims(lhs.dims, rhs.dims):
            return lhs
        return ShapeType(ndim=lhs.ndim if lhs.ndim == rhs.ndim else -1)
    if isinstance(lhs, PrimType) and isinstance(rhs, PrimType) and lhs.dtype == rhs.dtype:
        same = lhs.value is not None and rhs.value is not None and lhs.value == rhs.value
        return PrimType(lhs.dtype, lhs.value if same else None)
    if isinstance(lhs, TupleType) and isinstance(rhs, TupleType) and (
        len(lhs.fields) == len(rhs.fields)
    ):  # fmt: skip
        return TupleType([type_lca(a, b) for a, b in zip(lhs.fields, rhs.fields, strict=True)])
    if isinstance(lhs, FuncType) and isinstance(rhs, FuncType):
        return lhs if lhs == rhs else FuncType(None, type_lca(lhs.ret, rhs.ret))
    return ObjectType()


def get_static_type(type_: Any) -> Type:
    """Return a type without dimensions; ranks stay, in shapes and functions too.

    Raises:
        ExprTypeError: it is no type.
    """
    type_ = as_type(type_)
    if isinstance(type_, ShapeType):
        return ShapeType(ndim=type_.ndim)
    if isinstance(type_, TupleType):
        return TupleType([get_static_type(field) for field in type_.fields])
    if isinstance(type_, FuncType):
        params = type_.params and [get_static_type(each) for each in type_.params]
        return FuncType(params, get_static_type(type_.ret))
    return without_shape(type_)


def erase_to_well_defined(
    type_: Any,
    shape_var_map: Mapping[Any, Any] | None = None,
    var_map: Mapping[Any, Any] | None = None,
) -> Type:
    """Return a type with symbols replaced, and without the shapes that others occur in.

    Args:
        type_: the type.
        shape_var_map: what stands for each symbol; symbols that are not in it are not defined.
        var_map: what stands for the expressions that compute shapes.

    Raises:
        ExprTypeError: it is no type.
    """
    values = {str(key): SymExpr.of(value) for key, value in (shape_var_map or {}).items()}
    return _erase(as_type(type_), values, var_map or {})


def derive_call_ret_type(func_type: Any, call: Any, ctx: Any = None) -> Type:
    """Return the type of a call's result from the type of the function alone.

    Symbols of the function's parameters get the values that the arguments' types have for them.

    Args:
        func_type: a FuncType.
        call: a Call, whose arguments count; or the types of the arguments.
        ctx: not needed; TVM has a BlockBuilder here.

    Raises:
        ExprTypeError: it is no function type.
        ExprError: the number of arguments is wrong, or one cannot be what the function takes.
    """
    type_ = as_type(func_type)
    if not isinstance(type_, FuncType):
        raise ExprTypeError(f"expected a function type, got {type_}")
    if type_.params is None:
        return type_.ret
    given = call.args if isinstance(call, Call) else call
    types = [each.ty if isinstance(each, Expr) else as_type(each) for each in given]
    if len(types) != len(type_.params):
        raise ExprError(wrong_count("the function", len(type_.params), len(types)))
    values: dict[str, SymExpr] = {}
    for index, (wanted, argument) in enumerate(zip(type_.params, types, strict=True)):
        if not type_base_check(without_shape(wanted), without_shape(argument)):
            raise ExprError(f"argument {index} is {argument}, the function takes {wanted}")
        _unify(wanted, argument, values, index)
    return _erase(type_.ret, values, {})


def _functions(wide: FuncType, narrow: FuncType, stack: list[tuple[Type, Type]]) -> BaseCheckResult:
    if narrow.params is None and wide.params is not None:
        return BaseCheckResult.FAIL_L1
    stack.append((wide.ret, narrow.ret))
    if wide.params is None or narrow.params is None:
        return BaseCheckResult.PASS
    if len(wide.params) != len(narrow.params):
        return BaseCheckResult.FAIL_L0
    # A function that takes more can stand for one that takes less.
    stack += zip(narrow.params, wide.params, strict=True)
    return BaseCheckResult.PASS


def _one(wide: Type, narrow: Type) -> BaseCheckResult:
    if isinstance(narrow, ObjectType):
        return BaseCheckResult.FAIL_L1
    if isinstance(wide, PrimType) and isinstance(narrow, PrimType):
        if wide.dtype != narrow.dtype:
            return BaseCheckResult.FAIL_L0
        return _dims(_known_dims(wide), _known_dims(narrow), -1, -1)
    if isinstance(wide, ShapeType) and isinstance(narrow, ShapeType):
        return _dims(wide.dims, narrow.dims, wide.ndim, narrow.ndim)
    if not isinstance(wide, TensorType) or not isinstance(narrow, TensorType):
        return BaseCheckResult.FAIL_L0
    if wide.dtype and narrow.dtype and wide.dtype != narrow.dtype:
        return BaseCheckResult.FAIL_L0
    if wide.vdevice and narrow.vdevice and wide.vdevice != narrow.vdevice:
        return BaseCheckResult.FAIL_L0
    result = _dims(wide.dims, narrow.dims, wide.ndim, narrow.ndim)
    known = (not wide.dtype or wide.dtype == narrow.dtype) and (
        not wide.vdevice or wide.vdevice == narrow.vdevice
    )
    return result if known else min(result, BaseCheckResult.FAIL_L1)


def _dims(
    wide: Sequence[SymExpr] | None, narrow: Sequence[SymExpr] | None, ndim: int, other: int
) -> BaseCheckResult:
    if ndim >= 0 <= other and ndim != other:
        return BaseCheckResult.FAIL_L0
    if other < 0 <= ndim:
        return BaseCheckResult.FAIL_L1
    if wide is None:
        return BaseCheckResult.PASS
    if narrow is None:
        return BaseCheckResult.FAIL_L2
    worst = BaseCheckResult.PASS
    for a, b in zip(wide, narrow, strict=True):
        if can_prove_different(a, b):
            return BaseCheckResult.FAIL_L0
        if not can_prove_equal(a, b):
            worst = BaseCheckResult.FAIL_L2
    return worst


def _same_dims(lhs: Sequence[SymExpr] | None, rhs: Sequence[SymExpr] | None) -> bool:
    if lhs is None or rhs is None or len(lhs) != len(rhs):
        return False
    return all(can_prove_equal(a, b) for a, b in zip(lhs, rhs, strict=True))


def _erase(type_: Type, values: Mapping[str, SymExpr], exprs: Mapping[Any, Any]) -> Type:
    if isinstance(type_, TensorType):
        shape = _erase_dims(type_.dims, values)
        if shape is None and type_.shape_expr is not None:
            shape = exprs.get(type_.shape_expr)
        return ranked(TensorType, shape, type_.ndim, dtype=type_.dtype, vdevice=type_.vdevice)
    if isinstance(type_, ShapeType):
        return ranked(ShapeType, _erase_dims(type_.dims, values), type_.ndim)
    if isinstance(type_, TupleType):
        return TupleType([_erase(field, values, exprs) for field in type_.fields])
    if isinstance(type_, PrimType) and type_.value is not None:
        dims = _erase_dims((type_.value,), values)
        return PrimType(type_.dtype, None if dims is None else dims[0])
    return type_


def _erase_dims(
    dims: Sequence[SymExpr] | None, values: Mapping[str, SymExpr]
) -> list[SymExpr] | None:
    if dims is None or any(dim.symbols - values.keys() for dim in dims):
        return None
    return [dim.substitute(values) for dim in dims]


def _unify(wanted: Type, given: Type, values: dict[str, SymExpr], index: int) -> None:
    stack = [(wanted, given)]
    while stack:
        inner, outer = stack.pop()
        if isinstance(inner, TupleType) and isinstance(outer, TupleType):
            stack += list(zip(inner.fields, outer.fields, strict=True))[::-1]
            continue
        pairs = [_known_dims(each) for each in (inner, outer)]
        if pairs[0] is None or pairs[1] is None:
            continue
        for a, b in zip(*pairs, strict=True):
            if a.name and a.name not in values:
                values[a.name] = b
            elif a.symbols <= values.keys() and can_prove_different(a.substitute(values), b):
                raise ExprError(
                    f"argument {index} is {given}, the function takes {wanted} where {a} is "
                    f"{a.substitute(values)}"
                )


def _known_dims(type_: Type) -> Sequence[SymExpr] | None:
    if isinstance(type_, PrimType):
        return None if type_.value is None else (type_.value,)
    return getattr(type_, "dims", None)
