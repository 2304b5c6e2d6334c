"""Prim funcs to scf, memref and vector: the fast path of each nest's class, else plain loops."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import PassError
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.generic import lower_block
from relax_mlir.lowering.tir_to_vector.idle_loops import (
    has_nested_reductions,
    skip_idle_loops,
)
from relax_mlir.lowering.tir_to_vector.init import split_inits
from relax_mlir.lowering.tir_to_vector.machine import Machine, dot_product_names
from relax_mlir.lowering.tir_to_vector.nibbles import lower_nibbles
from relax_mlir.lowering.tir_to_vector.packed_calls import keep_order
from relax_mlir.lowering.tir_to_vector.plan import Writer, plan_function, prepare
from relax_mlir.lowering.tir_to_vector.scheduled.program import apply_kinds
from relax_mlir.lowering.tir_to_vector.scheduled.promote import promote
from relax_mlir.lowering.tir_to_vector.scheduled.threads import check_parallel
from relax_mlir.lowering.tir_to_vector.slow_kernels import SlowKernels
from relax_mlir.lowering.tir_to_vector.storage_align import align_storage
from relax_mlir.lowering.tir_to_vector.symbols import replace_symbols
from relax_mlir.lowering.walk import by_name, types_made

FLAG = "lower-tir"
# What is left where no plan wrote the nests, and is none.
_REST = ("tir.for", "tir.block", "tir.call_extern", "tir.call_packed")


def lower_tir(
    op: ir.Operation,
    *,
    vector_bits: int = 512,
    vector_registers: int = 32,
    fma: bool = True,
    threads: int = 1,
    l1_bytes: int = 48 << 10,
    l2_bytes: int = 2 << 20,
    l3_bytes: int = 32 << 20,
    dot_products: str = "",
    gathers: bool = True,
    fma_units: int = 2,
) -> None:
    """Lower every prim func of a module in place; other functions stay as they are.

    Args:
        op: the module.
        vector_bits: width of a vector register.
        vector_registers: how many vector registers there are.
        fma: whether the target has a fused multiply-add instruction.
        threads: most threads for one kernel; with more than one, code for OpenMP is written.
        l1_bytes: size of a core's first-level data cache.
        l2_bytes: size of what a core has of the second-level cache.
        l3_bytes: size of the last-level cache.
        dot_products: names of instructions as `Machine.dot_products` has them, between commas.
        gathers: whether gathers are quicker than loads one by one.
        fma_units: multiply-adds of whole vectors that a core starts in a cycle.

    Raises:
        PassError: a symbol of a prim func has no value, or a parallel loop carries a reduction.
    """
    dots = dot_product_names(dot_products)
    machine = Machine(
        vector_bits, vector_registers, fma, threads, l1_bytes, l2_bytes, l3_bytes, dots, gathers,
        fma_units,
    )  # fmt: skip
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
    emit = Emitter(func.entry_block, machine.threads)
    keep_order(func)
    align_storage(func)
    prepare(func, machine)
    may_be_idle = has_nested_reductions(func)
    plans = plan_function(func, machine)
    slow.tell(ir.StringAttr(func.operation.attributes["sym_name"]).value, plans)
    for plan in plans:
        if plan.write is not None:
            _write(plan.tops, plan.write, emit, machine)
    for view in list(func.entry_block.operations):
        # Intermediate buffers whose nests keep single rows are no longer used.
        if view.operation.name == "memref.alloc" and not list(view.operation.results[0].uses):
            view.operation.erase()
    # A kernel may be thousands of operations, which are not all to be looked at for each step.
    found = by_name(func.operation)
    if not found.keys().isdisjoint(_REST):
        _lower_rest(func, emit, machine)
        found = by_name(func.operation)
    if may_be_idle:
        skip_idle_loops(func, emit)
        found = by_name(func.operation)
    problems = replace_symbols(func, found.get("tir.symbol", ()), emit)
    emit.close()
    lower_nibbles(func, types_made(found))
    return problems


def _lower_rest(func: ir.OpView, emit: Emitter, machine: Machine) -> None:
    """Lower the nests that no plan wrote, and calls."""
    races = check_parallel(func)
    if races:
        raise PassError(FLAG, "a parallel loop cannot run in parallel", races)
    split_inits(func, emit)
    apply_kinds(func, emit, machine)
    lower_block(func.entry_block, emit)
    promote(func, emit)


def _write(tops: list[ir.Operation], write: Writer, emit: Emitter, machine: Machine) -> None:
    # At the last of the nests: the buffers that the others use were allocated before them.
    last = tops[-1]
    with ir.InsertionPoint(last), last.location:
        write(emit, machine)
    for top in tops:
        top.erase()
