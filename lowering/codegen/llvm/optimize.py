"""LLVM's optimiser: its whole pipeline, or a few passes for code that is already vector code."""

import re
from collections.abc import Callable, Iterator

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
_DEFINITION = re.compile(
    r'^define [^@\n]*@(?:"(?P<quoted>[^"]*)"|(?P<name>[^\s(]+))\('
    r"[^\n]*\)(?P<given>[^()\n#]*)(?:#(?P<group>\d+)[^\n]*)?\{$",
    re.M,
)
_ATTRIBUTES = re.compile(r"^attributes #(\d+) = (.*)$", re.M)
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2})")
_INSTRUCTION = re.compile(r"^  [^\s\]]", re.M)
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
    source: str,
    target: Target,
    context: llvm.ContextRef | None = None,
    machine: llvm.TargetMachine | None = None,
) -> tuple[llvm.ModuleRef, llvm.TargetMachine]:
    """Return LLVM IR optimised for a target as its code generator may have it, and what emits it.

    Kernels are vector code before LLVM sees them: common subexpressions are one and loops hold
    only what changes in them, except for loads and what follows from these. Functions that have
    such loads (marked by `annotate-invariant-loads`) get LLVM's own function pipeline; the others
    gain nothing by that, and a few passes take a third of its time, fewer yet where no loop may be
    unrolled, or changed at all (see `prepare_loops`). The whole pipeline is for programs with
    loops of scalars, which LLVM makes vector code of.

    Args:
        source: LLVM IR; its first line may be `VECTOR_CODE`.
        target: what for.
        context: LLVM's context of the module, a new one where threads do this at the same time.
        machine: what emits it, by default a new one of the target.

    Raises:
        CompileError: LLVM cannot read it.
    """
    machine = machine or target.machine()
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
        _run(builder.getModulePassManager, (), [module], builder)
        return
    loading, rest, kept, left = [], [], [], []
    for name, notes, instructions in _definitions(source):
        if INVARIANT_LOADS in notes:
            group = loading
        elif LEFT_LOOPS in notes:
            group = left if instructions >= _MUCH else kept
        else:
            group = kept if KEPT_LOOPS in notes else rest
        group.append(module.get_function(name))
    _run(builder.getFunctionPassManager, (), loading, builder)
    new = llvm.create_new_function_pass_manager
    for passes, functions in ((_SIMPLIFY, rest), (_KEEP, kept), (_LEAVE, left)):
        _run(new, passes, functions, builder)
    _run(new, _UNROLL, [*loading, *rest], builder)
    dead = ("global_dead_code_eliminate",)
    _run(llvm.create_new_module_pass_manager, dead, [module], builder)


def _definitions(source: str) -> Iterator[tuple[str, str, int]]:
    """Yield each function with a body: its name, its attributes, the number of instructions.

    Each call of LLVM may wait for the thread that lowers other kernels: these are read from text.
    """
    attributes = dict(_ATTRIBUTES.findall(source))
    for match in _DEFINITION.finditer(source):
        name = _ESCAPE.sub(lambda code: chr(int(code[1], 16)), match["quoted"] or match["name"])
        given = attributes.get(match["group"], "") + match["given"]
        body = source[match.end() : source.index("\n}", match.end())]
        yield name.encode("latin-1").decode(), given, len(_INSTRUCTION.findall(body))


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


def _run(
    make: Callable[[], ModulePassManager | FunctionPassManager],
    passes: tuple[str, ...],
    what: list,
    builder: llvm.PassBuilder,
) -> None:
    if not what:
        return
    manager = make()
    try:
        for name in passes:
            getattr(manager, f"add_{name}_pass")()
        for each in what:
            manager.run(each, builder)
    finally:
        # In llvmlite 0.50 ObjectRef's empty `_dispose` shadows the one that frees the passes: left
        # alone, every compilation would leak 100 KB.
        NewPassManager._dispose(manager)
        manager.detach()
