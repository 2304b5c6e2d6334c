"""The pass `specialize-prim-func-based-on-call-site`: prim funcs for the sizes that calls have."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.side_effects import functions_to_optimize
from relax_mlir.dialects.relax.tuples import call_arguments, field_types, is_tuple
from relax_mlir.relax.builder.functions import copy_in
from relax_mlir.relax.expr import PrimFunc
from relax_mlir.tir.specialize import specialize
from relax_mlir.transform.kernels.calls import kernel_calls
from relax_mlir.transform.kernels.copies import KernelCopies, parameter_attributes


def specialize_prim_func_based_on_call_site(module: ir.Operation) -> None:
    """Have each `call_tir` call a prim func whose sizes are the numbers that the call passes.

    So kernels that were written or lowered for any size are compiled for the one that they get, as
    after `BindSymbolicVars`. Symbols that the caller does not know as numbers stay symbols. Calls
    of equal sizes share a prim func. TVM's pass writes the memory scopes of devices as well, of
    which a CPU has one.
    """
    kernels = KernelCopies(module)
    made: dict[tuple[str, tuple[tuple[str, int], ...]], str] = {}
    for func in functions_to_optimize(module):
        for call in kernel_calls(func):
            name = call.attributes["callee"].value
            numbers = _numbers(call, kernels) if name in kernels.symbols else {}
            if not numbers:
                continue
            key = name, tuple(sorted(numbers.items()))
            if key not in made:
                kernel = kernels.symbols[name].operation
                special = specialize(PrimFunc.of(kernel, module), numbers).mlir_op
                assert special is not None, "it is in a module"
                copy = kernels.add(name, name, copy_in(special, module.context))
                made[key] = ir.StringAttr(copy.attributes["sym_name"]).value
            call.attributes["callee"] = ir.FlatSymbolRefAttr.get(made[key])
            _pass_rest(call, kernels.symbols[name].operation, numbers)
    kernels.remove_uncalled()


def _numbers(call: ir.Operation, kernels: KernelCopies) -> dict[str, int]:
    """Return the symbols of a prim func that are numbers at a call of it."""
    result = call.results[0].type
    outputs = field_types(result) if is_tuple(result) else [result]
    callee = kernels.symbols[call.attributes["callee"].value]
    types = [*(value.type for value in call_arguments(call)), *outputs]
    known = kernels.symbols.solve(callee, types, call) or {}
    return {name: expr.value for name, expr in known.items() if expr.value is not None}


def _pass_rest(call: ir.Operation, kernel: ir.Operation, numbers: dict[str, int]) -> None:
    """Pass the integers that are still parameters."""
    if "tir_vars" not in call.attributes:
        return
    given = Dims(call.attributes["tir_vars"]).dims
    names = [
        ir.StringAttr(ir.DictAttr(each)["tir.name"]).value
        for each in parameter_attributes(kernel)[-len(given) :]
    ]
    rest = [expr for name, expr in zip(names, given, strict=True) if name not in numbers]
    if rest:
        call.attributes["tir_vars"] = Dims.of(rest)
    else:
        del call.attributes["tir_vars"]
