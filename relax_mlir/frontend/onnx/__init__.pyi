"""ONNX models as Relax programs: `from_onnx("model.onnx")`."""

# Made by .ci/stubs, do not edit.

from relax_mlir.frontend.onnx.importer import from_onnx

__all__ = ["from_onnx"]
