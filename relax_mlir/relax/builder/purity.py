"""Purity of Relax functions, for calls in dataflow blocks."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.ops.core import impurity

# They have no effect but what is in them.
_SCOPES = frozenset({"relax.if", "relax.while", "relax.for", "relax.dataflow", "func.return"})


def is_pure(func: ir.Operation) -> bool:
    """Whether nothing in a Relax function may have a side effect."""
    if "relax.pure" in func.attributes:
        return True
    pure = True

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal pure
        if op.name == "relax.lambda" and op != func:
            # Only calls of it have its effects.
            return ir.WalkResult.SKIP
        if op == func or op.name in _SCOPES or not impurity(op):
            return ir.WalkResult.ADVANCE
        pure = False
        return ir.WalkResult.INTERRUPT

    func.walk(visit, ir.WalkOrder.PRE_ORDER)
    return pure
