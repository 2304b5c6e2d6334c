"""Run lit and pytest over the folder of this file; say in one closing line how it went."""

import argparse
import compileall
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import llvmlite.binding as llvm

from relax_mlir.lowering.target.target import Target
from relax_mlir.runtime.native.cpu_features import missing_features

TEST = Path(__file__).resolve().parent
PACKAGES = ("relax_mlir", "dialects", "lowering")
# Which share of the tests that compile is run for each, no test for two; the host gets all of them.
# What differs is the vector code, which LLVM's optimiser hardly changes: it is left out.
LEVELS = {"x86-64-v2": "1/12", "x86-64-v3": "2/12", "x86-64-v4": "3/12"}
# How many of the tests that took longest are named at the end.
SLOWEST = 20
LIT_GOOD = {"PASS": "passed", "XFAIL": "expected failures", "FLAKYPASS": "passed"}
LIT_SKIPPED = {"UNSUPPORTED": "skipped", "SKIPPED": "skipped", "EXCLUDED": "skipped"}


class Outcome:
    """How a runner ended.

    Attributes:
        status: its exit code.
        counts: how many tests ended in which way.
        seconds: how long each test took.
    """

    def __init__(self, status: int) -> None:
        self.status = status
        self.counts: Counter[str] = Counter()
        self.seconds: dict[str, float] = {}


@dataclass(frozen=True)
class Suite:
    """Tests that are run together.

    Attributes:
        name: what the closing line calls them.
        run: runs them, given how many at a time, a file for its report, and more arguments.
        arguments: those arguments.
        cpu: LLVM's name of what is compiled for; empty for the default target.
        is_share: whether it is a part of what is run for the host, compiled without optimising.
    """

    name: str
    run: Callable[[int, Path, Sequence[str]], Outcome]
    arguments: tuple[str, ...] = ()
    cpu: str = ""
    is_share: bool = False

    @property
    def left_out(self) -> str:
        """Why it is not run on this host, empty where it is."""
        if not self.cpu:
            return ""
        if not llvm.get_process_triple().startswith("x86_64"):
            return "without x86-64"
        if missing := missing_features(self.cpu, ""):
            return f"without {', '.join(missing)}"
        host, level = Target("llvm"), Target(f"llvm -mcpu={self.cpu}")
        alike = (host.isa, host.dot_products) == (level.isa, level.dot_products)
        return "its kernels are the host's" if self.is_share and alike else ""


def run_lit(jobs: int, report: Path, arguments: Sequence[str]) -> Outcome:
    """Run the lit tests."""
    command = [sys.executable, "-c", "from lit.main import main; main()"]
    command += [f"-j{jobs}", "--quiet", "--verbose", "--output", str(report), *arguments, str(TEST)]
    outcome = Outcome(subprocess.run(command, cwd=TEST.parent).returncode)
    if report.exists():
        names = LIT_GOOD | LIT_SKIPPED
        for test in json.loads(report.read_text())["tests"]:
            outcome.counts[names.get(test["code"], "failed")] += 1
            outcome.seconds[test["name"]] = test["elapsed"]
    return outcome


def run_pytest(jobs: int, report: Path, arguments: Sequence[str]) -> Outcome:
    """Run the pytests that the arguments select."""
    # Tests of one file mostly run in one process, which makes its fixtures once.
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(jobs), "--dist", "worksteal"]
    command.append(f"--junitxml={report}")
    # With PYTHONDONTWRITEBYTECODE each process of each suite would rewrite all assertions again.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run([*command, *arguments], cwd=TEST.parent, env=environment)
    outcome = Outcome(done.returncode)
    if report.exists():
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            ways = {"failure": "failed", "error": "failed", "skipped": "skipped"}
            how = next((ways[each.tag] for each in case if each.tag in ways), "passed")
            outcome.counts[how] += 1
            outcome.seconds[f"{case.get('classname')}::{case.get('name')}"] = float(
                case.get("time", 0)
            )
    return outcome


def suites(quick: bool, cpus: Sequence[str]) -> list[Suite]:
    """Return what is run.

    Args:
        quick: only what needs no native code.
        cpus: all tests are run for each of them, rather than for the host and a share of those
            that compile for each level.
    """
    if quick:
        return [
            Suite("lit", run_lit, ("--param", "quick=1")),
            Suite("pytest", run_pytest, ("-m", "not codegen and not slow", str(TEST))),
        ]
    if cpus:
        runs = (("lit", run_lit, ()), ("pytest", run_pytest, (str(TEST),)))
        return [Suite(f"{cpu} {name}", run, more, cpu) for cpu in cpus for name, run, more in runs]
    # What is installed does not depend on the target.
    chosen = (
        "codegen and not slow and not own_targets",
        f"--ignore={TEST / 'packaging'}",
        str(TEST),
    )
    shares = (
        Suite(cpu, run_pytest, (f"--share={share}", "-m", *chosen), cpu, is_share=True)
        for cpu, share in LEVELS.items()
    )
    return [Suite("lit", run_lit), Suite("pytest", run_pytest, (str(TEST),)), *shares]


def main() -> int:
    """Return 0 only when all suites ran, and ran some tests, and nothing failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    cores = min(os.cpu_count() or 1, 8)
    parser.add_argument("-j", "--jobs", type=int, default=cores, help="tests at a time")
    parser.add_argument("--quick", action="store_true", help="only what needs no native code")
    parser.add_argument("cpus", nargs="*", help="run all tests once for each, not for the host")
    options = parser.parse_args()
    jobs, quick = options.jobs, options.quick
    if len(str(TEST).split()) > 1:
        message = f"lit's commands cannot have spaces in file names: move {TEST.parent}"
        print(f"error: {message}", file=sys.stderr)
        return 1
    # With PYTHONDONTWRITEBYTECODE each of some hundred processes would parse all modules again.
    for name in PACKAGES:
        compileall.compile_dir(TEST.parent / name, quiet=2, workers=jobs)
    parts, failed, seconds = [], False, {}
    with tempfile.TemporaryDirectory() as folder:
        for suite in suites(quick, options.cpus):
            if suite.left_out:
                parts.append(f"{suite.name} left out, {suite.left_out}")
                continue
            if suite.cpu:
                level = " -O=0" if suite.is_share else ""
                os.environ["RELAX_MLIR_TARGET"] = f"llvm -mcpu={suite.cpu}{level}"
            outcome = suite.run(jobs, Path(folder) / suite.name, suite.arguments)
            counts = outcome.counts
            failed |= outcome.status != 0 or counts["passed"] == 0 or counts["failed"] > 0
            told = ", ".join(f"{n} {how}" for how, n in counts.items() if n)
            parts.append(f"{suite.name} {told or 'ran no tests'}")
            seconds |= {f"{suite.name} {name}": t for name, t in outcome.seconds.items()}
    slowest = sorted(seconds, key=lambda name: -seconds[name])[: 0 if quick else SLOWEST]
    for name in slowest:
        print(f"{seconds[name]:7.1f} s  {name}")
    print(f"{'FAILED' if failed else 'ok'}: {'; '.join(parts)}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
