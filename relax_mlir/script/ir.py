"""The namespace `I` of scripts: `@I.ir_module`."""

from collections.abc import Callable
from typing import Any

from relax_mlir.script.decorate import parse_class
from relax_mlir.script.markers import META_VAR, Marker

meta_var = META_VAR


def ir_module(cls: type | None = None, **options: Any) -> Any:
    """Turn a class of script functions into an `IRModule`.

    Args:
        cls: the class.
        options: `check_well_formed=False` leaves it to `relax.analysis.check_well_formed` whether
            calls fit their prim funcs, and values their annotations; `s_tir=` is accepted for
            scripts of TVM.

    Raises:
        ScriptError: the script is wrong, or its source is not available.
    """
    if cls is None:

        def apply(cls: type) -> Any:
            return parse_class(cls, depth=2)

        return apply
    return parse_class(cls, depth=2)


def pyfunc(func: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a Python function of a class of scripts, which derives from `relax.BasePyModule`.

    Functions of the class call it as `cls.f(x)`, or by `R.call_py_func("f", (x,), out_ty=...)`.
    """
    func.is_pyfunc = True  # type: ignore[attr-defined]
    return func


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("__"):
        raise AttributeError(name)
    return Marker(f"I.{name}")
