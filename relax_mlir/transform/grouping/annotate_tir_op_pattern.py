"""The pass `annotate-tir-op-pattern`: writes the pattern kind of each prim func at it."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.transform.grouping.op_pattern import op_pattern_kind

OP_PATTERN = "tir.op_pattern"


def annotate_tir_op_pattern(module: ir.Operation) -> None:
    """Set the attribute `op_pattern` of prim funcs that do not have it."""
    for view in module.regions[0].blocks[0].operations:
        func = view.operation
        if "tir.prim_func" in func.attributes and OP_PATTERN not in func.attributes:
            number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), op_pattern_kind(func))
            func.attributes[OP_PATTERN] = number
