"""Whether a prim func only gives its input another shape."""

from typing import Any

from relax_mlir.arith.analyzer import Analyzer
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.well_formed import argument_attributes
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.ir.range import Range
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

_QUOTIENTS = frozenset(("arith.floordivsi", "arith.divsi", "arith.divui"))
_DIVISIONS = _QUOTIENTS | {"arith.remsi", "arith.remui"}


def has_reshape_pattern(func: Any) -> bool:
    """Whether a prim func copies one buffer to another in the order of the elements.

    A reshape, also `flatten`, `expand_dims` and `squeeze`: one store of one load, whose flattened
    indices can be proved equal. False may mean that it could not be proved.

    Args:
        func: a prim func: its view or its MLIR operation.

    Raises:
        ExprTypeError: it is no function.
    """
    op = function_op(func)
    if "tir.prim_func" not in op.attributes or not op.regions[0].blocks:
        return False
    stores: list[ir.Operation] = []
    others: list[str] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        if inner.name == "memref.store":
            stores.append(inner)
        elif inner.name not in _ARITHMETIC and inner.name not in _KNOWN:
            others.append(inner.name)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    if len(stores) != 1 or others:
        return False
    store = stores[0]
    source = store.operands[0].owner
    if isinstance(source, ir.Block) or source.operation.name != "memref.load":
        return False
    load, indices = source.operation, _Indices(op)
    read = indices.flat(load.operands[0], list(load.operands)[1:])
    written = indices.flat(store.operands[1], list(store.operands)[2:])
    return read is not None and written is not None and indices.equal(read, written)


_FLATTEN = "memref.reinterpret_cast"
_KNOWN = _LOOPS | {
    "func.func", "tir.block", "tir.symbol", "arith.constant", "arith.index_cast", "arith.cmpi",
    "arith.ori", "arith.select", "memref.load", _FLATTEN,
}  # fmt: skip


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


class _Indices:
    """Indices as expressions over the iterators of blocks, whose ranges are known."""

    def __init__(self, func: ir.Operation) -> None:
        self._func = func
        self._analyzer = Analyzer()
        self._iterators: dict[ir.Value, SymExpr] = {}
        self._extents: dict[str, SymExpr] = {}

    def flat(self, buffer: ir.Value, indices: list[ir.Value]) -> SymExpr | None:
        """Return the index of an element in memory, None when it cannot be said."""
        if _is_flattened(buffer):
            return self._expression(indices[0])
        shape = _shape(self._func, buffer)
        if shape is None or len(shape) != len(indices):
            return None
        total = SymExpr.const(0)
        for index, dim in zip(indices, shape, strict=True):
            expr = self._expression(index)
            if expr is None:
                return None
            total = total * dim + expr
        return total

    def equal(self, lhs: SymExpr, rhs: SymExpr) -> bool:
        """Whether two indices are the same for all values of the iterators."""
        return self._analyzer.can_prove_equal(lhs, rhs)

    def _expression(self, value: ir.Value) -> SymExpr | None:
        if isinstance(value.owner, ir.Block):
            return self._iterator(value)
        op = value.owner.operation
        if op.name == "arith.constant":
            attribute = op.attributes["value"]
            return SymExpr.const(attribute.value) if isinstance(attribute, ir.IntegerAttr) else None
        if op.name == "tir.symbol":
            return op.attributes["value"].dims[0]
        if op.name == "arith.index_cast":
            return self._expression(op.operands[0])
        if op.name == "memref.load":
            # Of a buffer that is only read: equal indices give equal values.
            indices = [self._expression(index) for index in list(op.operands)[1:]]
            return None if None in indices else SymExpr.var(f"b{hash(op.operands[0])}{indices}")
        if op.name == "arith.select":
            # Divisors are guarded against 0 and -1. The extent of an iterator is neither where the
            # block runs.
            divisor = self._expression(op.operands[2])
            return divisor if divisor in self._extents.values() else None
        if op.name not in _ARITHMETIC:
            return None
        sides = [self._expression(operand) for operand in op.operands]
        if sides[0] is None or sides[1] is None:
            return None
        if op.name in _DIVISIONS:
            lhs = self._analyzer.simplify(sides[0])
            extent = self._extents.get(str(lhs))
            if extent is not None and self._analyzer.can_prove_equal(extent, sides[1]):
                return SymExpr.const(0) if op.name in _QUOTIENTS else lhs
        try:
            return _ARITHMETIC[op.name](*sides)
        except (ZeroDivisionError, ValueError):
            return None

    def _iterator(self, value: ir.Value) -> SymExpr:
        known = self._iterators.get(value)
        if known is not None:
            return known
        # Two values of one name would be one symbol, so their number is the name.
        made = self._iterators[value] = SymExpr.var(f"i{len(self._iterators)}")
        argument = ir.BlockArgument(value)
        block = argument.owner.owner.operation
        if block.name == "tir.block":
            half = len(block.operands) // 2
            extent = self._expression(block.operands[half + argument.arg_number])
            # Nothing runs over an extent of 0, and whatever is asked of it could be proved.
            if extent is not None and extent != SymExpr.const(0):
                self._analyzer.bind(made, Range(0, extent))
                self._extents[str(made)] = extent
        return made
