"""Which variables a part of a program binds and uses."""

from collections.abc import Iterable
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.relax.analysis.pending import is_pending, pending_global_vars, pending_variables
from relax_mlir.relax.analysis.scopes import Scope, Values, region_arguments, scopes_of
from relax_mlir.relax.expr import GlobalVar, Var


class _Variables:
    """Variables in the order in which they occur."""

    def __init__(self, node: Any) -> None:
        self.bound: dict[Var, None] = {}
        self.used: dict[Var, None] = {}
        self.all: dict[Var, None] = {}
        if is_pending(node):
            for var, is_bound in pending_variables(node):
                self._note(var, is_bound)
            return
        for scope in scopes_of(node):
            self._scope(scope)

    def _scope(self, scope: Scope) -> None:
        values = Values(scope.keep)
        for value in scope.params:
            self._note(values.var(value), True)
        for value in scope.used:
            self._note(values.var(value), False)
        for op in values.walk(scope):
            for value in values.operands(op):
                self._note(values.var(value), False)
            for value in region_arguments(op):
                self._note(values.var(value), True)
            if values.is_binding(op) and not (scope.expression and op == scope.operations[0]):
                for value in op.results:
                    self._note(values.var(value), True)

    def _note(self, var: Var, bound: bool) -> None:
        self.all[var] = None
        (self.bound if bound else self.used)[var] = None


def bound_vars(node: Any) -> list[Var]:
    """Return the variables that a part of a program declares: parameters and bindings, in order.

    Args:
        node: IRModule, function, block or expression; a view or an MLIR operation.

    Raises:
        ExprTypeError: it is no part of a program.
    """
    return list(_Variables(node).bound)


def free_vars(node: Any) -> list[Var]:
    """Return the variables that a part of a program uses and does not declare, in order of use.

    Raises:
        ExprTypeError: it is no part of a program.
    """
    result = _Variables(node)
    return [var for var in result.used if var not in result.bound]


def all_vars(node: Any) -> list[Var]:
    """Return all variables of a part of a program, in order, each once.

    Raises:
        ExprTypeError: it is no part of a program.
    """
    return list(_Variables(node).all)


def used_vars(node: Any) -> list[Var]:
    """Return the variables that are used somewhere, in order of their first use.

    Raises:
        ExprTypeError: it is no part of a program.
    """
    return list(_Variables(node).used)


def all_global_vars(node: Any) -> list[GlobalVar]:
    """Return the functions of the module that a part of a program refers to, in order.

    Raises:
        ExprTypeError: it is no part of a program.
    """
    if is_pending(node):
        return pending_global_vars(node)
    names: dict[str, None] = {}
    for scope in scopes_of(node):
        for op in Values(scope.keep).walk(scope):
            names.update(dict.fromkeys(called_names(op)))
    return [GlobalVar(name) for name in names]


def called_names(op: ir.Operation) -> Iterable[str]:
    """Return the functions that an operation refers to, not those in it."""
    return [
        attribute.value
        for attribute in op.attributes.values()
        if isinstance(attribute, ir.FlatSymbolRefAttr)
    ]
