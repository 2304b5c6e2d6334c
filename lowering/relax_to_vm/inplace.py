"""In-place arguments of a call: the argument itself where it is dead, else a copy."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.ops.inplace import INPLACE_PARAMS
from relax_mlir.dialects.relax.tuples import make_tuple
from relax_mlir.lowering.relax_to_vm.vm_memory_lower import last_use

# The same memory under another name, and nothing else.
_RENAMES = ("relax.match_cast", "vm.reinterpret")
# Operations that allocate a tensor without aliases.
_FRESH = "relax.alloc_tensor"
_FRESH_CALLS = ("vm.op.", "vm.builtin.copy", "vm.builtin.unique", "vm.builtin.nonzero")


def overwritable_arguments(
    op: ir.Operation, arguments: Sequence[ir.Value], indices: Sequence[int]
) -> list[ir.Value]:
    """Return the arguments to pass, copies in place of those that must not be overwritten.

    Args:
        op: the call, at which copies are made.
        arguments: what it is given.
        indices: which of them it overwrites; negative numbers mean nothing.
    """
    passed = list(arguments)
    for index in indices:
        if index >= 0 and not _is_free(op, arguments, index):
            passed[index] = _copy(op, arguments[index])
    return passed


def _is_free(op: ir.Operation, arguments: Sequence[ir.Value], index: int) -> bool:
    """Whether only the call accesses the memory of an argument from now on."""
    root = _root(arguments[index])
    if sum(_root(argument) == root for argument in arguments) > 1:
        return False
    if isinstance(root.owner, ir.Block):
        return _is_offered(root) and _dies_here(op, root, root.owner)
    owner = root.owner.operation
    fresh = owner.name == _FRESH or (
        owner.name == "relax.call_pure_packed"
        and owner.attributes["func"].value.startswith(_FRESH_CALLS)
    )
    return fresh and _dies_here(op, root, owner.block)


def _dies_here(op: ir.Operation, root: ir.Value, home: ir.Block) -> bool:
    # In a branch or a loop the call may run several times, or not at all.
    last = last_use(root, home) if op.block == home else None
    return last is not None and last == op


def _root(value: ir.Value) -> ir.Value:
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name in _RENAMES:
        value = value.owner.operation.operands[0]
    return value


def _is_offered(parameter: ir.Value) -> bool:
    """Whether a value is a parameter that the function's attribute lets calls overwrite."""
    func = parameter.owner.owner.operation
    if func.name != "func.func" or INPLACE_PARAMS not in func.attributes:
        return False
    names = [str(name.value) for name in ir.ArrayAttr(func.attributes["relax.params"])]
    offered = {str(name.value) for name in ir.ArrayAttr(func.attributes[INPLACE_PARAMS])}
    number = ir.BlockArgument(parameter).arg_number
    return number < len(names) and names[number] in offered


def _copy(op: ir.Operation, value: ir.Value) -> ir.Value:
    with ir.InsertionPoint(op), op.location:
        return ir.Operation.create(
            "relax.call_pure_packed",
            results=[value.type],
            operands=[make_tuple([value])],
            attributes={"func": ir.StringAttr.get("vm.builtin.copy")},
        ).result
