"""The pass `BindSymbolicVars`: replaces symbolic sizes of functions by numbers or expressions."""

from collections.abc import Callable, Mapping
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context_lock import lock_of
from relax_mlir.dialects.relax.well_formed import type_symbols
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprTypeError, ParameterNameError, PassError, did_you_mean
from relax_mlir.ir.module import IRModule, module_of
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.pass_infra.info import PassInfo
from relax_mlir.pass_infra.passes import ModulePass
from relax_mlir.relax.expr import Function
from relax_mlir.relax.expr.dims import as_dim
from relax_mlir.transform.relax.inline_function import substitute_symbols
from relax_mlir.transform.relax.rebuild import substitute_type, symbols_of


def BindSymbolicVars(binding_map: Mapping[Any, Any], func_name: str | None = None) -> ModulePass:
    """Return the pass that gives symbols of Relax functions values.

    Args:
        binding_map: integers, or expressions of other symbols, by the symbol or its name.
        func_name: the function; None for all that have one of the symbols.

    Raises:
        ParameterNameError: a symbol is given twice, by itself and by name.
        ExprTypeError: a value is no integer. The pass raises it for a `func_name` that is none,
            and `ParameterNameError` for a symbol that the function, or no function, has.
    """
    values: dict[str, SymExpr] = {}
    for symbol, value in binding_map.items():
        if str(symbol) in values:
            raise ParameterNameError(f"BindSymbolicVars: two values of symbol '{symbol}'")
        values[str(symbol)] = as_dim(value)

    def bind(mod: IRModule, ctx: PassContext) -> IRModule:
        names = mod.function_names if func_name is None else [func_name]
        funcs = [mod[name].mlir_op for name in names]
        funcs = [func for func in funcs if "relax.function" in func.attributes]
        if not funcs and func_name is not None:
            raise ExprTypeError(f"BindSymbolicVars: '{func_name}' is no Relax function")
        with lock_of(mod.context), mod.context, ir.Location.unknown():
            missing = set(values)
            known: set[str] = set()
            for func in funcs:
                bound = substitute_in_function(func, values)
                missing -= bound
                known |= bound
            if missing:
                name = min(missing)
                where = "the module" if func_name is None else f"function '{func_name}'"
                near = did_you_mean(name, known) or f"; there are: {', '.join(sorted(known))}"
                raise ParameterNameError(f"BindSymbolicVars: {where} has no symbol '{name}'{near}")
        return mod

    return ModulePass(bind, PassInfo("BindSymbolicVars"))


def bind_symbolic_vars(func: Function, binding_map: Mapping[Any, Any]) -> Function:
    """Return a function with values for symbols, alone: `Function.bind_symbolic_vars`.

    Raises:
        ParameterNameError: there is no such symbol, or two values of one.
    """
    return in_function(func, lambda name: BindSymbolicVars(binding_map, name))


def in_function(func: Function, make_pass: Callable[[str], ModulePass]) -> Function:
    """Return what a pass makes of a function, in a module of its own.

    Args:
        func: the function, which stays as it is.
        make_pass: makes the pass for the function's name.

    Raises:
        Exception: what the pass raises.
    """
    mod = module_of(func)
    (name,) = mod.function_names
    try:
        return make_pass(name)(mod)[name]
    except PassError as error:
        raise (error.__cause__ or error) from None


def substitute_in_function(func: ir.Operation, values: Mapping[str, SymExpr]) -> set[str]:
    """Put values in the place of symbols, and return all symbols that there were."""
    result: set[str] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        result.update(symbols_of(op))
        for region in op.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    result.update(type_symbols(argument.type))
        substitute_symbols(op, values)
        return ir.WalkResult.ADVANCE

    func.walk(visit, ir.WalkOrder.PRE_ORDER)
    signature = ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value)
    inputs, results = (
        [substitute_type(type_, values) for type_ in side]
        for side in (signature.inputs, signature.results)
    )
    func.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
    return result
