"""The demo's classifier, compiled, against numpy doing the same layers on one thread."""

import harness

from relax_mlir import relax

BATCHES = (1, 17, 64, 1797)


def measure():
    """Return per batch the best seconds of the compiled model and of numpy."""
    digits = harness.example("digits")
    images, labels, training, _ = digits.digits()
    weights = digits.train(images[training], labels[training])
    compiled = relax.VirtualMachine(relax.build(digits.digits_module(weights)))["main"]
    times = []
    for batch in BATCHES:
        x = images[:batch]
        times.append(
            harness.best_times([lambda x=x: compiled(x), lambda x=x: digits.forward(weights, x)])
        )
    return times


def main():
    print(f"digits, 64 -> 128 relu -> 10 softmax, any batch; {harness.machine()}\n")
    kernels = harness.runnable_kernels()
    results = harness.in_processes(__file__, kernels)
    rows = []
    for i, batch in enumerate(BATCHES):
        row = [str(batch), f"{1e6 * min(times[i][0] for times in results):.1f}"]
        for times in results:
            ours, numpys = times[i]
            row += [f"{1e6 * numpys:.1f}", f"{numpys / ours:.2f}"]
        rows.append(row)
    header = ["batch", "relax-mlir us"]
    for name in kernels:
        header += [f"numpy us, {name}", "ratio"]
    harness.table(header, rows)


if __name__ == "__main__":
    main()
