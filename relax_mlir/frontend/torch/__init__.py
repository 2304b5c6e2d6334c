"""Programs of PyTorch: `from_exported_program(torch.export.export(model, inputs))`."""

from typing import Any

from relax_mlir.lazy import lazy_exports

_EXPORTS = {
    "frontend.torch.compiled": ("load_model", "run"),
    "frontend.torch.dynamo": ("compile_counts",),
    "frontend.torch.needs": ("coverage",),
    "frontend.torch.program": ("from_exported_program", "parameters_of"),
}
_exported, __dir__ = lazy_exports(__name__, _EXPORTS)


def __getattr__(name: str) -> Any:
    if any(name in names for names in _EXPORTS.values()):
        try:
            import torch  # noqa: F401
        except ImportError as error:
            from relax_mlir.errors import MissingPackageError

            raise MissingPackageError(
                f"programs of PyTorch are read with the package torch ({error}): "
                "pip install relax-mlir[torch]"
            ) from error
    return _exported(name)
