"""Profiles: a table of kernels, Chrome trace, JSON."""

import csv
import html
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.chrome_trace import Span, chrome_trace
from relax_mlir.runtime.profiling.roofline import machine_peak
from relax_mlir.text_table import text_table


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call that the bytecode made.

    Attributes:
        name: the function.
        kind: "native", "bytecode", "builtin" or "packed".
        start: seconds since the profile began.
        seconds: how long it took.
        own: seconds without the calls inside it.
        args: shapes and dtypes of its arguments.
        flops: the compiler's estimate, None when there is none.
        bytes: the compiler's estimate, None when there is none.
    """

    name: str
    kind: str
    start: float
    seconds: float
    own: float
    args: str
    flops: int | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """All calls of one function.

    Attributes:
        name: the function.
        kind: what it is, see `CallRecord`.
        calls: how many.
        seconds: their time together, without the calls inside them.
        share: of the profile's time, 0 to 1.
        flops: estimate for all calls, None when one of them has none.
        bytes: estimate for all calls, None when one of them has none.
    """

    name: str
    kind: str
    calls: int
    seconds: float
    share: float
    flops: int | None
    bytes: int | None


class Report:
    """What a profile found.

    Attributes:
        function: what was run.
        repeat: how often.
        seconds: the time of all runs, without what noting the calls took.
        calls: every call, in the order in which they ended.
        threads: how many threads the native code may use.
        parts: for native functions that were made of several kernels, those.
    """

    function: str
    repeat: int
    seconds: float
    calls: list[CallRecord]
    threads: int
    parts: dict[str, list[str]]

    def __init__(
        self,
        function: str,
        repeat: int,
        seconds: float,
        calls: Sequence[CallRecord],
        threads: int,
        parts: dict[str, list[str]],
    ) -> None:
        self.function, self.repeat, self.seconds = function, repeat, seconds
        self.calls, self.threads, self.parts = list(calls), threads, parts

    def rows(self) -> list[ProfileRow]:
        """Return one row per function, the one with the most time first."""
        groups: dict[tuple[str, str], list[CallRecord]] = {}
        for call in self.calls:
            groups.setdefault((call.name, call.kind), []).append(call)
        result = []
        for (name, kind), calls in groups.items():
            seconds = sum(call.own for call in calls)
            share = seconds / self.seconds if self.seconds else 0.0
            flops, size = _sum([c.flops for c in calls]), _sum([c.bytes for c in calls])
            result.append(ProfileRow(name, kind, len(calls), seconds, share, flops, size))
        return sorted(result, key=lambda row: -row.seconds)

    def table(self, peak: bool = True, builtins: bool = False) -> str:
        """Return the table for people.

        Args:
            peak: whether rates are also given as shares of what this machine can do at best, for
                as many threads, which is measured at the first time.
            builtins: whether each of the VM's own functions has a row, or one for all.
        """
        rows = self.rows()
        if not builtins:
            rows = _merged(rows)
        rest = max(0.0, self.seconds - sum(row.seconds for row in rows))
        share = rest / self.seconds if self.seconds else 0.0
        rows.append(ProfileRow("(bytecode, timing)", "", self.repeat, rest, share, None, None))
        columns = [
            ["function", *(row.name for row in rows)],
            ["kind", *(row.kind for row in rows)],
            ["calls", *(str(row.calls) for row in rows)],
            ["total us", *(f"{1e6 * row.seconds:.1f}" for row in rows)],
            ["us/call", *(f"{1e6 * row.seconds / max(1, row.calls):.2f}" for row in rows)],
            ["share", *(f"{100 * row.share:.1f}%" for row in rows)],
        ]
        flops = [_rate(row.flops, row.seconds) for row in rows]
        sizes = [_rate(row.bytes, row.seconds) for row in rows]
        best = machine_peak() if peak and any(r is not None for r in [*flops, *sizes]) else None
        for rates, unit, top in (
            (flops, "GFLOP/s", best and best.flops * self.threads),
            (sizes, "GB/s", best and best.bandwidth),
        ):
            if any(rate is not None for rate in rates):
                columns.append([unit, *("" if r is None else f"{1e-9 * r:.2f}" for r in rates)])
                if top:
                    of = "% of peak" if unit == "GFLOP/s" else "% of copy"
                    shares = ("" if r is None else f"{100 * r / top:.1f}" for r in rates)
                    columns.append([of, *shares])
        table = text_table([*zip(*columns, strict=True)], right=range(2, len(columns)))
        return "\n".join([table, *self._notes(best)])

    def _notes(self, best: Any) -> list[str]:
        notes = []
        if best:
            notes.append(
                f"peak of one core: {1e-9 * best.flops:.1f} GFLOP/s in float32, copying "
                f"{1e-9 * best.bandwidth:.1f} GB/s (read and written); threads: {self.threads}"
            )
        for name, parts in self.parts.items():
            notes.append(f"{name} is one native call of {len(parts)} kernels: {', '.join(parts)}")
        if self.parts:
            notes.append("compile without the pass OutlineNative to time each of them by itself")
        return ["", *notes] if notes else []

    def json(self) -> str:
        """Return everything as JSON."""
        fields = CallRecord.__slots__
        return json.dumps(
            {
                "function": self.function,
                "repeat": self.repeat,
                "seconds": self.seconds,
                "threads": self.threads,
                "parts": self.parts,
                "calls": [{f: getattr(call, f) for f in fields} for call in self.calls],
            }
        )

    def csv(self) -> str:
        """Return the rows as comma-separated values, the first line their names."""
        fields = ProfileRow.__slots__
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([fields, *([getattr(row, f) for f in fields] for row in self.rows())])
        return text.getvalue().removesuffix("\n")

    def chrome_trace(self) -> str:
        """Return the calls in the format of Chrome's `about:tracing` and of Perfetto."""
        spans = []
        for call in sorted(self.calls, key=lambda c: (c.start, -c.seconds)):
            details: dict[str, Any] = {"args": call.args}
            details |= {k: v for k in ("flops", "bytes") if (v := getattr(call, k)) is not None}
            spans.append(Span(call.name, call.kind, call.start, call.seconds, details))
        return chrome_trace(spans)

    def __str__(self) -> str:
        return self.table(peak=False)

    def _repr_html_(self) -> str:
        """Return the table as notebooks show it."""
        return f"<pre>{html.escape(str(self))}</pre>"


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _merged(rows: list[ProfileRow]) -> list[ProfileRow]:
    own = [row for row in rows if row.kind == "builtin"]
    if not own:
        return rows
    calls, seconds = sum(row.calls for row in own), sum(row.seconds for row in own)
    share = sum(row.share for row in own)
    one = ProfileRow("(builtins)", "builtin", calls, seconds, share, None, None)
    return [*(row for row in rows if row.kind != "builtin"), one]


def _rate(count: int | None, seconds: float) -> float | None:
    return count / seconds if count and seconds else None
