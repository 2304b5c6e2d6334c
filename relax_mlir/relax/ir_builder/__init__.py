"""TVM's `script.ir_builder`: programs written as nested frames, `with R.function():`."""

from relax_mlir.relax.ir_builder import ir, relax
from relax_mlir.relax.ir_builder.base import IRBuilder

__all__ = ["IRBuilder", "ir", "relax"]
