"""Matrix multiplication, static and with unknown sizes, against numpy on one thread."""

import harness
import numpy as np

from relax_mlir import relax, script

SQUARE = (16, 64, 127, 256, 512, 1024)
# Rows, depth, columns: a vector times a matrix, few rows, little depth, few columns, a layer.
SKINNY = (
    (1, 1024, 1024),
    (4, 1024, 1024),
    (1024, 4, 1024),
    (1024, 1024, 4),
    (1797, 64, 128),
    (128, 768, 3072),
)
SHAPES = [*((n, n, n) for n in SQUARE), *SKINNY]


def module():
    """Return a module with a function per shape and one, `dynamic`, for all of them."""
    text = "@I.ir_module\nclass Matmuls:\n"
    for name, shapes in [
        ("dynamic", ('("n", "k")', '("k", "m")')),
        *((f"static{i}", ((n, k), (k, m))) for i, (n, k, m) in enumerate(SHAPES)),
    ]:
        text += (
            f"    @R.function\n"
            f"    def {name}(x: R.Tensor({shapes[0]}, 'float32'), "
            f"w: R.Tensor({shapes[1]}, 'float32')):\n"
            f"        with R.dataflow():\n"
            f"            y = R.matmul(x, w)\n"
            f"            R.output(y)\n"
            f"        return y\n"
        )
    return script.from_source(text)


def measure():
    """Return per shape the best seconds: static, dynamic, numpy."""
    vm = relax.VirtualMachine(relax.build(module()))
    rng = np.random.default_rng(0)
    times = []
    for i, (n, k, m) in enumerate(SHAPES):
        x, w = rng.random((n, k), dtype="float32"), rng.random((k, m), dtype="float32")
        np.testing.assert_allclose(vm["dynamic"](x, w), x @ w, rtol=1e-4)
        times.append(
            harness.best_times(
                [
                    lambda f=vm[f"static{i}"], x=x, w=w: f(x, w),
                    lambda f=vm["dynamic"], x=x, w=w: f(x, w),
                    lambda x=x, w=w: x @ w,
                ],
                seconds=0.6,
            )
        )
    return times


def main():
    print(f"float32 matmul, GFLOP/s; {harness.machine()}\n")
    kernels = harness.runnable_kernels()
    results = harness.in_processes(__file__, kernels)
    rows = []
    for i, (n, k, m) in enumerate(SHAPES):
        work = 2e-9 * n * k * m
        static, dynamic = (min(times[i][j] for times in results) for j in (0, 1))
        row = [f"{n} x {k} x {m}", f"{work / static:.1f}", f"{work / dynamic:.1f}"]
        for times in results:
            static, dynamic, numpys = times[i]
            row += [f"{work / numpys:.1f}", f"{numpys / static:.2f}", f"{numpys / dynamic:.2f}"]
        rows.append(row)
    header = ["rows x depth x columns", "static", "dynamic"]
    for name in kernels:
        header += [f"numpy, {name}", "ratio static", "dynamic"]
    harness.table(header, rows)


if __name__ == "__main__":
    main()
