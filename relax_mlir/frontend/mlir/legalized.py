"""Single operations of StableHLO by upstream's own lowering to linalg."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import ExprError
from relax_mlir.frontend.mlir import passes
from relax_mlir.frontend.mlir.needs import needs


def legalized(m: Any) -> Any:
    """Convert an operation as upstream's passes lower it, in a function of its own.

    Raises:
        ExprError: the passes cannot lower it.
    """
    with m.op.context, m.op.location:
        module = ir.Module.create()
        types = [operand.type for operand in m.op.operands]
        results = [result.type for result in m.op.results]
        with ir.InsertionPoint(module.body):
            function = ir.Operation.create(
                "func.func",
                attributes={
                    "sym_name": ir.StringAttr.get("legalized"),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, results)),
                },
                regions=1,
            )
        block = function.regions[0].blocks.append(*types)
        with ir.InsertionPoint(block):
            copy = m.op.clone()
            for index, argument in enumerate(block.arguments):
                copy.operands[index] = argument
            ir.Operation.create("func.return", operands=list(copy.results))
    problem = passes.run(module.operation, passes.STABLEHLO)
    if problem:
        raise ExprError(f"upstream's passes cannot lower it: {problem}")
    passes.prepare(module)
    missing = [need.op for need in needs(module, "").missing]
    if missing:
        raise ExprError(f"it becomes {', '.join(missing)}, which cannot be imported")
    values = [m.value(index) for index in range(len(types))]
    return m.run_region(module.body.operations[0].operation.regions[0], values)
