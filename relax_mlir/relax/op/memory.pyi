"""`relax.op.memory`: memory of tensors before programs are lowered to the virtual machine."""

# Made by .ci/stubs, do not edit.

from relax_mlir.relax.op import memory_alloc_storage as alloc_storage
from relax_mlir.relax.op import memory_alloc_tensor as alloc_tensor
from relax_mlir.relax.op import memory_ensure_zero_offset as ensure_zero_offset
from relax_mlir.relax.op import memory_kill_storage as kill_storage
from relax_mlir.relax.op import memory_kill_tensor as kill_tensor
from relax_mlir.relax.op import memory_view as view

__all__ = [
    "alloc_storage",
    "alloc_tensor",
    "ensure_zero_offset",
    "kill_storage",
    "kill_tensor",
    "view",
]
