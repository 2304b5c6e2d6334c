"""Additions and multiply-adds of numbers or vectors of any element type."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import Emitter


def multiply_add(emit: Emitter, fma: bool, x: ir.Value, y: ir.Value, total: ir.Value) -> ir.Value:
    """Return x * y + total of vectors, fused for floats if the target has FMA."""
    floating = not isinstance(total.type.element_type, ir.IntegerType)
    if floating and fma:
        return emit.fused(x, y, total)
    product = emit.op("arith.mulf" if floating else "arith.muli", [x, y], total.type)
    return add(emit, total, product)


def add(emit: Emitter, x: ir.Value, y: ir.Value) -> ir.Value:
    """Return x + y of numbers or vectors."""
    element = x.type.element_type if isinstance(x.type, ir.VectorType) else x.type
    integer = isinstance(element, ir.IntegerType)
    return emit.op("arith.addi" if integer else "arith.addf", [x, y], x.type)
