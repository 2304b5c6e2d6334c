"""`relax.op.vm`: memory of tensors in programs of the virtual machine."""

# Made by .ci/stubs, do not edit.

from relax_mlir.relax.op import alloc_storage, alloc_tensor, kill_object

__all__ = ["alloc_storage", "alloc_tensor", "kill_object"]
