"""export-stock: end regions with a terminator that a stock mlir-opt knows."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.interop.terminators import swap, to_stock


def export_stock(module: ir.Operation) -> None:
    """Make a module that `mlir-opt --irdl-file=` takes; only `import-stock` should see it next."""
    swap(module.operation, to_stock)
