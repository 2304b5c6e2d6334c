"""LLVM's optimiser: its whole pipeline, or a few passes for code that is already vector code."""

import itertools
from collections.abc import Set

import llvmlite.binding as llvm
from llvmlite.binding.newpassmanagers import (
    FunctionPassManager,
    ModulePassManager,
    NewPassManager,
)

from relax_mlir.errors import CompileError
from relax_mlir.lowering.codegen.llvm.masked_stores import may_store_single, store_single
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.tir_to_llvm.annotate_invariant_loads import INVARIANT_LOADS

STAGE = "native code generation"
# The first line of LLVM IR all of whose loops are vector code or say that they stay as they are.
VECTOR_CODE = "; vector code\n"
_SIMPLIFY_LEVEL = 1
# Of a function: no loop of it may be unrolled, or all are to stay as they are.
KEPT_LOOPS = "relax.kept_loops"
LEFT_LOOPS = "relax.left_loops"
_NOTES = (INVARIANT_LOADS, KEPT_LOOPS, LEFT_LOOPS)
# What vector code needs: structures become registers, constants fold, loops test where they end.
_SIMPLIFY = ("sroa", "simplify_cfg", "instruction_combine", "loop_rotate")
# At last the loops that may be are unrolled.
_UNROLL = ("loop_unroll", "instruction_combine", "simplify_cfg")
# Both where none may be: instructions are looked at once, before loops repeat their tests.
_KEEP = ("sroa", "simplify_cfg", "instruction_combine", "loop_rotate", "simplify_cfg")
# Where no loop is to have better addresses either and there is much, what looking at instructions
# would gain is not worth its time, a tenth of a compilation; constants, which are loads, are all
# that has to fold. Of little code it takes little, and products of a row read memory for addresses
# without it.
_MUCH = 700
_LEAVE = ("sroa", "simplify_cfg", "sccp", "loop_rotate", "simplify_cfg")


def is_vector_code(source: str, target: Target) -> bool:
    """Whether LLVM optimises each function of a module by itself, with a few passes."""
    return source.startswith(VECTOR_CODE) and target.opt_level in (1, 2)


def optimize(
    source: str, target: Target, context: llvm.ContextRef | None = None
) -> tuple[llvm.ModuleRef, llvm.TargetMachine]:
    """Return LLVM IR optimised for a target as its code generator may have it, and what emits it.

    Kernels are vector code before LLVM sees them: common subexpressions are one and loops hold
    only what changes in them, except for loads and what follows from these. Functions that have
    such loads (marked by `annotate-invariant-loads`) get LLVM's own function pipeline; the others
    gain nothing by that, and a few passes take a third of its time, fewer yet where no loop may be
    unrolled, or changed at all (`prepare_loops` tells). The whole pipeline is for programs with
    loops of scalars, which LLVM makes vector code of.

    Args:
        source: LLVM IR; its first line may be `VECTOR_CODE`.
        target: what for.
        context: LLVM's context of the module, a new one where threads do this at the same time.

    Raises:
        CompileError: LLVM cannot read it.
    """
    machine = target.machine()
    module = read(source, target, machine, context)
    _optimize(module, source, target, machine)
    if may_store_single(source):
        text = str(module)
        changed = store_single(text)
        if changed != text:
            module.close()
            module = read(changed, target, machine, context)
    return module, machine


def _optimize(
    module: llvm.ModuleRef, source: str, target: Target, machine: llvm.TargetMachine
) -> None:
    short = is_vector_code(source, target)
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
        return
    names = _names_by_note(module)
    loading = names[INVARIANT_LOADS]
    left = {each.name for each in _bodies(module, names[LEFT_LOOPS] - loading) if _is_much(each)}
    kept, rest = (names[KEPT_LOOPS] | names[LEFT_LOOPS]) - loading - left, names[None]
    _run(builder.getFunctionPassManager(), _bodies(module, loading), builder)
    for passes, of in ((_SIMPLIFY, rest), (_KEEP, kept), (_LEAVE, left)):
        functions = _bodies(module, of)
        _run(_add(llvm.create_new_function_pass_manager(), passes), functions, builder)
    dead = _add(llvm.create_new_module_pass_manager(), ("global_dead_code_eliminate",))
    _run(dead, [module], builder)
    last = [*_bodies(module, loading), *_bodies(module, rest)]
    _run(_add(llvm.create_new_function_pass_manager(), _UNROLL), last, builder)


def _names_by_note(module: llvm.ModuleRef) -> dict[str | None, set[str]]:
    """Return the functions with a body that have a note, by the note, and those without any."""
    names: dict[str | None, set[str]] = {note: set() for note in (*_NOTES, None)}
    for function in module.functions:
        if not function.is_declaration:
            notes = _notes(function)
            for note in notes or (None,):
                names[note].add(function.name)
    return names


def _bodies(module: llvm.ModuleRef, names: Set[str]) -> list[llvm.ValueRef]:
    """Return the functions of some names that are still there."""
    return [each for each in module.functions if each.name in names and not each.is_declaration]


def _is_much(function: llvm.ValueRef) -> bool:
    instructions = (each for block in function.blocks for each in block.instructions)
    return sum(1 for _ in itertools.islice(instructions, _MUCH)) == _MUCH


def read(
    source: str,
    target: Target,
    machine: llvm.TargetMachine,
    context: llvm.ContextRef | None = None,
) -> llvm.ModuleRef:
    """Return LLVM IR as a module for a target.

    Raises:
        CompileError: LLVM cannot read it.
    """
    try:
        module = llvm.parse_assembly(source, context)
        module.triple = target.triple
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise CompileError(STAGE, f"LLVM cannot read the translated module: {error}") from error
    return module


def _notes(function: llvm.ValueRef) -> list[str]:
    text = b" ".join(function.attributes)
    return [name for name in _NOTES if f'"{name}"'.encode() in text]


def _add(
    manager: ModulePassManager | FunctionPassManager, passes: tuple[str, ...]
) -> ModulePassManager | FunctionPassManager:
    for name in passes:
        getattr(manager, f"add_{name}_pass")()
    return manager


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
