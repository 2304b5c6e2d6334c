"""Whole models against their peers: a table of ratios, and what import, build and memory take.

    python benchmarks/models --peers-python PATH [--only REGEX] [--threads 1,2] [--seconds S]

Every measurement runs in a process of its own and prints its best time. All take the same model:
ONNX that torch exports with dynamic sizes; PyTorch its module. `--prepare` exports and compiles
only, so that what follows measures only; results are kept in OUT, and `--show` prints all.
"""

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

from runners import OURS, PEERS  # noqa: E402
from tabulating import aligned  # noqa: E402

# What is measured of each model of `catalogue.py`, which needs torch: only peers have it.
IMAGES = ("ResNet-50", "MobileNetV2", "EfficientNet-B0", "ViT-B/16", "Whisper-tiny")
DECODERS = ("GPT-2", "Llama", "Llama bfloat16", "Llama int4")
ROWS = {
    **{name: ["1"] for name in IMAGES},
    "U-Net": ["256x256"], "detector": ["320x320"], "BERT-base": ["128"], "T5-small": ["128+32"],
    **{name: ["prefill", "decode"] for name in DECODERS},
    "LSTM tagger": ["64"],
}  # fmt: skip
LIMIT_S = 600


def _ask(python, order):
    """Return what a worker found, or its error."""
    threads = str(order.get("threads", 1))
    limits = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(limits, threads)}
    # Installed packages have their bytecode; what is loaded from a clone must not be compiled anew.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment |= {"TORCHINDUCTOR_CACHE_DIR": str(Path(order["folder"]).parent / "inductor")}
    command = [python, str(HERE / "worker.py"), json.dumps(order)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT_S, env=environment
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"no answer in {LIMIT_S} s"}
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or [""]
        return {"failed": lines[-1][:200]}
    return json.loads(done.stdout)


def _options(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="models that this regular expression finds")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, by comma")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each measurement")
    parser.add_argument("--frameworks", default=",".join([*OURS, *PEERS]), help="by comma")
    parser.add_argument("--peers-python", default=str(HERE.parents[1] / ".venv-peers/bin/python"))
    parser.add_argument("--out", type=Path, default=Path("bench-output/models"), help="a folder")
    parser.add_argument("--target", default="llvm", help="ours; such as 'llvm -mcpu=x86-64-v3'")
    parser.add_argument(
        "--clock", choices=("seconds", "processor"), default="seconds",
        help="processor: time of the process, where the machine is shared; for one thread",
    )  # fmt: skip
    parser.add_argument("--prepare", action="store_true", help="export and compile only")
    parser.add_argument("--show", action="store_true", help="print what is in OUT only")
    return parser.parse_args(argv)


def _prepare(given, name, folder, threads):
    """Export a model and build it, unless that is done; returns seconds of import and build."""
    folder.mkdir(parents=True, exist_ok=True)
    order = {"folder": str(folder), "model": name, "threads": threads, "target": given.target}
    if not (folder / "model.onnx").exists():
        found = _ask(given.peers_python, {**order, "do": "export"})
        if "failed" in found:
            return {"export": found}
    found = {}
    if not (folder / f"model-{threads}.rxe").exists():
        found["build"] = _ask(sys.executable, {**order, "do": "build", "static": False})
    for row in ROWS[name]:
        if "static" in given.frameworks and not (folder / f"static-{row}-{threads}.rxe").exists():
            again = _ask(sys.executable, {**order, "do": "build", "static": True, "row": row})
            found[f"static {row}"] = again
    return found


def _measure(given, name, folder, threads, row, seconds):
    found = {}
    for framework in given.frameworks.split(","):
        python = sys.executable if framework in OURS else given.peers_python
        found[framework] = _ask(python, {
            "do": "run", "folder": str(folder), "row": row, "threads": threads,
            "framework": framework, "seconds": seconds, "target": given.target,
        })  # fmt: skip
    return found


def _merged(old, new):
    """Return results of which the best times count."""
    for framework, found in new.items():
        before = old.get(framework, {})
        for clock in ("seconds", "processor"):
            times = [each[clock] for each in (before, found) if each.get(clock)]
            if times:
                found[clock] = min(times)
        old[framework] = found
    return old


def _row(name, row, threads, found, clock):
    """Return a line of the table."""
    times = {f: r[clock] * 1e3 for f, r in found.items() if r.get(clock)}
    wrong = [f for f, r in found.items() if r.get("error", 0) > (0.05 if "bf" in name else 1e-3)]
    peers = {f: t for f, t in times.items() if f in PEERS and f not in wrong}
    ours = times.get("ours")
    ratio = min(peers.values()) / ours if ours and peers else None
    twin = times["static"] / ours if ours and "static" in times else None
    missing = "fails" if "failed" in found.get("ours", {}) else "-"
    cells = [f"{name} {row}", str(threads), f"{ours:.2f}" if ours else missing]
    cells += [f"{times[f]:.2f}" if f in times and f not in wrong else "-" for f in PEERS]
    cells += ["-" if each is None else f"{each:.2f}" for each in (ratio, twin)]
    for what in ("peak", "load"):
        a, b = (found.get(f, {}).get(what) for f in ("ours", "onnxruntime"))
        cells.append("-" if a is None or b is None else _pair(what, a, b))
    return cells, ratio, twin


def _pair(what, ours, theirs):
    return f"{ours:.0f} / {theirs:.0f}" if what == "peak" else f"{ours:.3f} / {theirs:.3f}"


def report(results, clock):
    """Return the table of all results."""
    head = ["model", "threads", "ours ms", *PEERS, "ratio", "dynamic", "peak MiB / ORT",
            "load s / ORT"]  # fmt: skip
    rows, ratios, twins = [], [], []
    for key, found in results.items():
        name, row, threads = key.split("|")
        if row == "build":
            continue
        cells, ratio, twin = _row(name, row, threads, found, clock)
        rows.append(cells)
        ratios += [ratio] if ratio else []
        twins += [twin] if twin else []
    lines = [
        f"{_machine()}; milliseconds ({clock}), best of each process",
        "",
        *aligned(head, rows),
    ]
    for what, values in (("ratios", ratios), ("dynamic", twins)):
        if values:
            mean, least = statistics.geometric_mean(values), min(values)
            lines.append(f"{what}: geomean {mean:.2f}, least {least:.2f}")
    builds = {key.split("|")[0]: found for key, found in results.items() if "|build|" in key}
    for name, found in builds.items():
        seconds = found.get("build", {})
        if "import" in seconds:
            lines.append(
                f"{name}: import {seconds['import']:.2f} s, build {seconds['build']:.1f} s"
            )
    return "\n".join(lines)


def _machine():
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "?")
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}"


def main(argv=None):
    """Prepare, measure, and print."""
    given = _options(argv)
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / "models.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    for name in (each for each in ROWS if re.search(given.only, each) and not given.show):
        folder = given.out.resolve() / re.sub(r"\W+", "-", name)
        for threads in map(int, given.threads.split(",")):
            made = _prepare(given, name, folder, threads)
            if made:
                results[f"{name}|build|{threads}"] = made
                print(name, made, flush=True)
            seconds = 0 if given.prepare else given.seconds
            for row in ROWS[name]:
                found = _measure(given, name, folder, threads, row, seconds)
                key = f"{name}|{row}|{threads}"
                results[key] = _merged(results.get(key, {}), found)
                for framework, each in found.items():
                    print(key, framework, each, flush=True)
            path.write_text(json.dumps(results, indent=1))
    text = report(results, given.clock)
    print(text)
    (given.out / "models.md").write_text(text + "\n")


if __name__ == "__main__":
    main()
