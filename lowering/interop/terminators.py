"""Which operation ends the regions of ours, here and in a stock mlir-opt."""

from collections.abc import Callable

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.verify import STOCK_TERMINATOR

# Operation with regions -> what ends them: the parent tells what a stock terminator stands for.
# The first region of a `relax.while` ends with the other one below.
OURS = {
    "relax.dataflow": "relax.output",
    "relax.if": "relax.yield",
    "relax.lambda": "relax.yield",
    "relax.while": "relax.yield",
    "relax.for": "relax.yield",
    "tir.for": "tir.yield",
    "tir.block": "tir.yield",
}


def swap(module: ir.Operation, wanted: Callable[[str], tuple[str, str]]) -> None:
    """Replace terminators: `wanted(ours)` returns the name that goes and the one that comes."""
    found: list[tuple[ir.Operation, str]] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        parent = op.parent
        if parent is not None and parent.operation.name in OURS:
            old, new = wanted(_own(op, parent.operation))
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


def _own(op: ir.Operation, parent: ir.Operation) -> str:
    """Return what ends the region of its parent that an operation is in."""
    if parent.name == "relax.while" and op.block.region == parent.regions[0]:
        return "relax.condition"
    return OURS[parent.name]


def to_stock(ours: str) -> tuple[str, str]:
    """Return what `export-stock` replaces this terminator of ours by."""
    return ours, STOCK_TERMINATOR


def from_stock(ours: str) -> tuple[str, str]:
    """Return what `import-stock` puts this terminator of ours in the place of."""
    return STOCK_TERMINATOR, ours
