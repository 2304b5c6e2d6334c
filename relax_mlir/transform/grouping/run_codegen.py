"""`RunCodegen`: functions that libraries compute become packed functions."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context_lock import lock_of
from relax_mlir.dialects.locations import nameless
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.tuples import call_arguments, field_types, is_tuple, make_tuple
from relax_mlir.errors import FunctionKeyError, FunctionNotFoundError, PassTypeError, did_you_mean
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.walk import named
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.pass_infra.info import PassInfo
from relax_mlir.pass_infra.passes import ModulePass
from relax_mlir.relax.builder.functions import content_key
from relax_mlir.relax.expr import Function
from relax_mlir.relax.expr_functor.edit import erase
from relax_mlir.runtime.registry import find_func, register_func
from relax_mlir.transform.grouping.grouped_functions import CODEGEN
from relax_mlir.transform.grouping.library_functions import callee, functions_by_name
from relax_mlir.transform.relax.dead_code_elimination import remove_unreachable

# The packed function that compiles for a library has this in front of the library's name.
PREFIX = "relax.ext."


def RunCodegen(
    target_options: Mapping[str, Mapping[str, Any]] | None = None,
    entry_functions: Sequence[str] | None = None,
) -> ModulePass:
    """Return the pass that hands functions with the attribute `Codegen` to their libraries.

    A library `numpy` is the packed function `relax.ext.numpy`. It is called with the list of the
    `relax.Function`s for it and its options, and returns a callable for each, which takes the
    arguments and then the arrays to fill. Calls of the functions become `R.call_dps_packed` of
    those, which are registered as packed functions; a process that loads a saved executable has to
    register them as well.

    Args:
        target_options: options by library.
        entry_functions: names of functions to keep, in addition to public ones.

    Raises:
        FunctionNotFoundError: nothing compiles for a library; raised by the pass, as are
        PassTypeError: a library returned something else, or the shapes of a result are not known.
        FunctionKeyError: no function has a name of `entry_functions`.
    """
    options = {name: dict(given) for name, given in (target_options or {}).items()}

    def run(mod: IRModule, ctx: PassContext) -> IRModule:
        module = mod.mlir_module.operation
        with lock_of(mod.context), mod.context, ir.Location.unknown():
            functions = functions_by_name(module)
            for name in entry_functions or ():
                if name not in functions:
                    near = did_you_mean(name, functions)
                    raise FunctionKeyError(f"RunCodegen: no function '{name}'{near}")
            external = {n: f for n, f in functions.items() if CODEGEN in f.attributes}
            packed: dict[str, str] = {}
            for library in dict.fromkeys(map(_library, external.values())):
                own = {n: f for n, f in external.items() if _library(f) == library}
                packed |= _compiled(library, own, mod, options.get(library, {}))
            for call in named(module, ("relax.call",)):
                if callee(call) in packed:
                    _replace(call, packed[callee(call)])
            for name in packed:
                functions[name].attributes["sym_visibility"] = ir.StringAttr.get("private")
            remove_unreachable(module, entry_functions or ())
        return mod

    return ModulePass(run, PassInfo("RunCodegen"))


def _library(func: ir.Operation) -> str:
    return ir.StringAttr(func.attributes[CODEGEN]).value


def _compiled(
    library: str, functions: Mapping[str, ir.Operation], mod: IRModule, options: dict[str, Any]
) -> dict[str, str]:
    """Have a library compile functions, and return the packed functions by name."""
    compiler = find_func(PREFIX + library)
    if compiler is None:
        raise FunctionNotFoundError(
            f"nothing compiles functions for '{library}'; register what does with "
            f"relax_mlir.register_func('{PREFIX}{library}')"
        )
    # What libraries keep of their functions outlives the module's.
    kept = mod.clone()
    views = [Function.of(kept[name].mlir_op, kept) for name in functions]
    made = compiler(views, options)
    if (
        not isinstance(made, (list, tuple))
        or len(made) != len(views)
        or not all(map(callable, made))
    ):
        raise PassTypeError(
            f"'{PREFIX}{library}' returns a list of callables, one for each of {len(views)} "
            f"functions, got {made!r}"
        )
    names = {}
    for (name, func), call in zip(functions.items(), made, strict=True):
        # Two models may have different functions of one name in one process.
        names[name] = f"{name}_{hashlib.sha256(content_key(func)).hexdigest()[:8]}"
        register_func(names[name], call, override=True)
    return names


def _replace(call: ir.Operation, packed: str) -> None:
    type_ = call.results[0].type
    types = field_types(type_) if is_tuple(type_) else [type_]
    dims = T.all_dims(types) if all(map(T.is_tensor, types)) else None
    if dims is None:
        raise PassTypeError(
            f"RunCodegen: the shapes of what '{callee(call)}' returns are not known"
        )
    with ir.InsertionPoint(call), nameless(call.location):
        shapes = [
            ir.Operation.create("relax.shape_expr", results=[T.shape_type(each)]).result
            for each in dims
        ]
        shape = make_tuple(shapes) if is_tuple(type_) else shapes[0]
        given = make_tuple(call_arguments(call))
    with ir.InsertionPoint(call), call.location:
        made = ir.Operation.create(
            "relax.call_dps_packed",
            results=[type_],
            operands=[shape, given],
            attributes={"func": ir.StringAttr.get(packed)},
        )
    call.results[0].replace_all_uses_with(made.results[0])
    erase(call)
