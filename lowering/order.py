"""Order constraints of the lowering passes, for relax-opt."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import PassError


def require_absent(module: ir.Operation, prefix: str, before: str, first: str) -> None:
    """Report the first operation that an earlier pass would have lowered.

    Args:
        module: the module.
        prefix: what the names of such operations begin with.
        before: the name of the pass that is about to run.
        first: the flag of the pass that must run before it.

    Raises:
        PassError: there is such an operation.
    """

    def visit(op: ir.Operation) -> ir.WalkResult:
        if not op.name.startswith(prefix):
            return ir.WalkResult.ADVANCE
        present.append(op)
        return ir.WalkResult.INTERRUPT

    present: list[ir.Operation] = []
    module.walk(visit, ir.WalkOrder.PRE_ORDER)
    for op in present:
        op.location.emit_error(f"'{op.name}' op must be lowered before {before}: run {first} first")
        raise PassError(before, f"run {first} first")
