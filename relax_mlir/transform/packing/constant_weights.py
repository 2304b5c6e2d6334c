"""Weights that can be packed at compile time, and their blocked layouts."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, is_impure

# A vector's elements on the machines with the widest ones; narrower vectors divide it.
BLOCK = 16
# So many operations are between a weight and its constants at most: changes of layouts, scales.
_MAX_STEPS = 12


def is_constant(value: ir.Value, depth: int = 0) -> bool:
    """Whether a value is a constant, or what FoldConstant will make one, as a scaled weight."""
    if isinstance(value.owner, ir.Block) or depth > _MAX_STEPS:
        return False
    op = value.owner.operation
    if op.name == "relax.constant":
        return True
    if op.name == "relax.shape_expr":
        dims = T.shape_dims(op.results[0].type)
        return dims is not None and all(dim.is_const for dim in dims)
    computed = op.name.removeprefix("relax.") in COMPUTE_OPS and not is_impure(op)
    return computed and all(is_constant(operand, depth + 1) for operand in op.operands)
