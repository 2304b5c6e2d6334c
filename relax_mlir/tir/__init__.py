"""TIR as a user calls it: symbolic integers for shapes, and arithmetic on them."""

import importlib
from typing import Any

# Loaded on first use: symbolic integers are MLIR's.
_EXPORTS = {
    name: "relax_mlir.tir.expr"
    for name in ("SizeVar", "Var", "ceildiv", "floordiv", "floormod", "max", "min", "truncdiv")
}


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'relax_mlir.tir' has no attribute '{name}'")
    value = getattr(importlib.import_module(_EXPORTS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_EXPORTS])
