"""`@R.macro` and `@T.macro`: functions whose statements are inlined while parsing."""

import sys
import types
from collections import ChainMap
from typing import Any

from relax_mlir.script.decorate import closure_variables


class Macro:
    """A function that the parser reads in the place of every call of it.

    Its parameters are whatever the call gives: values, buffers, Python values. Other names mean
    what they mean around the macro, or, with `hygienic=False`, also around the call.

    Attributes:
        function: the Python function, never executed.
        hygienic: whether the names around a call mean nothing inside.
        variables: Python values around the macro, or what names mean there.
        definition: its source and syntax tree, where it stands in text that is not executed.
    """

    function: Any
    hygienic: bool
    variables: Any

    def __init__(
        self, function: Any, hygienic: bool, variables: Any, definition: Any = None
    ) -> None:
        self.function, self.hygienic, self.variables = function, hygienic, variables
        self.definition = definition

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Reject: a macro means something only inside a script function.

        Raises:
            TypeError: always.
        """
        raise TypeError(f"the macro '{self.function.__name__}' can only be used in a script")


def macro(function: Any = None, *, hygienic: bool = True) -> Any:
    """Make a macro of a function; what it holds is the language of the script that calls it.

    Args:
        function: the function, when the decorator is used without parentheses.
        hygienic: whether names in it mean only what they mean around the macro.
    """
    frame = sys._getframe(1)

    def apply(function: types.FunctionType) -> Macro:
        # Globals are looked up when the macro is used: it may call macros that come after it.
        around = ChainMap(closure_variables(function), frame.f_locals, function.__globals__)
        return Macro(function, hygienic, around)

    return apply if function is None else apply(function)
