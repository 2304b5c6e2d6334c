"""How long compiling takes: a kernel, the demo's model, many kernels, a convolution of any size."""

import tempfile
import time
from collections.abc import Callable

import harness
import numpy as np

from relax_mlir import relax, script
from relax_mlir.ir.module import IRModule
from relax_mlir.transform import PassContext

ROUNDS = 5
STAGES = ("LowerTIR", "MemrefToLLVM", "llvm-optimize", "llvm-emit")
_HEAD = "@I.ir_module\nclass Program:\n"
_FUNCTION = """
    @R.function
    def {name}(x: R.Tensor(({shape}), "float32")):
        with R.dataflow():
            y = {body}
            R.output(y)
        return y
"""
_CONV = """
    @R.function
    def main(x: R.Tensor(("n", 16, "h", "w"), "float32"),
             k: R.Tensor((32, 16, 3, 3), "float32")):
        with R.dataflow():
            y = R.nn.conv2d(x, k, padding=(1, 1))
            R.output(y)
        return y
"""
_BODIES = (
    "R.exp(x)", "R.tanh(x)", "R.sigmoid(x)", "R.nn.relu(x)", "R.sqrt(x)", "R.add(x, x)",
    "R.sum(x, axis=1)", "R.max(x, axis=1)", "R.mean(x, axis=0)", "R.nn.softmax(x, axis=-1)",
)  # fmt: skip


def _many(count: int) -> str:
    return _HEAD + "".join(
        _FUNCTION.format(name=f"f{i}", shape=f"{i + 3}, {2 * i + 5}", body=_BODIES[i % 10])
        for i in range(count)
    )


def _layers(count: int) -> str:
    return _HEAD + "".join(
        _FUNCTION.format(name=f"f{i}", shape="64, 96", body="R.nn.softmax(x, axis=-1)")
        for i in range(count)
    )


def _digits() -> IRModule:
    rng = np.random.default_rng(0)
    shapes = ((64, 128), (128,), (128, 10), (10,))
    weights = [rng.standard_normal(shape).astype("f4") for shape in shapes]
    return harness.example("digits").digits_module(weights)


def _one(shape: str, body: str) -> str:
    return _HEAD + _FUNCTION.format(name="main", shape=shape, body=body)


PROGRAMS: dict[str, Callable[[], IRModule]] = {
    "one kernel, exp": lambda: script.from_source(_one("64, 96", "R.exp(x)")),
    "one kernel, softmax": lambda: script.from_source(_one('"n", "m"', "R.nn.softmax(x, axis=-1)")),
    "one kernel, matmul": lambda: script.from_source(_one('"n", "n"', "R.matmul(x, x)")),
    "the demo's model": lambda: _digits(),
    "100 small kernels": lambda: script.from_source(_many(100)),
    "20 equal kernels": lambda: script.from_source(_layers(20)),
    "conv2d of any size": lambda: script.from_source(_HEAD + _CONV),
}


def _seconds(module: IRModule, log: relax.BuildLog | None, cache: str | bool) -> float:
    """Return the CPU time of a build."""
    with PassContext(config={"relax.compile_cache": cache}):
        start = time.process_time()
        relax.build(module, log=log)
        return time.process_time() - start


def _stages(module: IRModule) -> tuple[float, dict[str, float]]:
    """Return the CPU time of a build, and the wall-clock time of its stages."""
    log = relax.BuildLog()
    seconds = _seconds(module, log, False)
    return seconds, {stage.name: stage.seconds for stage in log.stages}


def main() -> None:
    """Print CPU times of building each program: new, and found in the cache."""
    print(f"Compilation: CPU milliseconds, best of {ROUNDS}; {harness.machine()}\n")
    rows = []
    for name, make in PROGRAMS.items():
        module = make()
        new, stages = min((_stages(module) for _ in range(ROUNDS)), key=lambda x: x[0])
        with tempfile.TemporaryDirectory() as folder:
            _seconds(module, None, folder)
            again = min(_seconds(module, None, folder) for _ in range(ROUNDS))
        times = [new, *(stages.get(stage, 0.0) for stage in STAGES)]
        code = sum(len(each.data) for each in relax.build(module).native)
        rows.append(
            [
                name,
                *(f"{1e3 * t:.0f}" for t in times),
                f"{1e3 * again:.1f}",
                f"{again / new:.1%}",
                f"{code / 1e3:.1f}",
            ]
        )
    harness.table(["program", "all", *STAGES, "again", "share", "code, KB"], rows)


if __name__ == "__main__":
    main()
