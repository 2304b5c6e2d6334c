"""`python -m relax_mlir` says what there is."""

import subprocess
import sys

import relax_mlir


def test_main_names_the_version_and_the_tools() -> None:
    run = subprocess.run([sys.executable, "-m", "relax_mlir"], capture_output=True, text=True)
    assert run.returncode == 0
    first, *rest = run.stdout.splitlines()
    assert first == f"relax-mlir {relax_mlir.__version__}"
    assert {line.split()[0] for line in rest[:-1]} == {
        "relax-compile",
        "relax-opt",
        "relax-reduce",
        "relax-run",
    }
    assert rest[-1].startswith("MLIR bindings: ")
