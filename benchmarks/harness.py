"""What the benchmarks share: one thread for all, fair timing, the demo's model."""

import importlib.util
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

ROOT = Path(__file__).resolve().parents[1]
# Shorter than this, a clock tells little; a function is then called many times per reading.
_READING = 30e-6

threadpool_limits(1)
os.environ["RELAX_MLIR_NUM_THREADS"] = "1"


def best_times(
    functions: Sequence[Callable[[], Any]], seconds: float = 1.0, rounds: int = 5
) -> list[float]:
    """Return the best time of each function, in seconds per call.

    They take turns, so that another program on the machine, or a changing clock, is everyone's.

    Args:
        functions: what to call; each is called once beforehand.
        seconds: how long to go on.
        rounds: at least so many turns.
    """
    numbers = []
    for function in functions:
        function()
        start = perf_counter()
        function()
        numbers.append(max(1, round(_READING / (perf_counter() - start + 1e-9))))
    best = [float("inf")] * len(functions)
    end = perf_counter() + seconds
    turn = 0
    while turn < rounds or perf_counter() < end:
        turn += 1
        for i, (function, number) in enumerate(zip(functions, numbers, strict=True)):
            start = perf_counter()
            for _ in range(number):
                function()
            best[i] = min(best[i], (perf_counter() - start) / number)
    return best


def blas_kernels() -> str:
    """Return which processor's kernels numpy's OpenBLAS runs, such as `SkylakeX`."""
    for pool in threadpool_info():
        if pool["user_api"] == "blas" and "numpy" in pool["filepath"]:
            return pool.get("architecture", pool["internal_api"])
    return "unknown"


def runnable_kernels() -> list[str]:
    """Return the kernels of OpenBLAS to compare with: numpy's own choice first.

    The choice goes by the processor's name, and for some that have AVX-512 it is AVX2 kernels.
    """
    chosen = blas_kernels()
    if platform.machine() not in ("x86_64", "AMD64"):
        return [chosen]
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    known = [("SkylakeX", "avx512vl"), ("Haswell", "avx2")]
    return [chosen, *(name for name, need in known if name != chosen and features.get(need))]


def in_processes(script: str, kernels: Sequence[str]) -> list[Any]:
    """Return what a benchmark's `measure()` gives in a new process for each kind of kernels."""
    code = (
        f"import sys, json; sys.path[:0] = [{str(Path(script).parent)!r}]; "
        f"import {Path(script).stem} as bench; json.dump(bench.measure(), sys.stdout)"
    )
    results = []
    for name in kernels:
        environment = {**os.environ, "OPENBLAS_CORETYPE": name}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, check=True
        )
        results.append(json.loads(done.stdout))
    return results


def example(name: str) -> ModuleType:
    """Import a program of `examples/`."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def machine() -> str:
    """Return a line on what the numbers were measured with."""
    return (
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; Python "
        f"{platform.python_version()}, numpy {np.__version__} with OpenBLAS's {blas_kernels()} "
        "kernels; one thread"
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table, its columns aligned; the first one left, the others right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    rules = ["-" * w if i == 0 else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    for row in [header, rules, *rows]:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True)]
        print("| " + " | ".join(cells) + " |")
