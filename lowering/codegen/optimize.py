"""LLVM's optimiser: its whole pipeline, or for code that is vector code already a short one."""

import llvmlite.binding as llvm
from llvmlite.binding.newpassmanagers import (
    FunctionPassManager,
    ModulePassManager,
    NewPassManager,
)

from relax_mlir.errors import CompileError
from relax_mlir.lowering.codegen.target import Target

STAGE = "native code generation"
# The first line of LLVM IR all of whose loops are vector code or say that they stay as they are.
VECTOR_CODE = "; vector code\n"
_SIMPLIFY_LEVEL = 1


def optimize(source: str, target: Target) -> tuple[llvm.ModuleRef, llvm.TargetMachine]:
    """Return LLVM IR optimised for a target, and what emits its code.

    Kernels are vector code before LLVM sees them, and what it does across functions gains nothing
    on kernels that nobody else calls: simplifying each function, and unrolling the loops that may
    be, takes half the time of the whole pipeline. That one is for programs with loops of scalars,
    which LLVM makes vector code of.

    Args:
        source: LLVM IR; its first line may be `VECTOR_CODE`.
        target: what for.

    Raises:
        CompileError: LLVM cannot read it.
    """
    machine = target.machine()
    module = read(source, target, machine)
    short = source.startswith(VECTOR_CODE) and target.opt_level in (1, 2)
    tuning = llvm.create_pipeline_tuning_options(
        speed_level=_SIMPLIFY_LEVEL if short else target.opt_level
    )
    tuning.loop_vectorization = not short and target.opt_level >= 2
    # LLVM's SLP vectoriser computes overflow checks of 64-bit products wrongly with AVX-512: the
    # size of a strided convolution came out as "has no value" (the like of
    # https://github.com/llvm/llvm-project/issues/165878). Kernels are vector code before LLVM.
    tuning.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, tuning)
    if not short:
        _run(builder.getModulePassManager(), [module], builder)
        return module, machine
    bodies = [function for function in module.functions if not function.is_declaration]
    _run(builder.getFunctionPassManager(), bodies, builder)
    last = llvm.create_new_module_pass_manager()
    last.add_global_dead_code_eliminate_pass()
    last.add_loop_unroll_pass()
    last.add_instruction_combine_pass()
    last.add_simplify_cfg_pass()
    _run(last, [module], builder)
    return module, machine


def read(source: str, target: Target, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    """Return LLVM IR as a module for a target.

    Raises:
        CompileError: LLVM cannot read it.
    """
    try:
        module = llvm.parse_assembly(source)
        module.triple = target.triple
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise CompileError(STAGE, f"LLVM cannot read the translated module: {error}") from error
    return module


def _run(
    manager: ModulePassManager | FunctionPassManager, what: list, builder: llvm.PassBuilder
) -> None:
    try:
        for each in what:
            manager.run(each, builder)
    finally:
        # In llvmlite 0.50 ObjectRef's empty `_dispose` shadows the one that frees the passes: left
        # alone, every compilation would leak 100 KB.
        NewPassManager._dispose(manager)
        manager.detach()
