"""Finding operations and functions in a module."""

from collections.abc import Callable

from relax_mlir.dialects.bindings import ir


def collect(root: ir.Operation, wanted: Callable[[ir.Operation], bool]) -> list[ir.Operation]:
    """Return the operations below `root` that are wanted, those in a region after its owner."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if wanted(op):
            found.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def relax_functions(module: ir.Operation) -> list[ir.Operation]:
    """Return the module's Relax functions in order."""
    return [
        op.operation
        for op in module.regions[0].blocks[0].operations
        if "relax.function" in op.operation.attributes and op.operation.regions[0].blocks
    ]


def function_name(func: ir.Operation) -> str:
    """Return a function's symbol name."""
    return func.attributes["sym_name"].value
