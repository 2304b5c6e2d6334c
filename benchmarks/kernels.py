"""Kernels against their peers and the machine's limits: a table and a roofline plot.

    python benchmarks/kernels.py --peers-python PATH [--only REGEX] [--threads 1,2] [--seconds S]

The peers run in an environment of their own (`make peers`). For each workload every
framework's process takes its turn, again and again, and its best time counts; processes that are
not on turn are stopped, so that no spinning thread of theirs takes a core. All compute in float32,
or in what groups named `small_` say, and what a peer computes has to be what we compute.

Results are kept in OUT/kernels.json: runs of parts of the table add up, `--show` prints all.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import tabulating
from busy_core import busy_core
from workers import Worker
from workloads import WORKLOADS

HERE = Path(__file__).resolve().parent
PEERS = ("onnxruntime", "openvino", "iree", "torch")
ROUNDS = 5


def options(argv):
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="workloads or groups that this matches")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, by comma")
    parser.add_argument("--seconds", type=float, default=0.25, help="for each; 0 only checks")
    parser.add_argument("--peers", default=",".join(PEERS), help="names, by comma; '' for none")
    parser.add_argument("--peers-python", default=str(HERE.parent / ".venv-peers/bin/python"))
    parser.add_argument("--out", type=Path, default=Path("bench-output"), help="a folder")
    parser.add_argument("--target", default="llvm", help="ours; such as 'llvm -mcpu=x86-64-v3'")
    parser.add_argument(
        "--busy-cpu", type=int, help="keep this CPU busy meanwhile; mean times then"
    )
    parser.add_argument("--list", action="store_true", help="print the workloads and leave")
    parser.add_argument("--show", action="store_true", help="print what is in OUT, measure nothing")
    return parser.parse_args(argv)


def chosen(pattern):
    """Return the workloads whose name or group a regular expression finds."""
    wanted = re.compile(pattern)
    return [w for w in WORKLOADS.values() if wanted.search(w.name) or wanted.search(w.group)]


def start_workers(given, threads, names, log):
    """Return the processes: ours, the machine's, each peer's."""
    ours = [sys.executable, str(HERE / "kernels_relax_mlir.py")]
    workers = {
        name: Worker([*ours, name, given.target], log, threads) for name in ("ours", "roofs")
    }
    for name in names:
        worker = [given.peers_python, str(HERE / "peers/worker.py"), name, str(threads)]
        workers[name] = Worker(worker, log, threads)
    return workers


def measure(work, workers, threads, seconds, folder, *, mean=False):
    """Return what was measured of a workload: seconds by framework, limits, mistakes.

    Seconds are the best ones, or with `mean` the mean ones of the median round.
    """
    versions = [False, True] if work.symbols else [False]
    turns, found = [], {"times": {}, "errors": {}}
    found.update(flops=0.0, loaded=0.0, bandwidth=0.0)
    reference = None
    for name, worker in workers.items():
        if name == "roofs":
            continue
        save = str(Path(folder, name))
        ask = {"do": "prepare", "work": work.name, "threads": threads, "save": save}
        reply = worker.ask({**ask, "versions": versions if name == "ours" else [False]})
        if "error" in reply:
            found["errors"][name] = reply["error"]
            continue
        for version in reply["answer"]:
            key = "dynamic" if version == "dynamic" else name
            result = np.load(f"{save}.{version}.npy")
            if reference is None:
                reference = result
            wrong = difference(result, reference, work.near)
            if wrong:
                found["errors"][key] = wrong
            else:
                turns.append((key, worker, version))
    times = {}
    for _ in range(ROUNDS if seconds else 0):
        limits = {"do": "limits", "threads": threads, "seconds": seconds / ROUNDS / 4}
        order = {"flops": True, "bytes": work.bytes, "only_reads": work.only_reads}
        roofs = workers["roofs"].ask({**limits, **order})
        if "error" in roofs:
            log_path = workers["roofs"].log_path
            raise SystemExit(f"error: the machine's limits: {roofs['error']}; see {log_path}")
        found = {**found, **{k: max(found[k], v) for k, v in roofs["answer"].items()}}
        for key, worker, version in turns:
            order = {"do": "run", "version": version, "seconds": seconds / ROUNDS, "mean": mean}
            reply = worker.ask(order)
            if "error" in reply:
                found["errors"][key] = reply["error"]
            else:
                times.setdefault(key, []).append(reply["answer"])
    chosen = statistics.median if mean else min
    found["times"] = {key: chosen(rounds) for key, rounds in times.items()}
    return found


def difference(result, reference, near=1e-3):
    """Return how a result is not the reference, or nothing; shapes count by their sizes."""
    if result.size != reference.size:
        return f"wrong shape {result.shape}"
    a, b = result.reshape(-1).astype("float64"), reference.reshape(-1).astype("float64")
    if not np.isfinite(a).all():
        return "not finite"
    far = float(np.abs(a - b).max(initial=0) / (np.abs(b).max(initial=0) + 1e-30))
    return f"wrong by {far:.1e} of the largest" if far > near else ""


def main(argv=None):
    """Measure and print."""
    given = options(argv)
    try:
        works = chosen(given.only)
    except re.error as error:
        sys.exit(f"error: --only: '{given.only}' is no regular expression: {error}")
    if not works:
        sys.exit(f"error: --only: no workload or group matches '{given.only}'; --list names them")
    if given.list:
        for work in works:
            print(f"{work.group:<12} {work.name}")
        return
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / "kernels.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    keys = [f"{w.name}/{t}" for t in map(int, given.threads.split(",")) for w in works]
    if not given.show:
        names = [name for name in given.peers.split(",") if name]
        if names and not Path(given.peers_python).exists():
            print(f"no peers: there is no {given.peers_python} (`make peers` makes it)")
            names = []
        for threads in map(int, given.threads.split(",")):
            with tempfile.TemporaryDirectory() as folder, (given.out / "log").open("w") as log:
                workers = start_workers(given, threads, names, log)
                try:
                    for work in works:
                        with busy_core(given.busy_cpu):
                            results[f"{work.name}/{threads}"] = measure(
                                work,
                                workers,
                                threads,
                                given.seconds,
                                folder,
                                mean=given.busy_cpu is not None,
                            )
                        if given.seconds:
                            path.write_text(json.dumps(results, indent=1))
                finally:
                    for worker in workers.values():
                        worker.close()
    shown = {key: results[key] for key in keys if key in results}
    if not given.seconds and not given.show:
        for key, result in shown.items():
            print(key, result["errors"] or "agrees")
        return
    if not shown:
        sys.exit(f"error: {path} has nothing about these workloads and numbers of threads")
    text = tabulating.report(shown)
    print(text)
    (given.out / "kernels.md").write_text(text)
    draw(given, path)


def draw(given, path):
    """Plot what was measured, in the peers' environment, or say that there is no plot and why."""
    plot = [given.peers_python, str(HERE / "peers/roofline.py"), str(path), str(given.out)]
    if not Path(given.peers_python).exists():
        print(f"no plot: there is no {given.peers_python} (`make peers` makes it, with matplotlib)")
    elif subprocess.run(plot, check=False).returncode != 0:
        print("no plot: it failed, as is said above")


if __name__ == "__main__":
    main()
