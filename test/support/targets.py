"""Targets of tests: whose code is looked at, and what code can be run."""

import platform

import pytest

from relax_mlir.lowering.target.target import Target
from relax_mlir.runtime.native.cpu_features import missing_features

# The host, or what the environment variable RELAX_MLIR_TARGET says.
DEFAULT = str(Target.default())
# Code that a test looks at is that of a machine it names: it is the same wherever the test runs.
SSE = "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v2"
AVX2 = "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3"
AVX512 = "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4"
# With instructions for products of bf16, of bytes and of 16-bit integers.
DOT_PRODUCTS = "llvm -mtriple=x86_64-linux-gnu -mcpu=znver4"

# What is run to test vectors of so many bits.
WIDTHS = {
    128: "llvm -mcpu=x86-64-v2",
    256: "llvm -mcpu=x86-64-v3",
    512: "llvm -mcpu=x86-64-v4",
}


def with_threads(threads: int) -> str:
    """Return the default target, for kernels of at most so many threads."""
    return f"{DEFAULT} -num-threads={threads}"


def skip_unless_runs(target: str) -> None:
    """Skip a test whose code is for a CPU of x86-64 that has more than this one."""
    if platform.machine() != "x86_64":
        pytest.skip("this machine is no x86-64")
    wanted = Target(target)
    if missing := missing_features(wanted.cpu, wanted.features):
        pytest.skip(f"this machine has no {', '.join(missing)}")
