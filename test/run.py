"""Run lit, then pytest, over the folder of this file; say in one closing line how it went."""

import argparse
import compileall
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

TEST = Path(__file__).resolve().parent
PACKAGES = ("relax_mlir", "dialects", "lowering")
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


def run_lit(jobs: int, report: Path, quick: bool) -> Outcome:
    """Run the lit tests."""
    command = [sys.executable, "-c", "from lit.main import main; main()"]
    command += [f"-j{jobs}", "--quiet", "--verbose", "--output", str(report), str(TEST)]
    command += ["--param", "quick=1"] if quick else []
    outcome = Outcome(subprocess.run(command, cwd=TEST.parent).returncode)
    if report.exists():
        names = LIT_GOOD | LIT_SKIPPED
        for test in json.loads(report.read_text())["tests"]:
            outcome.counts[names.get(test["code"], "failed")] += 1
            outcome.seconds[test["name"]] = test["elapsed"]
    return outcome


def run_pytest(jobs: int, report: Path, quick: bool) -> Outcome:
    """Run the pytests."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(jobs), f"--junitxml={report}"]
    command += ["-m", "not codegen and not slow"] if quick else []
    outcome = Outcome(subprocess.run([*command, str(TEST)], cwd=TEST.parent).returncode)
    if report.exists():
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            ways = {"failure": "failed", "error": "failed", "skipped": "skipped"}
            how = next((ways[each.tag] for each in case if each.tag in ways), "passed")
            outcome.counts[how] += 1
            outcome.seconds[f"{case.get('classname')}::{case.get('name')}"] = float(
                case.get("time", 0)
            )
    return outcome


def main() -> int:
    """Return 0 only when both runners ran, and ran some tests, and nothing failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    cores = min(os.cpu_count() or 1, 8)
    parser.add_argument("-j", "--jobs", type=int, default=cores, help="tests at a time")
    parser.add_argument("--quick", action="store_true", help="only what needs no native code")
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
        for name, runner in (("lit", run_lit), ("pytest", run_pytest)):
            outcome = runner(jobs, Path(folder) / name, quick)
            counts = outcome.counts
            failed |= outcome.status != 0 or counts["passed"] == 0 or counts["failed"] > 0
            parts.append(f"{name} {', '.join(f'{n} {how}' for how, n in counts.items() if n)}")
            seconds |= outcome.seconds
    slowest = sorted(seconds, key=lambda name: -seconds[name])[: 0 if quick else SLOWEST]
    for name in slowest:
        print(f"{seconds[name]:7.1f} s  {name}")
    print(f"{'FAILED' if failed else 'ok'}: {'; '.join(parts)}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
