"""A roofline plot of what `kernels.py` measured: roofline.py KERNELS.json FOLDER.

One picture for each number of threads: every workload at its operations per byte, ours and the
best peer's, under the measured peak of multiply-adds and the bandwidth of copying.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import matplotlib as mpl
from bars import BARS
from workloads import WORKLOADS

mpl.use("Agg")
import matplotlib.pyplot as plt

OURS = ("ours", "dynamic")


def draw(results, threads, path):
    """Write the picture of the results with so many threads."""
    figure, axes = plt.subplots(figsize=(11, 7), layout="constrained")
    mine = {k.rsplit("/", 1)[0]: r for k, r in results.items() if k.endswith(f"/{threads}")}
    peak = max(r["flops"] for r in mine.values()) / 1e9
    far = [WORKLOADS[n] for n in mine if n in WORKLOADS and WORKLOADS[n].out_of_cache]
    large = [mine[w.name]["bandwidth"] for w in far if not w.only_reads]
    cached = max(r["bandwidth"] for r in mine.values()) / 1e9
    roofs = {"copy in cache": cached}
    if large:
        roofs["copy out of cache"] = max(large) / 1e9
    ends = (0.05, 1000.0)
    for style, (name, width) in zip(("--", "-"), roofs.items(), strict=False):
        ridge = peak / width
        axes.plot(
            [ends[0], ridge, ends[1]], [ends[0] * width, peak, peak], f"k{style}", lw=1,
            label=f"{name} {width:.0f} GB/s, FMA {peak:.0f} GFLOP/s",
        )  # fmt: skip
    for i, group in enumerate(BARS):
        points, rivals = [], []
        for name, result in mine.items():
            work, times = WORKLOADS.get(name), result["times"]
            if work is None or work.group != group or "ours" not in times or not work.flops:
                continue
            x = work.flops / work.bytes
            points.append((x, work.flops / times["ours"] / 1e9))
            peers = [time for peer, time in times.items() if peer not in OURS]
            if peers:
                rivals.append((x, work.flops / min(peers) / 1e9))
        if not points:
            continue
        color = f"C{i}"
        axes.scatter(*zip(*points, strict=True), color=color, s=34, label=group, zorder=3)
        if rivals:
            shape = {"marker": "o", "facecolors": "none", "edgecolors": color, "s": 34}
            axes.scatter(*zip(*rivals, strict=True), zorder=2, **shape)
        for (x, a), (_, b) in zip(points, rivals, strict=False):
            axes.plot([x, x], [a, b], color=color, lw=0.7, zorder=1)
    axes.set(xscale="log", yscale="log", xlim=ends, xlabel="FLOP per byte", ylabel="GFLOP/s")
    axes.set_ylim(0.5, 1.6 * peak)
    plural = "" if threads == "1" else "s"
    axes.set_title(f"{threads} thread{plural}: ours (filled) and the best peer (rings)")
    axes.grid(True, which="major", lw=0.3)
    axes.legend(loc="lower right", fontsize=8)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main():
    """Draw every number of threads in the file."""
    results = json.loads(Path(sys.argv[1]).read_text())
    for threads in sorted({key.rsplit("/", 1)[1] for key in results}, key=int):
        path = Path(sys.argv[2], f"roofline-{threads}.png")
        draw(results, threads, path)
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
