"""The schedule dialect: primitives of `tir.Schedule` as operations of transform scripts.

It extends MLIR's transform dialect: its operations stand in a `transform.named_sequence` and take
and give its handles. Contexts load it when a trace is written or read.
"""

import types
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from relax_mlir.dialects.bindings import ext, ir, submodule, uninterrupted
from relax_mlir.dialects.context_lock import LOAD_LOCK
from relax_mlir.dialects.definitions import load_definition

transform: ModuleType = submodule("dialects.transform")

# The methods of `tir.Schedule` that traces record.
PRIMITIVES = (
    "add_unit_loop", "annotate", "annotate_buffer_access", "bind", "blockize", "cache_index",
    "cache_inplace", "cache_read", "cache_write", "can_decompose_padding", "compute_at",
    "compute_inline", "decompose_padding", "decompose_reduction", "enter_postproc", "fuse",
    "fuse_reduction_epilogue", "get_block", "get_child_blocks", "get_consumers", "get_loops",
    "get_output_blocks", "get_producers", "loop_partition", "merge", "pad_einsum", "parallel",
    "read_at", "reindex", "reindex_cache_read", "reindex_cache_write", "reorder",
    "reorder_block_iter_var", "reverse_compute_at", "reverse_compute_inline", "rfactor",
    "rolling_buffer", "sample_categorical", "sample_compute_location", "sample_partitioned_tile",
    "sample_perfect_tile", "set_axis_separator", "set_dtype", "set_scope", "split",
    "storage_align", "tensorize", "transform_block_layout", "transform_layout", "unannotate",
    "unroll", "unsafe_hide_buffer_access", "unsafe_set_dtype", "vectorize", "work_on", "write_at",
)  # fmt: skip


class Schedule(ext.Dialect, name="schedule"):
    """Primitives of schedules as operations on transform handles."""


def _operation(name: str) -> type[Any]:
    fields = {
        "__doc__": f"The primitive `{name}` of `tir.Schedule`.",
        "__annotations__": {
            "inputs": Sequence[ext.Operand[Any]],
            "outputs": Sequence[ext.Result[Any]],
        },
    }
    base: Any = Schedule.Operation
    return types.new_class(f"{name}_op", (base,), {"name": name}, lambda body: body.update(fields))


with uninterrupted():
    OPERATIONS = {name: _operation(name) for name in PRIMITIVES}


class _Replayed(transform.TransformOpInterface):
    """Schedules replay their traces; MLIR's interpreter, which knows no schedule, does not."""

    @staticmethod
    def apply(op: Any, rewriter: Any, results: Any, state: Any) -> Any:
        op.location.emit_error(
            "is replayed by relax_mlir.tir.schedule.Trace.from_mlir(...).apply_to_schedule(...)"
        )
        return transform.DiagnosedSilenceableFailure.DefiniteFailure

    @staticmethod
    def allow_repeated_handle_operands(op: Any) -> bool:
        return True


class _Effects(ir.MemoryEffectsOpInterface):
    @staticmethod
    def get_effects(op: Any, effects: Any) -> None:
        transform.only_reads_handle(op.op_operands, effects)
        transform.produces_handle(op.results, effects)
        transform.modifies_payload(effects)


def load_schedule(context: ir.Context) -> None:
    """Load the schedule dialect into a context, which few need; a second call does nothing."""
    with LOAD_LOCK, context, uninterrupted():
        if context.is_dialect_loaded("schedule"):
            return
        load_definition(Schedule)
        for name in PRIMITIVES:
            _Replayed.attach(f"schedule.{name}")
            _Effects.attach(f"schedule.{name}")


__all__ = ["OPERATIONS", "PRIMITIVES", "Schedule", "load_schedule"]
