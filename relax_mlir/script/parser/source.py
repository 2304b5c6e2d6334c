"""Source text of scripts, and errors with the line and a caret."""

import ast
import inspect
import linecache
import types
from dataclasses import dataclass
from typing import Any, NoReturn

from relax_mlir.errors import ScriptError

# A node of Python's syntax tree, whose class decides what becomes of it.
Node = Any
Definition = ast.FunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Source:
    """The file that a syntax tree was parsed from; its positions are the file's own.

    Attributes:
        filename: what errors and locations call it.
        lines: its lines.
    """

    filename: str
    lines: list[str]

    def line(self, number: int) -> str:
        """Return a line by its number from 1, empty when there is none."""
        return self.lines[number - 1].rstrip("\r\n") if 0 < number <= len(self.lines) else ""

    def column(self, number: int, offset: int) -> int:
        """Return the character position for a byte offset, which is what syntax trees have."""
        return len(self.line(number).encode()[:offset].decode(errors="ignore"))

    def fail(self, node: Node, message: str) -> NoReturn:
        """Raise a ScriptError that underlines the node."""
        line = getattr(node, "lineno", 1)
        start = self.column(line, getattr(node, "col_offset", 0))
        end = None
        if getattr(node, "end_lineno", None) == line:
            end = self.column(line, node.end_col_offset)
        elif getattr(node, "end_lineno", None):
            end = len(self.line(line))
        raise ScriptError(
            message,
            filename=self.filename,
            lineno=line,
            col_offset=start,
            end_col_offset=end,
            source_line=self.line(line),
        )


def parse_python(text: str, filename: str) -> tuple[Source, ast.Module]:
    """Parse Python text.

    Raises:
        ScriptError: it is not Python.
    """
    source = Source(filename, text.splitlines())
    try:
        return source, ast.parse(text, filename)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        start = (getattr(error, "offset", None) or 1) - 1
        end = getattr(error, "end_offset", None)
        raise ScriptError(
            getattr(error, "msg", None) or str(error),
            filename=filename,
            lineno=line,
            col_offset=start,
            end_col_offset=end - 1 if end and end - 1 > start else start + 1,
            source_line=source.line(line),
        ) from None
    except (RecursionError, MemoryError) as error:
        # Python does not say where; what is too deep for it is most often one long line.
        line = max(range(len(source.lines)), key=lambda i: len(source.lines[i]), default=0) + 1
        raise ScriptError(
            "this is nested too deeply for Python to parse it; split it into several statements",
            filename=filename,
            lineno=line,
            end_col_offset=len(source.line(line)),
            source_line=source.line(line),
        ) from error


def _file_tree(filename: str, what: str, module_globals: dict | None) -> tuple[Source, ast.Module]:
    lines = linecache.getlines(filename, module_globals)
    if not lines:
        linecache.checkcache(filename)
        lines = linecache.getlines(filename, module_globals)
    if not lines:
        raise ScriptError(
            f"the source of '{what}' is not available; put the script in a file, or pass its text "
            "to relax_mlir.script.from_source",
            filename=filename,
        )
    return parse_python("".join(lines), filename)


def _pick(source: Source, tree: ast.Module, name: str, kind: type, line: int) -> Node:
    nodes: list[Node] = [n for n in ast.walk(tree) if isinstance(n, kind)]
    for node in nodes:
        if node.name != name:
            continue
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        if first <= line <= node.lineno:
            return node
    raise ScriptError(
        f"the source of '{name}' is not at line {line}: the file has changed since it was loaded",
        filename=source.filename,
        lineno=line,
        source_line=source.line(line),
    )


def find_function(fn: types.FunctionType) -> tuple[Source, ast.FunctionDef]:
    """Return the syntax tree of a function, its positions those of its file.

    Raises:
        ScriptError: the source is not available.
    """
    code = inspect.unwrap(fn).__code__
    source, tree = _file_tree(code.co_filename, fn.__name__, fn.__globals__)
    return source, _pick(source, tree, fn.__name__, ast.FunctionDef, code.co_firstlineno)


def find_class(cls: type, frame: types.FrameType) -> tuple[Source, ast.ClassDef]:
    """Return the syntax tree of a class that is being decorated in a frame.

    Raises:
        ScriptError: the source is not available.
    """
    source, tree = _file_tree(frame.f_code.co_filename, cls.__name__, frame.f_globals)
    line = getattr(cls, "__firstlineno__", None) or frame.f_lineno
    return source, _pick(source, tree, cls.__name__, ast.ClassDef, line)
