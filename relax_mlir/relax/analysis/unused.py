"""Removal of unused bindings and outputs."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.extension_points import extension
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.walk import relax_functions
from relax_mlir.relax.analysis.scopes import function_op
from relax_mlir.relax.expr import Function, SeqExpr


def remove_all_unused(node: Any) -> Any:
    """Return a function or module without the bindings and outputs that are unused.

    What has an effect stays. The argument is not changed. For what no function reaches, and for
    parameters, there is `transform.DeadCodeElimination`.

    Args:
        node: a Relax function, then a function that is in no module is returned; the body of one,
            then the body of such a function; or an IRModule.

    Raises:
        ExprTypeError: it is none of these.
    """
    if isinstance(node, IRModule):
        copy = node.clone()
        with copy.context, ir.Location.unknown():
            for op in relax_functions(copy.mlir_module.operation):
                extension("relax.remove_unused")(op)
        return copy
    if isinstance(node, SeqExpr) and node.mlir_block is not None:
        owner = node.mlir_block.owner.operation
        return remove_all_unused(Function.of(function_op(owner), node._keep)).body
    func = function_op(node)
    with func.context, ir.Location.unknown():
        made = func.clone(ip=False)
        extension("relax.remove_unused")(made)
    return Function.of(made, (made, getattr(node, "_keep", None)))
