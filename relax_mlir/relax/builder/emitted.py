"""Emission of functions and expressions that Python built as operations."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from relax_mlir.dialects.bindings import ir
from relax_mlir.ir.module import IRModule
from relax_mlir.relax.analysis.variables import free_vars
from relax_mlir.relax.builder.block_builder import BlockBuilder
from relax_mlir.relax.expr.base import Expr
from relax_mlir.relax.expr.functions import Function
from relax_mlir.relax.expr.leaves import Var
from relax_mlir.relax.expr.types import ObjectType


def emitted(func: Function) -> ir.Operation:
    """Return the `func.func` of `Function(params, body)`, in a module that the function keeps.

    Raises:
        BuilderError: its body uses a variable that is none of its parameters.
    """
    name = str(func.attrs.get("global_symbol", "main"))
    if not isinstance(func._keep, IRModule):
        builder = BlockBuilder()
        builder.add_func(func, name)
        func._keep = builder.get()
    op = func._keep[name].mlir_op
    assert op is not None, "functions of modules have operations"
    return op


def function_of_expression(expr: Expr) -> Function:
    """Return a function of an expression, emitted, with its free variables as parameters.

    Raises:
        BuilderError: the expression cannot be emitted.
        ExprError: no run could compute it.
    """
    free = free_vars(expr)
    func = Function(free, expr)
    builder = BlockBuilder()
    builder._moved = _Parameters(free)
    with own_values(free):
        builder.add_func(func, "main")
    func._keep = builder.get()
    return func


class _Parameters:
    """Says which parameters stand for the values that variables had before."""

    def __init__(self, variables: Sequence[Var]) -> None:
        self._variables = {var._value: var for var in variables if var._value is not None}

    def get(self, value: ir.Value, default: ir.Value) -> ir.Value | None:
        """Return what stands for a value."""
        var = self._variables.get(value)
        return default if var is None else var._value


@contextmanager
def own_values(variables: Sequence[Var]) -> Iterator[None]:
    """Let variables be parameters of another function meanwhile, and then what they were."""
    before = [(var._value, var._frame, var._keep, var._ty) for var in variables]
    try:
        for var in variables:
            var._ty, var._value = ObjectType() if var.ty.is_missing() else var.ty, None
        yield
    finally:
        for var, (value, frame, keep, type_) in zip(variables, before, strict=True):
            var._value, var._frame, var._keep, var._ty = value, frame, keep, type_
