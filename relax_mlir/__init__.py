"""relax-mlir: Relax and TIR as MLIR dialects, compiled to native CPU code.

Importing this is cheap: MLIR and LLVM are loaded when something needs them.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_MODULES = ("errors", "instrument", "ir", "relax", "runtime", "script", "te", "tir", "topi",
            "transform")  # fmt: skip
_EXPORTS = {
    "IRModule": "relax_mlir.ir.module",
    "compile": "relax_mlir.driver",
    "cpu": "relax_mlir.runtime.device",
    "device": "relax_mlir.runtime.device",
    "get_global_func": "relax_mlir.runtime",
    "register_func": "relax_mlir.runtime",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"relax_mlir.{name}")
    if name in _EXPORTS:
        value = getattr(importlib.import_module(_EXPORTS[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'relax_mlir' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES, *_EXPORTS])
