"""The CPU features that an object needs, from the target it was compiled for."""

import functools
import re
from pathlib import Path

# Named by a target, but compiled code never uses them, and systems switch some of them off.
_NOT_IN_CODE = {
    "64bit", "cldemote", "clflushopt", "clwb", "clzero", "cmov", "cx8", "enqcmd", "fsgsbase",
    "fxsr", "hreset", "invpcid", "kl", "lwp", "mmx", "movdir64b", "movdiri", "mwaitx",
    "pconfig", "pku", "prefetchi", "prfchw", "ptwrite", "rdpid", "rdpru", "rdrnd", "rdseed",
    "rtm", "serialize", "sgx", "shstk", "tsxldtrk", "uintr", "usermsr", "waitpkg", "wbnoinvd",
    "widekl", "x87", "xsave", "xsavec", "xsaveopt", "xsaves",
}  # fmt: skip

_V2 = "cx16 popcnt sahf sse3 sse4.1 sse4.2 ssse3"
_AVX = f"{_V2} avx pclmul"
_V3 = f"{_V2} avx avx2 bmi bmi2 f16c fma lzcnt movbe"
_V4 = f"{_V3} avx512bw avx512cd avx512dq avx512f avx512vl"
_HASWELL = f"{_V3} pclmul"
_SKYLAKE = f"{_HASWELL} adx aes"
_CASCADE = f"{_V4} adx aes avx512vnni pclmul"
_VBMI = "avx512bitalg avx512ifma avx512vbmi avx512vbmi2 avx512vpopcntdq"
_ICE = f"{_CASCADE} {_VBMI} gfni sha vaes vpclmulqdq"
_SAPPHIRE = f"{_ICE} amx-bf16 amx-int8 amx-tile avx512bf16 avx512fp16 avxvnni"
_ZEN1 = f"{_SKYLAKE} sha sse4a"
_ZEN3 = f"{_ZEN1} vaes vpclmulqdq"
_ZEN4 = f"{_ZEN3} {_CASCADE} {_VBMI} avx512bf16 gfni"

# What LLVM takes a CPU to have when it is given its name alone.
_OF_CPU = {
    "": "",
    "generic": "",
    "x86-64": "",
    "x86-64-v2": _V2,
    "x86-64-v3": _V3,
    "x86-64-v4": _V4,
    "nehalem": _V2,
    "corei7": _V2,
    "westmere": f"{_V2} pclmul",
    "sandybridge": _AVX,
    "ivybridge": f"{_AVX} f16c",
    "haswell": _HASWELL,
    "core-avx2": _HASWELL,
    "broadwell": f"{_HASWELL} adx",
    "skylake": _SKYLAKE,
    "skylake-avx512": f"{_V4} adx aes pclmul",
    "cascadelake": _CASCADE,
    "cooperlake": f"{_CASCADE} avx512bf16",
    "icelake-client": _ICE,
    "icelake-server": _ICE,
    "tigerlake": f"{_ICE} avx512vp2intersect",
    "alderlake": f"{_SKYLAKE} avxvnni gfni sha vaes vpclmulqdq",
    "sapphirerapids": _SAPPHIRE,
    "graniterapids": f"{_SAPPHIRE} amx-fp16",
    "znver1": _ZEN1,
    "znver2": _ZEN1,
    "znver3": _ZEN3,
    "znver4": _ZEN4,
    "znver5": f"{_ZEN4} avx512vp2intersect avxvnni",
}
# Features as Linux calls them, where it is another name; those that others imply, by those.
_REPORTED_AS = {
    "avx10.1": "avx512_fp16", "bmi": "bmi1", "crc32": "sse4_2", "lzcnt": "abm",
    "pclmul": "pclmulqdq", "sahf": "lahf_lm", "sha": "sha_ni", "sse3": "pni",
}  # fmt: skip


@functools.cache
def reported_features() -> frozenset[str]:
    """Return the features that Linux says this machine has; LLVM, which knows all, is large."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return frozenset()
    flags = re.search(r"^flags\s*:(.*)$", text, re.M)
    names = flags[1].split() if flags else ()
    return frozenset({*names, *(name.replace("_", "") for name in names)})


def host_triple() -> str:
    """Return the triple of this process."""
    import llvmlite.binding as llvm

    return llvm.get_process_triple()


def host_cpu_name() -> str:
    """Return what LLVM calls this machine's CPU."""
    import llvmlite.binding as llvm

    return llvm.get_host_cpu_name()


def needed_features(cpu: str, features: str) -> frozenset[str] | None:
    """Return the features that code compiled for a CPU and a feature string may use.

    Args:
        cpu: LLVM's name of the CPU.
        features: LLVM's feature string, such as `+avx2,-avx512f`; it adds to what the name says.

    Returns:
        The names, or None when the CPU's name is unknown and the string turns nothing on.
    """
    switches = [f.strip() for f in features.split(",") if f.strip()]
    known = _OF_CPU.get(cpu)
    if known is None:
        if not any(switch.startswith("+") for switch in switches):
            return None
        known = ""
    needed = set(known.split())
    for switch in switches:
        if switch[0] == "+":
            needed.add(switch[1:])
        else:
            needed.discard(switch[1:])
    return frozenset(needed - _NOT_IN_CODE)


def missing_features(cpu: str, features: str) -> list[str] | None:
    """Return the features that code may use and this machine lacks; None where that is unknown.

    Args:
        cpu: as in `needed_features`.
        features: as in `needed_features`.
    """
    needed = needed_features(cpu, features)
    if needed is None:
        return None
    reported = reported_features()
    if all(_REPORTED_AS.get(name, re.sub(r"\W", "", name)) in reported for name in needed):
        return []
    import llvmlite.binding as llvm

    present = llvm.get_host_cpu_features()
    # Tuning hints are features to LLVM too; it does not report them for hosts.
    return sorted(f for f in needed if not present.get(f, True))
