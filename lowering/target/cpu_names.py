"""Which names of CPUs LLVM knows: with one that it does not it ends the process."""

import functools
import subprocess
import sys
from collections.abc import Iterable

from relax_mlir.errors import PipelineError, did_you_mean

# LLVM tells only standard error, so a process of its own is asked.
_ASK = (
    "import sys, llvmlite.binding as llvm; llvm.initialize_all_targets(); "
    "llvm.Target.from_triple(sys.argv[1]).create_target_machine(cpu=sys.argv[2])"
)
_UNKNOWN = "is not a recognized processor"


def check_cpu(triple: str, cpu: str, known: Iterable[str]) -> None:
    """Check that LLVM knows a CPU.

    Args:
        triple: of the target, which LLVM has.
        cpu: the name.
        known: names of x86-64 that need not be asked for.

    Raises:
        PipelineError: it does not.
    """
    names = {"", "generic"}
    if triple.startswith("x86_64"):
        names.update(("x86-64", "x86-64-v2", *known))
    if cpu not in names and not _is_known(triple, cpu):
        near = did_you_mean(cpu, names) or "; 'native' is this machine's"
        raise PipelineError(f"unknown CPU '{cpu}' for target {triple}{near}")


@functools.cache
def _is_known(triple: str, cpu: str) -> bool:
    asked = subprocess.run(
        [sys.executable, "-c", _ASK, triple, cpu], capture_output=True, text=True, check=False
    )
    return _UNKNOWN not in asked.stderr
