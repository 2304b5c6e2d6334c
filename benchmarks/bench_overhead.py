"""What is not computing: a call, an import, a compilation."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import harness
import numpy as np

from relax_mlir import relax, script, transform

CALLS = """
@I.ir_module
class Calls:
    @R.function
    def exp(x: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        return y

    @R.function
    def exp_any(x: R.Tensor(("n", "m"), "float32")):
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        return y

    @R.function
    def add(x: R.Tensor((4, 4), "float32"), y: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            z = R.add(x, y)
            R.output(z)
        return z
"""
_NEW_PROCESS = """
import json, sys
from time import perf_counter
times = [perf_counter()]
{}
json.dump([b - a for a, b in zip(times, times[1:])] + [any("mlir_libs" in m for m in sys.modules)],
          sys.stdout)
"""
_IMPORTS = """
import numpy
times.append(perf_counter())
import relax_mlir
times.append(perf_counter())
from relax_mlir.script import ir as I, relax as R, tir as T
from relax_mlir import relax
relax.VirtualMachine
times.append(perf_counter())
"""
_LOAD_AND_RUN = """
import numpy
times.append(perf_counter())
from relax_mlir import relax
vm = relax.VirtualMachine({path!r})
vm["main"](numpy.zeros((1, 64), "float32"))
times.append(perf_counter())
"""


def new_process(code, times=7):
    """Return the best seconds between the marks of a program, and whether it loaded MLIR."""
    command = [sys.executable, "-c", _NEW_PROCESS.format(code)]
    runs = [json.loads(subprocess.check_output(command)) for _ in range(times)]
    return [min(run[i] for run in runs) for i in range(len(runs[0]) - 1)], any(
        run[-1] for run in runs
    )


def calls():
    vm = relax.VirtualMachine(relax.build(script.from_source(CALLS)))
    x = np.ones((4, 4), "float32")
    result = vm["exp"](x)
    functions = {
        "exp of (4, 4)": (lambda f=vm["exp"]: f(x), lambda: np.exp(x)),
        "exp of (n, m), n = m = 4": (lambda f=vm["exp_any"]: f(x), lambda: np.exp(x)),
        "(4, 4) + (4, 4)": (lambda f=vm["add"]: f(x, x), lambda: np.add(x, x)),
        "exp of a result (4, 4)": (lambda f=vm["exp"]: f(result), lambda: np.exp(x)),
    }
    rows = []
    for name, pair in functions.items():
        ours, numpys = harness.best_times(pair)
        rows.append([name, f"{1e6 * ours:.2f}", f"{1e6 * numpys:.2f}"])
    harness.table(["one call", "relax-mlir us", "numpy us"], rows)


def imports(executable):
    (_, package, names), mlir = new_process(_IMPORTS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "digits.rxe"
        executable.save(path)
        (_, run), run_mlir = new_process(_LOAD_AND_RUN.format(path=str(path)))
    rows = [
        ["import relax_mlir", f"{1e3 * package:.1f}", "yes" if mlir else "no"],
        ["... and the names of scripts and the VM", f"{1e3 * names:.1f}", "yes" if mlir else "no"],
        ["load a saved executable and run it", f"{1e3 * run:.1f}", "yes" if run_mlir else "no"],
    ]
    harness.table(["in a new process, after numpy", "ms", "loads MLIR"], rows)


def compilation(times=7):
    digits = harness.example("digits")
    images, labels, training, _ = digits.digits()
    weights = digits.train(images[training], labels[training], epochs=1)
    logs = []
    for _ in range(times):
        module = digits.digits_module(weights)
        logs.append(relax.BuildLog())
        # Native code from the cache on disk would leave out what takes longest.
        with transform.PassContext(config={"relax.compile_cache": False}):
            executable = relax.build(module, log=logs[-1])
    rows = [
        [stage.name, f"{1e3 * stage.seconds:.1f}", f"{1e3 * min(s):.1f}"]
        for i, stage in enumerate(logs[0].stages)
        for s in [[log.stages[i].seconds for log in logs]]
    ]
    rows.append(
        ["all", f"{1e3 * logs[0].seconds:.1f}", f"{1e3 * min(log.seconds for log in logs):.1f}"]
    )
    harness.table(["compiling the demo's module", "first ms", f"best of {times} ms"], rows)
    return executable


def main():
    print(f"{harness.machine()}\n")
    executable = compilation()
    print()
    imports(executable)
    print()
    calls()


if __name__ == "__main__":
    main()
