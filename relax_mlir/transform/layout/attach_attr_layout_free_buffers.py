"""The pass `attach-attr-layout-free-buffers`: says which buffers of prim funcs are weights."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.side_effects import functions_to_optimize
from relax_mlir.dialects.relax.tuples import call_arguments
from relax_mlir.relax.analysis.purity import computable_at_compile_time
from relax_mlir.relax.dpl.matcher import identity
from relax_mlir.relax.expr import Function
from relax_mlir.transform.kernels.calls import kernel_calls
from relax_mlir.transform.kernels.copies import KernelCopies
from relax_mlir.transform.packing.constant_weights import is_constant

LAYOUT_FREE_BUFFERS = "tir.layout_free_buffers"


def attach_attr_layout_free_buffers(module: ir.Operation) -> None:
    """Write the attribute `layout_free_buffers` at prim funcs: the numbers of buffers of weights.

    Weights are constants, and what depends on parameters after the first `num_input` alone: a
    schedule may lay them out as it likes, as they are rewritten before the program runs. Calls
    with other weights get other copies of a prim func.
    """
    kernels = KernelCopies(module)
    made: dict[tuple[str, tuple[int, ...]], str] = {}
    for func in functions_to_optimize(module):
        known = {identity(each) for each in computable_at_compile_time(Function.of(func, module))}
        for call in kernel_calls(func):
            name = call.attributes["callee"].value
            arguments = call_arguments(call)
            weights = tuple(
                i for i, each in enumerate(arguments) if each in known or is_constant(each)
            )
            if not weights or name not in kernels.symbols:
                continue
            if (name, weights) not in made:
                copy = kernels.add(name, name)
                copy.attributes[LAYOUT_FREE_BUFFERS] = ir.ArrayAttr.get(
                    [ir.IntegerAttr.get(ir.IntegerType.get_signless(64), i) for i in weights]
                )
                made[name, weights] = ir.StringAttr(copy.attributes["sym_name"]).value
            call.attributes["callee"] = ir.FlatSymbolRefAttr.get(made[name, weights])
    kernels.remove_uncalled()
