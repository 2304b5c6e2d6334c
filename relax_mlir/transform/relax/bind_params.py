"""The pass `BindParams`: parameters of a function become constants."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context_lock import lock_of
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.constants import constant_attribute, constant_op
from relax_mlir.dialects.relax.well_formed import type_dims
from relax_mlir.dialects.symbolic.binding import bound_symbols
from relax_mlir.errors import ExprError, ExprTypeError, did_you_mean
from relax_mlir.ir.module import IRModule
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.pass_infra.info import PassInfo
from relax_mlir.pass_infra.passes import ModulePass
from relax_mlir.runtime.values.convert import is_tensor_dtype, to_value
from relax_mlir.script.printer.spelling import type_text


def BindParams(func_name: str, params: Mapping[Any, Any]) -> ModulePass:
    """Return the pass that makes constants of parameters of a Relax function.

    What a constant's sizes say of symbols is checked where the function begins.

    Args:
        func_name: the function.
        params: arrays by the name of the parameter, or by it as `mod["main"].params` gives it.

    Raises:
        ExprTypeError: a value is no array, or `params` no dictionary. The pass raises it for a
            function that is no Relax function, and `ExprError` for a parameter that there is not,
            an array that does not fit, and a symbol of the signature that nothing else binds.
    """
    if not isinstance(params, Mapping):
        raise ExprTypeError(f"BindParams takes arrays by parameter, got {params!r}")
    arrays = {getattr(key, "name_hint", key): _array(key, value) for key, value in params.items()}

    def bind(mod: IRModule, ctx: PassContext) -> IRModule:
        func = mod[func_name].mlir_op
        if "relax.function" not in func.attributes:
            raise ExprTypeError(f"BindParams: '{func_name}' is no Relax function")
        with lock_of(mod.context), mod.context:
            _bind(func_name, func, arrays)
        return mod

    return ModulePass(bind, PassInfo("BindParams"))


def _array(key: Any, value: Any) -> np.ndarray:
    found = to_value(getattr(value, "data", value) if hasattr(value, "mlir_op") else value)
    if not isinstance(found, np.ndarray) or not is_tensor_dtype(found.dtype):
        raise ExprTypeError(f"BindParams: '{key}' becomes an array, got {type(value).__name__}")
    # The module keeps it: later changes of the caller's own are not the program's.
    return found.copy()


def _bind(name: str, func: ir.Operation, arrays: Mapping[str, np.ndarray]) -> None:
    names = [ir.StringAttr(each).value for each in func.attributes["relax.params"]]
    for wanted in arrays:
        if wanted not in names:
            near = did_you_mean(str(wanted), names) or f"; there are: {', '.join(names) or 'none'}"
            raise ExprError(f"BindParams: function '{name}' has no parameter '{wanted}'{near}")
    block = func.regions[0].blocks[0]
    chosen = [position for position, each in enumerate(names) if each in arrays]
    signature = ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value)
    kept = [type_ for i, type_ in enumerate(signature.inputs) if i not in chosen]
    _check_symbols(name, kept, list(signature.results))
    with ir.InsertionPoint.at_block_begin(block):
        for position in chosen:
            argument = block.arguments[position]
            value = _constant(name, names[position], arrays[names[position]], argument)
            argument.replace_all_uses_with(value)
    for position in reversed(chosen):
        block.erase_argument(position)
    func.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(kept, signature.results))
    for key in ("arg_attrs", "relax.params"):
        if key in func.attributes:
            items = [each for i, each in enumerate(func.attributes[key]) if i not in chosen]
            func.attributes[key] = ir.ArrayAttr.get(items)


def _constant(func: str, name: str, array: np.ndarray, argument: ir.Value) -> ir.Value:
    location = argument.location
    made = constant_op(constant_attribute(array, name), location)
    declared = argument.type
    if declared == made.type:
        return made
    where = f"BindParams: '{name}' of function '{func}' is {type_text(declared)}"
    if not T.is_tensor(declared) or T.tensor_dtype(declared) not in ("", str(array.dtype)):
        raise ExprError(f"{where}, got an array of {array.dtype} and shape {array.shape}")
    dims = T.tensor_dims(declared)
    rank = len(dims) if dims is not None else T.tensor_ndim(declared)
    sizes = zip(dims, array.shape, strict=False) if dims is not None else ()
    fits = all(dim.value in (None, size) for dim, size in sizes)
    if rank not in (-1, array.ndim) or not fits:
        raise ExprError(f"{where}, got an array of {array.dtype} and shape {array.shape}")
    return ir.Operation.create(
        "relax.match_cast", results=[declared], operands=[made], loc=location
    ).result


def _check_symbols(name: str, inputs: list[ir.Type], results: list[ir.Type]) -> None:
    """Check that what the signature keeps mentions no symbol that it does not bind any more."""
    bound = bound_symbols(dim for type_ in inputs for dim in type_dims(type_))
    for type_ in (*inputs, *results):
        for dim in type_dims(type_):
            for symbol in sorted(dim.symbols - bound):
                raise ExprError(
                    f"BindParams: '{symbol}' of function '{name}' is bound by a parameter that "
                    "becomes a constant only; write the size as a number"
                )
