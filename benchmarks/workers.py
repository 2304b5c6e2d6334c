"""A process that measures, seen from the one that orders it."""

import functools
import json
import os
import signal
import subprocess
import threading

PATIENCE = 120  # seconds for an answer: IREE compiles some programs for longer than all else takes


class Worker:
    """A process that answers lines of JSON, stopped while it is not asked.

    Args:
        command: what to run.
        log: a file for what it prints.
        threads: how many it may use.
        environment: variables that it gets besides.
    """

    def __init__(self, command, log, threads, environment=None):
        limits = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        self.log_path = log.name
        self._start = functools.partial(
            subprocess.Popen,
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, **dict.fromkeys(limits, str(threads)), **(environment or {})},
        )
        self._process = self._start()

    def ask(self, order):
        """Return the reply to an order: a dictionary with an `answer` or an `error`."""
        self._signal(signal.SIGCONT)
        late = threading.Event()

        def end():
            late.set()
            self._process.kill()

        alarm = threading.Timer(PATIENCE, end)
        alarm.start()
        try:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        alarm.cancel()
        if not line:
            ended = self._process.wait()
            self._process = self._start()  # for the next workload
            late_by = f"no answer in {PATIENCE} s"
            reason = late_by if late.is_set() else f"the process ended: {ended}"
            return {"error": reason}
        self._signal(signal.SIGSTOP)
        return json.loads(line)

    def close(self):
        """End the process."""
        self._signal(signal.SIGCONT)
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _signal(self, number):
        if self._process.poll() is None:
            self._process.send_signal(number)
