"""Targets: TVM's spelling, what follows from a CPU's name, what is refused."""

import os
from pathlib import Path

import pytest

from relax_mlir.errors import PipelineError
from relax_mlir.lowering.target import target as targets
from relax_mlir.lowering.target.cpu_count import (
    ENVIRONMENT,
    cpu_count,
    default_threads,
    rationed,
)
from relax_mlir.lowering.target.target import Target


def test_target_host() -> None:
    host = Target()
    assert Target("llvm") == Target("llvm -mcpu=native") == host
    assert host.vector_bits in (128, 256, 512)
    assert Target("llvm -O1").opt_level == 1


@pytest.mark.parametrize(
    ("text", "bits", "registers"),
    [
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64", 128, 16),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell", 256, 16),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512", 512, 32),
        ("llvm -mtriple=aarch64-linux-gnu", 128, 32),
    ],
)
def test_target_vectors(text: str, bits: int, registers: int) -> None:
    target = Target(text)
    assert (target.vector_bits, target.max_vector_registers) == (bits, registers)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("llvn", "unknown target kind 'llvn'; did you mean 'llvm'?"),
        ("llvm -mcup=native", "did you mean '-mcpu'?"),
        ("llvm -mtriple=quux", "unknown target triple 'quux'"),
        ("llvm -mcpu", "needs a value"),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=skylak", "unknown CPU 'skylak'"),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=skylak", "did you mean 'skylake'?"),
        ("llvm -mtriple=aarch64-linux-gnu -mcpu=haswell", "unknown CPU 'haswell'"),
        ("llvm -mattr=avx2", "'-mattr' must be features such as '+avx2,-avx512f', got 'avx2'"),
        ("llvm -mtriple=x86_64-linux-gnu -mattr=+avx22", "unknown CPU feature 'avx22'"),
        ("llvm -mtriple=aarch64-linux-gnu -mattr=-nosuch", "unknown CPU feature 'nosuch'"),
        ("llvm -O9", "must be 0 to 3"),
        ('llvm -mcpu="x', "No closing quotation"),
        ("llvm -num-threads=many", "must be a number"),
    ],
)
def test_target_refused(text: str, message: str) -> None:
    with pytest.raises(PipelineError) as caught:
        Target(text)
    assert message in str(caught.value)


def test_threads_by_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    assert Target("llvm").threads == cpu_count() <= (os.cpu_count() or 1)
    monkeypatch.setenv(ENVIRONMENT, "3")
    assert Target().threads == Target("llvm").threads == 3
    for wrong in ("0", "-1", "all"):
        monkeypatch.setenv(ENVIRONMENT, wrong)
        with pytest.raises(PipelineError, match=f"must be a number from 1 on, got '{wrong}'"):
            Target("llvm")
    quota = tmp_path / "cpu.max"
    for text, count in (("150000 100000", 2), ("100000 100000", 1), ("50000 100000\n", 1)):
        quota.write_text(text)
        assert rationed(quota) == count
    for text in ("max 100000", "", "1 0"):
        quota.write_text(text)
        assert rationed(quota) > 1024
    assert rationed(tmp_path / "none") > 1024


def test_threads_and_level() -> None:
    assert Target("llvm").threads == default_threads()
    assert Target("llvm -mtriple=aarch64-linux-gnu").threads == 1
    assert Target("llvm -num-threads=3").threads == 3
    assert Target() == Target("llvm")
    # What LLVM's third level adds costs twice the time and gains nothing over vector code.
    assert Target().opt_level == 2


def test_default_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(targets.ENVIRONMENT, raising=False)
    assert Target.default() == Target("llvm")
    monkeypatch.setenv(targets.ENVIRONMENT, "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3")
    assert Target.default().cpu == "x86-64-v3"
    arm = Target("llvm -mtriple=aarch64-linux-gnu")
    with arm:
        assert Target.default() is arm
    assert Target("llvm").cpu == Target().cpu != "x86-64-v3"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x86-64-v3", "unknown target kind 'x86-64-v3'; known: llvm; a CPU is given as in"),
        ("llvm mcpu=x86-64-v3", "must begin with a dash"),
        ("llvm -mcpu=x86-64-v9", "unknown CPU 'x86-64-v9'"),
    ],
)
def test_wrong_default_target(text: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(targets.ENVIRONMENT, text)
    with pytest.raises(PipelineError, match="environment variable RELAX_MLIR_TARGET: .*" + message):
        Target.default()
