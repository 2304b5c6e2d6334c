"""The converters of MLIR's dialects."""

import importlib

_MODULES = (
    "stablehlo.contract", "stablehlo.control", "stablehlo.elementwise", "stablehlo.index",
    "stablehlo.reduce", "stablehlo.shape", "upstream.elementwise", "upstream.linalg",
    "upstream.loops", "upstream.tensor",
)  # fmt: skip


def load() -> None:
    """Enter all converters into the table of all frontends."""
    for name in _MODULES:
        importlib.import_module(f"relax_mlir.frontend.mlir.{name}")
