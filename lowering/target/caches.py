"""Sizes of the caches that kernels are blocked for: this machine's own, others' by their name."""

import functools
from pathlib import Path

_SYSTEM = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 1 << 10, "M": 1 << 20}
# L1d and L2 of a core, in KiB, and L3, in MiB.
_KNOWN = {
    **dict.fromkeys(("haswell", "broadwell", "skylake"), (32, 256, 8)),
    **dict.fromkeys(("skylake-avx512", "cascadelake", "cooperlake"), (32, 1024, 24)),
    "znver1": (32, 512, 8),
    "znver2": (32, 512, 16),
    "znver3": (32, 512, 32),
    "znver4": (32, 1024, 32),
    "znver5": (48, 1024, 32),
    **dict.fromkeys(("icelake-client", "tigerlake"), (48, 512, 8)),
    "icelake-server": (48, 1280, 32),
    "alderlake": (48, 1280, 24),
    **dict.fromkeys(("sapphirerapids", "graniterapids"), (48, 2048, 32)),
    "neoverse-n1": (64, 1024, 32),
    "neoverse-v1": (64, 1024, 32),
    "neoverse-v2": (64, 2048, 32),
    **dict.fromkeys(("apple-m1", "apple-m2", "apple-m3"), (128, 3072, 8)),
}
# What every machine of the last ten years has.
_DEFAULT = (32, 512, 8)
# Larger last-level caches are shared by the many programs that run on as many cores.
_MAX_LAST_LEVEL_BYTES = 32 << 20


def cache_bytes(cpu: str, is_host: bool) -> tuple[int, int, int]:
    """Return the sizes of a core's L1d and L2, and of the last-level cache, in bytes.

    Of the last-level cache at most 32 MiB: a larger one has many users.

    Args:
        cpu: LLVM's name of the CPU.
        is_host: whether it is that of this machine, whose system then knows better.
    """
    first, second, last = _KNOWN.get(cpu, _DEFAULT)
    sizes: dict[int, int] = {1: first << 10, 2: second << 10, 3: last << 20}
    if is_host:
        sizes.update(_of_system())
    return sizes[1], sizes[2], max(sizes[2], min(sizes[3], _MAX_LAST_LEVEL_BYTES))


@functools.lru_cache(maxsize=1)
def _of_system() -> dict[int, int]:
    """Return the sizes that the system reports, by level; nothing where it does not."""
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
