"""Models of other frameworks as Relax programs; each importer needs its framework installed."""

# Made by .ci/stubs, do not edit.

from relax_mlir.frontend import mlir, nn, onnx, stablehlo, torch
from relax_mlir.frontend.loaders import report
from relax_mlir.frontend.mlir.program import from_mlir
from relax_mlir.frontend.parameters import detach_params, load_safetensors

__all__ = [
    "detach_params",
    "from_mlir",
    "load_safetensors",
    "mlir",
    "nn",
    "onnx",
    "report",
    "stablehlo",
    "torch",
]
