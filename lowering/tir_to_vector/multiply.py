"""A multiply-add of vectors of any element type."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.emit import Emitter


def multiply_add(
    emit: Emitter, machine: Machine, x: ir.Value, y: ir.Value, total: ir.Value
) -> ir.Value:
    """Return x * y + total, fused where the machine does that for floats."""
    floating = not isinstance(total.type.element_type, ir.IntegerType)
    if floating and machine.fma:
        return emit.fused(x, y, total)
    product = emit.op("arith.mulf" if floating else "arith.muli", [x, y], total.type)
    return add(emit, total, product)


def add(emit: Emitter, x: ir.Value, y: ir.Value) -> ir.Value:
    """Return x + y."""
    integer = isinstance(x.type.element_type, ir.IntegerType)
    return emit.op("arith.addi" if integer else "arith.addf", [x, y], x.type)
