"""The `T` of a script: `@T.prim_func` and the names of the TIR language."""

from typing import Any

from relax_mlir.script.decorate import parse_function
from relax_mlir.script.macro import macro
from relax_mlir.script.markers import META_VAR, Marker


def prim_func(fn: Any = None, **options: Any) -> Any:
    """Parse a TIR prim func: a `tir.PrimFunc`, alone in a module.

    Inside an `I.ir_module` class the function is left to the class decorator, which knows them all.

    Args:
        fn: the function, when the decorator is used without parentheses.
        options: `private=True` hides it from users of the module; `s_tir=` is
            accepted as TVM has it and means nothing here.

    Raises:
        ScriptError: the script is wrong, or its source is not available.
    """
    if fn is None:

        def apply(fn: Any) -> Any:
            return parse_function(fn, depth=2)

        return apply
    return parse_function(fn, depth=2)


func = prim_func

inline = macro
meta_var = META_VAR


def __getattr__(name: str) -> Marker:
    if name.startswith("__"):
        raise AttributeError(name)
    return Marker(f"T.{name}")
