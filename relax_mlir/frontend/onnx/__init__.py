"""ONNX models as Relax programs: `from_onnx("model.onnx")`."""

import importlib
from typing import Any

_EXPORTS = {"from_onnx": "relax_mlir.frontend.onnx.importer"}


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        return getattr(importlib.import_module(_EXPORTS[name]), name)
    from relax_mlir.errors import missing

    raise AttributeError(missing("frontend.onnx", name, {}, __dir__()))


def __dir__() -> list[str]:
    return sorted(_EXPORTS)
