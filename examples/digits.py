"""Handwritten digits: train with numpy, compile once for every batch size, run, compare.

    python examples/digits.py [--out FOLDER]

The folder, `demo-output` by default, gets the executable and the IR after each stage.
"""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
import time
from pathlib import Path

# Both sides are compared on one thread; numpy asks once, here.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
os.environ["RELAX_MLIR_NUM_THREADS"] = "1"

import numpy as np
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_info

from relax_mlir import relax
from relax_mlir.errors import RelaxMLIRError
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

BATCHES = (1, 17, 64, 1797)
HELD_OUT = 360
HIDDEN = 128
SEED = 0


def digits():
    """Return images (1797, 64) in 0..1, labels, and the rows to train on and to test on."""
    data = load_digits()
    rows = np.random.default_rng(SEED).permutation(len(data.target))
    return (data.data / 16).astype("float32"), data.target, rows[HELD_OUT:], rows[:HELD_OUT]


def forward(weights, x):
    """The two layers in numpy: what the hidden layer gives, and the probabilities."""
    w1, b1, w2, b2 = weights
    hidden = x @ w1
    hidden += b1
    np.maximum(hidden, 0, out=hidden)
    scores = hidden @ w2
    scores += b2
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return hidden, scores


def train(x, labels, epochs=40, batch=32, rate=0.1, momentum=0.9):
    """Return weights found by stochastic gradient descent with momentum."""
    rng = np.random.default_rng(SEED)
    layers = ((x.shape[1], HIDDEN), (HIDDEN, 10))
    weights = [
        part
        for n, m in layers
        for part in (rng.normal(0, (2 / n) ** 0.5, (n, m)).astype("f4"), np.zeros(m, "f4"))
    ]
    speeds = [np.zeros_like(w) for w in weights]
    for _ in range(epochs):
        for rows in np.array_split(rng.permutation(len(x)), len(x) // batch):
            hidden, error = forward(weights, x[rows])
            error[np.arange(len(rows)), labels[rows]] -= 1
            error /= len(rows)
            back = (error @ weights[2].T) * (hidden > 0)
            slopes = (x[rows].T @ back, back.sum(0), hidden.T @ error, error.sum(0))
            for weight, speed, slope in zip(weights, speeds, slopes, strict=True):
                speed *= momentum
                speed -= np.float32(rate) * slope
                weight += speed
    return weights


def digits_module(weights):
    """Return the same layers as a Relax program: any number of images, weights inside."""
    w1, b1, w2, b2 = weights

    @I.ir_module
    class Digits:
        @R.function
        def main(x: R.Tensor[(n, 64), "f32"]) -> R.Tensor[(n, 10), "f32"]:
            with R.dataflow():
                hidden = R.nn.relu(R.matmul(x, R.const(w1)) + R.const(b1))
                scores = R.matmul(hidden, R.const(w2)) + R.const(b2)
                probabilities = R.nn.softmax(scores, axis=-1)
                R.outputs(probabilities)
            return probabilities

    return Digits


def best_times(functions, seconds):
    """Return each function's best time, taking turns so that all see the same machine."""
    best = [float("inf")] * len(functions)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for i, function in enumerate(functions):
            start = time.perf_counter()
            function()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def compile_model(weights, folder):
    """Return the executable, the log, all that took time, and the seconds of writing the IR."""
    times = [time.perf_counter()]
    build, log = relax.build, relax.BuildLog(folder)  # MLIR and LLVM are loaded when asked for
    times.append(time.perf_counter())
    module = digits_module(weights)
    times.append(time.perf_counter())
    executable = build(module, log=log)
    times.append(time.perf_counter())
    loading, reading, building = np.diff(times)
    stages = [("load compiler", loading), ("read script", reading)]
    stages += [(stage.name, stage.seconds) for stage in log.stages if stage.seconds > 1e-3]
    return executable, log, stages, building - log.seconds


def show_stages(stages):
    width = max(len(name) for name, _ in stages)
    longest = max(seconds for _, seconds in stages)
    for name, seconds in stages:
        bar = "#" * max(1, round(30 * seconds / longest))
        print(f"  {name:<{width}} {1e3 * seconds:7.1f} ms  {bar}")


def show_size(executable, path):
    executable.save(path)
    native = sum(len(item.data) for item in executable.native)
    constants = sum(c.nbytes for c in executable.constants if isinstance(c, np.ndarray))
    print(
        f"  {path.name}: {path.stat().st_size:,} bytes, of them native code {native:,} and weights "
        f"{constants:,}; {len(executable.instr_offset)} VM instructions"
    )


def show_batches(compiled, weights, images, seconds):
    """Print, for each batch, how far the results are from numpy's and how long both take."""
    print("  batch   max error   relax-mlir       numpy   numpy / relax-mlir")
    for batch in BATCHES:
        x = images[:batch]
        expected = forward(weights, x)[1]
        error = np.abs(compiled(x) - expected).max()
        ours, numpys = best_times(
            [lambda x=x: compiled(x), lambda x=x: forward(weights, x)], seconds
        )
        print(
            f"  {batch:5}   {error:9.1e}   {1e6 * ours:7.1f} us  {1e6 * numpys:7.1f} us"
            f"   {numpys / ours:10.2f}"
        )


def show_error(compiled):
    try:
        compiled(np.zeros((1, 63), "float32"))
    except RelaxMLIRError as error:
        text = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        print(textwrap.fill(text, 96, initial_indent="  ", subsequent_indent="    "))


def numpy_kernels():
    blas = [p for p in threadpool_info() if p["user_api"] == "blas" and "numpy" in p["filepath"]]
    if not blas:
        return f"numpy {np.__version__}"
    info = blas[0]
    return (
        f"numpy {np.__version__} ({info['internal_api']} {info['version']}, "
        f"{info.get('architecture', 'unknown')} kernels, {info['num_threads']} thread)"
    )


def empty(folder):
    """Return the folder without what an earlier run left: its stages may have had other names."""
    for path in folder.glob("[0-9][0-9]_*.*"):
        if path.suffix in (".mlir", ".ll", ".s"):
            path.unlink()
    return folder


def heading(text):
    print(f"\n{text}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Compile a digits classifier and run it.")
    parser.add_argument("--out", type=Path, default=Path("demo-output"), help="folder to fill")
    parser.add_argument("--quick", action="store_true", help="time everything only briefly")
    options = parser.parse_args()

    images, labels, training, test = digits()
    start = time.perf_counter()
    weights = train(images[training], labels[training])
    seconds = time.perf_counter() - start
    heading("1. A classifier: 64 pixels -> 128, relu -> 10, softmax")
    print(f"  trained with numpy on {len(training):,} of {len(images):,} images in {seconds:.2f} s")

    executable, log, stages, writing = compile_model(weights, empty(options.out))
    heading(f"2. Compiled once, for any batch n, in {sum(s for _, s in stages):.2f} s")
    show_stages(stages)
    show_size(executable, options.out / "digits.rxe")

    compiled = relax.VirtualMachine(executable)["main"]
    guessed = compiled(images).argmax(axis=1)
    right = guessed == labels
    same = np.sum(guessed == forward(weights, images)[1].argmax(axis=1))
    heading("3. Right answers")
    print(f"  on the {len(test)} images held out of training  {100 * right[test].mean():6.2f} %")
    print(f"  on all {len(images):,} images                     {100 * right.mean():6.2f} %")
    print(f"  the same answer as numpy on {same:,} of {len(images):,}")

    heading("4. Against numpy doing the same layers: best times, one thread each")
    show_batches(compiled, weights, images, 0.02 if options.quick else 0.7)
    print(f"  {numpy_kernels()}")

    heading("5. A wrong input: 63 pixels")
    show_error(compiled)

    heading(f"The program after each stage ({writing:.2f} s to write) is in {options.out}{os.sep}")
    files = ", ".join(stage.path.name for stage in log.stages if stage.path)
    print(textwrap.fill(files, 96, initial_indent="  ", subsequent_indent="  "))
    return 0


if __name__ == "__main__":
    sys.exit(main())
