"""`python -m relax_mlir` says what there is."""

import subprocess
import sys

import pytest

import relax_mlir
from relax_mlir.__main__ import main


def test_main_names_the_version_and_the_tools() -> None:
    run = subprocess.run([sys.executable, "-m", "relax_mlir"], capture_output=True, text=True)
    assert run.returncode == 0
    first, *rest = run.stdout.splitlines()
    assert first == f"relax-mlir {relax_mlir.__version__}"
    assert {line.split()[0] for line in rest[:-2]} == {
        "relax-compile",
        "relax-opt",
        "relax-reduce",
        "relax-lsp",
        "relax-run",
    }
    assert rest[-2].startswith("MLIR bindings: ")
    assert rest[-1].startswith("target: llvm")


def test_main_refuses_a_wrong_target(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RELAX_MLIR_TARGET", "nonsense")
    assert main() == 1
    assert capsys.readouterr().err.startswith("error: environment variable RELAX_MLIR_TARGET")
