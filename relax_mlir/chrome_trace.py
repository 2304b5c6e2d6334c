"""Chrome's trace format, which chrome://tracing and ui.perfetto.dev show."""

import json
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Span:
    """Something that took time.

    Attributes:
        name: what it is called.
        category: the kind of it, by which viewers filter.
        start: when it began, in seconds.
        seconds: how long it took.
        args: details that a viewer shows for it.
    """

    name: str
    category: str
    start: float
    seconds: float
    args: dict[str, Any] = field(default_factory=dict)


def chrome_trace(spans: Iterable[Span]) -> str:
    """Return spans of this thread as the text of a trace."""
    place = {"pid": os.getpid(), "tid": threading.get_ident()}
    events: list[dict[str, Any]] = [
        {"name": "process_name", "ph": "M", **place, "args": {"name": "relax-mlir"}}
    ]
    for span in spans:
        times = {"ts": 1e6 * span.start, "dur": 1e6 * span.seconds}
        event = {"name": span.name, "cat": span.category, "ph": "X", **times, **place}
        events.append({**event, "args": span.args})
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"})
