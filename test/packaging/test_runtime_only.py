"""A saved executable runs where neither MLIR nor the compiler is installed."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT

# apache-tvm-ffi needs typing_extensions; the folders with a dot hold numpy's own libraries.
NEEDED = ("numpy", "numpy.libs", "llvmlite", "tvm_ffi", "typing_extensions.py")
# The runtime, and the modules below it that need only the standard library.
RUNTIME = (
    "__init__.py", "atomic_file.py", "chrome_trace.py", "errors.py", "extension_points.py",
    "interpreter.py", "lazy.py", "philox.py", "resampling.py", "runtime", "text_table.py",
)  # fmt: skip

MODEL = """
from relax_mlir.script import ir as I, relax as R
@I.ir_module
class Model:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        with R.dataflow():
            w = R.full(R.shape([4, 3]), R.const(0.5, "float32"), "float32")
            y = R.matmul(x, w)
            z = R.nn.relu(R.add(y, R.const(1.0, "float32")))
            R.output(z)
        return z
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from relax_mlir import relax
    from relax_mlir.script import from_source

    path = tmp_path_factory.mktemp("saved") / "model.rxe"
    relax.build(from_source(MODEL)).save(path)
    return path


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what a machine that only runs models has installed, and nothing else."""
    folder = tmp_path_factory.mktemp("site")
    site = Path(importlib.util.find_spec("numpy").origin).parents[1]
    entries = [p for p in site.iterdir() if p.name in NEEDED]
    entries += [p for p in site.iterdir() if p.name.startswith(("apache_tvm_ffi-", "numpy-"))]
    for entry in entries:
        (folder / entry.name).symlink_to(entry)
    (folder / "relax_mlir").mkdir()
    for name in RUNTIME:
        (folder / "relax_mlir" / name).symlink_to(ROOT / "relax_mlir" / name)
    return folder


def test_a_saved_executable_runs_without_the_compiler(saved: Path, packages: Path) -> None:
    # -S leaves out the folders that Python adds by itself, -E what the environment would.
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); exec(open(sys.argv.pop(1)).read())"
    script = ROOT / "test" / "packaging" / "run_saved.py"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-B", "-c", code, packages, script, saved],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ShapeMismatchError\n[]\n[]\n"


def test_the_compiler_is_really_not_there(packages: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import relax_mlir.runtime\n"
        "try: import torch_mlir\n"
        "except ImportError: print('no torch_mlir')\n"
        "try: import relax_mlir.dialects\n"
        "except ImportError: print('no dialects')\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", code, packages], capture_output=True, text=True
    )
    assert done.stdout == "no torch_mlir\nno dialects\n", done.stderr
