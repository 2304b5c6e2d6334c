"""The TIR dialect: loops and blocks over memrefs."""

from relax_mlir.dialects.bindings import uninterrupted

with uninterrupted():
    from relax_mlir.dialects.tir import ops
    from relax_mlir.dialects.tir.ops import Tir

__all__ = ["Tir", "ops"]
