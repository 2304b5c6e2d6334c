"""Input and output of tools: files, standard streams, splitting at `// -----`."""

import contextlib
import errno
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from relax_mlir.errors import RelaxMLIRError

BYTECODE_MAGIC = b"ML\xefR"
# Files of models, which importers read.
BINARY = (".onnx", ".pt2")
_SPLIT = re.compile(r"^[ \t]*// -----[ \t]*(?://.*)?$", re.MULTILINE)


class InputError(RelaxMLIRError):
    """The input cannot be read; the message is one line."""


@dataclass(frozen=True)
class Source:
    """One input: its bytes as read, and its text unless it is bytecode.

    A part of a split file keeps its line numbers: it starts with as many empty lines as precede it.
    """

    name: str
    data: bytes
    text: str | None

    def line(self, number: int) -> str:
        """Return a line of the text, from 1, or an empty string."""
        lines = self.text.split("\n") if self.text else []
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def split(self) -> "list[Source]":
        """Return the parts between split markers; bytecode is one part."""
        if self.text is None:
            return [self]
        parts: list[Source] = []
        start = 0
        for end, following in [
            *((match.start(), match.end()) for match in _SPLIT.finditer(self.text)),
            (len(self.text), len(self.text)),
        ]:
            padding = "\n" * self.text.count("\n", 0, start)
            text = padding + self.text[start:end]
            parts.append(Source(self.name, text.encode(), text))
            start = following
        return parts


def read(path: str) -> Source:
    """Read a file, or standard input for `-`.

    Raises:
        InputError: it is missing, unreadable, a folder, or neither bytecode nor UTF-8 text.
    """
    if path == "-":
        if sys.stdin is None:
            raise InputError("standard input is closed")
        name, data = "<stdin>", sys.stdin.buffer.read()
    else:
        name = path
        if path.endswith(BINARY) and Path(path).is_file():
            return Source(name, b"", None)
        try:
            if not path:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            data = Path(path).read_bytes()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(f"cannot open input file '{path}': {reason}") from None
    if data.startswith(BYTECODE_MAGIC):
        return Source(name, data, None)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        raise InputError(
            f"{name}:{line}:{column}: error: neither MLIR bytecode nor UTF-8 text"
        ) from None
    return Source(name, data, text)


def write(path: str | None, data: bytes) -> None:
    """Write to a file, or to standard output for `-` and None.

    Raises:
        RelaxMLIRError: it cannot be written.
        OSError: there is no standard output.
    """
    if path is not None and path != "-":
        with naming_os_errors(f"write output file '{path}'"):
            Path(path).write_bytes(data)
        return
    if sys.stdout is None:
        raise OSError("standard output is closed")
    with naming_os_errors("write to standard output"):
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


@contextlib.contextmanager
def naming_os_errors(what: str) -> Iterator[None]:
    """Make an error of the system a line that says what could not be done."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise RelaxMLIRError(f"cannot {what}: {error.strerror or error}") from None
