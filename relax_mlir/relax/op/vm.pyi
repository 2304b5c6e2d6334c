"""`relax.op.vm`: memory of tensors in programs of the virtual machine."""

# Made by .ci/stubs, do not edit.

from relax_mlir.relax.op import vm_alloc_storage as alloc_storage
from relax_mlir.relax.op import vm_alloc_tensor as alloc_tensor
from relax_mlir.relax.op import vm_kill_object as kill_object

__all__ = ["alloc_storage", "alloc_tensor", "kill_object"]
