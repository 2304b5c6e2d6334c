"""Types of what `bindings` offers: the bindings themselves ship none."""

from contextlib import AbstractContextManager
from types import ModuleType

from relax_mlir.dialects import _mlir_ext as ext
from relax_mlir.dialects import _mlir_ir as ir
from relax_mlir.dialects import _mlir_passmanager as passmanager

__all__ = [
    "CANDIDATES",
    "INSTALL_HINT",
    "PACKAGE",
    "ext",
    "ir",
    "passmanager",
    "submodule",
    "uninterrupted",
]

CANDIDATES: tuple[str, ...]
INSTALL_HINT: str
PACKAGE: str

def uninterrupted() -> AbstractContextManager[None]: ...
def submodule(path: str) -> ModuleType: ...
