"""Entering converters of torch's overloads into the table of all frontends."""

from collections.abc import Callable

from relax_mlir.frontend import registry
from relax_mlir.frontend.registry import Converter


def converts(*names: str) -> Callable[[Converter], Converter]:
    """Register a converter of overloads; names with one dot are of the namespace `aten`."""
    return registry.converts("torch", *map(_full, names))


def converts_complex(*names: str) -> Callable[[Converter], Converter]:
    """Register a converter of overloads for nodes with operands of complex numbers."""
    return registry.converts("torch complex", *map(_full, names))


def _full(name: str) -> str:
    return f"aten.{name}" if name.count(".") == 1 else name
