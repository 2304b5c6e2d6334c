"""The names that the design document keeps under `relax.vm`."""

from relax_mlir.compiler.pipeline import build
from relax_mlir.runtime import ExecBuilder, Executable, VirtualMachine

__all__ = ["ExecBuilder", "Executable", "VirtualMachine", "build"]
