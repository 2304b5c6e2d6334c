"""The pass `lower-alloc-tensor`: a tensor is allocated as a storage, and a tensor in it."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.symbolic.expr import product
from relax_mlir.lowering.relax_to_vm.vm_memory_lower import split_allocation
from relax_mlir.lowering.walk import named


def lower_alloc_tensor(module: ir.Operation) -> None:
    """Replace each `relax.alloc_tensor` by a `vm.alloc_storage` and a `vm.alloc_tensor`.

    Nothing is released: KillAfterLastUse does that, and VMMemoryLower both at once.
    """
    for op in named(module, ("relax.alloc_tensor",)):
        with ir.InsertionPoint(op), op.location:
            dims = T.shape_dims(op.operands[0].type)
            size = None
            if dims is not None:
                count = product(dims) * T.dtype_size(op.attributes["dtype"].value)
                shape = T.shape_type([count])
                size = ir.Operation.create("relax.shape_expr", results=[shape]).result
            _, tensor = split_allocation(op, size)
        op.results[0].replace_all_uses_with(tensor)
        op.erase()
