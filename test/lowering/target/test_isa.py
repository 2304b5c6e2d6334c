"""What instruction sets can do, and that code asks nothing else to find out."""

import re
import tempfile
from pathlib import Path

import pytest
from checkout import ROOT

from relax_mlir.lowering.target.isa.isa import Isa
from relax_mlir.lowering.target.isa.known import KNOWN
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.target.target import Target
from relax_mlir.tools.relax_compile import __main__ as relax_compile

RISCV = "llvm -mtriple=riscv64-unknown-linux-gnu -mattr=+m,+a,+f,+d,+v,+zvl256b"
_PROGRAM = """
@I.ir_module
class Program:
    @R.function
    def main(x: R.Tensor((64, 96), "float32"), w: R.Tensor((96, 80), "float32")):
        return R.matmul(x, w)
"""
# Widths of registers and instructions of one architecture, which are an instruction set's to tell.
_NAMED = re.compile(r"vector_bits\s*[<>=!]+\s*\d|llvm\.x86\.(?!tile|ldtile)|has_avx")


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ("-mtriple=x86_64-linux-gnu -mcpu=x86-64-v2", "sse4.2"),
        ("-mtriple=x86_64-linux-gnu -mcpu=x86-64-v3", "avx2"),
        ("-mtriple=x86_64-linux-gnu -mcpu=znver4", "avx512"),
        ("-mtriple=x86_64-linux-gnu -mcpu=znver4 -mattr=-avx512f", "avx2"),
        ("-mtriple=aarch64-linux-gnu", "neon"),
        ("-mtriple=riscv64-linux-gnu -mattr=+v,+zvl256b", "rvv256"),
        ("-mtriple=riscv64-linux-gnu", "any"),
    ],
)
def test_a_target_has_the_best_of_its_features(options: str, name: str) -> None:
    assert Target(f"llvm {options}").isa.name == name


@pytest.mark.parametrize("isa", KNOWN, ids=lambda isa: isa.name)
def test_register_tiles_fit_the_registers(isa: Isa) -> None:
    machine = Machine(
        isa=isa, fma=True, threads=1, l1_bytes=1 << 15, l2_bytes=1 << 19, l3_bytes=1 << 23,
        dot_products=(), gathers=False, fma_units=2,
    )  # fmt: skip
    for rows, vectors in machine.product_tiles:
        assert rows * vectors + vectors + 1 <= isa.vector_registers
    assert machine.row_tiles[0] % machine.row_tiles[1] == 0
    assert machine.isa.lanes(32) * 32 == isa.vector_bits
    assert isa.line(32) == 16


@pytest.mark.codegen
def test_an_instruction_set_is_one_module() -> None:
    """Nothing but its module and its line among the known ones tells how RISC-V multiplies."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder, "program.py"), Path(folder, "program.s")
        source.write_text(_PROGRAM, encoding="utf-8")
        options = [str(source), "--emit=asm", f"--target={RISCV}", "-o", str(out)]
        assert relax_compile.main(options) == 0
        text = out.read_text(encoding="utf-8")
    # As many accumulators as a tile of 12 rows of two registers has, by scalars of A.
    assert len(re.findall(r"\tvfmacc\.vf\t", text)) >= 24


def test_no_kernel_tells_an_instruction_set_by_its_width_or_name() -> None:
    for path in (ROOT / "lowering/tir_to_vector").rglob("*.py"):
        found = _NAMED.search(path.read_text(encoding="utf-8"))
        assert found is None, f"{path}: ask `Machine.isa` instead of '{found[0]}'"
