"""The bindings come from torch-mlir or from upstream; without, one line says what to install."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT

from relax_mlir.dialects.bindings import ir

INSTALL = "pip install torch-mlir=="

ASK = """
import sys
sys.path.insert(0, sys.argv[1])
try:
    import relax_mlir.dialects.bindings
except ImportError as error:
    print(f"{type(error).__module__}.{type(error).__name__}")
    print(error)
"""

# All of torch-mlir's modules under upstream's names, and no way to find them under their own.
RENAMED = """
import importlib.util, sys
import torch_mlir.dialects.ext, torch_mlir.dialects.scf, torch_mlir.ir, torch_mlir.passmanager
for name in [name for name in sys.modules if name.partition(".")[0] == "torch_mlir"]:
    sys.modules["mlir" + name[len("torch_mlir"):]] = sys.modules[name]
find_spec = importlib.util.find_spec
def find(name, package=None):
    return None if name.partition(".")[0] == "torch_mlir" else find_spec(name, package)
importlib.util.find_spec = find
from relax_mlir.dialects.bindings import PACKAGE, ext, ir, passmanager, submodule
scf = submodule("dialects.scf")
with ir.Context(), ir.Location.unknown():
    passmanager.PassManager.parse("builtin.module(cse)").run(ir.Module.parse("module {}").operation)
print(PACKAGE, ext.Dialect.__name__, scf.ForOp.__name__)
"""


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A folder with our package and nothing that it depends on."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "relax_mlir", tmp_path / "relax_mlir", ignore=ignore)
    shutil.copytree(ROOT / "dialects", tmp_path / "relax_mlir" / "dialects", ignore=ignore)
    return tmp_path


def ask(folder: Path) -> list[str]:
    """Import the bindings with no site-packages and return the lines of the error."""
    command = [sys.executable, "-I", "-S", "-c", ASK, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_missing_bindings(bare: Path) -> None:
    kind, *message = ask(bare)
    assert kind == "relax_mlir.errors.BindingsError"
    assert len(message) == 1
    assert "torch_mlir" in message[0]
    assert INSTALL in message[0]


@pytest.mark.parametrize("inside", ["", "dialects"])
def test_bindings_without_ext(bare: Path, inside: str) -> None:
    folder = bare / "mlir" / inside
    folder.mkdir(parents=True)
    for package in {bare / "mlir", folder}:
        (package / "__init__.py").touch()
    kind, *message = ask(bare)
    assert kind == "relax_mlir.errors.BindingsError"
    assert len(message) == 1
    assert "'mlir'" in message[0]
    assert "dialects.ext" in message[0]
    assert INSTALL in message[0]


def test_bindings_that_do_not_load(bare: Path) -> None:
    folder = bare / "torch_mlir" / "dialects"
    folder.mkdir(parents=True)
    for package in (folder.parent, folder):
        (package / "__init__.py").touch()
    (folder.parent / "ir.py").write_text("raise ImportError('undefined symbol: mlirFoo')\n")
    (folder / "ext.py").touch()
    kind, *message = ask(bare)
    assert kind == "relax_mlir.errors.BindingsError"
    assert len(message) == 1
    assert "undefined symbol" in message[0]
    assert INSTALL in message[0]


def test_upstream_name() -> None:
    done = subprocess.run([sys.executable, "-c", RENAMED], capture_output=True, text=True)
    assert done.stdout.split() == ["mlir", "Dialect", "ForOp"], done.stderr


def test_hint_names_the_pinned_version() -> None:
    from relax_mlir.dialects.bindings import INSTALL_HINT

    requirement = INSTALL_HINT.removeprefix("pip install ")
    assert f'"{requirement}"' in (ROOT / "pyproject.toml").read_text()


def test_operations_keep_their_hash_while_they_change() -> None:
    with ir.Context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        module = ir.Module.parse('%0:2 = "a.x"() : () -> (i32, i32) "a.y"(%0#0) : (i32) -> ()')
        one, other = (view.operation for view in module.body.operations)
        known = {one: 1, other: 2}
        other.operands[0] = one.results[1]
        other.attributes["b"] = ir.UnitAttr.get()
        one.move_after(other)
        views = list(module.body.operations)
        assert [known[view] for view in views] == [2, 1]
        assert [known[view.operation] for view in views] == [2, 1]
