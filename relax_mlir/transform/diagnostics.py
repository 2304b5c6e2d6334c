"""MLIR's diagnostics as plain data: captured while something runs, then rendered or checked."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir


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


def from_mlir(diagnostic: "ir.Diagnostic | ir.DiagnosticInfo") -> Diagnostic:
    """Copy a diagnostic out of MLIR; the original is only valid inside its handler."""
    file, line, column = source_position(diagnostic.location)
    return Diagnostic(
        severity=diagnostic.severity.name.lower(),
        message=diagnostic.message,
        file=file,
        line=line,
        column=column,
        notes=tuple(from_mlir(note) for note in diagnostic.notes),
    )


def source_position(location: ir.Location) -> tuple[str, int, int]:
    """Return file, line and column of the first file position in a location, or `("", 0, 0)`."""
    if isinstance(location, ir.FileLineColLoc):
        return location.filename, location.start_line, location.start_col
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
    found: list[Diagnostic] = []

    def collect(diagnostic: ir.Diagnostic) -> bool:
        found.append(from_mlir(diagnostic))
        return True

    # Else MLIR keeps the errors inside its exception and loses those of a run that succeeds.
    before = context.emit_error_diagnostics
    context.emit_error_diagnostics = True
    handler = context.attach_diagnostic_handler(collect)
    try:
        yield found
    finally:
        handler.detach()
        context.emit_error_diagnostics = before
