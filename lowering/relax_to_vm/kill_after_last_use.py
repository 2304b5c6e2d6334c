"""The pass `kill-after-last-use`: tensors and storages are released where nothing reads them."""

from collections.abc import Iterable

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.tuples import is_make_tuple, known_fields
from relax_mlir.dialects.vm.ops import Storage
from relax_mlir.lowering.relax_to_vm.shape_state import stripped
from relax_mlir.lowering.walk import relax_functions, require_absent

# What they give is part of the expression that uses it, not a register of its own.
_LITERALS = ("relax.constant", "relax.shape_expr", "relax.prim_value")
_ENDS = ("func.return", "relax.yield", "relax.condition")


def kill_after_last_use(module: ir.Operation) -> None:
    """Put a `vm.kill` behind the last use of tensors and storages that do not leave their block.

    A tensor keeps the storage that it lies in, and a cast of a tensor keeps the tensor, so each
    variable is released by itself.

    Raises:
        PassError: there are dataflow blocks left, which hold nothing with an effect.
    """
    require_absent(module, "relax.dataflow", "KillAfterLastUse", "to-non-dataflow")
    for func in relax_functions(module):
        for region in func.regions:
            for block in region.blocks:
                _block(block)


def _block(block: ir.Block) -> None:
    operations = [view.operation for view in block.operations]
    killed = {op.operands[0] for op in operations if op.name == "vm.kill"}
    for op in operations:
        for region in op.regions:
            for inner in region.blocks:
                _block(inner)
        for value in _kept(op):
            last = None if value in killed else _last_use(value, block)
            if last is not None:
                with ir.InsertionPoint.after(last), last.location:
                    ir.Operation.create("vm.kill", operands=[value])


def _kept(op: ir.Operation) -> Iterable[ir.Value]:
    """Return the results of an operation that a register of their own holds."""
    if op.name in _LITERALS or is_make_tuple(op) or _is_alias(op):
        return ()
    return [
        result
        for result in op.results
        if T.is_tensor(result.type) or isinstance(result.type, Storage)
    ]


def _is_alias(op: ir.Operation) -> bool:
    """Whether the result is in a register of the operand's: a known field, a cast to the same."""
    if op.name == "relax.tuple_get_item":
        return known_fields(op.operands[0]) is not None
    return op.name == "relax.match_cast" and stripped(op.operands[0].type) == stripped(
        op.results[0].type
    )


def _last_use(value: ir.Value, block: ir.Block) -> ir.Operation | None:
    """Return the last operation of a block that uses a value, None where it leaves the block."""
    last: ir.Operation | None = None
    pending = [value]
    while pending:
        for use in pending.pop().uses:
            user = use.owner.operation
            if user.name in _ENDS:
                return None
            if is_make_tuple(user) or _is_alias(user):
                # The tuple of a call's arguments, or one that is a value.
                pending.append(user.results[0])
            while user.block != block:
                user = user.parent.operation
            if last is None or last.is_before_in_block(user):
                last = user
    return last
