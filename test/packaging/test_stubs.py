"""The type stubs name what the packages give at run time."""

import ast
import functools
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
import tvm_names
from checkout import ROOT

sys.path.append(str(ROOT / ".ci" / "stubs"))
import languages
import packages


def statements(text: str) -> set[str]:
    """Return what a stub says: imports one by one, in no order."""
    found = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom):
            found.update(f"{node.module} {ast.unparse(alias)}" for alias in node.names)
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            found.update(f"exports {name}" for name in ast.literal_eval(node.value))
        else:
            found.add(ast.unparse(node))
    return found


_PRINT_STUBS = """
import json, sys
sys.path.append(sys.argv[1])
import packages
print(json.dumps({name: packages.stub(name) for name in packages.PACKAGES}))
"""


@functools.cache
def fresh_stubs() -> dict[str, str]:
    """Return the stub of each package, made in a process where no test has registered operators."""
    command = [sys.executable, "-c", _PRINT_STUBS, str(ROOT / ".ci" / "stubs")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", packages.PACKAGES)
def test_stub_is_current(name: str) -> None:
    path = Path(str(packages.importlib.import_module(name).__file__)).with_suffix(".pyi")
    assert statements(fresh_stubs()[name]) == statements(path.read_text()), "run: python .ci/stubs"


@pytest.mark.parametrize(("path", "text"), languages.files().items(), ids=["R", "T"])
def test_stub_of_script_names_is_current(path: Path, text: str) -> None:
    assert statements(text) == statements((ROOT / path).read_text()), "run: python .ci/stubs"


def test_stub_names_what_T_means() -> None:
    exports = statements((ROOT / "relax_mlir" / "script" / "tir.pyi").read_text())
    assert not [name for name in tvm_names.WORKS if f"exports {name}" not in exports]


def test_every_lazy_package_has_a_stub() -> None:
    lazy = [
        file
        for file in (ROOT / "relax_mlir").rglob("__init__.py")
        if "\ndef __getattr__(" in file.read_text()
    ]
    assert not [file for file in lazy if not file.with_suffix(".pyi").exists()]


@pytest.mark.parametrize("name", packages.PACKAGES)
def test_imports_of_stubs_exist(name: str) -> None:
    path = Path(str(packages.importlib.import_module(name).__file__)).with_suffix(".pyi")
    for node in ast.parse(path.read_text()).body:
        # That module exists for type checkers alone.
        if isinstance(node, ast.ImportFrom) and node.module != "relax_mlir.relax.op._arguments":
            for alias in node.names:
                pkgutil.resolve_name(f"{node.module}.{alias.name}")


@pytest.mark.parametrize("name", packages.PACKAGES)
def test_no_module_hides_an_export(name: str) -> None:
    """An import of `a.b` sets `b` of the package `a`, whatever `__getattr__` gives for it."""
    module = packages.importlib.import_module(name)
    modules = {each.name for each in pkgutil.iter_modules(getattr(module, "__path__", []))}
    stub = Path(str(module.__file__)).with_suffix(".pyi")
    exports = {
        alias.asname or alias.name
        for node in ast.parse(stub.read_text()).body
        if isinstance(node, ast.ImportFrom) and node.module != name
        for alias in node.names
    }
    assert not modules & exports
