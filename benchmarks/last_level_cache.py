"""How much memory a workload uses that no cache holds, on the machine that measures.

Read by our process and by the peers', so it needs nothing but the standard library.
"""

import functools
import os
from pathlib import Path

_SYSTEM = Path("/sys/devices/system/cpu")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
# Where the system says nothing.
_USUAL = 32 << 20
# So many times the caches; what they still hold of it is a small part then.
_TIMES = 4
# More would take seconds a call of the slowest peer. Larger caches have many users, or sockets.
MAX_BYTES = 512 << 20


def last_level_bytes(cpus: set[int] | None = None, system: Path = _SYSTEM) -> int:
    """Return the size of all last-level caches that a process may use.

    Args:
        cpus: those that it may run on; None for this process's.
        system: the folder in which Linux describes CPUs.
    """
    if cpus is None:
        known = hasattr(os, "sched_getaffinity")
        cpus = os.sched_getaffinity(0) if known else set(range(os.cpu_count() or 1))
    caches: dict[tuple[str, ...], int] = {}
    for cpu in cpus:
        found = _caches(system / f"cpu{cpu}" / "cache")
        if found:
            level, users, size = max(found)
            caches[str(level), users] = size
    return sum(caches.values()) or _USUAL


def _caches(folder: Path) -> list[tuple[int, str, int]]:
    """Return level, users and size of the caches of data that a CPU has, of what can be read."""
    found = []
    for each in folder.glob("index*"):
        try:
            kind, level, users, size = (
                (each / name).read_text().strip()
                for name in ("type", "level", "shared_cpu_list", "size")
            )
            if kind != "Instruction":
                unit = _UNITS.get(size[-1:], 1)
                found.append((int(level), users, int(size.rstrip("KMG")) * unit))
        except (OSError, ValueError):
            continue
    return found


@functools.cache
def far_bytes() -> int:
    """Return the bytes that workloads read and write which are to be out of the caches."""
    return min(_TIMES * last_level_bytes(), MAX_BYTES)


def description() -> str:
    """Return a line about that."""
    caches = last_level_bytes()
    least = "" if _TIMES * caches <= MAX_BYTES else ", the most that is measured"
    return (
        f"Workloads named out_of_cache read and write {far_bytes() >> 20} MiB{least}; "
        f"last-level caches have {caches >> 20} MiB."
    )
