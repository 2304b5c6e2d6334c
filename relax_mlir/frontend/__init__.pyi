"""Models of other frameworks as Relax programs; each importer needs its framework installed."""

# Made by .ci/stubs, do not edit.

from relax_mlir.frontend import onnx, torch
from relax_mlir.frontend.loaders import report

__all__ = ["onnx", "report", "torch"]
