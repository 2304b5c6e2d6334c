"""Programs of MLIR's upstream dialects and of StableHLO as Relax programs."""

import importlib
from typing import Any

_EXPORTS = {
    "coverage": "relax_mlir.frontend.mlir.program",
    "from_mlir": "relax_mlir.frontend.mlir.program",
    "load_model": "relax_mlir.frontend.mlir.program",
}


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        return getattr(importlib.import_module(_EXPORTS[name]), name)
    from relax_mlir.errors import missing

    raise AttributeError(missing("frontend.mlir", name, {}, __dir__()))


def __dir__() -> list[str]:
    return sorted(_EXPORTS)
