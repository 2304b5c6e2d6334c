"""Legalizations of a caller's own, by operation: what `LegalizeOps` takes as TVM's does."""

from collections.abc import Callable, Mapping
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.ir.module import IRModule
from relax_mlir.ir.transfer import moved
from relax_mlir.relax.expr import Call, Op
from relax_mlir.relax.expr_functor import PyExprMutator

Legalization = Callable[[Any, Call], Any]


class _Customizer(PyExprMutator):
    """Puts what a function returns for a call in its place."""

    def __init__(self, mod: IRModule, functions: Mapping[str, Legalization]) -> None:
        super().__init__(mod)
        self._functions = {Op.get(name): function for name, function in functions.items()}

    def visit_call_(self, call: Call) -> Any:
        visited = self.visit_expr_post_order(call)
        op = call.op
        function = self._functions.get(op) if isinstance(op, Op) else None
        return visited if function is None else function(self.builder_, visited)


def customize(module: ir.Operation, functions: Mapping[str, Legalization]) -> None:
    """Call functions for the operations that they are given for, in place.

    Args:
        module: a `builtin.module`.
        functions: `f(builder, call)` by the operation's name, such as `relax.add`; it returns the
            expression that takes the call's place.

    Raises:
        ExprError: there is no operation of a name.
    """
    mod = IRModule(moved(module, module.context))
    mutator = _Customizer(mod, functions)
    for name in mod.function_names:
        func = mod[name]
        if "relax.function" not in func.mlir_op.attributes:
            continue
        made = mutator.visit_expr(func)
        if made is not func:
            mutator.builder_.update_func(name, made)
    body = module.regions[0].blocks[0]
    for view in list(body.operations):
        view.operation.erase()
    for view in mutator.builder_.get().mlir_module.body.operations:
        view.operation.clone(ip=ir.InsertionPoint(body))
