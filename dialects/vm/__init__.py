"""The VM dialect: explicit memory, the shape heap, calls by name."""

from relax_mlir.dialects.bindings import uninterrupted

with uninterrupted():
    from relax_mlir.dialects.vm import ops
    from relax_mlir.dialects.vm.ops import ShapeHeap, Storage, Vm

__all__ = ["ShapeHeap", "Storage", "Vm", "ops"]
