"""Protocols of functions and global variables, as `IRModule` returns them.

The classes are `relax.expr.BaseFunc`, `PrimFunc` and `GlobalVar`, of a layer above.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from relax_mlir.dialects.bindings import ir


class GlobalVar(Protocol):
    """The name of a function of a module, as programs call it."""

    @property
    def name_hint(self) -> str:
        """The name."""
        ...


class BaseFunc(Protocol):
    """A view of a function, a Relax function or a prim func."""

    @property
    def mlir_op(self) -> ir.Operation | None:
        """The `func.func`, None for a function that is in no module yet."""
        ...

    @property
    def name(self) -> str:
        """Its name in the module."""
        ...

    @property
    def attrs(self) -> Mapping[str, Any]:
        """Its attributes by name, without the dialect's prefix."""
        ...

    @property
    def is_private(self) -> bool:
        """Whether users of the module cannot call it."""
        ...

    @property
    def params(self) -> list[Any]:
        """Its parameters."""
        ...

    @property
    def body(self) -> Any:
        """Its body."""
        ...

    @property
    def module(self) -> Any:
        """The IRModule that it is in."""
        ...

    def with_attr(self, key: str | Mapping[str, Any], value: Any = None) -> Any:
        """Return a copy of the function with an attribute, alone in a module."""
        ...

    def without_attr(self, key: str) -> Any:
        """Return a copy of the function without an attribute, if it has it."""
        ...

    def script(self, *, show_meta: bool = False, **options: Any) -> str:
        """Return the function as TVMScript."""
        ...

    def show(self, style: str | None = None, black_format: bool = False) -> None:
        """Print the function as TVMScript."""
        ...


class PrimFunc(BaseFunc, Protocol):
    """A view of a prim func."""

    @property
    def buffer_map(self) -> Mapping[Any, Any]:
        """The buffers by parameter."""
        ...

    def specialize(self, param_map: Mapping[Any, Any]) -> "PrimFunc":
        """Return the function with symbols as numbers."""
        ...
