"""MLIR's diagnostics as plain data: captured during a call, then rendered or checked."""

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from relax_mlir.dialects.bindings import ir

# What is said where MLIR's own words cannot be handed to Python, which knows strings of text only.
NOT_TEXT = "(MLIR's message holds a name that is not UTF-8 text)"
_ESCAPE = re.compile(rb"\\([0-9A-F]{2}|.)")


@dataclass(frozen=True)
class Diagnostic:
    """One error, warning, remark or note with its source position; `line` is 0 where unknown."""

    severity: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    notes: "tuple[Diagnostic, ...]" = ()

    def render(self) -> str:
        """Return `file:line:col: severity: message`, without the position where there is none."""
        position = f"{self.file}:{self.line}:{self.column}: " if self.line else ""
        return f"{position}{self.severity}: {self.message}"

    def lines(self) -> list[str]:
        """Return this diagnostic and its notes, rendered."""
        return [self.render(), *(line for note in self.notes for line in note.lines())]


_SIGNATURE = re.compile(r"^\d+\. ")
_LONG_NAME = re.compile(r"\b\w+\._mlir_libs\._mlir\.(?:ir\.)?")


class DiagnosticContext:
    """Collects what passes report: `PassContext(diag_ctx=DiagnosticContext())`.

    Attributes:
        diagnostics: everything reported so far, in order.
    """

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []

    def emit(self, diagnostic: Diagnostic) -> None:
        """Add a diagnostic of one's own."""
        self.diagnostics.append(diagnostic)

    @property
    def errors(self) -> list[Diagnostic]:
        """The errors among the diagnostics."""
        return [each for each in self.diagnostics if each.severity == "error"]

    def render(self) -> str:
        """Return every diagnostic with its notes, and the line of source where it can be read."""
        return "".join(line + "\n" for each in self.diagnostics for line in excerpt(each))


def hand_over(diagnostics: Iterable[Diagnostic], sink: DiagnosticContext | None) -> None:
    """Give diagnostics to who collects them, else print them as MLIR itself would."""
    for diagnostic in diagnostics:
        if sink is not None:
            sink.emit(diagnostic)
        else:
            print(*diagnostic.lines(), sep="\n", file=sys.stderr)


def excerpt(diagnostic: Diagnostic) -> list[str]:
    """Return a diagnostic's lines, with the source underlined where its file is at hand."""
    lines = diagnostic.lines()
    if not diagnostic.line or not diagnostic.column or not diagnostic.file:
        return lines
    try:
        with Path(diagnostic.file).open(encoding="utf-8") as file:
            source = next(line for number, line in enumerate(file, 1) if number == diagnostic.line)
    except (OSError, UnicodeDecodeError, StopIteration):
        return lines
    source = source.rstrip("\n")
    before = source[: diagnostic.column - 1]
    padding = "".join("\t" if char == "\t" else " " for char in before)
    return [lines[0], source, f"{padding}^", *lines[1:]]


def from_mlir(diagnostic: "ir.Diagnostic | ir.DiagnosticInfo") -> Diagnostic:
    """Copy a diagnostic out of MLIR; the original is only valid inside its handler."""
    file, line, column = source_position(diagnostic.location)
    return Diagnostic(
        severity=diagnostic.severity.name.lower(),
        message=_message(diagnostic),
        file=file,
        line=line,
        column=column,
        notes=tuple(from_mlir(note) for note in diagnostic.notes),
    )


def _message(diagnostic: "ir.Diagnostic | ir.DiagnosticInfo") -> str:
    # Names in quotes and in bytecode may hold any bytes, and an exception that leaves a diagnostic
    # handler prints a traceback.
    try:
        return diagnostic.message
    except (RuntimeError, UnicodeDecodeError):
        return NOT_TEXT


def _file_name(location: "ir.FileLineColLoc") -> str:
    # Where the name is not UTF-8 text the bindings' `filename` ends the process.
    printed = str(location)
    if "\\" not in printed:
        return location.filename
    quoted = printed[printed.index('"') + 1 : printed.rindex('"')].encode()
    return _ESCAPE.sub(_unescape, quoted).decode(errors="backslashreplace")


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 16)]) if len(code) == 2 else code


def source_position(location: ir.Location) -> tuple[str, int, int]:
    """Return file, line and column of the first file position in a location, or `("", 0, 0)`."""
    if isinstance(location, ir.FileLineColLoc):
        return _file_name(location), location.start_line, location.start_col
    if isinstance(location, ir.NameLoc):
        return source_position(location.child_loc)
    if isinstance(location, ir.CallSiteLoc):
        return source_position(location.callee)
    if isinstance(location, ir.FusedLoc):
        for part in location.locations:
            position = source_position(part)
            if position[1]:
                return position
    return "", 0, 0


@contextmanager
def captured(context: ir.Context) -> Iterator[list[Diagnostic]]:
    """Collect every diagnostic of a context in the body, errors included, and print none."""
    diagnostics: list[Diagnostic] = []

    def collect(diagnostic: ir.Diagnostic) -> bool:
        diagnostics.append(from_mlir(diagnostic))
        return True

    # Else MLIR keeps the errors inside its exception and loses those of a run that succeeds.
    before = context.emit_error_diagnostics
    context.emit_error_diagnostics = True
    handler = context.attach_diagnostic_handler(collect)
    try:
        yield diagnostics
    finally:
        handler.detach()
        context.emit_error_diagnostics = before


def exception_text(error: BaseException) -> str:
    """Return an exception's type and message; what the bindings say of wrong arguments in a line.

    They list every signature on a line of its own, with the full names of their types.
    """
    text = str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if isinstance(error, TypeError) and "incompatible function arguments" in text and lines[1:]:
        wanted = " or ".join(_SIGNATURE.sub("", line) for line in lines[1:-1])
        given = lines[-1].replace("Invoked", "invoked", 1)
        text = f"{lines[0].partition('. ')[0]}: it takes {wanted}; {given}"
        text = _LONG_NAME.sub("", text)
    return f"{type(error).__name__}: {text}"
