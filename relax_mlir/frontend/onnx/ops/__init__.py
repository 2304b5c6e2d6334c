"""Converters of ONNX operations, a module for each category."""

import importlib

CATEGORIES = (
    "attention", "control", "elementwise", "fused", "image", "index", "nn", "norm", "quant",
    "random", "recurrent", "reduce", "sequence", "shape", "training",
)  # fmt: skip


def load() -> None:
    """Register all converters."""
    for name in CATEGORIES:
        importlib.import_module(f"relax_mlir.frontend.onnx.ops.{name}")
