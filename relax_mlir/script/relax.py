"""The namespace `R` of scripts: `@R.function` and the operations of Relax."""

import typing

from relax_mlir.extension_points import extension
from relax_mlir.script import markers
from relax_mlir.script.decorate import parse_class, parse_function
from relax_mlir.script.macro import macro
from relax_mlir.script.markers import Marker

# TVM keeps the proxies of annotations in a module of this name.
entry = markers


def function(fn: typing.Any = None, **options: typing.Any) -> typing.Any:
    """Parse a Relax function: a `relax.Function`, alone in a module.

    Inside an `I.ir_module` class the function is left to the class decorator, which knows them all.

    Args:
        fn: the function, when the decorator is used without parentheses.
        options: `private=True` hides it from users of the module; `pure=True` has the parser check
            that nothing in it has side effects.

    Raises:
        ScriptError: the script is wrong, or its source is not available.
    """
    if fn is None:

        def apply(fn: typing.Any) -> typing.Any:
            return parse_function(fn, depth=2)

        return apply
    return parse_function(fn, depth=2)


func = function


def rewriter(cls: type) -> typing.Any:
    """Return the `PatternMatchingRewriter` of a class with the functions pattern and replacement.

    Raises:
        ScriptError: a script is wrong.
        KeyError: one of the two is missing.
    """
    PatternMatchingRewriter = extension("script.PatternMatchingRewriter")
    return PatternMatchingRewriter.from_module(parse_class(cls, depth=2))


inline = macro


def __getattr__(name: str) -> Marker:
    if name.startswith("__"):
        raise AttributeError(name)
    return Marker(f"R.{name}")
