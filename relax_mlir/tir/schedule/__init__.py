"""Schedules of prim funcs: primitives that change how they compute, recorded as traces."""

from relax_mlir.errors import ScheduleError
from relax_mlir.tir.schedule.handles import BlockRV, ExprRV, LoopRV, SBlockRV
from relax_mlir.tir.schedule.schedule import Schedule
from relax_mlir.tir.schedule.trace.instruction import Instruction, InstructionKind
from relax_mlir.tir.schedule.trace.trace import Trace

__all__ = [
    "BlockRV", "ExprRV", "Instruction", "InstructionKind", "LoopRV", "SBlockRV", "Schedule",
    "ScheduleError", "Trace",
]  # fmt: skip
