"""ONNX models as Relax programs: `from_onnx("model.onnx")`."""

from relax_mlir.lazy import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__, {"frontend.onnx.importer": ("from_onnx",)})
