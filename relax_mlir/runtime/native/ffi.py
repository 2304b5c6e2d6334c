"""`tvm_ffi`, imported without torch and the builders of extensions.

It imports torch where that is installed, which takes seconds and 180 MiB. It takes tensors of torch
by an attribute that they have since torch 2.10, and older ones by `__dlpack__`.
"""

import sys
import threading
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

# What few programs use; these import hashlib, logging and subprocess.
_LAZY = ("tvm_ffi.cpp", "tvm_ffi._optional_torch_c_dlpack")


class _Lean(MetaPathFinder):
    """Hides torch from one thread while it imports something, and puts off modules."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if threading.get_ident() != self._thread:
            return None
        if name == "torch":
            raise ModuleNotFoundError("torch is not imported for tvm_ffi", name=name)
        spec = PathFinder.find_spec(name, path) if name in _LAZY else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec

    def __enter__(self) -> None:
        sys.meta_path.insert(0, self)

    def __exit__(self, *_: object) -> None:
        sys.meta_path.remove(self)


with _Lean():
    import tvm_ffi

__all__ = ["tvm_ffi"]
