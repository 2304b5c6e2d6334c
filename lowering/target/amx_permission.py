"""Linux's permission to use the registers of AMX, which a process asks for once."""

import ctypes
import functools
import platform

# arch_prctl, its request for a part of the processor's state, and the part: the matrices' data.
# https://docs.kernel.org/arch/x86/xstate.html
PERMISSION = (158, 0x1023, 18)


@functools.lru_cache(maxsize=1)
def request_amx() -> bool:
    """Ask for the registers, for all threads of this process; return whether they may be used."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return False
    return ctypes.CDLL(None).syscall(*PERMISSION) == 0
