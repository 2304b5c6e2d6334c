"""Reproducers: one file with the module before the failing pass and the remaining passes.

The file is written before each pass and removed after the last one, so it is there also when a
pass takes the process down. It has the form of MLIR's own: `relax-opt FILE --run-reproducer`, or
`mlir-opt FILE --run-reproducer` where only upstream passes remain.
"""

import inspect
import json
import re
import shlex
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import PassError, PipelineError
from relax_mlir.lowering.target.of_module import ATTRIBUTE
from relax_mlir.lowering.target.target import Target
from relax_mlir.pass_infra import config, registry
from relax_mlir.pass_infra.instrument import PassInstrument
from relax_mlir.pass_infra.interface import AnyPass
from relax_mlir.pass_infra.text.pipeline import Pipeline
from relax_mlir.pass_infra.upstream import NAMES as UPSTREAM_NAMES

# What the first lines of a reproducer start with.
_REMARK = "// "
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
        with _naming_os_errors(file):
            file.unlink(missing_ok=True)
    finally:
        _THREAD.path = None


@contextmanager
def recording(
    path: str, module: ir.Module, running: AnyPass, instruments: Iterable[PassInstrument] = ()
) -> Iterator[None]:
    """Keep the reproducer up to date while a pass runs; what it calls itself is part of it."""
    with recorded(path):
        if running.is_sequence or _THREAD.in_pass:
            yield
            return
        file = _THREAD.path or Path(path)
        after = [each for level in reversed(_THREAD.after) for each in level()]
        pipeline = f"builtin.module({','.join([str(running), *after])})"
        with _naming_os_errors(file), _carrying_target(module.operation):
            checks = [each.flag for each in instruments if each.flag]
            write_reproducer(file, module, pipeline, _remarks(file, pipeline, running, checks))
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


@contextmanager
def _carrying_target(module: ir.Operation) -> Iterator[None]:
    """Let a module carry the current target, which its file has to say, inside of the body."""
    current = Target.current()
    if current is None or ATTRIBUTE in module.attributes:
        yield
        return
    module.attributes[ATTRIBUTE] = ir.StringAttr.get(str(current), module.context)
    try:
        yield
    finally:
        del module.attributes[ATTRIBUTE]


@contextmanager
def _naming_os_errors(file: Path) -> Iterator[None]:
    """Make an error of the file system say which option named the file."""
    try:
        yield
    except OSError as error:
        raise PipelineError(
            f"the reproducer '{file}' cannot be written: {error.strerror or error}; "
            f"option '{config.REPRODUCER}' of the PassContext names it"
        ) from error


def write_reproducer(
    path: str | Path, module: ir.Module, pipeline: str, remarks: Sequence[str] = ()
) -> None:
    """Write a module and a pipeline that runs on it.

    Args:
        path: the file.
        module: the module.
        pipeline: its text.
        remarks: lines of comment to begin with.

    Raises:
        OSError: the file cannot be written.
    """
    head = "".join(f"{_REMARK}{line}\n" for line in remarks)
    text = module.operation.get_asm(enable_debug_info=True, assume_verified=True)
    Path(path).write_text(head + with_pipeline(text.rstrip(), pipeline), encoding="utf-8")


def with_pipeline(text: str, pipeline: str) -> str:
    """Return the text of a reproducer: that of a module, and a pipeline that runs on it."""
    return (
        f"{text}\n\n{{-#\n  external_resources: {{\n    mlir_reproducer: {{\n"
        f"      pipeline: {json.dumps(pipeline)},\n"
        "      disable_threading: true,\n      verify_each: true\n    }\n  }\n#-}\n"
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


def remarks_of(text: str) -> list[str]:
    """Return the lines that a reproducer begins with: how to run it."""
    result = []
    for line in text.splitlines():
        if not line.startswith(_REMARK):
            break
        result.append(line.removeprefix(_REMARK).strip())
    return result


def _remarks(file: Path, pipeline: str, running: AnyPass, checks: Sequence[str]) -> list[str]:
    """Say how to run a reproducer, and which files register the passes of users that it needs."""
    files: dict[str, None] = {}
    unknown: list[str] = []
    names = [
        step.name
        for top in Pipeline.parse(pipeline).steps
        for step in top.walk()
        if not step.is_anchor
    ]
    for name in dict.fromkeys(names):
        source = registry.file_of(name)
        if source is None and (registry.find(name) is not None or name in UPSTREAM_NAMES):
            continue
        if source is None and name == registry.flag_of(running.info.name):
            source = _source(getattr(running, "pass_func", None))
        if source and Path(source).is_file():
            files[str(Path(source).resolve())] = None
        if registry.find(name) is None:
            unknown.append(f"pass '{name}' is not registered: a call of register_pass is missing")
        elif not (source and Path(source).is_file()):
            unknown.append(f"pass '{name}' was registered by no file: --load one that does")
    loads = [f"--load={shlex.quote(each)}" for each in files]
    command = ["relax-opt", shlex.quote(str(file)), *loads, "--run-reproducer", *checks]
    return [" ".join(command), *unknown]


def _source(function: object) -> str | None:
    try:
        return inspect.getsourcefile(inspect.unwrap(function))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
