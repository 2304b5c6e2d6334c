"""Programs of MLIR's upstream dialects and of StableHLO as Relax programs."""

from relax_mlir.lazy import lazy_exports

_EXPORTS = {"frontend.mlir.program": ("coverage", "from_mlir", "load_model")}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
