"""Sizes of the caches that kernels are blocked for: this machine's own, others' by their name."""

import functools
from pathlib import Path

_SYSTEM = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 1 << 10, "M": 1 << 20}
# First-level data cache and second-level cache of a core, in KiB.
_KNOWN = {
    **dict.fromkeys(("haswell", "broadwell", "skylake"), (32, 256)),
    **dict.fromkeys(("skylake-avx512", "cascadelake", "cooperlake"), (32, 1024)),
    **dict.fromkeys(("znver1", "znver2", "znver3"), (32, 512)),
    "znver4": (32, 1024),
    "znver5": (48, 1024),
    **dict.fromkeys(("icelake-client", "tigerlake"), (48, 512)),
    **dict.fromkeys(("icelake-server", "alderlake"), (48, 1280)),
    **dict.fromkeys(("sapphirerapids", "graniterapids"), (48, 2048)),
    "neoverse-n1": (64, 1024),
    "neoverse-v1": (64, 1024),
    "neoverse-v2": (64, 2048),
    **dict.fromkeys(("apple-m1", "apple-m2", "apple-m3"), (128, 3072)),
}
# What every machine of the last ten years has.
_LEAST = (32, 512)


def cache_bytes(cpu: str, is_host: bool) -> tuple[int, int]:
    """Return the sizes of a core's first-level data cache and second-level cache, in bytes.

    Args:
        cpu: LLVM's name of the CPU.
        is_host: whether it is that of this machine, whose system then knows better.
    """
    first, second = _KNOWN.get(cpu, _LEAST)
    sizes: dict[int, int] = {1: first << 10, 2: second << 10}
    if is_host:
        sizes.update(_of_system())
    return sizes[1], sizes[2]


@functools.lru_cache(maxsize=1)
def _of_system() -> dict[int, int]:
    """Return the sizes that the system tells, by level; nothing where it does not."""
    sizes: dict[int, int] = {}
    try:
        for each in sorted(_SYSTEM.glob("index*")):
            if (each / "type").read_text().strip() == "Instruction":
                continue
            text = (each / "size").read_text().strip()
            number = text.rstrip("KM")
            sizes[int((each / "level").read_text())] = int(number) * _UNITS.get(text[-1:], 1)
    except (OSError, ValueError):
        return {}
    return {level: size for level, size in sizes.items() if size > 0}
