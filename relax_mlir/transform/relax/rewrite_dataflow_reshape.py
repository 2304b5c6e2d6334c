"""The pass `rewrite-dataflow-reshape`: kernels that only copy in order become reshapes."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.calls import functions_of
from relax_mlir.dialects.relax.ops.base import build
from relax_mlir.dialects.relax.side_effects import functions_to_optimize
from relax_mlir.dialects.relax.tuples import call_arguments
from relax_mlir.dialects.symbolic.prover import can_prove_equal
from relax_mlir.lowering.walk import named
from relax_mlir.relax.analysis.reshape import has_reshape_pattern
from relax_mlir.relax.expr.places import is_local
from relax_mlir.transform.relax.rebuild import erase_with_arguments


def rewrite_dataflow_reshape(module: ir.Operation) -> None:
    """Write a `call_tir` of a prim func that reads one input in order as a `reshape`, without copy.

    In dataflow blocks, where nothing writes to a tensor; what a block gives out stays a copy. The
    prim funcs stay, for DeadCodeElimination to remove.
    """
    functions = functions_of(module)
    patterns: dict[str, bool] = {}
    for func in functions_to_optimize(module):
        for op in named(func, ("relax.call_tir",)):
            name = op.attributes["callee"].value
            result = op.results[0]
            around = op.parent.operation
            if around.name != "relax.dataflow" or not is_local(result):
                continue
            if name not in patterns:
                patterns[name] = has_reshape_pattern(functions[name])
            source = _read(op, functions[name]) if patterns[name] else None
            if source is None or not _is_reshape(source.type, result.type):
                continue
            with ir.InsertionPoint(op), op.location:
                made = build("reshape", [source, op.operands[0]], {})
            result.replace_all_uses_with(made)
            erase_with_arguments(op)


def _read(op: ir.Operation, kernel: ir.Operation) -> ir.Value | None:
    """Return the one argument that a kernel reads; fusion may have left others."""
    parameters = list(kernel.regions[0].blocks[0].arguments)
    pairs = zip(call_arguments(op), parameters, strict=False)
    used = [value for value, each in pairs if next(iter(each.uses), None) is not None]
    return used[0] if len(used) == 1 else None


def _is_reshape(source: ir.Type, result: ir.Type) -> bool:
    """Whether both have as many elements, as a slice in order has not, and one dtype."""
    if not T.is_tensor(source) or not T.is_tensor(result):
        return False
    dims = [T.tensor_dims(source), T.tensor_dims(result)]
    if None in dims or T.tensor_dtype(source) != T.tensor_dtype(result):
        return False
    sizes = []
    for each in dims:
        size = 1
        for dim in each or ():
            size = dim * size
        sizes.append(size)
    one, other = sizes
    return one == other or can_prove_equal(one, other)
