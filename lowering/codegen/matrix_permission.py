"""Linux's permission to use the registers of AMX, which a process asks for once."""

import ctypes
import functools
import platform

from relax_mlir.lowering.tir_to_vector.contraction.matrix_tile import PERMISSION


@functools.lru_cache(maxsize=1)
def allow_matrices() -> bool:
    """Ask for the registers, for all threads of this process; return whether they may be used."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return False
    return ctypes.CDLL(None).syscall(*PERMISSION) == 0
