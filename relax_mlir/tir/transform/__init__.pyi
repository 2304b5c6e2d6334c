"""Passes over prim funcs by TVM's names: `tir.transform.UnrollLoop()` and its kin."""

# Made by .ci/stubs, do not edit.

from relax_mlir.pass_infra.decorators import prim_func_pass
from relax_mlir.pass_infra.passes import Pass
from relax_mlir.pass_infra.tir_config import (
    HoistIfThenElseConfig,
    LoopPartitionConfig,
    UnrollLoopConfig,
)
from relax_mlir.tir.transform.user import Apply, Filter

__all__ = [
    "AnnotateEntryFunc",
    "Apply",
    "BF16ComputeLegalize",
    "CanonicalizeLoop",
    "CommonSubexprElim",
    "CommonSubexprElimTIR",
    "CompactBufferAllocation",
    "ConvertBlocksToOpaque",
    "ConvertForLoopsToSerial",
    "Filter",
    "FlattenBuffer",
    "HoistExpression",
    "HoistIfThenElse",
    "HoistIfThenElseConfig",
    "InstrumentBoundCheckers",
    "LoopPartition",
    "LoopPartitionConfig",
    "LowerInitBlock",
    "LowerOpaqueBlock",
    "PlanAndUpdateBufferAllocationLocation",
    "RemoveNoOp",
    "RenormalizeSplitPattern",
    "RewriteUnsafeSelect",
    "Simplify",
    "SkipAssert",
    "StmtSimplify",
    "StorageFlatten",
    "StorageRewrite",
    "UnrollLoop",
    "UnrollLoopConfig",
    "VectorizeLoop",
    "prim_func_pass",
]

def AnnotateEntryFunc() -> Pass:
    """Mark the prim func that a module begins with."""

def BF16ComputeLegalize() -> Pass:
    """Compute what is of bfloat16 in float32."""

def CanonicalizeLoop() -> Pass:
    """Let all loops begin at 0."""

def CommonSubexprElim() -> Pass:
    """The name of common-subexpr-elim-tir in TVM's later versions."""

def CommonSubexprElimTIR() -> Pass:
    """Compute what is the same once."""

def CompactBufferAllocation() -> Pass:
    """Shrink buffers allocated in loops to the region that a step touches."""

def ConvertBlocksToOpaque() -> Pass:
    """Put the values of blocks' iterators in their place."""

def ConvertForLoopsToSerial() -> Pass:
    """Make parallel loops serial."""

def FlattenBuffer() -> Pass:
    """Access all buffers in one dimension."""

def HoistExpression() -> Pass:
    """Move conditions and arithmetic that do not change in a loop out of it."""

def HoistIfThenElse() -> Pass:
    """Move conditions that do not change in a loop out of it."""

def InstrumentBoundCheckers() -> Pass:
    """Assert that every index is inside its buffer."""

def LoopPartition() -> Pass:
    """Shorten loops by the conditions in them, and run whole tiles without any."""

def LowerInitBlock() -> Pass:
    """Give the init regions of blocks places of their own, in front of their loops."""

def LowerOpaqueBlock() -> Pass:
    """Replace blocks by what is in them, and loops of one step by that step."""

def PlanAndUpdateBufferAllocationLocation() -> Pass:
    """Move allocations into the innermost loop that all uses are in."""

def RemoveNoOp() -> Pass:
    """Remove loops, branches, stores and buffers that do nothing."""

def RenormalizeSplitPattern() -> Pass:
    """Bring quotients and remainders of split loops to one form, as simplify does."""

def RewriteUnsafeSelect() -> Pass:
    """Let selects of what is loaded evaluate only the value that they give."""

def Simplify() -> Pass:
    """Simplify index arithmetic, conditions and predicates by the ranges of variables."""

def SkipAssert() -> Pass:
    """Remove the assertions of prim funcs."""

def StmtSimplify() -> Pass:
    """The name of simplify in TVM's later versions."""

def StorageFlatten() -> Pass:
    """The name of flatten-buffer in TVM's early versions."""

def StorageRewrite() -> Pass:
    """Let buffers that are used at different times share memory."""

def UnrollLoop() -> Pass:
    """Replace unrolled loops, and short ones by the config tir.UnrollLoop, by their steps."""

def VectorizeLoop(enable_vectorize: bool = True, vector_bits: int = 512) -> Pass:
    """Turn vectorized loops into code over vectors."""
