"""Where registered names are defined and used: packed functions, passes, operators."""

import ast
import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import relax_mlir.tools
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.lowering.relax_to_tir.legalize_ops import LEGALIZE
from relax_mlir.pass_infra import registry

PACKAGE = Path(str(relax_mlir.tools.__file__)).parents[1]
# Calls whose first text is the name of what they register.
_REGISTERS = re.compile(r"register\w*|\w+_pass|pass_instrument")
# A name of TVM and relax_mlir: `vm.builtin.copy`, `relax.add`, `R.nn.softmax`, `fuse-ops`.
NAME = re.compile(r"[A-Za-z_](?:[\w.-]*\w)?")
_PREFIXES = (
    "relax_mlir.", "tvm.", "relax.transform.", "tir.transform.", "transform.", "relax.op.",
    "relax.", "tir.", "op.", "nn.", "image.", "vision.", "R.nn.", "R.image.", "R.vision.", "R.",
    "T.",
)  # fmt: skip
# The names of scripts and what they are, for type checkers too.
_SCRIPTS = {"R.": "relax.pyi", "T.": "tir.pyi", "I.": "ir.py"}
_SUFFIXES = (".py", ".mlir")
_IGNORED = frozenset(("build", "dist", "node_modules", "__pycache__"))


@dataclass(frozen=True, order=True)
class Place:
    """A piece of a line: a file, a line from 0, and columns from 0."""

    path: Path
    line: int
    start: int
    end: int


def name_at(line: str, column: int) -> str:
    """Return the name around a column of a line, "" where there is none."""
    for result in NAME.finditer(line):
        if result.start() <= column <= result.end():
            return result[0]
    return ""


def bare(name: str) -> str:
    """Return a name without the namespaces that it can be called by."""
    for prefix in sorted(_PREFIXES, key=len, reverse=True):
        if name.startswith(prefix):
            return bare(name[len(prefix) :])
    return name


def definitions(name: str, folder: Path) -> list[Place]:
    """Return where a name is defined.

    Of a pass it is the function that does it, of an operator its class or its row in the dialect's
    table, and its legalization; of a packed function where it is registered.

    Args:
        name: as somebody wrote it.
        folder: whose files may register it, besides this package's.
    """
    result = [*_of_pass(name), *_of_operator(bare(name))]
    script = _SCRIPTS.get(name[:2])
    if not result and script is not None:
        result = [*_declared(PACKAGE / "script" / script, name.rpartition(".")[2])]
    for path in files(folder):
        if path.suffix == ".py":
            result += [place for key, place in _registered(path) if key == name]
    return sorted(set(result))


def references(name: str, folder: Path) -> list[Place]:
    """Return where a name stands in the files of a folder, with or without its namespace."""
    wanted = bare(name)
    entry = registry.find(name)
    names = {wanted} if entry is None else {entry.name, entry.flag}
    result = []
    for path in files(folder):
        for number, line in enumerate(_lines(path)):
            for match in NAME.finditer(line):
                if bare(match[0]) in names:
                    result.append(Place(path, number, match.start(), match.end()))
    return result


def files(folder: Path) -> Iterator[Path]:
    """Yield the Python and MLIR files of a folder, hidden ones and environments left out."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.name.startswith(".") or path.name in _IGNORED:
            continue
        if path.is_dir() and not (path / "pyvenv.cfg").exists():
            yield from files(path)
        elif path.suffix in _SUFFIXES:
            yield path


def _of_pass(name: str) -> Iterator[Place]:
    spec = registry.spec_of(name)
    if spec is not None:
        module, _, function = spec.entry.partition(":")
        yield from _function(_file_of(module), function)


def _of_operator(name: str) -> Iterator[Place]:
    if name not in COMPUTE_OPS:
        return
    for path in sorted(_file_of("relax_mlir.dialects.relax.ops").parent.glob("*.py")):
        for number, line in enumerate(_lines(path)):
            at = line.find(f'"{name}"')
            if at >= 0:
                yield Place(path, number, at + 1, at + 1 + len(name))
    legalize = LEGALIZE.get(name)
    code = getattr(legalize, "__code__", None)
    if code is not None:
        yield from _function(Path(code.co_filename), code.co_name)


def _file_of(module: str) -> Path:
    spec = importlib.util.find_spec(module)
    return Path(str(spec.origin)) if spec is not None and spec.origin else Path()


def _function(path: Path, name: str) -> Iterator[Place]:
    for number, line in enumerate(_lines(path)):
        match = re.match(rf"(?:def|class) ({re.escape(name)})\b", line)
        if match:
            yield Place(path, number, match.start(1), match.end(1))


def _declared(path: Path, name: str) -> Iterator[Place]:
    for number, line in enumerate(_lines(path)):
        match = re.match(rf"\s*(?:def |class )?({re.escape(name)})\b *[(:=]", line)
        if match:
            yield Place(path, number, match.start(1), match.end(1))


def _registered(path: Path) -> Iterator[tuple[str, Place]]:
    try:
        tree = ast.parse("\n".join(_lines(path)))
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func).rpartition(".")[2]
            texts = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "name")]
            for text in texts if _REGISTERS.fullmatch(called) else ():
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    start = text.col_offset + 1
                    place = Place(path, text.lineno - 1, start, start + len(text.value))
                    yield text.value, place


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
