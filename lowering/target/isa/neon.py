"""NEON: 128-bit vectors of AArch64."""

from relax_mlir.lowering.target.isa.isa import Isa

NEON = Isa(
    name="neon",
    architectures=("aarch64", "arm64"),
    vector_bits=128,
    vector_registers=32,
    fma_by_lane=True,
)
