"""Calls of operations from Python arguments, by the dialect's own table of parameters."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.dialects.relax.infer import InferError, resolve_reshape
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.dialects.relax.ops.params import REQUIRED, Param
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError, ExprTypeError, did_you_mean, wrong_count
from relax_mlir.relax.expr.base import Expr
from relax_mlir.relax.expr.call import Attrs, Call, Op
from relax_mlir.relax.expr.compound import TupleGetItem
from relax_mlir.relax.expr.dims import as_dim, as_dtype
from relax_mlir.relax.expr.types import TensorType, TupleType
from relax_mlir.relax.expr.values import Constant, PrimValue, ShapeExpr, Tuple, convert, is_integer

# Whose size may be one number, and how many sides have it.
_SIDES = {"affine_grid": 2, "resize2d": 2, "resize3d": 3}


def make(name: str, args: Sequence[Any], attrs: Mapping[str, Any]) -> Call:
    """Return a call of `relax.<name>` that has not been emitted.

    Args:
        name: without the prefix.
        args: arguments by position, in the order of the operation's parameters.
        attrs: arguments by keyword.

    Raises:
        ExprError: there is no such operation.
        ExprTypeError: an argument is of the wrong kind, missing, unknown or given twice.
    """
    cls = COMPUTE_OPS.get(name)
    if cls is None:
        raise ExprError(f"there is no operation relax.op.{name}{did_you_mean(name, COMPUTE_OPS)}")
    given = _bind(name, cls.PARAMS, args, attrs)
    wanted = [param for param in cls.PARAMS if param.is_operand]
    raw = [given.get(param.name) for param in wanted]
    while raw and raw[-1] is None and wanted[len(raw) - 1].default is None:
        raw.pop()
    promoter = None if all(isinstance(item, Expr) for item in raw) else _ScalarPromoter(wanted, raw)
    operands: list[Any] = []
    for param, item in zip(wanted, raw, strict=False):
        if isinstance(item, Expr) and param.kind == "tensor":
            if param.variable and isinstance(item, Constant):
                raise ExprTypeError(f"relax.op.{name}: {param.name} must be a variable, got {item}")
            operands.append(item)
        else:
            operands.append(_operand(name, param, item, promoter, operands))
    values = Attrs()
    for param in cls.PARAMS:
        if not param.is_operand and param.name in given:
            try:
                value = param.formed(given[param.name])
            except InferError as error:
                kind = ExprTypeError if isinstance(error, TypeError) else ExprError
                raise kind(f"relax.op.{name}: {error}") from error
            values[param.name] = as_dtype(value) if param.kind == "dtype" else value
    try:
        cls.check_attributes(values)
    except InferError as error:
        raise ExprError(f"relax.op.{name}: {error}") from error
    call = Call.__new__(Call)
    call._op = call._keep = call._ty = None
    call._callee, call._args, call._attrs, call._stated = (
        Op.get(f"relax.{name}"),
        tuple(operands),
        values,
        (),
    )
    return call


def _bind(
    name: str, params: Sequence[Param], args: Sequence[Any], attrs: Mapping[str, Any]
) -> dict[str, Any]:
    names = [param.name for param in params]
    if len(args) > len(names):
        raise ExprTypeError(wrong_count(f"relax.op.{name}", len(names), len(args)))
    given = dict(zip(names, args, strict=False))
    for key, value in attrs.items():
        if key not in names:
            near = did_you_mean(key, names)
            raise ExprTypeError(f"relax.op.{name} has no argument '{key}'{near}")
        if key in given:
            raise ExprTypeError(f"relax.op.{name}: argument '{key}' is given twice")
        given[key] = value
    for param in params:
        if param.default is REQUIRED and param.name not in given:
            raise ExprTypeError(f"relax.op.{name} needs argument '{param.name}'")
    return given


def _operand(
    name: str, param: Param, raw: Any, promoter: "_ScalarPromoter | None", before: list[Any]
) -> Any:
    what = f"relax.op.{name}: {param.name}"
    if raw is None and param.default is None:
        return Tuple([])
    if param.kind == "tensors":
        if isinstance(raw, Expr):
            return raw
        if not isinstance(raw, (list, tuple)):
            raise ExprTypeError(f"{what} must be a sequence of tensors, got {raw!r}")
        return Tuple([item if promoter is None else promoter.convert(item, param) for item in raw])
    if param.kind == "shape":
        # Without -1 it is the shape itself, in which 0 is a size.
        if isinstance(raw, ShapeExpr) and name == "reshape" and -1 in raw.values:
            raw = list(raw.values)
        if isinstance(raw, Expr):
            return raw
        if is_integer(raw) and name in _SIDES:
            raw = [raw] * _SIDES[name]
        if not isinstance(raw, (list, tuple)):
            raise ExprTypeError(f"{what} must be a shape such as (n, 4), got {raw!r}")
        dims = [as_dim(item) for item in raw]
        return _new_shape(dims, before[0]) if name == "reshape" else ShapeExpr(dims)
    if param.kind == "prim":
        return PrimValue(raw) if is_integer(raw) and not isinstance(raw, Expr) else convert(raw)
    if param.kind == "any":
        return convert(raw)
    if isinstance(raw, (str, list, tuple, SymExpr)) or raw is None:
        raise ExprTypeError(f"{what} must be a tensor or number, got {raw!r}")
    return convert(raw) if promoter is None else promoter.convert(raw, param)


def _new_shape(dims: list[SymExpr], x: Any) -> Expr:
    """Return the shape that a pattern with -1 and 0 stands for, perhaps at run time.

    Raises:
        ExprError: there are several -1, or the elements do not fit.
    """
    if not any(dim in (0, -1) for dim in dims):
        return ShapeExpr(dims)
    with default_context(), ir.Location.unknown():
        try:
            known = resolve_reshape(x.ty.to_mlir(), dims)
        except ValueError as error:
            raise ExprError(f"relax.op.reshape: {error}") from error
    return make("resolve_shape", [x], {"pattern": dims}) if known is None else ShapeExpr(known)


class _ScalarPromoter:
    """Converts numbers to the dtype of the tensors among the operands."""

    def __init__(self, params: Sequence[Param], items: Sequence[Any]) -> None:
        pairs = zip(params, items, strict=False)
        tensors = list(_tensors([item for param, item in pairs if not param.numbers]))
        dtypes = [dtype for _, dtype in tensors]
        self._dtype = next(filter(None, dtypes), "")
        self._like = tensors[0][0] if tensors else None

    def convert(self, item: Any, param: Param) -> Any:
        """Return the expression for an operand; of what dtype it is perhaps only run time knows."""
        dtype = param.numbers or self._dtype
        if self._like is not None and not dtype and isinstance(item, (int, float)):
            return make("scalar_like", [self._like, item], {})
        return convert(item, dtype)


def _tensors(items: Sequence[Any]) -> Iterator[tuple[Expr, str]]:
    for item in items:
        if isinstance(item, (list, tuple)):
            yield from _tensors(item)
        elif isinstance(item, Expr):
            type_ = item.ty
            if isinstance(type_, TensorType):
                yield item, type_.dtype
            elif isinstance(type_, TupleType):
                for index, field in enumerate(type_.fields):
                    if isinstance(field, TensorType):
                        yield TupleGetItem(item, index), field.dtype


def function_of(name: str) -> Callable[..., Call]:
    """Return the Python function of an operation of the dialect's table."""
    cls = COMPUTE_OPS[name]

    def function(*args: Any, **attrs: Any) -> Call:
        return make(name, args, attrs)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "relax_mlir.relax.op"
    function.__doc__ = cls.__doc__
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                param.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=inspect.Parameter.empty if param.default is REQUIRED else param.default,
            )
            for param in cls.PARAMS
        ],
        return_annotation=Call,
    )
    return function
