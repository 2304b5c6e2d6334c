"""Two versions of the compiler against each other, on the workloads of `kernels.py`.

    python benchmarks/compare.py OLD [NEW] [--only REGEX] [--target TEXT] [--threads 1,2]

A version is a folder of a checkout or a git revision; NEW is this checkout where it is not given.
Both run this checkout's workloads in processes of their own, which take turns; the best time of
each counts. A ratio is the old time divided by the new one: above 1, the new version is faster.
"""

import argparse
import io
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np
from busy_core import busy_core
from kernels import difference
from tabulating import aligned, geomean
from workers import Worker
from workloads import WORKLOADS

HERE = Path(__file__).resolve().parent
ROUNDS = 8
# Folders of a checkout that are packages inside `relax_mlir`.
_INSIDE = ("dialects", "lowering")


def options(argv):
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", help="a folder of a checkout, or a git revision")
    parser.add_argument("new", nargs="?", default=str(HERE.parent))
    parser.add_argument("--only", default="", help="workloads or groups that this matches")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, by comma")
    parser.add_argument("--seconds", type=float, default=0.25, help="for each version")
    parser.add_argument("--target", default="llvm", help="such as 'llvm -mcpu=x86-64-v3'")
    parser.add_argument("--dynamic", action="store_true", help="the versions for any size")
    parser.add_argument(
        "--busy-cpu", type=int, help="keep this CPU busy meanwhile; mean times then"
    )
    return parser.parse_args(argv)


def checkout(version, folder):
    """Return the folder of a version, which a git revision is unpacked to."""
    if Path(version).is_dir():
        return Path(version).resolve()
    command = ["git", "-C", str(HERE.parent), "archive", version, f"--prefix={folder.name}/"]
    found = subprocess.run(command, capture_output=True, check=False)
    if found.returncode:
        sys.exit(f"error: '{version}' is neither a folder nor a revision that git archives")
    with tarfile.open(fileobj=io.BytesIO(found.stdout)) as archive:
        archive.extractall(folder.parent)
    return folder


def linked(version, folder):
    """Return a folder from which Python imports a version: links, as an installation maps them."""
    package = folder / "relax_mlir"
    package.mkdir(parents=True)
    for path in (version / "relax_mlir").iterdir():
        (package / path.name).symlink_to(path)
    for name in _INSIDE:
        (package / name).symlink_to(version / name)
    return folder


def measure(work, workers, given, threads, folder):
    """Return the seconds of each version; what failed and what differs is said at once."""
    times, results = {}, {}
    mean = given.busy_cpu is not None
    for name, worker in workers.items():
        save = str(folder / name)
        order = {"do": "prepare", "work": work.name, "threads": threads, "save": save}
        reply = worker.ask({**order, "versions": [given.dynamic]})
        if "error" in reply:
            print(f"{work.name}: {name}: {reply['error']}")
            return {}
        (version,) = reply["answer"]
        results[name] = np.load(f"{save}.{version}.npy")
    wrong = difference(results["new"], results["old"], work.near)
    if wrong:
        print(f"{work.name}: the new result is not the old one: {wrong}")
    for _ in range(ROUNDS):
        for name, worker in workers.items():
            seconds = given.seconds / ROUNDS
            order = {"do": "run", "version": version, "seconds": seconds, "mean": mean}
            reply = worker.ask(order)
            if "error" in reply:
                print(f"{work.name}: {name}: {reply['error']}")
                return {}
            times.setdefault(name, []).append(reply["answer"])
    chosen = statistics.median if mean else min
    return {name: chosen(rounds) for name, rounds in times.items()}


def table(rows, threads):
    """Return the table of one number of threads."""
    lines, ratios = [], []
    for work, best in rows:
        ratios.append(best["old"] / best["new"])
        rate = f"{work.flops / best['new'] / 1e9:.1f}" if work.flops else "-"
        times = [f"{1e3 * best[name]:.4g}" for name in ("old", "new")]
        lines.append([work.name, *times, f"{ratios[-1]:.3f}", rate])
    header = [f"{threads} thread(s), ms", "old", "new", "ratio", "GFLOP/s"]
    mean = ["geomean", "", "", f"{geomean(ratios):.3f}", ""]
    return "\n".join(aligned(header, [*lines, mean]))


def main(argv=None):
    """Measure and print."""
    given = options(argv)
    wanted = re.compile(given.only)
    works = [
        work
        for work in WORKLOADS.values()
        if (wanted.search(work.name) or wanted.search(work.group))
        and (work.symbols or not given.dynamic)
    ]
    if not works:
        sys.exit(f"error: --only: no workload or group matches '{given.only}'")
    with tempfile.TemporaryDirectory() as name, busy_core(given.busy_cpu):
        folder = Path(name)
        paths = {
            each: linked(checkout(getattr(given, each), folder / f"{each}-tree"), folder / each)
            for each in ("old", "new")
        }
        for threads in map(int, given.threads.split(",")):
            command = [sys.executable, str(HERE / "kernels_relax_mlir.py"), "ours", given.target]
            with (folder / "log").open("w") as log:
                workers = {
                    each: Worker(command, log, threads, {"PYTHONPATH": str(path)})
                    for each, path in paths.items()
                }
                try:
                    found = [(w, measure(w, workers, given, threads, folder)) for w in works]
                finally:
                    for worker in workers.values():
                        worker.close()
            rows = [(work, best) for work, best in found if best]
            print(table(rows, threads) if rows else (folder / "log").read_text(), end="\n\n")


if __name__ == "__main__":
    main()
