"""AMX: products of registers that hold matrices, besides vectors of AVX-512."""

from relax_mlir.lowering.target.isa.isa import Instruction

AMX = (
    Instruction("amx_bf16", "llvm.x86.tdpbf16ps", ("amx-bf16",), matrices=True),
    Instruction("amx_int8", "llvm.x86.tdpb{}d", ("amx-int8",), matrices=True),
)
