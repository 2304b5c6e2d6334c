"""import-stock: give regions our own terminators back after a stock mlir-opt."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.interop.terminators import from_stock, swap


def import_stock(module: ir.Operation) -> None:
    """Undo `export-stock`."""
    swap(module.operation, from_stock)
