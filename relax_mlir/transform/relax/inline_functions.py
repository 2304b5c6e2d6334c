"""`Function.inline_functions`: bodies of chosen functions in the place of their calls."""

from collections.abc import Mapping
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context_lock import lock_of
from relax_mlir.errors import ExprError
from relax_mlir.ir.module import module_of
from relax_mlir.ir.single_function import single
from relax_mlir.lowering.walk import named
from relax_mlir.relax.builder.functions import FunctionTable, copy_in, function_op
from relax_mlir.relax.expr.functions import Function
from relax_mlir.transform.relax.infer_type import infer_type
from relax_mlir.transform.relax.inline_private_functions import inline_call, reaches


def inline_functions(func: Function, function_map: Mapping[Any, Any]) -> Function:
    """Return a function in which calls of others are replaced by their bodies.

    Args:
        func: the function; it stays as it was.
        function_map: functions by name or `relax.GlobalVar`. What they call of each other is
            replaced too.

    Raises:
        ExprError: a function is given twice, or calls itself.
        ExprTypeError: arguments do not have the types of the parameters.
    """
    given: dict[str, Any] = {}
    for key, value in function_map.items():
        name = str(getattr(key, "name_hint", key))
        if name in given:
            raise ExprError(f"inline_functions: '{name}' is given twice")
        given[name] = value
    made = module_of(func).clone()
    name = ir.StringAttr(single(func).attributes["sym_name"]).value
    with lock_of(made.context), made.context, ir.Location.unknown():
        table = FunctionTable(made.mlir_module.body)
        for each, value in given.items():
            op = function_op(value)
            assert op is not None, "only functions not emitted have no operation"
            copy = copy_in(op, made.context)
            if table.find(each) is not None:
                table.take(each)
            table.insert(copy, each)
        symbols = ir.SymbolTable(made.mlir_module.operation)
        for each in given:
            if reaches(each, each, symbols):
                raise ExprError(f"inline_functions: '{each}' calls itself")
        target = symbols[name].operation
        changed = False
        while calls := [
            call
            for call in named(target, ("relax.call",))
            if ir.FlatSymbolRefAttr(call.attributes["callee"]).value in given
        ]:
            for call in calls:
                callee = ir.FlatSymbolRefAttr(call.attributes["callee"]).value
                changed |= inline_call(call, symbols[callee].operation)
        if changed:
            infer_type(made.mlir_module.operation)
    return made[name]
