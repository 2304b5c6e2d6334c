"""Errors for indices that are out of bounds in every run, by the ranges of loops."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.ops import where_of

_CASTS = ("arith.index_cast", "arith.extsi", "arith.trunci")
_Range = tuple[SymExpr, SymExpr]


def beyond(index: ir.Value, dim: SymExpr, at: ir.Block) -> _Range | None:
    """Return the first and the last value of an index that certainly leaves a dimension.

    Certainly means that every value is taken whenever the function is called: by loops that have
    steps, under no condition. So None says nothing.

    Args:
        index: the index, of MLIR's type `index`.
        dim: how many elements the dimension has.
        at: the block of operations in which the element is accessed.
    """
    leaves: list[ir.Value] = []
    result = _range(index, leaves)
    # Values of a variable that occurs twice are not independent: the ends need not be reached.
    if result is None or not leaves or len(set(leaves)) < len(leaves):
        return None
    low, high = result
    below, above = low.upper_bound(), (high - dim).lower_bound()
    leaves_it = (below is not None and below < 0) or (above is not None and above >= 0)
    return result if leaves_it and _always_runs(at) else None


def _range(value: ir.Value, leaves: list[ir.Value]) -> _Range | None:
    """Return the first and the last value, None where that is not simple; note the variables."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        parent = owner.owner.operation
        if parent.name == "tir.for":
            leaves.append(value)
            return _steps(parent)
        if parent.name == "tir.block":
            return _iterator(parent, ir.BlockArgument(value).arg_number, leaves)
        return None
    op = owner.operation
    if op.name == "arith.constant":
        number = SymExpr.const(ir.IntegerAttr(op.attributes["value"]).value)
        return number, number
    if op.name == "tir.symbol":
        size = op.attributes["value"].dims[0]
        return size, size
    if op.name in _CASTS:
        return _range(op.operands[0], leaves)
    if op.name not in ("arith.addi", "arith.subi", "arith.muli", "arith.floordivsi"):
        return None
    left = _range(op.operands[0], leaves)
    right = None if left is None else _range(op.operands[1], leaves)
    if left is None or right is None:
        return None
    if op.name == "arith.addi":
        return left[0] + right[0], left[1] + right[1]
    if op.name == "arith.subi":
        return left[0] - right[1], left[1] - right[0]
    return _scaled(op.name, left, right)


def _scaled(name: str, left: _Range, right: _Range) -> _Range | None:
    """Return the range of a multiple or a quotient of numbers."""
    if name == "arith.muli" and right[0].value != right[1].value:
        left, right = right, left
    factor = right[0].value
    if factor is None or right[1].value != factor:
        return None
    if name == "arith.muli":
        ends = left[0] * factor, left[1] * factor
        return ends if factor >= 0 else (ends[1], ends[0])
    first, last = left[0].value, left[1].value
    if factor <= 0 or first is None or last is None:
        return None
    return SymExpr.const(first // factor), SymExpr.const(last // factor)


def _steps(loop: ir.Operation) -> _Range | None:
    """Return the range of a loop's variable, None for a loop that may have no steps."""
    inside: list[ir.Value] = []
    lower, extent = (_range(operand, inside) for operand in loop.operands)
    if inside or lower is None or extent is None:
        return None
    count = extent[0].lower_bound()
    return None if count is None or count < 1 else (lower[0], lower[0] + extent[0] - 1)


def _iterator(block: ir.Operation, position: int, leaves: list[ir.Value]) -> _Range | None:
    """Return the range of a block's iterator: of what is bound to it, if that is in its domain."""
    count = len(block.operands) // 2
    bound = _range(block.operands[position], leaves)
    extent = _range(block.operands[count + position], [])
    if bound is None or extent is None:
        return None
    # Points outside of the domain are none that the block is said to have.
    room = (extent[0] - 1 - bound[1]).lower_bound()
    return bound if room is not None and room >= 0 else None


def _always_runs(at: ir.Block) -> bool:
    """Whether operations of a block run in every call of the function."""
    while True:
        if any(view.operation.name == "tir.assert" for view in at.operations):
            return False
        parent = at.owner.operation
        if parent.name == "func.func":
            return True
        if parent.name == "tir.for":
            if _steps(parent) is None:
                return False
        elif parent.name != "tir.block" or where_of(parent) is not None:
            return False
        at = parent.block


def conditional(at: ir.Block) -> bool:
    """Whether operations of a block run only where a condition holds.

    Args:
        at: the block of operations.
    """
    while (parent := at.owner.operation).name != "func.func":
        if parent.name == "scf.if" or (parent.name == "tir.block" and where_of(parent) is not None):
            return True
        at = parent.block
    return False
