"""AVX2: x86-64-v3, with AVX-VNNI where there is that."""

from relax_mlir.lowering.target.isa.isa import Instruction, Isa
from relax_mlir.lowering.target.isa.sse4_2 import AMD, ASSEMBLY, X86

AVX2 = Isa(
    name="avx2",
    architectures=X86,
    needs=("avx2",),
    vector_bits=256,
    vector_registers=16,
    fma="fma",
    masked_bits=(32, 64),
    gathers=True,
    slow_gathers=AMD,
    dot_products=(
        Instruction("u8s8", "llvm.x86.avx512.vpdpbusd.256", ("avxvnni",)),
        Instruction("s16", "llvm.x86.avx2.pmadd.wd"),
    ),
    assembly=ASSEMBLY,
    nontemporal=True,
    store_fence="llvm.x86.sse.sfence",
)
