"""The buffers that a prim func writes, from its body."""

from relax_mlir.dialects.bindings import ir

# Operand number of the buffer that an operation writes, and the operations that only read one.
_WRITES = {
    "memref.store": 1,
    "memref.copy": 1,
    "vector.store": 1,
    "vector.transfer_write": 1,
    "vector.maskedstore": 0,
    "tir.writes": 0,
}
_READS = (
    "memref.load", "memref.dim", "memref.dealloc", "memref.prefetch", "tir.reads", "vector.load",
    "vector.transfer_read", "vector.maskedload", "vector.gather",
)  # fmt: skip
_VIEWS = (
    "memref.subview", "memref.cast", "memref.collapse_shape", "memref.expand_shape",
    "memref.reinterpret_cast", "memref.assume_alignment", "memref.transpose", "memref.view",
    "arith.select",
)  # fmt: skip


def first_write(buffer: ir.Value, within: tuple[str, ...] = ()) -> ir.Operation | None:
    """Return an operation that may write to a buffer, itself or through a view; unknown users may.

    Args:
        buffer: the buffer.
        within: callees being looked into already; a recursive call counts as a write.
    """
    for use in buffer.uses:
        user = use.owner.operation
        if user.name in _WRITES:
            if use.operand_number == _WRITES[user.name]:
                return user
        elif user.name in _VIEWS:
            inner = first_write(user.results[0], within)
            if inner is not None:
                return inner
        elif user.name == "func.call":
            name = ir.FlatSymbolRefAttr(user.attributes["callee"]).value
            parameter = _parameter(user, name, use.operand_number)
            if name in within or parameter is None or first_write(parameter, (*within, name)):
                return user
        elif user.name not in _READS:
            return user
    return None


def _parameter(call: ir.Operation, name: str, position: int) -> ir.Value | None:
    """Return the parameter that an operand of a call becomes, None when the callee is elsewhere."""
    module = call
    while module.parent is not None:
        module = module.parent.operation
    table = ir.SymbolTable(module)
    if name not in table or not table[name].operation.regions[0].blocks:
        return None
    return table[name].operation.regions[0].blocks[0].arguments[position]
