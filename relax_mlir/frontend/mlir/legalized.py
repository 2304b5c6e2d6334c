"""Single operations of StableHLO by upstream's own lowering to linalg."""

from typing import Any

from relax_mlir.errors import ExprError
from relax_mlir.frontend.mlir import passes
from relax_mlir.frontend.mlir.needs import needs
from relax_mlir.lowering.walk import names_below


def legalized(m: Any) -> Any:
    """Convert an operation as upstream's passes lower it, in a function of its own.

    Raises:
        ExprError: the passes cannot lower it.
    """
    module = passes.outlined(m.op)
    problem = passes.run(module.operation, passes.STABLEHLO)
    if problem or m.op.name in names_below(module.operation):
        reason = f": {problem}" if problem else ""
        raise ExprError(f"no operation of Relax is like it, and upstream cannot lower it{reason}")
    passes.prepare(module)
    missing = [need.op for need in needs(module, "").missing]
    if missing:
        raise ExprError(f"it becomes {', '.join(missing)}, which cannot be imported")
    values = [m.value(index) for index in range(len(m.op.operands))]
    return m.run_region(module.body.operations[0].operation.regions[0], values)
