"""Programs of MLIR's upstream dialects and of StableHLO as Relax programs."""

# Made by .ci/stubs, do not edit.

from relax_mlir.frontend.mlir.program import coverage, from_mlir, load_model

__all__ = ["coverage", "from_mlir", "load_model"]
