"""The pass `memref-to-llvm`: all steps to the LLVM dialect at once, to be read in relax-opt."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.order import require_absent
from relax_mlir.lowering.tir_to_llvm import pipeline


def memref_to_llvm(
    op: ir.Operation, *, threads: int = 1, fma: bool = True, avx512: bool = False
) -> None:
    """Lower the functions of a module that use only upstream dialects.

    Raises:
        PassError: a step failed, or there are tir operations left; the diagnostics say where.
    """
    require_absent(op, "tir.", "MemrefToLLVM", "lower-tir")
    pipeline.run_steps(op, pipeline.memref_to_llvm(threads=threads, fma=fma, avx512=avx512))
