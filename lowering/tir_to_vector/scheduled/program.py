"""Scheduled programs: loops run in their order and kind.

Predicates become bounds, vectorized loops vector code, unrolled loops copies, parallel loops a
parallel region; sums stay in registers.
"""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.analysis import kind_of_loop
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.generic import inline
from relax_mlir.lowering.tir_to_vector.scheduled.partition import partition
from relax_mlir.lowering.tir_to_vector.scheduled.threads import (
    MARK,
    is_parallel,
    shares_writes,
    sink_allocs,
    unroll,
)
from relax_mlir.lowering.tir_to_vector.scheduled.vector import vectorize
from relax_mlir.lowering.walk import collect

SCHEDULED = ("vectorized", "unrolled", "parallel")


def is_scheduled(op: ir.Operation) -> bool:
    """Whether an operation is, or contains, a loop of a kind that somebody chose, or vectors."""
    return bool(collect(op, _has_kind))


def apply_kinds(func: ir.OpView, emit: Emitter, machine: Machine) -> None:
    """Carry out the kinds of a prim func's loops, parallel ones left to `lower_block`.

    Blocks of the nests concerned are inlined; they have no init regions any more.
    """
    tops = [op for op in _outermost(func) if is_scheduled(op)]
    if not tops:
        return
    for top in tops:
        for loop in collect(top, lambda op: op.name == "tir.for"):
            loop.attributes[MARK] = ir.UnitAttr.get()
        for block in reversed(collect(top, lambda op: op.name == "tir.block")):
            inline(block)
    loops = collect(func.operation, lambda op: op.name == "tir.for" and MARK in op.attributes)
    for loop in loops:
        if loop.parent.operation.name != "tir.for":
            partition(loop, emit)
    _keep_outer_threads(func)
    for loop in _loops(func, "vectorized"):
        why = vectorize(loop, emit, machine)
        if why:
            set_kind(loop, "serial")
    for loop in _loops(func, "unrolled"):
        if not unroll(loop, emit):
            set_kind(loop, "serial")


def set_kind(loop: ir.Operation, kind: str) -> None:
    """Give a `tir.for` another kind."""
    loop.attributes["kind"] = ir.StringAttr.get(kind)


def _keep_outer_threads(func: ir.OpView) -> None:
    """Make parallel loops serial that are nested, or whose steps may write the same place."""
    for loop in collect(func.operation, is_parallel):
        sink_allocs(loop)
        if shares_writes(loop) or _is_in_parallel(loop):
            set_kind(loop, "serial")


def _is_in_parallel(loop: ir.Operation) -> bool:
    op = loop.parent.operation
    while op.name != "func.func":
        if is_parallel(op):
            return True
        op = op.parent.operation
    return False


def _loops(func: ir.OpView, kind: str) -> list[ir.Operation]:
    """Return the loops of a kind, inner ones first."""
    return list(reversed(collect(func.operation, lambda op: kind_of_loop(op) == kind)))


def _has_kind(op: ir.Operation) -> bool:
    return kind_of_loop(op) in SCHEDULED or op.name.startswith("vector.")


def _outermost(func: ir.OpView) -> list[ir.Operation]:
    """Return the loops and blocks that are in no other."""
    found = collect(func.operation, lambda op: op.name in ("tir.for", "tir.block"))
    return [op for op in found if op.parent.operation.name not in ("tir.for", "tir.block")]
