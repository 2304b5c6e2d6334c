"""RISC-V vectors, at the minimum register size of the processor."""

from relax_mlir.lowering.target.isa.isa import Isa

RVV256 = Isa(
    name="rvv256",
    architectures=("riscv64",),
    needs=("v", "zvl256b"),
    vector_bits=256,
    vector_registers=32,
    masked_bits=(8, 16, 32, 64),
)
