"""Lowering of prim funcs to scf, memref and vector: fast paths, else plain loops."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import PassError
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.target.of_module import target_of
from relax_mlir.lowering.tir_to_vector.describe import SlowKernels
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.generic import (
    lower_block,
    make_packed_calls_serial,
    skip_empty_reductions,
)
from relax_mlir.lowering.tir_to_vector.init import split_inits
from relax_mlir.lowering.tir_to_vector.int4 import lower_int4
from relax_mlir.lowering.tir_to_vector.kernel_class import Plan
from relax_mlir.lowering.tir_to_vector.plan import plan_function, prepare
from relax_mlir.lowering.tir_to_vector.scheduled.program import apply_kinds
from relax_mlir.lowering.tir_to_vector.scheduled.promote import promote
from relax_mlir.lowering.tir_to_vector.scheduled.threads import check_parallel
from relax_mlir.lowering.tir_to_vector.storage_align import align_storage
from relax_mlir.lowering.tir_to_vector.symbols import replace_symbols
from relax_mlir.lowering.walk import by_name, types_made

FLAG = "lower-tir"
# Operations that no plan lowers.
_REST = ("tir.for", "tir.block", "tir.call_extern", "tir.call_packed")


def lower_tir(op: ir.Operation, *, target: str = "") -> None:
    """Lower every prim func of a module in place; other functions stay as they are.

    Args:
        op: the module.
        target: what for, such as `llvm -mcpu=x86-64-v3`; by default the module's (`target_of`).

    Raises:
        PipelineError: the target is none.
        PassError: a symbol of a prim func has no value, or a parallel loop carries a reduction.
    """
    lower_for(op, Machine.of(target_of(op, target)))


def lower_for(op: ir.Operation, machine: Machine) -> None:
    """Lower every prim func of a module in place for a machine that is known.

    With more than one thread, parallel regions are written.

    Raises:
        PassError: as `lower_tir`.
    """
    problems: list[str] = []
    slow = SlowKernels()
    with op.context, op.location:
        for view in list(op.regions[0].blocks[0].operations):
            if (
                view.operation.name == "func.func"
                and "tir.prim_func" in view.operation.attributes
                and not view.is_external
            ):
                problems += _lower_function(view, machine, slow)
    if problems:
        raise PassError(FLAG, "a symbol has no value at run time", problems)


def _lower_function(func: ir.OpView, machine: Machine, slow: SlowKernels) -> list[str]:
    emit = Emitter(func.entry_block, machine)
    make_packed_calls_serial(func)
    align_storage(func)
    prepare(func, machine)
    plans = plan_function(func, machine)
    slow.warn(ir.StringAttr(func.operation.attributes["sym_name"]).value, plans)
    for plan in plans:
        if plan.problem is not None:
            _write(plan, emit)
    for view in list(func.entry_block.operations):
        # Intermediate buffers whose nests keep single rows are no longer used.
        if view.operation.name == "memref.alloc" and not list(view.operation.results[0].uses):
            view.operation.erase()
    # A kernel may be thousands of operations, which are not all to be looked at for each step.
    is_left = any(plan.problem is None for plan in plans)
    ops = {} if is_left else by_name(func.operation)
    if is_left or not ops.keys().isdisjoint(_REST):
        _lower_rest(func, emit, machine)
        ops = by_name(func.operation)
    problems = replace_symbols(func, ops.get("tir.symbol", ()), emit)
    lower_int4(func, types_made(ops), emit)
    emit.close()
    return problems


def _lower_rest(func: ir.OpView, emit: Emitter, machine: Machine) -> None:
    """Lower the nests that no plan wrote, and calls."""
    races = check_parallel(func)
    if races:
        raise PassError(FLAG, "a parallel loop cannot run in parallel", races)
    split_inits(func, emit)
    skip_empty_reductions(func, emit)
    apply_kinds(func, emit, machine)
    lower_block(func.entry_block, emit)
    promote(func, emit)


def _write(plan: Plan, emit: Emitter) -> None:
    # At the last of the nests: the buffers that the others use were allocated before them.
    last = plan.tops[-1]
    with ir.InsertionPoint(last), last.location:
        plan.write(emit)
    for top in plan.tops:
        top.erase()
