"""Passes over loops of prim funcs: unroll, vectorise, partition, make serial."""

from dataclasses import dataclass
from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.target.of_module import target_of
from relax_mlir.lowering.tir_to_vector.analysis import kind_of_loop
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.generic import inline
from relax_mlir.lowering.tir_to_vector.init import split_inits
from relax_mlir.lowering.tir_to_vector.scheduled.index import integer_of
from relax_mlir.lowering.tir_to_vector.scheduled.partition import partition
from relax_mlir.lowering.tir_to_vector.scheduled.program import set_kind, vectorize
from relax_mlir.lowering.tir_to_vector.scheduled.threads import unroll
from relax_mlir.lowering.walk import collect
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.pass_infra.tir_config import (
    DISABLE_VECTORIZE,
    LOOP_PARTITION,
    UNROLL_LOOP,
    UnrollLoopConfig,
)
from relax_mlir.tir.transform.functions import each_prim_func

arith: ModuleType = submodule("dialects.arith")

# What counts as a step of a loop.
_STEPS = (
    "memref.store", "vector.store", "vector.maskedstore", "vector.scatter", "tir.call_extern",
    "tir.call_packed", "func.call",
)  # fmt: skip
# An unrolled loop may grow to so many operations; longer ones stay loops.
_MAX_OPS = 1 << 16


def unroll_loop(op: ir.Operation) -> None:
    """Replace loops of the kind `unrolled`, and what the config `tir.UnrollLoop` says.

    Args:
        op: the module, changed in place.
    """
    config: UnrollLoopConfig = PassContext.current().option(UNROLL_LOOP)
    each_prim_func(op, lambda func, emit: _Unroller(config, emit).block(func.entry_block))


@dataclass
class _Counters:
    """What unrolling has done inside a block: TVM's counters."""

    stores: int = 0
    unrolled: int = 0
    kept: int = 0


class _Unroller:
    def __init__(self, config: UnrollLoopConfig, emit: Emitter) -> None:
        self.config, self.emit = config, emit

    def block(self, block: ir.Block) -> _Counters:
        """Unroll the loops in a block, inner ones first."""
        total = _Counters()
        for view in list(block.operations):
            op = view.operation
            inner = _Counters()
            for region in op.regions:
                for body in region.blocks:
                    nested = self.block(body)
                    inner.stores += nested.stores
                    inner.unrolled = max(inner.unrolled, nested.unrolled)
                    inner.kept = max(inner.kept, nested.kept)
            if op.name in _STEPS:
                inner.stores += 1
            elif op.name == "tir.for":
                self._loop(op, inner)
            total.stores += inner.stores
            total.unrolled = max(total.unrolled, inner.unrolled)
            total.kept = max(total.kept, inner.kept)
        return total

    def _loop(self, op: ir.Operation, inner: _Counters) -> None:
        extent, kind = integer_of(op.operands[1]), kind_of_loop(op)
        config = self.config
        wanted = kind == "unrolled"
        if isinstance(extent, int) and kind == "serial" and not inner.kept:
            few = extent * inner.stores <= config.auto_max_step or extent <= config.auto_max_extent
            wanted = few and inner.unrolled <= config.auto_max_depth
        if not wanted or not isinstance(extent, int):
            inner.kept += 1
            return
        inner.stores *= max(extent, 1)
        inner.unrolled += 1
        if config.explicit_unroll:
            unroll(op, self.emit, _MAX_OPS)
        else:
            set_kind(op, "unrolled")


def vectorize_loop(op: ir.Operation, enable_vectorize: bool = True, target: str = "") -> None:
    """Turn loops of the kind `vectorized` into vector code; those that cannot be become serial.

    Blocks inside such loops are inlined.

    Args:
        op: the module, changed in place.
        enable_vectorize: false makes all such loops serial.
        target: what for; by default the module's (`target_of`).
    """
    enabled = enable_vectorize and not PassContext.current().option(DISABLE_VECTORIZE)
    machine = Machine.of(target_of(op, target))

    def change(func: ir.OpView, emit: Emitter) -> None:
        loops = collect(func.operation, lambda op: kind_of_loop(op) == "vectorized")
        if not enabled:
            for loop in loops:
                set_kind(loop, "serial")
            return
        if any(_has_init(block) for loop in loops for block in _blocks(loop)):
            split_inits(func, emit)
        for loop in collect(func.operation, lambda op: kind_of_loop(op) == "vectorized"):
            for block in reversed(_blocks(loop)):
                inline(block)
        for loop in reversed(collect(func.operation, lambda op: kind_of_loop(op) == "vectorized")):
            if vectorize(loop, emit, machine):
                set_kind(loop, "serial")

    each_prim_func(op, change, machine)


def _blocks(loop: ir.Operation) -> list[ir.Operation]:
    return collect(loop, lambda op: op.name == "tir.block")


def _has_init(block: ir.Operation) -> bool:
    return len(block.regions[1].blocks) > 0


def loop_partition(op: ir.Operation) -> None:
    """Shorten loops by the conditions of what is in them, and let whole tiles run without any.

    Loops of known extent only where the config `tir.LoopPartition` says so, or their kind is
    `vectorized` or `unrolled`. Blocks must have been lowered.

    Args:
        op: the module, changed in place.
    """
    known_too = PassContext.current().option(LOOP_PARTITION).partition_const_loop

    def change(func: ir.OpView, emit: Emitter) -> None:
        for loop in collect(func.operation, lambda op: op.name == "tir.for"):
            if loop.parent.operation.name != "tir.for":
                partition(loop, emit, serial=known_too)

    each_prim_func(op, change)


def canonicalize_loop(op: ir.Operation) -> None:
    """Let all loops begin at 0; what uses their counters adds where they began.

    Args:
        op: the module, changed in place.
    """

    def change(func: ir.OpView, _: Emitter) -> None:
        for loop in collect(func.operation, lambda op: op.name == "tir.for"):
            first = loop.operands[0]
            if integer_of(first) == 0:
                continue
            body = loop.regions[0].blocks[0]
            with loop.location:
                with ir.InsertionPoint(loop):
                    loop.operands[0] = arith.ConstantOp(ir.IndexType.get(), 0).result
                with ir.InsertionPoint.at_block_begin(body):
                    moved = arith.AddIOp(body.arguments[0], first)
            body.arguments[0].replace_all_uses_except(moved.result, moved.operation)

    each_prim_func(op, change)


def convert_for_loops_to_serial(op: ir.Operation) -> None:
    """Make parallel loops serial.

    Args:
        op: the module, changed in place.
    """

    def change(func: ir.OpView, _: Emitter) -> None:
        for loop in collect(func.operation, lambda op: kind_of_loop(op) == "parallel"):
            set_kind(loop, "serial")

    each_prim_func(op, change)
