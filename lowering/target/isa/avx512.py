"""AVX-512: x86-64-v4, with VNNI, BF16 and AMX where there are those."""

from relax_mlir.lowering.target.isa.amx import AMX
from relax_mlir.lowering.target.isa.isa import Instruction, Isa
from relax_mlir.lowering.target.isa.sse4_2 import AMD, ASSEMBLY, X86

# Products of pairs of bf16 are faster than FMAs of widened numbers on these; on
# Sapphire Rapids they were measured to take 1.6 times as long (benchmarks/README.md).
_QUICK_BF16 = ("znver4", "znver5")

AVX512 = Isa(
    name="avx512",
    architectures=X86,
    needs=("avx512f",),
    vector_bits=512,
    vector_registers=32,
    masked_bits=(8, 16, 32, 64),
    free_masks=True,
    tables=True,
    float_parts=("avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl"),
    gathers=True,
    slow_gathers=AMD,
    dot_products=(
        *AMX,
        Instruction("bf16", "llvm.x86.avx512bf16.dpbf16ps.512", ("avx512bf16",), cpus=_QUICK_BF16),
        Instruction("u8s8", "llvm.x86.avx512.vpdpbusd.512", ("avx512vnni",)),
        Instruction("s16", "llvm.x86.avx512.pmaddw.d.512"),
    ),
    dot_needs=("avx512bw",),
    assembly=ASSEMBLY,
    nontemporal=True,
    store_fence="llvm.x86.sse.sfence",
)
