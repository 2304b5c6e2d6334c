"""Parsing MLIR text and bytecode; errors as lines of text."""

import sys
from collections.abc import Iterable
from pathlib import Path

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import PassError
from relax_mlir.ir.transfer import custom_syntax
from relax_mlir.pass_infra.execution import trial_parse
from relax_mlir.pass_infra.execution.diagnostics import Diagnostic, captured
from relax_mlir.tools.common.hints import hint
from relax_mlir.tools.common.streams import Source

# A file so called is a TVMScript, which is parsed and not executed.
SCRIPT_SUFFIX = ".py"
# MLIR calls a buffer that is not a file so.
_BUFFER = "-"


def parse(
    source: Source, context: ir.Context, *, part: bool = False
) -> tuple[ir.Module | None, list[Diagnostic]]:
    """Return a module, or None where it cannot be read, and everything that MLIR reported.

    Args:
        source: the input; one that may crash MLIR is tried in a child process first.
        context: where the module will live.
        part: whether it is a part of a file.

    Raises:
        ScriptError: it is a TVMScript, a file that ends in .py, and wrong.
    """
    if source.name.endswith(SCRIPT_SUFFIX) and source.text is not None:
        from relax_mlir.script.files import parse_file

        script = parse_file(source.text, source.name)
        return script.moved_to(context).mlir_module, []
    failed = trial_parse.failure(source.name, source.text, lambda: _try(source, context, part))
    return (None, failed) if failed else _read(source, context, part)


def _try(source: Source, context: ir.Context, part: bool) -> list[Diagnostic]:
    module, diagnostics = _read(source, context, part)
    if module is None:
        return diagnostics
    # What is nested too deep to be printed is no use either.
    str(module)
    return []


def _read(
    source: Source, context: ir.Context, part: bool
) -> tuple[ir.Module | None, list[Diagnostic]]:
    with captured(context) as diagnostics:
        try:
            # MLIR's locations name the file only if MLIR reads it, and a pipe is read once.
            if Path(source.name).is_file() and not part:
                return ir.Module.parseFile(source.name, context), diagnostics
            return ir.Module.parse(source.data, context), diagnostics
        except ir.MLIRError:
            pass
    if not diagnostics:
        custom = custom_syntax(source.data)
        if custom is None:
            diagnostics = [Diagnostic("error", f"{source.name} is not valid MLIR")]
        else:
            message, line, column = custom
            diagnostics = [Diagnostic("error", message, source.name, line, column)]
    return None, diagnostics


def failure(error: PassError, reported: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the message for a pass that failed: what was reported, or else the error."""
    result = list(reported)
    # An unexpected exception of a pass is reported even where it also emitted diagnostics.
    meant = error.__cause__ is None or isinstance(error.__cause__, PassError)
    if not result or not meant:
        # Diagnostics of MLIR have been reported; what else the error has to say are notes.
        notes = () if result else tuple(Diagnostic("note", line) for line in error.diagnostics)
        result.append(Diagnostic("error", str(error).splitlines()[0], notes=notes))
    return result


def report(source: Source, diagnostics: Iterable[Diagnostic], context: ir.Context) -> None:
    """Print diagnostics to standard error."""
    for diagnostic in diagnostics:
        for each in (diagnostic, *diagnostic.notes):
            # A note that lists fifty dialects helps less than the one that was meant.
            if not each.message.startswith("Available dialects:"):
                print(_render(source, each, context), file=sys.stderr)


def _render(source: Source, diagnostic: Diagnostic, context: ir.Context) -> str:
    """Return a diagnostic as mlir-opt prints it, with the line of source and a caret."""
    inside = diagnostic.file in (_BUFFER, source.name)
    if not diagnostic.line:
        where = f"{source.name}: " if inside else ""
        return f"{where}{diagnostic.severity}: {diagnostic.message}"
    file = source.name if inside else diagnostic.file
    line = source.line(diagnostic.line).rstrip() if inside else ""
    before = line[: max(diagnostic.column - 1, 0)]
    message = diagnostic.message + hint(diagnostic.message, before, context)
    text = f"{file}:{diagnostic.line}:{diagnostic.column}: {diagnostic.severity}: {message}"
    if not line or not diagnostic.column:
        return text
    padding = "".join("\t" if char == "\t" else " " for char in before)
    return f"{text}\n{line}\n{padding}^"
