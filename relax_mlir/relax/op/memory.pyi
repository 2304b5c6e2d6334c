"""`relax.op.memory`: memory of tensors before programs are lowered to the virtual machine."""

# Made by .ci/stubs, do not edit.

from relax_mlir.relax.op import (
    alloc_storage,
    alloc_tensor,
    ensure_zero_offset,
    kill_storage,
    kill_tensor,
    view,
)

__all__ = [
    "alloc_storage",
    "alloc_tensor",
    "ensure_zero_offset",
    "kill_storage",
    "kill_tensor",
    "view",
]
