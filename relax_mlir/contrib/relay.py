"""Relay's names over Relax: `from relax_mlir.contrib import relay`.

Functions, types and operators are Relax's. What differs is what programs of Relay rely on: weights
without a type get theirs from the operator, batch normalization uses the running statistics, and
visitors have no underscores at the end of their methods. As used by TVM's study guide and the RFC
of its pass infrastructure.
"""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from relax_mlir import relax
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.ir.module import IRModule
from relax_mlir.relax.expr import _update_type
from relax_mlir.relax.expr_functor.functor import method_of

Module = IRModule


def _declare(weight: Any, shape: Any, dtype: str) -> None:
    if weight.ty.is_missing():
        _update_type(weight, relax.TensorType(shape, dtype))


def _shape(name: str, data: Any) -> tuple[tuple[Any, ...], str]:
    type_ = data.ty
    if not isinstance(type_, relax.TensorType) or type_.dims is None:
        raise ExprError(f"relay.nn.{name}: the shape of the data must be known, it is {type_}")
    return type_.dims, type_.dtype


def Function(params: Sequence[Any], *args: Any, **kwargs: Any) -> relax.Function:
    """Return `relax.Function`; parameters without a type take any value."""
    for each in params:
        if each.ty.is_missing():
            _update_type(each, relax.ObjectType())
    return relax.Function(params, *args, **kwargs)


def conv2d(
    data: Any, weight: Any, *args: Any, channels: Any = None, kernel_size: Any = None, **attrs: Any
) -> relax.Call:
    """Return `relax.op.nn.conv2d`; a weight without a type gets the one that fits.

    Args:
        data: what is convolved.
        weight: the kernels, perhaps a variable without a type.
        *args: as for Relax's operator.
        channels: how many there are in the result.
        kernel_size: height and width.
        **attrs: as for Relax's operator.

    Raises:
        ExprError: the weight has no type, and channels or sizes are not given.
    """
    if weight.ty.is_missing():
        if channels is None or kernel_size is None:
            raise ExprError("relay.nn.conv2d: a weight without a type needs channels, kernel_size")
        dims, dtype = _shape("conv2d", data)
        inner = dims[attrs.get("data_layout", "NCHW").index("C")] // attrs.get("groups", 1)
        sizes = dict(zip("OIHW", (channels, inner, *kernel_size), strict=True))
        shape = [sizes[axis] for axis in attrs.get("kernel_layout", "OIHW")]
        _declare(weight, shape, dtype)
    return relax.op.nn.conv2d(data, weight, *args, **attrs)


def batch_norm(
    data: Any, gamma: Any, beta: Any, moving_mean: Any, moving_var: Any, axis: int = 1, **attrs: Any
) -> relax.Call:
    """Return `relax.op.nn.batch_norm` of the running statistics, as Relay infers.

    Args:
        data: what is normalized.
        gamma: the scale; this and the others are perhaps variables without a type.
        beta: the shift.
        moving_mean: the mean.
        moving_var: the variance.
        axis: of the channels.
        **attrs: as for Relax's operator.

    Raises:
        ExprError: a statistic has no type, and the shape of the data is not known.
    """
    stats = (gamma, beta, moving_mean, moving_var)
    for each in stats:
        if each.ty.is_missing():
            dims, dtype = _shape("batch_norm", data)
            _declare(each, (dims[axis],), dtype)
    return relax.op.nn.batch_norm(data, *stats, axis=axis, **{"training": False, **attrs})


def AsText(mod: IRModule) -> str:
    """Return the program as a script."""
    return mod.script()


class _Nn(SimpleNamespace):
    def __getattr__(self, name: str) -> Any:
        return getattr(relax.op.nn, name)


nn = _Nn(conv2d=conv2d, batch_norm=batch_norm)


class ExprFunctor:
    """A function of expressions: `visit` calls `visit_call`, `visit_var`, ... once for each.

    Variables that a function's body binds are what they are bound to, as Relay nests expressions.
    """

    def __init__(self) -> None:
        self.memo_map: dict[Any, Any] = {}
        self._bound: dict[Any, Any] = {}

    def visit(self, expr: Any) -> Any:
        """Return what the method for the kind of an expression returns.

        Raises:
            ExprTypeError: it is no expression, or the class has no method for its kind.
        """
        if isinstance(expr, relax.SeqExpr):
            for block in expr.blocks:
                self._bound |= {binding.var: binding.value for binding in block.bindings}
            return self.visit(expr.body)
        expr = self._bound.get(expr, expr) if isinstance(expr, relax.Var) else expr
        if expr not in self.memo_map:
            name = method_of(type(expr)).removesuffix("_")
            method = getattr(self, name, None)
            if method is None:
                raise ExprTypeError(f"{type(self).__name__} has no {name}")
            self.memo_map[expr] = method(expr)
        return self.memo_map[expr]


def __getattr__(name: str) -> Any:
    for place in (relax, relax.op):
        if hasattr(place, name):
            return getattr(place, name)
    raise AttributeError(f"neither relax nor relax.op has {name!r}", name=name)
