"""From upstream dialects over memrefs to the LLVM dialect: the steps, and a runner for them."""

import time
from collections.abc import Sequence, Set

from relax_mlir.dialects.bindings import ir, passmanager
from relax_mlir.errors import PassError
from relax_mlir.lowering import PASSES
from relax_mlir.lowering.c_library import run_passes
from relax_mlir.lowering.pass_spec import TARGET
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.walk import names_below

# One step per line, so that each can be timed and printed. Order matters in three places:
# masks and transfers go before affine maps are lowered, because lowering them makes such maps;
# bf16 arithmetic is widened before its conversions are expanded to integer operations, because
# LLVM is given none; math goes to LLVM intrinsics first (fma, floor, sqrt), and only what has none
# to libm (erf), both while vectors are still MLIR's, because libm calls unroll them.
MEMREF_TO_LLVM = (
    "bool-to-byte",
    "check-allocs",
    "free-allocs",
    "expand-copy",
    "expand-math",
    "saturate-casts",
    "single-rounding-casts",
    "func.func(lower-vector-mask,lower-vector-multi-reduction)",
    "func.func(convert-vector-to-scf{full-unroll=true})",
    "func.func(canonicalize,cse)",
    "lower-affine,expand-strided-metadata,lower-affine",
    "func.func(math-extend-to-supported-types{extra-types=f16 target-type=f32})",
    "arith-emulate-unsupported-floats{source-types=bf16 target-type=f32}",
    "arith-expand{include-bf16=true}",
    "func.func(loop-invariant-code-motion)",
    "annotate-invariant-loads",
    "convert-scf-to-cf",
    "convert-math-to-llvm,convert-math-to-libm",
    "convert-vector-to-llvm",
    # The rest at once, OpenMP too: each conversion looks at every operation there is.
    "convert-to-llvm",
    "reconcile-unrealized-casts",
    # Canonicalising too would change no instruction of a kernel on one thread.
    "cse",
)
# What a step has to find to do anything, operations or dialects: looking once at what there is
# takes less than a single step that finds nothing.
_NEEDS = {
    "check-allocs": ("memref.alloc", "func.call", "tir.assert"),
    "free-allocs": ("memref.alloc",),
    "expand-copy": ("memref.copy",),
    "expand-math": ("math", "arith.divf"),
    "saturate-casts": ("arith.fptosi", "arith.fptoui"),
    "single-rounding-casts": ("arith.sitofp", "arith.uitofp"),
    "func.func(lower-vector-mask,lower-vector-multi-reduction)": (
        "vector.mask",
        "vector.multi_reduction",
    ),
    "func.func(convert-vector-to-scf{full-unroll=true})": (
        "vector.transfer_read",
        "vector.transfer_write",
        "vector.print",
    ),
    "func.func(math-extend-to-supported-types{extra-types=f16 target-type=f32})": ("math",),
    "convert-math-to-llvm,convert-math-to-libm": ("math",),
    "sink-constants": ("omp.parallel",),
}
# All that these steps make of what others after them need.
_MADE = "math"
# The first steps see a whole program: what calls a function that may fail may fail itself.
PROGRAM_STEPS = MEMREF_TO_LLVM[: MEMREF_TO_LLVM.index("check-allocs") + 1]


def steps_for(target: Target) -> tuple[str, ...]:
    """Return the steps for a target: with more than one thread `scf.parallel` becomes OpenMP."""
    steps: list[str] = list(MEMREF_TO_LLVM)
    if target.threads > 1:
        # The scope of allocations around each parallel body may not hold a branch; canonicalize
        # takes away those without an allocation.
        steps.insert(steps.index("convert-scf-to-cf"), "convert-scf-to-openmp,canonicalize")
        # Bodies of parallel loops are functions: what they do not use is not to be passed to them.
        steps[-1] = "canonicalize,cse"
        steps.append("sink-constants")
    return tuple(steps)


def run_steps(
    op: ir.Operation,
    target: Target,
    steps: Sequence[str] | None = None,
    there: Set[str] | None = None,
) -> dict[str, float]:
    """Lower a module for a target in place and return the seconds of each step, and verifying it.

    Args:
        op: the module.
        target: what for.
        steps: the last of `steps_for`, by default all.
        there: the names of its operations, where those are known.

    Raises:
        PassError: a step failed; the diagnostics say where.
    """
    seconds: dict[str, float] = {}
    found: set[str] | None = None
    for step in steps_for(target) if steps is None else steps:
        start = time.perf_counter()
        needs = _NEEDS.get(step)
        if needs is not None and found is None:
            names = names_below(op) if there is None else there
            found = {*names, *(name.partition(".")[0] for name in names)}
        if needs is None or found is None:
            run_step(op, step, target)
        elif not found.isdisjoint(needs):
            run_step(op, step, target)
            found.add(_MADE)
        seconds[step] = seconds.get(step, 0.0) + time.perf_counter() - start
    start = time.perf_counter()
    verify(op, "memref-to-llvm")
    seconds["verify"] = time.perf_counter() - start
    return seconds


def run_step(op: ir.Operation, step: str, target: str | Target = "") -> None:
    """Run one step: a pass of this package, or a piece of an upstream pipeline.

    Raises:
        PassError: it failed.
    """
    if step in PASSES:
        options = {"target": target} if TARGET in PASSES[step].options else {}
        PASSES[step].load()(op, **options)
        return
    if _crashes(op, step):
        return
    with op.context:
        manager = passmanager.PassManager.parse(f"builtin.module({step})")
        # Verifying after every pass was a third of the time; the caller verifies at the end.
        manager.enable_verifier(False)
        errors = run_passes(manager, op)
    if errors:
        raise PassError(step, "the program cannot be lowered", errors)


def _crashes(op: ir.Operation, step: str) -> bool:
    """Whether a step is one that crashes on unregistered operations, and there are such.

    They have no LLVM IR; the translation reports them with their locations.
    """
    if "math-extend-to-supported-types" not in step or not op.context.allow_unregistered_dialects:
        return False
    return not all(map(op.context.is_registered_operation, names_below(op)))


def verify(op: ir.Operation, what: str) -> None:
    """Check what the steps left.

    Raises:
        PassError: it is not valid.
    """
    with op.context:
        try:
            op.verify()
        except ir.MLIRError as error:
            lines = [f"{d.location}: {d.message}" for d in error.error_diagnostics]
            raise PassError(what, "the program was lowered wrongly", lines) from error
