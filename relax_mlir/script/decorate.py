"""Decorators: find the source of a Python function or class and its globals, and parse it."""

import linecache
import sys
import types
from typing import Any, NoReturn

from relax_mlir.errors import ScriptError
from relax_mlir.extension_points import extension


def closure_variables(fn: types.FunctionType) -> dict[str, Any]:
    """Return the values of a function's free variables that have one."""
    variables = {}
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        try:
            variables[name] = cell.cell_contents
        except ValueError:  # the enclosing function has not assigned it yet
            continue
    return variables


def _refuse(frame: types.FrameType, message: str) -> NoReturn:
    """Raise a ScriptError at the line that a decorator stands in."""
    filename, line = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(filename, line, frame.f_globals).rstrip("\r\n")
    start = len(text) - len(text.lstrip())
    raise ScriptError(
        message,
        filename=filename,
        lineno=line,
        col_offset=start,
        end_col_offset=len(text),
        source_line=text,
    )


def parse_function(fn: Any, depth: int) -> Any:
    """Parse a stand-alone script function to its view; return it as it is inside a class body.

    Args:
        fn: the decorated function.
        depth: frames between here and the decorated code.

    Raises:
        ScriptError: the script is wrong, or its source is not available.
    """
    frame = sys._getframe(depth)
    if "__qualname__" in frame.f_locals and "__module__" in frame.f_locals:
        return fn
    if not isinstance(fn, types.FunctionType):
        _refuse(frame, f"only a function can be a script function, this is a {type(fn).__name__}")
    if fn.__name__ == "<lambda>":
        _refuse(frame, "a lambda cannot be a script function; write it with 'def'")
    from relax_mlir.script.parser.source import find_function

    variables = {**fn.__globals__, **frame.f_locals, **closure_variables(fn)}
    try:
        parse = extension("script.parse_definition")
        return parse(*find_function(fn), variables)[fn.__name__]
    except ScriptError as error:
        # What matters is the script's own line; where in the parser it was noticed does not.
        raise error.with_traceback(None) from error.__cause__


def parse_class(cls: type, depth: int) -> Any:
    """Parse an `ir_module` class.

    Args:
        cls: the decorated class.
        depth: frames between here and the decorated code.

    Raises:
        ScriptError: the script is wrong, or its source is not available.
    """
    from relax_mlir.script.parser.source import find_class

    frame = sys._getframe(depth)
    if isinstance(cls, types.FunctionType):
        _refuse(frame, f"I.ir_module takes a class; '{cls.__name__}' alone is a module without it")
    if not isinstance(cls, type):
        _refuse(frame, f"I.ir_module takes a class, this is a {type(cls).__name__}")
    variables = {**frame.f_globals, **frame.f_locals}
    for member in vars(cls).values():
        if isinstance(member, types.FunctionType):
            variables.update(closure_variables(member))
    try:
        module = extension("script.parse_definition")(*find_class(cls, frame), variables)
    except ScriptError as error:
        raise error.with_traceback(None) from error.__cause__
    python = {
        name: each
        for name, each in vars(cls).items()
        if isinstance(each, types.FunctionType) and hasattr(each, "is_pyfunc")
    }
    # A class of modules that are objects (BasePyModule) stays a class.
    if hasattr(cls, "ir_mod"):
        own = {"ir_mod": module, "pyfuncs": python, "__module__": cls.__module__}
        return type(cls.__name__, (cls,), own)
    if python:
        _refuse(frame, f"'{next(iter(python))}' needs a class that derives from BasePyModule")
    return module
