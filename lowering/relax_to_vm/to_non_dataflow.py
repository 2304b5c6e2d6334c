"""The pass `to-non-dataflow`: inline dataflow blocks once nothing is reordered any more."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.walk import collect


def to_non_dataflow(module: ir.Operation) -> None:
    """Move the bindings of every dataflow block before it and replace its result."""
    for op in collect(module, lambda op: op.name == "relax.dataflow"):
        operations = [inner.operation for inner in op.regions[0].blocks[0].operations]
        *bindings, output = operations
        for binding in bindings:
            binding.move_before(op)
        for result, value in zip(op.results, output.operands, strict=True):
            result.replace_all_uses_with(value)
        op.erase()
