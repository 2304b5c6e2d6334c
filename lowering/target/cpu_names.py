"""Names of CPUs and features that LLVM knows: unknown ones may end the process."""

import functools
import subprocess
import sys
from collections.abc import Iterable

from relax_mlir.errors import PipelineError, did_you_mean

# LLVM writes it to standard error only, so a process of its own is asked.
_ASK = (
    "import sys, llvmlite.binding as llvm; llvm.initialize_all_targets(); "
    "llvm.Target.from_triple(sys.argv[1]).create_target_machine(cpu=sys.argv[2], "
    "features=sys.argv[3])"
)
_UNKNOWN = "is not a recognized "


def check_cpu(triple: str, cpu: str, known: Iterable[str]) -> None:
    """Check that LLVM knows a CPU.

    Args:
        triple: of the target, which LLVM has.
        cpu: the name.
        known: names of x86-64 that need no look-up.

    Raises:
        PipelineError: it does not.
    """
    names = {"", "generic"}
    if triple.startswith("x86_64"):
        names.update(("x86-64", "x86-64-v2", *known))
    if cpu not in names and not _is_known(triple, cpu):
        near = did_you_mean(cpu, names) or "; 'native' is this machine's"
        raise PipelineError(f"unknown CPU '{cpu}' for target {triple}{near}")


def check_features(triple: str, cpu: str, features: str) -> None:
    """Check that LLVM knows features of a CPU.

    Args:
        triple: of the target, which LLVM has.
        cpu: the name, which LLVM knows.
        features: such as `+avx2,-avx512f`.

    Raises:
        PipelineError: it does not, or a feature is neither enabled nor disabled.
    """
    for each in features.split(","):
        name = each[1:]
        if each[:1] not in ("+", "-") or not name:
            raise PipelineError(
                f"target option '-mattr' must be features such as '+avx2,-avx512f', got '{each}'"
            )
        usual = triple.startswith("x86_64") and name in _features_of_x86()
        if not usual and not _is_known(triple, cpu, each):
            near = did_you_mean(name, _features_of_x86() if triple.startswith("x86_64") else ())
            raise PipelineError(f"unknown CPU feature '{name}' for target {triple}{near}")


@functools.cache
def _features_of_x86() -> frozenset[str]:
    """Return the features that LLVM looks for in this machine; there are rare others."""
    import llvmlite.binding as llvm

    if not llvm.get_process_triple().startswith("x86_64"):
        return frozenset()
    return frozenset(llvm.get_host_cpu_features())


@functools.cache
def _is_known(triple: str, cpu: str, features: str = "") -> bool:
    asked = subprocess.run(
        [sys.executable, "-c", _ASK, triple, cpu, features],
        capture_output=True,
        text=True,
        check=False,
    )
    return asked.returncode == 0 and _UNKNOWN not in asked.stderr
