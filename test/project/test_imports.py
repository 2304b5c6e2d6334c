"""What may import what, and how modules look: rules that hold the layers apart."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkout import FOLDERS, ROOT

BINDINGS = "relax_mlir.dialects.bindings"

# What needs only the standard library, for everybody to import.
LEAVES = (
    "relax_mlir.atomic_file",
    "relax_mlir.chrome_trace",
    "relax_mlir.errors",
    "relax_mlir.extension_points",
    "relax_mlir.text_table",
)
# The first layer that a module belongs to, and what of ours that layer may import.
LAYERS = {
    **dict.fromkeys(LEAVES, ()),
    "relax_mlir.dialects": ("relax_mlir.dialects", *LEAVES),
    "relax_mlir.lowering": ("relax_mlir.lowering", "relax_mlir.dialects", *LEAVES),
    "relax_mlir.runtime": ("relax_mlir.runtime", *LEAVES),
    "relax_mlir": ("relax_mlir",),
}
RUNTIME_NEEDS = {"numpy", "llvmlite", "tvm_ffi", "ml_dtypes"}


def modules() -> Iterator[tuple[str, Path]]:
    for folder, package in FOLDERS.items():
        for file in sorted((ROOT / folder).rglob("*.py")):
            parts = file.relative_to(ROOT / folder).with_suffix("").parts
            yield ".".join([package, *(part for part in parts if part != "__init__")]), file


MODULES = dict(modules())


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def imports(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the full name of everything a file imports, deferred imports included."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: relative import"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield node.lineno, full if full in MODULES else node.module


@pytest.mark.parametrize("name", MODULES)
def test_layers(name: str) -> None:
    allowed = next(of for layer, of in LAYERS.items() if within(name, layer))
    for line, target in imports(MODULES[name]):
        where = f"{MODULES[name].relative_to(ROOT)}:{line}: {name} imports {target}"
        assert target.partition(".")[0] not in ("dialects", "lowering"), where
        assert target.partition(".")[0] not in ("torch_mlir", "mlir"), where
        if within(target, "relax_mlir"):
            assert target != "relax_mlir", f"{where}, the root: name the module"
            assert any(within(target, one) for one in allowed), where
        elif within(name, "relax_mlir.runtime"):
            first = target.partition(".")[0]
            assert first in RUNTIME_NEEDS or first in sys.stdlib_module_names, where
        elif name in LEAVES:
            assert target.partition(".")[0] in sys.stdlib_module_names, where


@pytest.mark.parametrize("name", MODULES)
def test_only_one_module_names_the_bindings(name: str) -> None:
    if name != BINDINGS:
        names = re.findall(r"\btorch_mlir\b", MODULES[name].read_text())
        assert not names, f"take it from {BINDINGS}"


@pytest.mark.parametrize("name", [n for n in MODULES if within(n, "relax_mlir.dialects")])
def test_dialects_do_not_defer_annotations(name: str) -> None:
    assert "__future__" not in [target for _, target in imports(MODULES[name])]


@pytest.mark.parametrize("name", MODULES)
def test_module_has_a_docstring_and_an_end(name: str) -> None:
    text = MODULES[name].read_text()
    docstring = ast.get_docstring(ast.parse(text))
    assert docstring, "the first line says what the module is"
    assert text.count("\n") <= 500, "split it by category"


@pytest.mark.parametrize("folder", ["test", "examples", "benchmarks"])
def test_nobody_imports_the_bare_folders(folder: str) -> None:
    """`import dialects` works in a checkout and makes a second copy of every class."""
    for file in (ROOT / folder).rglob("*.py"):
        for line, target in imports(file):
            assert target.partition(".")[0] not in ("dialects", "lowering"), f"{file}:{line}"


def test_import_loads_no_mlir() -> None:
    script = (
        "import sys; import relax_mlir;"
        "print(*(name for name in ('torch_mlir', 'mlir', 'llvmlite') if name in sys.modules))"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not done.stdout.strip()
