"""Linking object files into the process by LLVM's JITLink, which knows every machine's."""

import atexit
import contextlib
import ctypes
import itertools
import re
import sys
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_COUNTER = itertools.count()
_IMAGES: "weakref.WeakSet[Image]" = weakref.WeakSet()
_jit: Any = None


class Image:
    """Linked objects in memory, while this is held.

    Attributes:
        symbols: addresses of the exported symbols by name.
    """

    def __init__(
        self, objects: Sequence[bytes], imports: Mapping[str, int], exports: Iterable[str]
    ) -> None:
        """Link objects, which may use each other, what is given, and what the process has.

        Args:
            objects: relocatable files.
            imports: addresses by name.
            exports: symbols that must be there.

        Raises:
            ValueError: LLVM cannot; its message says why.
        """
        import llvmlite.binding as llvm

        exports, self._jit = list(exports), _host_jit()
        builder = llvm.JITLibraryBuilder().add_current_process()
        for name, address in imports.items():
            builder.import_symbol(name, address)
        for data in objects:
            builder.add_object_img(data)
        for name in exports:
            builder.export_symbol(name)
        try:
            self.tracker: Any = builder.link(self._jit, f"relax_mlir.{next(_COUNTER)}")
        except RuntimeError as error:
            missing = re.findall(r"Symbols not found: \[ (.*?) \]", str(error))
            reason = f"symbols not found: {missing[0]}" if missing else str(error)
            if "materialize" in reason:
                reason += " (LLVM wrote the names of the missing ones to stderr)"
            raise ValueError(reason) from error
        self.symbols: dict[str, int] = {name: self.tracker[name] for name in exports}
        _IMAGES.add(self)


def _host_jit() -> Any:
    """Return the process's JIT; one for all executables, so nothing outlives it."""
    global _jit
    if _jit is None:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
        # JITLink gives an object one piece of memory. RuntimeDyld, llvmlite's default, gives each
        # section its own and does not notice when code cannot reach its constants.
        _jit = llvm.create_lljit_compiler(machine, use_jit_link=True)
        # Half precision conversions live in libgcc; its symbols are not global by default.
        if sys.platform == "linux":
            with contextlib.suppress(OSError):
                ctypes.CDLL("libgcc_s.so.1", mode=ctypes.RTLD_GLOBAL)
        # At exit modules die in any order; the code must not be unmapped after its JIT is gone.
        atexit.register(_leave_loaded)
    return _jit


def _leave_loaded() -> None:
    for image in list(_IMAGES):
        image.tracker.detach()
    _jit.detach()
