"""Whether a prim func only gives its input another shape."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.well_formed import argument_attributes
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import can_prove_equal
from relax_mlir.relax.analysis.scopes import function_op

_LOOPS = frozenset(("tir.for", "tir.yield", "func.return", "tir.reads", "tir.writes"))
_ARITHMETIC = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.floordivsi": lambda a, b: a // b,
    "arith.divsi": lambda a, b: a // b,
    "arith.divui": lambda a, b: a // b,
    "arith.remsi": lambda a, b: a % b,
    "arith.remui": lambda a, b: a % b,
}


def has_reshape_pattern(func: Any) -> bool:
    """Whether a prim func copies one buffer to another in the order of the elements.

    A reshape, also `flatten`, `expand_dims` and `squeeze`: one load and one store whose flattened
    indices can be proved equal. False may mean that it could not be proved.

    Args:
        func: a prim func: its view or its MLIR operation.

    Raises:
        ExprTypeError: it is no function.
    """
    op = function_op(func)
    if "tir.prim_func" not in op.attributes or not op.regions[0].blocks:
        return False
    loads: list[ir.Operation] = []
    stores: list[ir.Operation] = []
    others: list[str] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        if inner.name == "memref.load":
            loads.append(inner)
        elif inner.name == "memref.store":
            stores.append(inner)
        elif inner.name not in _ARITHMETIC and inner.name not in _KNOWN:
            others.append(inner.name)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    if len(loads) != 1 or len(stores) != 1 or others:
        return False
    load, store = loads[0], stores[0]
    if store.operands[0] != load.results[0]:
        return False
    sides = [_flat(op, load.operands[0], list(load.operands)[1:]),
             _flat(op, store.operands[1], list(store.operands)[2:])]  # fmt: skip
    return sides[0] is not None and sides[1] is not None and can_prove_equal(sides[0], sides[1])


_FLATTEN = "memref.reinterpret_cast"
_KNOWN = _LOOPS | {
    "func.func", "tir.block", "tir.symbol", "arith.constant", "arith.index_cast", _FLATTEN,
}  # fmt: skip


def _flat(func: ir.Operation, buffer: ir.Value, indices: list[ir.Value]) -> SymExpr | None:
    """Return the index of an element in memory, None when it cannot be said."""
    names: dict[ir.Value, str] = {}
    if _is_flattened(buffer):
        return _expression(indices[0], names)
    shape = _shape(func, buffer)
    if shape is None or len(shape) != len(indices):
        return None
    total = SymExpr.const(0)
    for index, dim in zip(indices, shape, strict=True):
        expr = _expression(index, names)
        if expr is None:
            return None
        total = total * dim + expr
    return total


def _is_flattened(buffer: ir.Value) -> bool:
    """Whether a buffer is a parameter seen as one dimension, as kernels of reshapes see it."""
    if isinstance(buffer.owner, ir.Block) or buffer.owner.operation.name != _FLATTEN:
        return False
    op = buffer.owner.operation
    if len(buffer.type.shape) != 1 or not isinstance(op.operands[0].owner, ir.Block):
        return False
    offsets, strides = (list(op.attributes[f"static_{what}"]) for what in ("offsets", "strides"))
    return offsets == [0] and strides == [1]


def _shape(func: ir.Operation, buffer: ir.Value) -> list[SymExpr] | None:
    if not isinstance(buffer.owner, ir.Block):
        return None
    attributes = argument_attributes(func)[ir.BlockArgument(buffer).arg_number]
    shape = attributes.get("tir.shape")
    if shape is not None:
        return shape.dims
    type_ = buffer.type
    if isinstance(type_, ir.MemRefType) and type_.has_static_shape:
        return [SymExpr.const(size) for size in type_.shape]
    return None


def _is_single(iterator: ir.BlockArgument) -> bool:
    """Whether an iterator of a block has one value only."""
    block = iterator.owner.owner.operation
    if block.name != "tir.block":
        return False
    owner = block.operands[len(block.operands) // 2 + iterator.arg_number].owner
    if isinstance(owner, ir.Block) or owner.operation.name != "arith.constant":
        return False
    return ir.IntegerAttr(owner.operation.attributes["value"]).value == 1


def _expression(value: ir.Value, names: dict[ir.Value, str]) -> SymExpr | None:
    """Return an index as an expression over the iterators of its block."""
    if isinstance(value.owner, ir.Block):
        if _is_single(ir.BlockArgument(value)):
            return SymExpr.const(0)
        # Two values of one name would be one symbol, so their identity is the name.
        return SymExpr.var(names.setdefault(value, f"i{hash(value)}"))
    op = value.owner.operation
    if op.name == "arith.constant":
        attribute = op.attributes["value"]
        return SymExpr.const(attribute.value) if isinstance(attribute, ir.IntegerAttr) else None
    if op.name == "tir.symbol":
        return op.attributes["value"].dims[0]
    if op.name == "arith.index_cast":
        return _expression(op.operands[0], names)
    if op.name not in _ARITHMETIC:
        return None
    sides = [_expression(operand, names) for operand in op.operands]
    if sides[0] is None or sides[1] is None:
        return None
    try:
        return _ARITHMETIC[op.name](*sides)
    except (ZeroDivisionError, ValueError):
        return None
