"""Custom operators and custom shape rules.

@relax_mlir.ir.register_op_attr("relax.my_op", "FInferShape")
def infer(call):
lhs, rhs = call.args[0].shape(), call.args[1].shape()
if isinstance(lhs, ShapeExpr) and isinstance(rhs, ShapeExpr):
return ShapeExpr([*lhs.values, *rhs.values])
return call_shape_func("my.shape_func", lhs, rhs)
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import add_operation
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import InferError, describe
from relax_mlir.dialects.relax.op_names import dialect_name
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, ComputeOp, declare
from relax_mlir.dialects.relax.ops.params import REQUIRED, Param
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.verify import rules_changed
from relax_mlir.errors import did_you_mean
from relax_mlir.ir.op_legalize import RuleLegalization, UserLegalization, define_library
from relax_mlir.ir.shape_rules import (
    ATTRIBUTES,
    PREFIX,
    Argument,
    InferCall,
    ShapeCall,
    ShapeOf,
    infer_user_shape,
)
from relax_mlir.lowering.relax_to_tir.legalize_ops import LEGALIZE

# What each class inferred before a user's rule took over.
_OWN_RULES: dict[type[ComputeOp], Any] = {}


def register_op_attr(op_name: str, attr_key: str, value: Any = None) -> Any:
    """Attach something to an operation; without a value this returns a decorator.

    `FInferShape` takes an `InferCall` and returns the result's shape: a `relax.ShapeExpr` or a
    sequence of integers and symbols, what `call_shape_func` returned, None where only run time
    knows it, or a whole type. An operation of our own still checks its operands itself first; what
    `call_shape_func` says of it is asked at run time, and its result checked against that.
    `FLegalize` is as in `register_op`. Everything else is kept for `get_op_attr`.

    Raises:
        KeyError: there is no such operation.
    """
    if value is None:
        return lambda function: register_op_attr(op_name, attr_key, function)
    name = dialect_name(op_name.removeprefix(PREFIX))
    if name not in COMPUTE_OPS:
        raise KeyError(f"there is no operation '{op_name}'{did_you_mean(name, COMPUTE_OPS)}")
    if attr_key == "FInferShape":
        _use_rule(name, value)
        own = LEGALIZE.get(name)
        if own is not None and not isinstance(own, (UserLegalization, RuleLegalization)):
            LEGALIZE[name] = RuleLegalization(name, own)
    elif attr_key == "FLegalize":
        LEGALIZE[name] = value
    ATTRIBUTES.setdefault(name, {})[attr_key] = value
    rules_changed()
    return value


def reset_op_attr(op_name: str, attr_key: str) -> None:
    """Take back what `register_op_attr` attached; a dialect's operation has its own rule again."""
    name = dialect_name(op_name.removeprefix(PREFIX))
    ATTRIBUTES.get(name, {}).pop(attr_key, None)
    rules_changed()
    cls = COMPUTE_OPS.get(name)
    if attr_key == "FInferShape" and cls in _OWN_RULES:
        cls.infer = _OWN_RULES.pop(cls)
        legalize = LEGALIZE.get(name)
        if isinstance(legalize, RuleLegalization):
            LEGALIZE[name] = legalize.own


def register_op(
    name: str,
    params: Sequence[Any],
    infer: Callable[[InferCall], Any],
    *,
    doc: str = "",
    dtype: str | Callable[[InferCall], str] | None = None,
    prim: Callable[..., None] | None = None,
    packed: str | None = None,
    dps_packed: str | None = None,
    library: Callable[..., Any] | None = None,
    legalize: Callable[..., Any] | None = None,
) -> type[ComputeOp]:
    """Declare an operation of one's own: `R.my_op(...)` in script, `relax.op.my_op` in Python.

    How it runs is said in one or several of these ways, tried in this order:

    Args:
        name: `"relax.my_op"` or `"my_op"`.
        params: names of tensor operands, or `(name, kind[, default])`, the fields of `Param`.
        infer: the shape rule, see `register_op_attr`.
        doc: one line for people.
        dtype: of the result: a name, or a function of the `InferCall`; by default the first
            tensor's.
        legalize: `legalize(legalizer, op)` creates operations in place of `op` and returns the
            value, or None to leave it to the next way.
        prim: `prim(builder, *buffers, **attrs)` fills a prim func, the output buffer last; used
            where shapes and dtypes are known symbolically, or by what a shape function returns.
        dps_packed: name of a packed function that is given the output to fill.
        packed: name of a packed function that returns the result.
        library: function of numpy arrays and the attributes in order that returns one; it serves
            what only run time knows, and constants.

    Raises:
        ValueError: the name belongs to another operation, or a parameter makes no sense.
    """
    short = name.removeprefix(PREFIX)
    if not short.isidentifier():
        raise ValueError(f"the name of an operation is an identifier, got '{name}'")
    made = tuple(_param(each) for each in params)
    known = COMPUTE_OPS.get(short)
    if known is not None and (tuple(known.PARAMS) != made or "user" not in vars(known)):
        raise ValueError(f"there is already an operation '{PREFIX}{short}' with other parameters")
    if known is None:
        known = declare(short, doc or f"`{short}`, declared by the program.", made, _no_rule)
        setattr(known, "user", True)  # noqa: B010 - only classes that programs declared have it
        add_operation(known)
    ATTRIBUTES.setdefault(short, {})["FInferDtype"] = dtype
    register_op_attr(short, "FInferShape", infer)
    if library is not None:
        define_library(short, library)
    rules = UserLegalization(short, legalize, prim, dps_packed, packed, library is not None)
    register_op_attr(short, "FLegalize", rules)
    return known


def _no_rule(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    return T.tensor_type()


def _param(given: Any) -> Param:
    if isinstance(given, Param):
        return given
    parts: Any = (given, "tensor") if isinstance(given, str) else tuple(given)
    name, kind, default = [*parts, REQUIRED][:3]
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"the name of a parameter is an identifier, got {name!r}")
    return Param(name, kind, default)


def _use_rule(name: str, rule: Callable[[InferCall], Any]) -> None:
    cls = COMPUTE_OPS[name]
    own = _OWN_RULES.setdefault(cls, vars(cls).get("infer", cls.infer))
    base = own.__get__(None, cls) if isinstance(own, classmethod) else own

    def infer(cls: type[ComputeOp], types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
        result = base(types, attrs)
        try:
            shape = infer_user_shape(name, types, attrs)
        except InferError:
            raise
        except Exception as error:  # a user's rule may raise anything; a verifier must not
            raise InferError(f"its FInferShape failed: {type(error).__name__}: {error}") from error
        return _result_type(name, types, attrs, result, shape)

    setattr(cls, "infer", classmethod(infer))  # noqa: B010 - the class, not an instance, changes


def _result_type(
    name: str, types: Sequence[Any], attrs: dict[str, Any], result: ir.Type, shape: Any
) -> ir.Type:
    if isinstance(shape, ir.Type):
        return shape
    given: Any = getattr(shape, "mlir_type", None)
    if given is not None and not hasattr(shape, "values"):
        made: Any = given() if callable(given) else given
        return made
    if not T.is_tensor(result):
        raise InferError("only the shape of a tensor can be inferred by FInferShape")
    dtype = T.tensor_dtype(result) or _dtype(name, types, attrs)
    if shape is None:
        return T.tensor_type(None, dtype, T.tensor_ndim(result))
    if isinstance(shape, (ShapeCall, ShapeOf)):
        ndim = shape.ndim if isinstance(shape, ShapeCall) else shape.arg.ndim
        return T.tensor_type(None, dtype, max(ndim, T.tensor_ndim(result)))
    values: Iterable[Any] = getattr(shape, "values", shape)
    try:
        return T.tensor_type([SymExpr.of(value) for value in values], dtype)
    except (TypeError, ValueError) as error:
        raise InferError(f"its FInferShape returned {shape!r}: {error}") from error


def _dtype(name: str, types: Sequence[Any], attrs: dict[str, Any]) -> str:
    rule: Any = ATTRIBUTES[name].get("FInferDtype")
    if callable(rule):
        args = [None if type_ is None else Argument(i, type_) for i, type_ in enumerate(types)]
        rule = rule(InferCall(f"{PREFIX}{name}", tuple(args), attrs))
    if rule is not None:
        return T.normalize_dtype(rule)
    for type_ in types:
        if isinstance(type_, ir.Type) and T.is_tensor(type_):
            return T.tensor_dtype(type_)
    raise InferError(f"no operand says the result's dtype: {[describe(t) for t in types if t]}")
