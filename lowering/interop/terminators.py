"""Which operation ends the regions of ours, here and in a stock mlir-opt."""

from collections.abc import Callable

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.verify import STOCK_TERMINATOR

# Operation with regions -> what ends them: the parent tells what a stock terminator stands for.
OURS = {
    "relax.dataflow": "relax.output",
    "relax.if": "relax.yield",
    "relax.lambda": "relax.yield",
    "tir.for": "tir.yield",
    "tir.block": "tir.yield",
}


def swap(module: ir.Operation, wanted: Callable[[str], tuple[str, str]]) -> None:
    """Replace terminators: `wanted(parent)` returns the name that goes and the one that comes."""
    found: list[tuple[ir.Operation, str]] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        parent = op.parent
        if parent is not None and parent.operation.name in OURS:
            old, new = wanted(parent.operation.name)
            if op.name == old:
                found.append((op, new))
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    for op, new in found:
        attributes = dict(op.attributes.items())
        ir.Operation.create(
            new,
            operands=list(op.operands),
            attributes=attributes,
            loc=op.location,
            ip=ir.InsertionPoint(op),
        )
        op.erase()


def to_stock(parent: str) -> tuple[str, str]:
    """Return what `export-stock` replaces in this parent, and by what."""
    return OURS[parent], STOCK_TERMINATOR


def from_stock(parent: str) -> tuple[str, str]:
    """Return what `import-stock` replaces in this parent, and by what."""
    return STOCK_TERMINATOR, OURS[parent]
