"""Programs of PyTorch: `from_exported_program(torch.export.export(model, inputs))`."""

import importlib
from typing import Any

_EXPORTS = {
    "compile_counts": "relax_mlir.frontend.torch.dynamo",
    "coverage": "relax_mlir.frontend.torch.needs",
    "from_exported_program": "relax_mlir.frontend.torch.program",
    "load_model": "relax_mlir.frontend.torch.compiled",
    "run": "relax_mlir.frontend.torch.compiled",
    "parameters_of": "relax_mlir.frontend.torch.program",
}


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        try:
            import torch  # noqa: F401
        except ImportError as error:
            from relax_mlir.errors import MissingPackageError

            raise MissingPackageError(
                f"programs of PyTorch are read with the package torch ({error}): "
                "pip install relax-mlir[torch]"
            ) from error
        return getattr(importlib.import_module(_EXPORTS[name]), name)
    from relax_mlir.errors import missing

    raise AttributeError(missing("frontend.torch", name, {}, __dir__()))


def __dir__() -> list[str]:
    return sorted(_EXPORTS)
