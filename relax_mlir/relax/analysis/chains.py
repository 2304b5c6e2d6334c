"""From variables to what defines and what uses them."""

from typing import Any

from relax_mlir.relax.analysis.scopes import Values, scopes_of
from relax_mlir.relax.expr import Binding, Expr, Var, binding_of, view_op


def udchain(node: Any) -> dict[Var, list[Var]]:
    """Return for each variable the variables whose bindings use it, in order.

    A variable that nothing uses has an empty list; uses by a block's result are no variable's.

    Args:
        node: a dataflow block, as in TVM, or any larger part of a program.

    Raises:
        ExprTypeError: it is no part of a program.
    """
    chain: dict[Var, list[Var]] = {}
    for scope in scopes_of(node):
        values = Values(scope.keep)
        for value in scope.params:
            chain.setdefault(values.var(value), [])
        for op in values.walk(scope):
            users = [values.var(result) for result in op.results] if values.is_binding(op) else []
            for operand in dict.fromkeys(values.operands(op)):
                chain.setdefault(values.var(operand), []).extend(users)
            for user in users:
                chain.setdefault(user, [])
    return chain


def name_to_binding(node: Any) -> dict[str, list[Binding]]:
    """Return the bindings of each name: several variables may share one.

    Raises:
        ExprTypeError: it is no part of a program.
    """
    result: dict[str, list[Binding]] = {}
    for scope in scopes_of(node):
        values = Values(scope.keep)
        for op in values.walk(scope):
            if values.is_binding(op) and len(op.results):
                var = values.var(op.results[0])
                binding = binding_of(op, scope.keep, type(var) is not Var)
                result.setdefault(var.name_hint, []).append(binding)
    return result


def get_var2val(node: Any) -> dict[Var, Expr]:
    """Return what each variable of a function is bound to.

    Raises:
        ExprTypeError: it is no part of a program.
    """
    result: dict[Var, Expr] = {}
    for scope in scopes_of(node):
        values = Values(scope.keep)
        for op in values.walk(scope):
            if values.is_binding(op) and len(op.results):
                result[values.var(op.results[0])] = view_op(op, scope.keep)
    return result
