"""Models of other frameworks as Relax programs; each importer needs its framework installed."""

import importlib
from typing import Any

_MODULES = ("mlir", "nn", "onnx", "stablehlo", "torch")
_EXPORTS = {
    "from_mlir": "relax_mlir.frontend.mlir.program",
    "report": "relax_mlir.frontend.loaders",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"relax_mlir.frontend.{name}")
    if name in _EXPORTS:
        return getattr(importlib.import_module(_EXPORTS[name]), name)
    from relax_mlir.errors import missing

    raise AttributeError(missing("frontend", name, {}, __dir__()))


def __dir__() -> list[str]:
    return sorted([*_MODULES, *_EXPORTS])
