"""The table of `kernels.py`, in Markdown, with the bars of issue 6."""

import math

from bars import BARS, DYNAMIC_BAR, Bar
from last_level_cache import description
from workloads import WORKLOADS

PEERS = {"onnxruntime": "ORT", "openvino": "OpenVINO", "iree": "IREE", "torch": "torch"}
_PACKAGE_ROOT = ("ours", "dynamic")


def limit(work, result):
    """Return the least seconds in which the machine can do a workload, and what limits it."""
    by = {
        "FMA": work.flops / result["flops"] if result["flops"] else 0.0,
        "read" if work.only_reads else "copy": (
            work.bytes / result["bandwidth"] if result["bandwidth"] else 0.0
        ),
    }
    name = max(by, key=by.get)
    return by[name], name


def judged(work, result):
    """Return ratios and whether the bars are met: a dictionary; what is unknown is absent."""
    times, bar = result["times"], BARS[work.group]
    peers = {name: time for name, time in times.items() if name not in _PACKAGE_ROOT}
    found, met = {}, []
    if "ours" not in times:
        return {"met": False}
    ours = times["ours"]
    least, by = limit(work, result)
    found["share"], found["by"] = least / ours, by
    if peers:
        found["ratio"] = min(peers.values()) / ours
        if bar.each is not None:
            met.append(found["ratio"] >= bar.each)
    if work.fma_share is not None:
        met.append(work.flops / result["flops"] / ours >= work.fma_share)
    if bar.bandwidth is not None and work.out_of_cache:
        met.append(work.bytes / result["bandwidth"] / ours >= bar.bandwidth)
    if "dynamic" in times:
        found["dynamic"] = ours / times["dynamic"]
        met.append(found["dynamic"] >= DYNAMIC_BAR)
    if met:
        found["met"] = all(met)
    return found


def geomean(values):
    """Return the geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def report(results):
    """Return the tables of what was measured, by number of threads and group."""
    lines = []
    for threads in sorted({key.rsplit("/", 1)[1] for key in results}, key=int):
        mine = {
            key.rsplit("/", 1)[0]: result
            for key, result in results.items()
            if key.endswith(f"/{threads}")
        }
        flops = max(result["flops"] for result in mine.values())
        lines += [f"## {threads} thread{'s' if threads != '1' else ''}", ""]
        loaded = max(result.get("loaded", 0.0) for result in mine.values())
        lines += [
            f"Measured FMA peak {flops / 1e9:.0f} GFLOP/s, {loaded / 1e9:.0f} with operands loaded "
            "from the first-level cache. Times in milliseconds.",
            *([description()] if any(WORKLOADS[name].out_of_cache for name in mine) else []),
            "",
        ]
        # The peak is the machine's: one that was measured while something else ran is none.
        mine = {name: {**result, "flops": flops} for name, result in mine.items()}
        lines += _rows(mine)
        lines += ["", *_groups(mine), ""]
        lines += [
            f"- {name}: {who}: {error}"
            for name, result in mine.items()
            for who, error in result["errors"].items()
        ]
        lines.append("")
    return "\n".join(lines)


def _rows(mine):
    header = ["workload", "ours", "rate", "of limit", "dynamic", *PEERS.values(), "ratio", "bar"]
    rows = []
    for name, work in WORKLOADS.items():
        if name not in mine:
            continue
        result = mine[name]
        times, verdict = result["times"], judged(work, result)
        ours = times.get("ours")
        rate = "-"
        if ours:
            by_flops = verdict["by"] == "FMA"
            amount, unit = (work.flops, "GF/s") if by_flops else (work.bytes, "GB/s")
            rate = f"{amount / ours / 1e9:.1f} {unit}"
        rows.append([
            name,
            _ms(ours),
            rate,
            f"{100 * verdict['share']:.0f}% {verdict['by']}" if ours else "-",
            f"{verdict['dynamic']:.2f}" if "dynamic" in verdict else "-",
            *(_ms(times.get(peer)) for peer in PEERS),
            f"{verdict['ratio']:.2f}" if "ratio" in verdict else "-",
            {True: "met", False: "MISSED"}.get(verdict.get("met"), ""),
        ])  # fmt: skip
    return aligned(header, rows)


def _groups(mine):
    rows = []
    for group, bar in BARS.items():
        found = [
            (name, judged(WORKLOADS[name], result))
            for name, result in mine.items()
            if WORKLOADS[name].group == group
        ]
        ratios = {name: v["ratio"] for name, v in found if "ratio" in v}
        if not ratios:
            continue
        mean, worst = geomean(ratios.values()), min(ratios, key=ratios.get)
        wanted = [f"each {bar.each}"] * (bar.each is not None)
        wanted += [f"geomean {bar.mean}"] * (bar.mean is not None)
        met = all(ratio >= (bar.each or 0) for ratio in ratios.values()) and mean >= (bar.mean or 0)
        rows.append([
            group, str(len(ratios)), f"{mean:.2f}", f"{ratios[worst]:.2f} {worst}",
            ", ".join(wanted) or "none", "" if bar == Bar() else "met" if met else "MISSED",
        ])  # fmt: skip
    return aligned(["group", "of", "geomean", "worst", "bar on ratio", ""], rows)


def _ms(seconds):
    return "-" if seconds is None else f"{1e3 * seconds:.4g}"


def aligned(header, rows):
    """Return the lines of a Markdown table, the first column left, the others right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    rules = ["-" * w if i == 0 else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    lines = []
    for row in [header, rules, *rows]:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines
