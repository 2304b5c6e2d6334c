"""The passes `lower-runtime-builtin` and `vm-builtin-lower`: operations that the VM itself does."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.tuples import make_tuple
from relax_mlir.lowering.walk import named, require_absent

_BUILTINS = {
    "relax.reshape": "vm.builtin.reshape",
    "relax.shape_of": "vm.builtin.shape_of",
    "relax.tensor_to_shape": "vm.builtin.tensor_to_shape",
}


def lower_runtime_builtin(module: ir.Operation) -> None:
    """Write reshapes and the shapes of tensors as calls of the virtual machine's builtins.

    A reshape then shares its operand's memory; LegalizeOps makes a kernel of it.

    Raises:
        PassError: there is a `relax.alloc_tensor` left, which LowerAllocTensor lowers.
    """
    require_absent(module, "relax.alloc_tensor", "LowerRuntimeBuiltin", "lower-alloc-tensor")
    for op in named(module, _BUILTINS):
        in_dataflow = op.parent.operation.name == "relax.dataflow"
        with ir.InsertionPoint(op), op.location:
            made = ir.Operation.create(
                "relax.call_pure_packed" if in_dataflow else "relax.call_packed",
                results=[op.results[0].type],
                operands=[make_tuple(list(op.operands))],
                attributes={"func": ir.StringAttr.get(_BUILTINS[op.name])},
            )
        op.results[0].replace_all_uses_with(made.results[0])
        op.erase()


# TVM's older name of it.
vm_builtin_lower = lower_runtime_builtin
