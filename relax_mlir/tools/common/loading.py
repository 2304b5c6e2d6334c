"""`--load FILE.py`: runs a file that registers passes and packed functions of the user."""

import importlib.util
import sys
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path

from relax_mlir.tools.common.flags import Flag, UsageError

FLAG = Flag(
    "load",
    "Run this Python file first: it registers passes, packed functions and the like",
    "file",
    repeated=True,
)


def paths(argv: Sequence[str]) -> list[str]:
    """Return the files that a command line loads: they come first, as they make more flags."""
    result: list[str] = []
    words = list(argv)
    while words:
        word = words.pop(0)
        if word == "--":
            break
        name, equals, value = word.partition("=")
        if word.startswith("-") and name.lstrip("-") == FLAG.name:
            if not equals and words:
                value = words.pop(0)
            result.append(value)
    return [path for path in result if path]


def load(files: Iterable[str]) -> None:
    """Run Python files, each once in a process; a file can import modules of its own folder.

    Raises:
        UsageError: a file is not there, or does not run to its end; one line that says where.
    """
    for file in files:
        path = Path(file).resolve()
        name = f"loaded.{path}"
        if name in sys.modules:
            continue
        if not path.is_file():
            raise UsageError(f"cannot load '{file}': there is no such file")
        if path.suffix != ".py":
            raise UsageError(f"cannot load '{file}': it is no Python file (.py)")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        if str(path.parent) not in sys.path:
            sys.path.append(str(path.parent))
        # Known before it runs: dataclasses and pickle look their module up.
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:
            del sys.modules[name]
            raise UsageError(f"cannot load '{file}': {_describe(error, path)}") from error


def _describe(error: BaseException, path: Path) -> str:
    """Return an error in one line, with the last line of the file that led to it."""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg} (line {error.lineno})"
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path)
    ]
    where = f" (line {lines[-1]})" if lines else ""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}{where}" if message else type(error).__name__ + where
