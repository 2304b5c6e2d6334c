"""`tvm_ffi` without torch and CUDA, and of it the core only until something else is used.

It imports torch where that is installed, which takes seconds and 180 MiB. It takes tensors of torch
by an attribute that they have since torch 2.10, and older ones by `__dlpack__`. It imports CUDA's
driver, which comes with torch, to know its streams. Its core imports ml_dtypes, an eighth of the
time of loading a small model, to take numpy's dtypes of it as arguments; it takes them where
ml_dtypes was imported first. The rest of the package takes longer than loading a model, and running
one with numbers and arrays needs none of it.
"""

import importlib.util
import sys
import threading
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

# What few programs use; these import hashlib, logging and subprocess.
_LAZY = ("tvm_ffi.cpp", "tvm_ffi._optional_torch_c_dlpack")
_DRIVER = "cuda.bindings.driver"
_HIDDEN = ("torch", "cuda", "cuda.bindings", _DRIVER)
_LOCK = threading.RLock()


class _Lean:
    """Hides torch, CUDA and more from one thread while it imports something; puts off modules."""

    def __init__(self, *more: str) -> None:
        self._thread, self._hidden = threading.get_ident(), (*_HIDDEN, *more)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if threading.get_ident() != self._thread:
            return None
        if name in self._hidden:
            raise ModuleNotFoundError(f"{name} is not imported for tvm_ffi", name=name)
        spec = PathFinder.find_spec(name, path) if name in _LAZY else None
        if spec is not None and spec.loader is not None:
            spec.loader = importlib.util.LazyLoader(spec.loader)
        return spec

    def __enter__(self) -> None:
        sys.meta_path.insert(0, self)

    def __exit__(self, *_: object) -> None:
        sys.meta_path.remove(self)


class _Driver:
    """Stands for CUDA's driver: whoever has a stream of it has imported it."""

    @property
    def CUstream(self) -> Any:
        """The class of streams; one that has no instances while there is no driver."""
        return getattr(sys.modules.get(_DRIVER), "CUstream", ())


class _Package(ModuleType):
    """tvm_ffi while it has its core only: any other name imports the rest."""

    core: Any

    def __getattr__(self, name: str) -> Any:
        with _LOCK:
            if "__path__" in vars(self) and type(self) is _Package:  # it is being imported here
                raise AttributeError(f"module 'tvm_ffi' has no attribute '{name}'", name=name)
            self.import_rest()
        return getattr(self, name)

    def __dir__(self) -> list[str]:
        self.import_rest()
        return dir(self)

    def import_rest(self) -> None:
        """Run the package's own code, once."""
        with _LOCK:
            spec = vars(self)["__spec__"]
            if type(self) is not _Package:
                return
            self.__path__ = spec.submodule_search_locations
            try:
                with _Lean():
                    spec.loader.exec_module(self)
            except BaseException:
                del self.__path__
                raise
            self.__class__ = ModuleType  # type: ignore[assignment]


def _import_core(spec: ModuleSpec, package: _Package) -> None:
    """Import the core alone; ImportError, AttributeError where this release is another."""
    found = PathFinder.find_spec("tvm_ffi.core", spec.submodule_search_locations)
    if found is None or found.loader is None:
        raise ModuleNotFoundError("tvm_ffi has no core", name="tvm_ffi.core")
    core: Any = importlib.util.module_from_spec(found)
    sys.modules[found.name] = package.core = core
    with _Lean("ml_dtypes"):
        found.loader.exec_module(core)
    if getattr(core, "cuda_driver", _DRIVER) is None:
        core.cuda_driver = _Driver()

    # What the core calls of the package's other modules, which set these themselves.
    class AnyDtype(type):
        """Asked of each new class of arguments that is neither an array nor a number."""

        def __instancecheck__(cls, instance: object) -> bool:
            package.import_rest()
            return isinstance(instance, core._CLASS_DTYPE)

    def with_backtrace(error: BaseException, backtrace: str) -> BaseException:
        package.import_rest()
        return core._WITH_APPEND_BACKTRACE(error, backtrace)

    def backtrace_of(traceback: Any) -> str:
        package.import_rest()
        return core._TRACEBACK_TO_BACKTRACE_STR(traceback)

    core._set_class_dtype(AnyDtype("dtype", (str,), {}))
    core._WITH_APPEND_BACKTRACE = with_backtrace
    core._TRACEBACK_TO_BACKTRACE_STR = backtrace_of
    for error in (ValueError, TypeError, AttributeError, KeyError, IndexError, AssertionError,
                  MemoryError, RuntimeError):  # fmt: skip
        core.ERROR_NAME_TO_TYPE[error.__name__] = error
        core.ERROR_TYPE_TO_NAME[error] = error.__name__


def _import() -> ModuleType:
    with _LOCK:
        spec = importlib.util.find_spec("tvm_ffi")
        # Elsewhere its library must be found for the core first.
        if sys.platform == "linux" and "tvm_ffi" not in sys.modules and spec is not None:
            package = sys.modules["tvm_ffi"] = _Package("tvm_ffi", spec.name)
            package.__spec__, package.__file__ = spec, spec.origin
            try:
                _import_core(spec, package)
            except (ImportError, AttributeError):
                for name in ("tvm_ffi", "tvm_ffi.core"):
                    sys.modules.pop(name, None)
            else:
                return package
        with _Lean():
            return importlib.import_module("tvm_ffi")


tvm_ffi: Any = _import()
