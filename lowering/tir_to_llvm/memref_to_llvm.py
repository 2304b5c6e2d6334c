"""The pass `memref-to-llvm`: all steps to the LLVM dialect at once, to be read in relax-opt."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.of_module import target_of
from relax_mlir.lowering.tir_to_llvm import pipeline
from relax_mlir.lowering.walk import require_absent


def memref_to_llvm(op: ir.Operation, *, target: str = "") -> None:
    """Lower the functions of a module that use only upstream dialects.

    Args:
        op: the module.
        target: what for; by default the module's (`target_of`).

    Raises:
        PipelineError: the target is none.
        PassError: a step failed, or there are tir operations left; the diagnostics say where.
    """
    require_absent(op, "tir.", "MemrefToLLVM", "lower-tir")
    pipeline.run_steps(op, target_of(op, target))
