"""A process that measures: prepares workloads and runs them on request, by lines of JSON.

It needs nothing but numpy, for the peers' processes use it too.
"""

import json
import os
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from workload import Workload
from workloads import WORKLOADS

# Shorter than this, a clock tells little; a function is then called many times per reading.
_READING = 30e-6

# Gives what to time and what returns the result as an array, or None.
Prepare = Callable[[Workload, int, bool], tuple[Callable[[], Any], Callable[[], Any] | None]]


def best_call(call: Callable[[], Any], seconds: float, *, mean: bool = False) -> float:
    """Return the best or mean time of a call in seconds, of as many as fit in the time, or of two.

    Beside a busy process the best time says nothing: it is of a time slice without it.
    """
    call()
    start = perf_counter()
    call()
    once = perf_counter() - start
    number = max(1, round(_READING / (once + 1e-9)))
    best, total, end, turns = once, 0.0, start + seconds, 0
    while turns < 2 or perf_counter() < end:
        turns += 1
        start = perf_counter()
        for _ in range(number):
            call()
        took = (perf_counter() - start) / number
        best, total = min(best, took), total + took
    return total / turns if mean else best


def serve(prepare: Prepare, special: Callable[[dict[str, Any]], Any] | None = None) -> None:
    """Answer commands on standard input until it ends.

    Args:
        prepare: from a workload, the number of threads and whether sizes are symbolic.
        special: answers commands that are neither `prepare` nor `run`.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is not an answer
    calls: dict[str, Callable[[], Any]] = {}
    for line in sys.stdin:
        order = json.loads(line)
        try:
            if order["do"] == "prepare":
                calls.clear()
                work = WORKLOADS[order["work"]]
                for dynamic in order["versions"]:
                    key = "dynamic" if dynamic else "static"
                    calls[key], result = prepare(work, order["threads"], dynamic)
                    calls[key]()
                    np.save(f"{order['save']}.{key}.npy", np.asarray(result()))
                answer: Any = list(calls)
            elif order["do"] == "run":
                answer = best_call(
                    calls[order["version"]], order["seconds"], mean=order.get("mean", False)
                )
            else:
                answer = special(order)
            reply = {"answer": answer}
        except Exception as error:  # it is the other side that decides what is fatal
            lines = str(error).strip().splitlines() or [""]
            reply = {"error": f"{type(error).__name__}: {lines[0][:300]}"}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()
