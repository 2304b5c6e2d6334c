"""Modules of one function, which stand for it: attributes, and putting several together."""

from collections.abc import Mapping
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.dialects.context_lock import lock_of
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.ir.attribute_value import python_attribute
from relax_mlir.ir.transfer import moved

_FUNC = "func.func"


def single(mod: Any) -> ir.Operation:
    """Return the only function of a module, or one given as `mod["main"]` or `mod.functions` does.

    Raises:
        ExprTypeError: it is no module.
        ValueError: it has none, or several.
    """
    if isinstance(getattr(mod, "operation", None), ir.Operation) and mod.operation.name == _FUNC:
        return mod.operation
    if isinstance(getattr(mod, "mlir_op", None), ir.Operation) and mod.mlir_op.name == _FUNC:
        return mod.mlir_op
    if not hasattr(mod, "mlir_module"):
        raise ExprTypeError(f"expected a function, a module of one, got {type(mod).__name__}")
    functions = [view.operation for view in mod.mlir_module.body.operations]
    if len(functions) != 1 or functions[0].name != _FUNC:
        raise ExprError(f"this needs a module of one function, got {len(functions)} in {mod!r}")
    return functions[0]


def set_attrs(function: ir.Operation, attributes: Mapping[str, Any]) -> None:
    """Give a function attributes; `global_symbol` names it and makes it public."""
    with lock_of(function.context), function.context:
        for key, value in attributes.items():
            if key == "global_symbol":
                _name(function, str(value))
            else:
                name = key if "." in key else f"tir.{key}"
                function.attributes[name] = python_attribute(value)


def _name(function: ir.Operation, name: str) -> None:
    function.attributes["sym_name"] = ir.StringAttr.get(name)
    if "sym_visibility" in function.attributes:
        del function.attributes["sym_visibility"]


def together(functions: Mapping[str, Any]) -> ir.Module:
    """Return a module of copies of functions, each under its name.

    Args:
        functions: by name or `GlobalVar` functions, or modules of one function.

    Raises:
        ValueError: one of them is of none, or of several.
    """
    context = default_context()
    parts = [(name, moved(single(part), context)) for name, part in functions.items()]
    with lock_of(context), context, ir.Location.unknown():
        module = ir.Module.create()
        for name, part in parts:
            operation = part.operation
            function = operation if operation.name == _FUNC else part.body.operations[0]
            copy = function.operation.clone(ir.InsertionPoint(module.body))
            _name(copy.operation, str(getattr(name, "name_hint", name)))
    return module
