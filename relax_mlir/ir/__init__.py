"""The program as people hold it: IRModule and the views on it."""

from relax_mlir.ir.module import IRModule

__all__ = ["IRModule"]
