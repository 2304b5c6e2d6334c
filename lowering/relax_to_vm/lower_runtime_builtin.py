"""The passes `lower-runtime-builtin` and `vm-builtin-lower`: operations that the VM itself does."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import nameless
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, is_absent, prim_value, read_attributes
from relax_mlir.dialects.relax.tuples import make_tuple
from relax_mlir.lowering.walk import named, require_absent

_BUILTINS = {
    "relax.reshape": "vm.builtin.reshape",
    "relax.shape_of": "vm.builtin.shape_of",
    "relax.tensor_to_shape": "vm.builtin.tensor_to_shape",
}


def lower_runtime_builtin(module: ir.Operation) -> None:
    """Write reshapes, views and the shapes of tensors as calls of the virtual machine's builtins.

    A reshape or view then shares its operand's memory; LegalizeOps makes a kernel of it.

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
    for op in named(module, ("relax.memory_view",)):
        _lower_view(op)


def _lower_view(op: ir.Operation) -> None:
    """Write a view whose shape and dtype are known as TVM does, as a call of its function."""
    data, shape = op.operands
    attrs = read_attributes(op, COMPUTE_OPS["memory_view"].PARAMS)
    dtype = attrs["dtype"] or T.tensor_dtype(data.type)
    dims = T.tensor_dims(data.type) if is_absent(shape) else T.shape_dims(shape.type)
    if not dtype or dims is None:
        return
    offset = attrs["relative_byte_offset"] or 0
    call = "relax.call_pure_packed"
    with ir.InsertionPoint(op), nameless(op.location):
        if is_absent(shape):
            shape = ir.Operation.create("relax.shape_expr", results=[T.shape_type(dims)]).result
        word = ir.Operation.create(
            call,
            results=[T.object_type()],
            operands=[make_tuple([])],
            attributes={
                "func": ir.StringAttr.get("vm.builtin.word"),
                "static_args": ir.ArrayAttr.get([ir.StringAttr.get(dtype)]),
            },
        )
        made = ir.Operation.create(
            call,
            results=[op.results[0].type],
            operands=[make_tuple([data, shape, word.result, prim_value(offset)])],
            attributes={"func": ir.StringAttr.get("runtime.TVMTensorCreateView")},
            loc=op.location,
        )
    op.results[0].replace_all_uses_with(made.results[0])
    absent = op.operands[1].owner if is_absent(op.operands[1]) else None
    op.erase()
    if absent is not None and not list(absent.results[0].uses):
        absent.erase()


# TVM's older name of it.
vm_builtin_lower = lower_runtime_builtin
