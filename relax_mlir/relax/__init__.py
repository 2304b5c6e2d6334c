"""Relax as a user calls it: build a module, run it."""

import importlib
from typing import Any

# Loaded on first use: compiling needs MLIR, running does not.
_EXPORTS = {
    "BuildLog": "relax_mlir.relax.build_log",
    "ExecBuilder": "relax_mlir.runtime",
    "Executable": "relax_mlir.runtime",
    "VirtualMachine": "relax_mlir.runtime",
    "build": "relax_mlir.relax.pipeline",
}


def __getattr__(name: str) -> Any:
    if name == "transform":
        return importlib.import_module("relax_mlir.transform")
    if name == "vm":
        return importlib.import_module("relax_mlir.relax.vm")
    if name not in _EXPORTS:
        raise AttributeError(f"module 'relax_mlir.relax' has no attribute '{name}'")
    value = getattr(importlib.import_module(_EXPORTS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_EXPORTS, "transform", "vm"])
