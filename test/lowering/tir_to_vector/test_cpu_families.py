"""Every class of kernels is compiled, not run, for every family of CPUs, whatever this one is.

It shows that the lowering writes nothing for a family at which LLVM ends the process: no intrinsic
that the CPU lacks, no inline assembly whose operands fit none of its registers. Of families with
the vectors of another one, only the classes that differ are compiled, without optimizing.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.own_targets

PROGRAM = Path(__file__).parents[2] / "support" / "class_programs.py"
X86, ARM, APPLE = "x86_64-linux-gnu", "aarch64-linux-gnu", "arm64-apple-darwin"
# Those with most instructions of x86-64-v3, of x86-64-v4, and of neoverse-n1 (test_aarch64).
ALIKE = {"znver3", "znver4", "sapphirerapids", "neoverse-v2", "apple-m1"}
# Of a group one process compiles all.
GROUPS = {
    "sse": {"x86-64-v2": X86, "x86-64-v3": X86},
    "avx2": {"znver3": X86, "alderlake": X86},
    "avx512": {"x86-64-v4": X86, "znver4": X86, "sapphirerapids": X86},
    "arm": {"neoverse-v2": ARM, "apple-m1": APPLE},
}


@pytest.mark.parametrize("group", GROUPS)
def test_every_class_compiles(group: str) -> None:
    targets = [
        f"special:llvm -mtriple={triple} -mcpu={cpu} -O0"
        if cpu in ALIKE
        else f"llvm -mtriple={triple} -mcpu={cpu}"
        for cpu, triple in GROUPS[group].items()
    ]
    run = subprocess.run(
        [sys.executable, PROGRAM, *targets],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "RELAX_MLIR_CACHE": "off"},
    )
    assert run.stdout.splitlines() == [f"{cpu} True" for cpu in GROUPS[group]], run.stderr
    assert run.returncode == 0
