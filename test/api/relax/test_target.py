"""Targets: TVM's spelling, what follows from a CPU's name, what is refused."""

import os
from pathlib import Path

import pytest

from relax_mlir.errors import PipelineError
from relax_mlir.lowering.codegen.cpu_count import (
    ENVIRONMENT,
    cpu_count,
    default_threads,
    rationed,
)
from relax_mlir.lowering.codegen.target import Target


def test_target_host() -> None:
    host = Target.host()
    assert Target.parse("llvm") == Target.parse("llvm -mcpu=native") == host
    assert host.vector_bits in (128, 256, 512)
    assert Target.parse("llvm -O1").opt_level == 1


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
    target = Target.parse(text)
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
        ("llvm -O9", "must be 0 to 3"),
        ('llvm -mcpu="x', "No closing quotation"),
        ("llvm -num-threads=many", "must be a number"),
    ],
)
def test_target_refused(text: str, message: str) -> None:
    with pytest.raises(PipelineError) as caught:
        Target.parse(text)
    assert message in str(caught.value)


def test_threads_by_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    assert Target.parse("llvm").threads == cpu_count() <= (os.cpu_count() or 1)
    monkeypatch.setenv(ENVIRONMENT, "3")
    assert Target.host().threads == Target.parse("llvm").threads == 3
    for wrong in ("0", "-1", "all"):
        monkeypatch.setenv(ENVIRONMENT, wrong)
        with pytest.raises(PipelineError, match=f"must be a number from 1 on, got '{wrong}'"):
            Target.parse("llvm")
    quota = tmp_path / "cpu.max"
    for text, count in (("150000 100000", 2), ("100000 100000", 1), ("50000 100000\n", 1)):
        quota.write_text(text)
        assert rationed(quota) == count
    for text in ("max 100000", "", "1 0"):
        quota.write_text(text)
        assert rationed(quota) > 1024
    assert rationed(tmp_path / "none") > 1024


def test_threads_and_level() -> None:
    assert Target.parse("llvm").threads == default_threads()
    assert Target.parse("llvm -mtriple=aarch64-linux-gnu").threads == 1
    assert Target.parse("llvm -num-threads=3").threads == 3
    assert Target.host() == Target.parse("llvm")
    # What LLVM's third level adds costs twice the time and gains nothing over vector code.
    assert Target.host().opt_level == 2
