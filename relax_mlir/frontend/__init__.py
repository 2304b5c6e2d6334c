"""Models of other frameworks as Relax programs; each importer needs its framework installed."""

from relax_mlir.lazy import lazy_exports

_MODULES = ("mlir", "nn", "onnx", "stablehlo", "torch")
_EXPORTS = {
    "frontend.mlir.program": ("from_mlir",),
    "frontend.loaders": ("report",),
    "frontend.parameters": ("detach_params", "load_safetensors"),
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS, _MODULES)
