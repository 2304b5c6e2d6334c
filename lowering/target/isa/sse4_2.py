"""SSE 4.2: x86-64-v2, and what is older."""

from relax_mlir.lowering.target.isa.isa import Assembly, Isa

X86 = ("x86_64", "i386", "i686")
# What processors of AMD alone have: their gathers take more steps than loads one by one.
AMD = "sse4a"
ASSEMBLY = Assembly(vector="=v", mask="=^Yk")

SSE4_2 = Isa(
    name="sse4.2",
    architectures=X86,
    vector_bits=128,
    vector_registers=16,
    fma="fma",
    store_fence="llvm.x86.sse.sfence",
)
