"""How long whole models take to build: by stage, in a new process, and from the cache.

With `--onnx FOLDER`, where `python benchmarks/models --prepare --out FOLDER` exported the same
models, also what IREE takes to compile them and ONNX Runtime to make a session of them.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import harness

from relax_mlir import relax
from relax_mlir.ir.module import IRModule
from relax_mlir.transform import PassContext

STAGES = ("PackWeights", "LowerTIR", "MemrefToLLVM", "llvm-optimize", "llvm-emit")


def _resnet50() -> IRModule:
    import workload
    import workloads
    from kernels_relax_mlir import module

    (work,) = [each for each in workloads.models() if each.name == "model_resnet50"]
    return module(work, workload.data(work)[1])


def _bert() -> IRModule:
    import transformers

    return transformers.bert()


def _gpt2() -> IRModule:
    import transformers

    return transformers.gpt2()


MODELS: dict[str, Callable[[], IRModule]] = {
    "BERT-base, any batch and length": _bert,
    "GPT-2 with cache, any batch and length": _gpt2,
    "ResNet-50": _resnet50,
}
# What `benchmarks/models` calls them.
EXPORTED = dict(zip(MODELS, ("BERT-base", "GPT-2", "ResNet-50"), strict=True))
PEERS = ("IREE", "ONNX Runtime")
_COMPILE_TIME = Path(__file__).parent / "peers" / "compile_time.py"


def _measure(name: str) -> dict[str, float]:
    """Return seconds of a build in this process: wall-clock, of the processor, of the stages."""
    module = MODELS[name]()
    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, float] = {}
        for what, log in (("", relax.BuildLog()), ("fill", None), ("again", None)):
            cache: str | bool = folder if what else False
            with PassContext(config={"relax.compile_cache": cache}):
                start, processor = time.perf_counter(), time.process_time()
                relax.build(module, log=log)
                found[what or "wall"] = time.perf_counter() - start
                if log is not None:
                    found["processor"] = time.process_time() - processor
                    found |= {stage.name: stage.seconds for stage in log.stages}
    return found


def main() -> None:
    """Print a row for each model; every build runs in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--onnx", type=Path, help="a folder of exported models")
    parser.add_argument("--peers-python", default=sys.executable, help="that has the peers")
    options = parser.parse_args()
    if options.one:
        # Kernels are for all cores, as users have them.
        os.environ.pop("RELAX_MLIR_NUM_THREADS", None)
        print(json.dumps(_measure(options.one)))
        return
    print(
        f"Builds of models: seconds of wall-clock time, best of {options.rounds} processes, "
        f"{os.cpu_count()} cores; {harness.machine()}\n"
    )
    rows = []
    for name in MODELS:
        command = [sys.executable, __file__, "--one", name]
        runs = [_run(command) for _ in range(options.rounds)]
        best = min(runs, key=lambda run: run["wall"])
        values = [best["wall"], best["processor"], *(best.get(s, 0.0) for s in STAGES)]
        again = min(run["again"] for run in runs)
        rows.append([name, *(f"{value:.2f}" for value in values), f"{again:.2f}"])
        if options.onnx:
            exported = options.onnx / EXPORTED[name] / "model.onnx"
            others = [
                _run([options.peers_python, str(_COMPILE_TIME), str(exported)])
                for _ in range(options.rounds)
            ]
            best = {key: min(each[key] for each in others) for key in others[0]}
            rows[-1] += [f"{best[peer]:.2f}" if peer in best else "fails" for peer in PEERS]
    peers = PEERS if options.onnx else ()
    harness.table(["model", "all", "processor", *STAGES, "again", *peers], rows)


def _run(command: list[str]) -> dict[str, float]:
    """Return what a process of its own prints as JSON; it says the rest on the terminal.

    Modules are compiled to bytecode in the first round, as those of an installed package are.
    """
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return json.loads(ran.stdout)


if __name__ == "__main__":
    main()
