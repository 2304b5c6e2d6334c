"""The pass `to-non-dataflow`: inline dataflow blocks once nothing is reordered any more."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.walk import named, replace_by_body


def to_non_dataflow(module: ir.Operation) -> None:
    """Move the bindings of every dataflow block before it and replace its result."""
    for op in named(module, ("relax.dataflow",)):
        replace_by_body(op, op.regions[0].blocks[0])
