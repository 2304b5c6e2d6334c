"""The frame of a module: `with I.ir_module():`."""

from contextlib import AbstractContextManager
from typing import Any

from relax_mlir.ir.module import IRModule
from relax_mlir.relax.ir_builder.base import IRBuilder


class IRModuleFrame:
    """A module; the functions whose frames are inside of it are its."""

    def __init__(self, builder: IRBuilder) -> None:
        self._builder = builder

    def result(self) -> IRModule:
        """Return the module."""
        return self._builder.builder.get()


def ir_module() -> AbstractContextManager[Any]:
    """Open a module.

    Raises:
        BuilderError: no `IRBuilder` is open.
    """
    builder = IRBuilder.current()
    return builder.opened(IRModuleFrame(builder))
