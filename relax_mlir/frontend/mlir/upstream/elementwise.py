"""Operations of arith and math on tensors, and on numbers outside of them."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import INDEX, cast
from relax_mlir.frontend.mlir.upstream.bodies import Inputs, call_prim
from relax_mlir.frontend.mlir.upstream.scalars import SCALARS
from relax_mlir.frontend.registry import converts


def elementwise(m: Any) -> Any:
    """Apply an operation of scalars to each element."""
    values = [m.value(index) for index in range(len(m.op.operands))]
    inputs = Inputs(m)
    for value in values:
        inputs.add(value)
    operation, dtype = m.op, m.dtype()
    is_index = ["index" in str(operand.type) for operand in operation.operands]
    dims = next((m.dims(index) for index, value in enumerate(values) if value.ndim), ())

    def body(builder: PrimFuncBuilder, outputs: Sequence[Buffer]) -> None:
        name = operation.name.partition(".")[2]
        with builder.nest(name, [("spatial", dim) for dim in dims]) as block:
            at = tuple(block)
            scalars = [
                inputs.buffer(builder, value)[at]
                if value.ndim
                else inputs.scalar(builder, value, INDEX if index else value.dtype)
                for value, index in zip(values, is_index, strict=True)
            ]
            outputs[0].store(cast(SCALARS[operation.name](operation, *scalars), dtype), at)

    return call_prim(m, operation.name.partition(".")[2], inputs, [(dims, dtype)], body)


for _name in SCALARS:
    converts(*_name.split(".", 1))(elementwise)
