"""Reproducers: one file with the module before a failing pass and the passes that remained.

The file is written before each pass and removed after the last one, so it is there also when a
pass takes the process down. It has the form of MLIR's own: `relax-opt FILE --run-reproducer`, or
`mlir-opt FILE --run-reproducer` where only upstream passes remain.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import PassError, PipelineError

if TYPE_CHECKING:
    from relax_mlir.transform.passes import Pass

_PIPELINE = re.compile(r'^\s*pipeline:\s*("(?:[^"\\]|\\.)*")', re.MULTILINE)


class _Thread(threading.local):
    """The run that is being recorded in this thread.

    Attributes:
        path: the file, None outside of a recorded run.
        after: what comes after the pass that runs, one entry for each pass around it.
        in_pass: whether a pass that is no sequence runs; the passes that it calls are its own.
    """

    path: Path | None = None
    in_pass = False

    def __init__(self) -> None:
        self.after: list[Callable[[], Sequence[str]]] = []


_THREAD = _Thread()


@contextmanager
def recorded(path: str | Path) -> Iterator[None]:
    """Make the passes of the body one run: its file goes when all have succeeded.

    Args:
        path: the file; nothing is recorded without one, or inside of another run.
    """
    if not path or _THREAD.path is not None:
        yield
        return
    file = Path(path)
    _THREAD.path, _THREAD.after = file, []
    try:
        yield
        file.unlink(missing_ok=True)
    finally:
        _THREAD.path = None


@contextmanager
def recording(path: str, module: ir.Module, running: "Pass") -> Iterator[None]:
    """Keep the reproducer up to date while a pass runs; what it calls itself is part of it."""
    with recorded(path):
        if running.is_sequence or _THREAD.in_pass:
            yield
            return
        file = _THREAD.path or Path(path)
        after = [each for level in reversed(_THREAD.after) for each in level()]
        pipeline = f"builtin.module({','.join([str(running), *after])})"
        write_reproducer(file, module, pipeline)
        _THREAD.in_pass = True
        try:
            yield
        except PassError as error:
            error.args = (f"{error}\nreproducer: {file}",)
            raise
        finally:
            _THREAD.in_pass = False


@contextmanager
def remaining(after: Callable[[], Sequence[str]]) -> Iterator[None]:
    """Say what a sequence will run after the pass that runs in the body."""
    if _THREAD.path is None:
        yield
        return
    _THREAD.after.append(after)
    try:
        yield
    finally:
        _THREAD.after.pop()


def write_reproducer(path: str | Path, module: ir.Module, pipeline: str) -> None:
    """Write a module and a pipeline that runs on it.

    Raises:
        OSError: the file cannot be written.
    """
    text = module.operation.get_asm(enable_debug_info=True, assume_verified=True)
    Path(path).write_text(
        f"{text.rstrip()}\n\n{{-#\n  external_resources: {{\n    mlir_reproducer: {{\n"
        f"      pipeline: {json.dumps(pipeline)},\n"
        "      disable_threading: true,\n      verify_each: true\n    }\n  }\n#-}\n",
        encoding="utf-8",
    )


def read_pipeline(text: str) -> str:
    """Return the pipeline in a reproducer.

    Raises:
        PipelineError: the text is no reproducer.
    """
    start = text.rfind("mlir_reproducer")
    match = _PIPELINE.search(text, start) if start >= 0 else None
    if match is None:
        raise PipelineError("the input is not a reproducer: it has no 'mlir_reproducer' resource")
    return json.loads(match.group(1))
