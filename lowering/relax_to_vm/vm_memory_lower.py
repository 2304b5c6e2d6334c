"""The pass `vm-memory-lower`: tensors get storage and are released after their last use."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import prim_value
from relax_mlir.dialects.relax.tuples import is_make_tuple, make_tuple
from relax_mlir.dialects.symbolic.expr import product
from relax_mlir.dialects.vm.ops import Storage
from relax_mlir.lowering.walk import collect, relax_functions

# A value that passes through one of these is the same memory under another name. A packed function
# may return its argument, so its result counts as an alias of everything it was given.
_ALIASING = (
    "relax.match_cast", "relax.tuple_get_item", "relax.call_packed", "relax.call_pure_packed",
    "relax.call", "vm.reinterpret", "relax.while", "relax.for",
)  # fmt: skip
_ESCAPING = ("func.return", "relax.yield", "relax.condition")


def vm_memory_lower(module: ir.Operation) -> None:
    """Split every allocation into storage and tensor and kill both after the last use."""
    for func in relax_functions(module):
        for op in collect(func, lambda op: op.name == "relax.alloc_tensor"):
            with ir.InsertionPoint(op), op.location:
                storage, tensor = split_allocation(op)
            op.results[0].replace_all_uses_with(tensor)
            op.erase()
            last = last_use(tensor)
            if last is not None:
                with ir.InsertionPoint.after(last), last.location:
                    for value in (tensor, storage):
                        ir.Operation.create("vm.kill", operands=[value])


def split_allocation(op: ir.Operation, size: ir.Value | None = None) -> tuple[ir.Value, ir.Value]:
    """Create the storage and the tensor of an allocation at the current insertion point.

    Args:
        op: a `relax.alloc_tensor`.
        size: the bytes, a shape of one dimension; by default an integer computed here.
    """
    shape, dtype = op.operands[0], op.attributes["dtype"]
    i64 = ir.IntegerType.get_signless(64)
    dims = T.shape_dims(shape.type)
    if size is not None:
        pass
    elif dims is not None:
        expr = product(dims) * T.dtype_size(dtype.value)
        size = prim_value(expr)
    else:
        size = ir.Operation.create(
            "relax.call_pure_packed",
            results=[i64],
            operands=[make_tuple([shape])],
            attributes={
                "func": ir.StringAttr.get("vm.builtin.storage_size"),
                "static_args": ir.ArrayAttr.get([dtype]),
            },
        ).result
    storage = ir.Operation.create(
        "vm.alloc_storage",
        results=[Storage.get()],
        operands=[size],
        attributes={"device": ir.StringAttr.get("cpu")},
    ).result
    zero = ir.IntegerAttr.get(i64, 0)
    tensor = ir.Operation.create(
        "vm.alloc_tensor",
        results=[op.results[0].type],
        operands=[storage, shape],
        attributes={"offset": zero, "dtype": dtype},
    ).result
    return storage, tensor


def last_use(value: ir.Value, home: ir.Block | None = None) -> ir.Operation | None:
    """Return the last operation of the value's block, `home`, that uses it or an alias of it.

    None where the value leaves its block, so that its memory belongs to somebody else.
    """
    block = value.owner.operation.block if home is None else home
    last: ir.Operation | None = None
    seen: list[ir.Value] = []
    pending = [value]
    while pending:
        current = pending.pop()
        if any(current == old for old in seen):
            continue
        seen.append(current)
        for use in current.uses:
            user = use.owner.operation
            if user.name in _ESCAPING:
                return None
            if user.name in _ALIASING or is_make_tuple(user):
                pending.extend(user.results)
            at_home = _ancestor(user, block)
            if last is None or last.is_before_in_block(at_home):
                last = at_home
    return last


def _ancestor(op: ir.Operation, block: ir.Block) -> ir.Operation:
    while op.block != block:
        op = op.parent.operation
    return op
