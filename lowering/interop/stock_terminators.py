"""Passes `export-stock` and `import-stock`: terminators that a stock mlir-opt accepts."""

from collections.abc import Callable

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.verify import STOCK_TERMINATOR

# Operation with regions -> its terminator. The first region of a `relax.while` ends with
# `relax.condition`.
TERMINATORS = {
    "relax.dataflow": "relax.output",
    "relax.if": "relax.yield",
    "relax.lambda": "relax.yield",
    "relax.while": "relax.yield",
    "relax.for": "relax.yield",
    "tir.for": "tir.yield",
    "tir.block": "tir.yield",
}


def export_stock(module: ir.Operation) -> None:
    """Make a module that `mlir-opt --irdl-file=` takes; only `import-stock` should see it next."""
    _replace(module.operation, lambda terminator: (terminator, STOCK_TERMINATOR))


def import_stock(module: ir.Operation) -> None:
    """Undo `export-stock`."""
    _replace(module.operation, lambda terminator: (STOCK_TERMINATOR, terminator))


def _replace(module: ir.Operation, names: Callable[[str], tuple[str, str]]) -> None:
    """Replace terminators: `names(terminator)` returns the old and the new name."""
    pairs: list[tuple[ir.Operation, str]] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        parent = op.parent
        if parent is not None and parent.operation.name in TERMINATORS:
            old, new = names(_terminator(op, parent.operation))
            if op.name == old:
                pairs.append((op, new))
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    for op, new in pairs:
        attributes = dict(op.attributes.items())
        ir.Operation.create(
            new,
            operands=list(op.operands),
            attributes=attributes,
            loc=op.location,
            ip=ir.InsertionPoint(op),
        )
        op.erase()


def _terminator(op: ir.Operation, parent: ir.Operation) -> str:
    """Return what ends the region of its parent that an operation is in."""
    if parent.name == "relax.while" and op.block.region == parent.regions[0]:
        return "relax.condition"
    return TERMINATORS[parent.name]
