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
LIT_GOOD = {"PASS": "passed", "XFAIL": "expected failures", "FLAKYPASS": "passed"}
LIT_SKIPPED = {"UNSUPPORTED": "skipped", "SKIPPED": "skipped", "EXCLUDED": "skipped"}


def run_lit(jobs: int, report: Path) -> tuple[int, Counter[str]]:
    """Run every lit test; return lit's status and how many tests ended in which way."""
    command = [sys.executable, "-c", "from lit.main import main; main()"]
    command += [f"-j{jobs}", "--quiet", "--verbose", "--output", str(report), str(TEST)]
    status = subprocess.run(command, cwd=TEST.parent).returncode
    counts: Counter[str] = Counter()
    if report.exists():
        names = LIT_GOOD | LIT_SKIPPED
        for test in json.loads(report.read_text())["tests"]:
            counts[names.get(test["code"], "failed")] += 1
    return status, counts


def run_pytest(jobs: int, report: Path) -> tuple[int, Counter[str]]:
    """Run every pytest; return pytest's status and how many tests ended in which way."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(jobs), f"--junitxml={report}"]
    status = subprocess.run([*command, str(TEST)], cwd=TEST.parent).returncode
    counts: Counter[str] = Counter()
    if report.exists():
        for suite in ElementTree.parse(report).getroot().iter("testsuite"):
            total, bad, skipped = (
                sum(int(suite.get(key, "0")) for key in keys)
                for keys in (("tests",), ("failures", "errors"), ("skipped",))
            )
            counts.update({"passed": total - bad - skipped, "failed": bad, "skipped": skipped})
    return status, counts


def main() -> int:
    """Return 0 only when both runners ran, and ran some tests, and nothing failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    cores = min(os.cpu_count() or 1, 8)
    parser.add_argument("-j", "--jobs", type=int, default=cores, help="tests at a time")
    jobs = parser.parse_args().jobs
    if len(str(TEST).split()) > 1:
        message = f"lit's commands cannot have spaces in file names: move {TEST.parent}"
        print(f"error: {message}", file=sys.stderr)
        return 1
    # With PYTHONDONTWRITEBYTECODE each of some hundred processes would parse all modules again.
    for name in PACKAGES:
        compileall.compile_dir(TEST.parent / name, quiet=2, workers=jobs)
    parts, failed = [], False
    with tempfile.TemporaryDirectory() as folder:
        for name, runner in (("lit", run_lit), ("pytest", run_pytest)):
            status, counts = runner(jobs, Path(folder) / name)
            failed |= status != 0 or counts["passed"] == 0 or counts["failed"] > 0
            told = ", ".join(f"{n} {how}" for how, n in counts.items() if n)
            parts.append(f"{name} {told or 'ran no tests'}")
    print(f"{'FAILED' if failed else 'ok'}: {'; '.join(parts)}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
