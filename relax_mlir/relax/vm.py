"""The names that the design document keeps under `relax.vm`."""

from collections.abc import Callable

from relax_mlir.extension_points import extension
from relax_mlir.runtime import ExecBuilder, Executable, VirtualMachine

build: Callable[..., Executable] = extension("build")

__all__ = ["ExecBuilder", "Executable", "VirtualMachine", "build"]
