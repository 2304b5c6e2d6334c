"""What an editor shows of a file: errors of its programs, types of their variables, completions."""

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from relax_mlir.dialects.context import make_context
from relax_mlir.dialects.locations import source_line
from relax_mlir.errors import RelaxMLIRError, ScriptError
from relax_mlir.ir.module import IRModule
from relax_mlir.relax.analysis.scopes import Values, scopes_of
from relax_mlir.script import from_source
from relax_mlir.tools.common import reading
from relax_mlir.tools.common.streams import Source
from relax_mlir.tools.relax_lsp.definitions import PACKAGE

_DECORATORS = frozenset(("ir_module", "function", "prim_func", "func"))
# The stubs of what stands before a point.
_STUBS = {
    "R.": "script/relax.pyi",
    "R.nn.": "relax/op/nn.pyi",
    "R.image.": "relax/op/image.pyi",
    "R.vision.": "relax/op/vision.pyi",
    "T.": "script/tir.pyi",
    "I.": "script/ir.py",
}
# Those of packages from which they take names.
_SHARED = {
    "relax_mlir.relax.op": "relax/op/__init__.pyi",
    "relax_mlir.tir": "tir/__init__.pyi",
}
# Errors about a name that only Python knows.
_UNDEFINED = re.compile(r"undefined variable '(\w+)'|'(\w+)' is none, and nothing around")
_DOTTED = re.compile(r"\b([RTI])\.((?:\w+\.)*)(\w*)$")


@dataclass(frozen=True)
class Problem:
    """An error of a program: a line and columns from 0."""

    message: str
    line: int
    start: int
    end: int


@dataclass
class Analysis:
    """What is known of a file.

    Attributes:
        problems: errors of its programs.
        types: of variables, by name and line from 0.
    """

    problems: list[Problem] = field(default_factory=list)
    types: dict[tuple[str, int], str] = field(default_factory=dict)

    def type_of(self, name: str, line: int) -> str:
        """Return the type of a variable where it is bound, or else by the binding before a line."""
        known = [(at, text) for (key, at), text in self.types.items() if key == name and at <= line]
        return max(known)[1] if known else ""


def analyze(text: str, name: str) -> Analysis:
    """Return what is known of a file; its programs are parsed and nothing of it is executed.

    Args:
        text: what the editor has.
        name: of the file; one that ends in .mlir is MLIR text.
    """
    result = Analysis()
    if name.endswith(".mlir"):
        _, diagnostics = reading.parse(Source(name, text.encode(), text), make_context(), part=True)
        for each in diagnostics:
            line, column = max(each.line - 1, 0), max(each.column - 1, 0)
            result.problems.append(Problem(each.message, line, column, column + 1))
        return result
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # Python's own server says so
        return result
    outside = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    } | {arg.arg for arg in ast.walk(tree) if isinstance(arg, ast.arg)}
    for node in tree.body:
        if _is_program(node):
            try:
                module = from_source(_alone(text, node), filename=name)
            except ScriptError as error:
                unknown = _UNDEFINED.search(error.message)
                # What Python computes before is known only when it runs.
                if unknown is None or not outside.intersection(unknown.groups()):
                    end = error.end_col_offset or error.col_offset + 1
                    result.problems.append(
                        Problem(error.message, error.lineno - 1, error.col_offset, end)
                    )
            except RelaxMLIRError as error:
                message = str(error).splitlines()[0]
                result.problems.append(Problem(message, node.lineno - 1, 0, 1))
            else:
                result.types |= dict(_types(module))
    return result


def _is_program(node: ast.stmt) -> bool:
    return isinstance(node, (ast.ClassDef, ast.FunctionDef)) and any(
        ast.unparse(each).partition("(")[0].rpartition(".")[2] in _DECORATORS
        for each in node.decorator_list
    )


def _alone(text: str, node: ast.stmt) -> str:
    """Return the lines of a statement, the others empty, so that places stay as they are."""
    lines = text.splitlines(keepends=True)
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(each.lineno for each in decorators)]) - 1
    return "\n" * first + "".join(lines[first : node.end_lineno])


def _types(module: IRModule) -> Iterator[tuple[tuple[str, int], str]]:
    for scope in scopes_of(module):
        values = Values(scope.keep)
        if scope.func is not None:
            for value in scope.params:
                var = values.var(value)
                yield (var.name_hint, _line(source_line(scope.func.location))), str(var.ty)
        for op in values.walk(scope):
            if values.is_binding(op):
                for result in op.results:
                    var = values.var(result)
                    yield (var.name_hint, _line(source_line(op.location))), str(var.ty)


def _line(place: str) -> int:
    number = place.rpartition(":")[2]
    return int(number) - 1 if number.isdecimal() else 0


def completions(before: str) -> list[tuple[str, str]]:
    """Return names that may follow what stands before the cursor, each with its declaration.

    Args:
        before: the line up to the cursor, such as `y = R.nn.so`.
    """
    match = _DOTTED.search(before)
    if match is None:
        return []
    namespace, path, start = match.groups()
    stub = _STUBS.get(f"{namespace}.{path}")
    return [] if stub is None else [each for each in _declared(stub) if each[0].startswith(start)]


@functools.cache
def _declared(stub: str) -> list[tuple[str, str]]:
    """Return the names that a stub declares, with their declarations."""
    result: dict[str, str] = {}
    for node in ast.parse((PACKAGE / stub).read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            result[node.name] = ast.unparse(node).partition("\n")[0].removesuffix(": ...")
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            result[node.target.id] = ast.unparse(node)
        elif isinstance(node, ast.ImportFrom) and node.module in _SHARED:
            source = _SHARED[node.module]
            shared = {} if source == stub else dict(_declared(source))
            result |= {each.name: shared.get(each.name, "") for each in node.names}
    return sorted((name, text) for name, text in result.items() if not name.startswith("_"))
