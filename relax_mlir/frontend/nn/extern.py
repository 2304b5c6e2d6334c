"""Functions of other code that modules call by name."""

from collections.abc import Callable, Mapping
from typing import Any

from relax_mlir.frontend.nn import op


class ExternModule:
    """Packed functions by name, each with what describes its result.

    They are registered by `register_func`, or in a library that the virtual machine imports.

    Args:
        symbols: for each function what gives placeholders of its results for its arguments.

    Attributes:
        symbols: the same.
    """

    def __init__(self, symbols: Mapping[str, Callable[..., Any]]) -> None:
        self.symbols: dict[str, Callable[..., Any]] = dict(symbols)

    def __getitem__(self, func_name: str) -> Callable[..., Any]:
        """Return what calls a function."""
        infer = self.symbols[func_name]
        return lambda *args: op.extern(func_name, list(args), infer(*args))
