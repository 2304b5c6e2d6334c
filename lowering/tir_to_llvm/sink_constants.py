"""Pass `sink-constants`: constants are rematerialised inside parallel regions.

Folding moves constants to a function's entry. What a parallel region uses from there is handed to
it in a struct, and LLVM no longer knows that it is a constant: `max(x, 0)` took six instructions.
"""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.walk import named

_CONSTANTS = frozenset(
    f"llvm.mlir.{name}" for name in ("addressof", "constant", "poison", "undef", "zero")
)
_REGIONS = frozenset(["omp.parallel"])


def sink_constants(op: ir.Operation) -> None:
    """Copy the constants that parallel regions use from outside into them."""
    for view in op.regions[0].blocks[0].operations:
        function = view.operation
        if function.name != "llvm.func" or not named(function, _REGIONS):
            continue
        for block in function.regions[0].blocks:
            for each in list(block.operations):
                if each.operation.name in _CONSTANTS:
                    _copy(each.operation)


def _copy(constant: ir.Operation) -> None:
    copies: dict[ir.Operation, ir.Value] = {}
    for use in list(constant.results[0].uses):
        user, place = use.owner.operation, use.operand_number
        region = _region_around(user)
        if region is None:
            continue
        if region not in copies:
            with ir.InsertionPoint.at_block_begin(region.regions[0].blocks[0]):
                copies[region] = constant.clone().results[0]
        user.operands[place] = copies[region]


def _region_around(op: ir.Operation) -> ir.Operation | None:
    """Return the outermost parallel region that an operation is in."""
    result = None
    while op.name != "llvm.func":
        op = op.parent.operation
        if op.name in _REGIONS:
            result = op
    return result
