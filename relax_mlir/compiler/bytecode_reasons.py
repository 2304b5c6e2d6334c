"""Why an operation is left to the virtual machine instead of becoming native code."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.tuples import known_fields

_CALLS = ("relax.call_packed", "relax.call_pure_packed")
_LIBRARY = "vm.op."
_OWN = "vm."
_DATA_DEPENDENT = ("vm.builtin.unique", "vm.builtin.nonzero", "vm.op.unique", "vm.op.nonzero")
_FIXED = {
    "relax.if": "control flow: a branch",
    "relax.while": "control flow: a loop",
    "relax.for": "control flow: a loop",
    "relax.call": "call of a Relax function",
    "relax.make_closure": "closure",
    "relax.invoke_closure": "closure",
}


def why_bytecode(op: ir.Operation) -> str:
    """Return why an operation of a lowered function has no native code, `""` where that is natural.

    Natural are checks of arguments, shapes, memory and calls of native code.
    """
    if op.name in _FIXED:
        return _FIXED[op.name]
    if op.name not in _CALLS:
        return ""
    name = op.attributes["func"].value
    if name in _DATA_DEPENDENT:
        return "data-dependent shape"
    if name.startswith(_LIBRARY):
        return f"library operator: {_unknown(op)}"
    return "" if name.startswith(_OWN) else "packed function"


def _unknown(op: ir.Operation) -> str:
    """Return what about a library operator's operands and results is not known."""
    values = [*(known_fields(op.operands[0]) or op.operands), *op.results]
    tensors = [value.type for value in values if T.is_tensor(value.type)]
    if any(T.tensor_ndim(type_) < 0 for type_ in tensors):
        return "unknown rank"
    if any(not T.tensor_dtype(type_) for type_ in tensors):
        return "unknown dtype"
    return "no kernel for what is known of its shapes"
