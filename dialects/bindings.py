"""The package that carries the MLIR Python bindings."""

import ctypes
import importlib
import importlib.util
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from relax_mlir.errors import BindingsError

# On PyPI the upstream bindings are inside torch-mlir; elsewhere the same modules are called `mlir`.
CANDIDATES = ("torch_mlir", "mlir")
INSTALL_HINT = "pip install torch-mlir==20261001"


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back until the body is done.

    MLIR registers dialects, types and builders once per process: an import of its modules, or of
    classes on top of them, that stopped half way cannot be repeated, and trying may crash.
    """
    # Signals arrive in the main thread; a handler that Python did not install is not moved.
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    arrived: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: arrived.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if arrived:
            signal.raise_signal(signal.SIGINT)


def _resolve() -> str:
    for name in CANDIDATES:
        try:
            if importlib.util.find_spec(f"{name}.dialects.ext") is not None:
                return name
        except (ModuleNotFoundError, ValueError):
            continue
    installed = [name for name in CANDIDATES if importlib.util.find_spec(name) is not None]
    if installed:
        raise BindingsError(
            f"the MLIR bindings in '{installed[0]}' lack 'dialects.ext', which relax-mlir needs; "
            f"install a compatible version: {INSTALL_HINT}"
        )
    raise BindingsError(
        "relax-mlir needs the MLIR Python bindings and found neither "
        f"{' nor '.join(repr(name) for name in CANDIDATES)}; install them: {INSTALL_HINT}"
    )


def submodule(path: str) -> ModuleType:
    """Import a module of the bindings, such as `dialects.scf` or `passmanager`.

    Raises:
        BindingsError: the bindings cannot be loaded on this interpreter.
    """
    try:
        with uninterrupted():
            return importlib.import_module(f"{PACKAGE}.{path}")
    except ImportError as error:
        raise BindingsError(
            f"the MLIR bindings in '{PACKAGE}' cannot load '{path}' ({error}); "
            f"install a compatible version: {INSTALL_HINT}"
        ) from error


def _hash_by_identity(base: Any) -> None:
    """Let operations keep their hash while they change, as their equality does.

    Upstream hashes what an operation is made of (https://github.com/llvm/llvm-project/pull/156514)
    but compares identities: a dictionary loses the operation whose operand has been replaced.

    Args:
        base: the class of operations.
    """
    address = ctypes.PYFUNCTYPE(ctypes.c_size_t, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    name = f"{base.__module__.partition('.')[0]}.ir.Operation._CAPIPtr".encode()

    def identity(self: Any) -> int:
        # Addresses of operations end in zeros, which a dictionary would see first.
        return address(self._CAPIPtr, name) >> 4

    base.__hash__ = identity


with uninterrupted():
    PACKAGE = _resolve()
    ir = submodule("ir")
    ext = submodule("dialects.ext")
    passmanager = submodule("passmanager")
    _hash_by_identity(ir._OperationBase)

    # The bindings look for a Python module of a dialect whenever they hand out one of its
    # attributes or types, and search the disk again each time they find none: 40 microseconds.
    submodule("_mlir_libs._mlir").globals.append_dialect_search_prefix("relax_mlir.dialects")
