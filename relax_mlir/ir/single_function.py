"""Modules of one function under TVM's function API: attributes, merging of modules."""

from collections.abc import Mapping
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.dialects.context_lock import lock_of
from relax_mlir.errors import ExprError, ExprTypeError, RelaxMLIRError
from relax_mlir.extension_points import extension
from relax_mlir.ir.attribute_value import attribute_key, python_attribute
from relax_mlir.ir.transfer import moved

_FUNCTIONS = ("func.func", "relax.extern_func")


def is_function(given: Any) -> bool:
    """Whether something is a function: a view, its operation, or one not emitted yet."""
    if isinstance(given, (extension("ir.BaseFunc"), extension("script.ExternFunc"))):
        return True
    return getattr(getattr(given, "operation", None), "name", "") in _FUNCTIONS


def single(given: Any) -> ir.Operation:
    """Return the operation of a function, or of a module that has only one.

    Args:
        given: a view, a `func.func`, a function that Python built, or a module.

    Raises:
        ExprTypeError: it is none of these.
        ExprError: the module has no function, or several.
    """
    if isinstance(given, extension("ir.BaseFunc")):
        return given.mlir_op or extension("ir.emit_function")(given)
    if isinstance(given, extension("script.ExternFunc")):
        return given.declaration().body.operations[0].operation
    if is_function(given):
        return given.operation
    if not hasattr(given, "mlir_module"):
        raise ExprTypeError(f"expected a function, a module of one, got {type(given).__name__}")
    functions = [view.operation for view in given.mlir_module.body.operations]
    if len(functions) != 1 or functions[0].name not in _FUNCTIONS:
        raise ExprError(f"this needs a module of one function, got {len(functions)} in {given!r}")
    return functions[0]


def emission_error(given: Any) -> RelaxMLIRError | None:
    """Return why a function that Python built is no program; None where it is one."""
    if not isinstance(given, extension("ir.BaseFunc")) or given.mlir_op is not None:
        return None
    try:
        extension("ir.emit_function")(given)
    except RelaxMLIRError as error:
        return error
    return None


def set_attrs(function: ir.Operation, attributes: Mapping[str, Any]) -> None:
    """Give a function attributes; `global_symbol` names it and makes it public."""
    with lock_of(function.context), function.context, function.location:
        dialect = "tir" if "tir.prim_func" in function.attributes else "relax"
        for key, value in attributes.items():
            if key == "global_symbol":
                _name(function, str(value))
            else:
                function.attributes[attribute_key(key, dialect)] = python_attribute(value)


def _name(function: ir.Operation, name: str) -> None:
    function.attributes["sym_name"] = ir.StringAttr.get(name)
    if "sym_visibility" in function.attributes:
        del function.attributes["sym_visibility"]


def together(functions: Mapping[str, Any]) -> ir.Module:
    """Return a module of copies of functions, each under its name.

    Args:
        functions: by name or `GlobalVar` functions, or modules of one function.

    Raises:
        ValueError: one of them is of none, or of several, or calls a prim func of its own whose
            name is another function's.
    """
    context = default_context()
    parts = [(name, moved(single(part), context)) for name, part in functions.items()]
    with lock_of(context), context, ir.Location.unknown():
        module = ir.Module.create()
        for name, part in parts:
            operation = part.operation
            function = operation if operation.name in _FUNCTIONS else part.body.operations[0]
            copy = function.operation.clone(ir.InsertionPoint(module.body))
            _name(copy.operation, str(getattr(name, "name_hint", name)))
        for given in functions.values():
            _add_called(module, given)
    return module


def _add_called(module: ir.Module, given: Any) -> None:
    """Put the prim funcs that a function which Python built calls itself beside it."""
    if not isinstance(given, extension("ir.BaseFunc")) or given.mlir_op is not None:
        return
    own = single(given)
    others = [each.operation for each in own.parent.regions[0].blocks[0].operations]
    for other in filter(lambda each: each != own, others):
        name = ir.StringAttr(other.attributes["sym_name"]).value
        known = [
            each.operation
            for each in module.body.operations
            if ir.StringAttr(each.operation.attributes["sym_name"]).value == name
        ]
        part = moved(other, module.context)
        called = part.body.operations[0].operation
        if not known:
            called.clone(ir.InsertionPoint(module.body))
        elif str(known[0]) != str(called):
            raise ExprError(f"'{name}' is the name of two functions")
