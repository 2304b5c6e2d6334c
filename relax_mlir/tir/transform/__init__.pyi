"""Passes over prim funcs under TVM's names: `tir.transform.UnrollLoop()`."""

# Made by .ci/stubs, do not edit.

from relax_mlir.pass_infra.kinds.decorators import prim_func_pass
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
    """Compute bfloat16 in float32."""

def CanonicalizeLoop() -> Pass:
    """Make all loops begin at 0."""

def CommonSubexprElim() -> Pass:
    """The name of common-subexpr-elim-tir in TVM's later versions."""

def CommonSubexprElimTIR() -> Pass:
    """Compute common subexpressions once."""

def CompactBufferAllocation() -> Pass:
    """Shrink buffers allocated in loops to the region that a step touches."""

def ConvertBlocksToOpaque() -> Pass:
    """Substitute the iterators of blocks by their values."""

def ConvertForLoopsToSerial() -> Pass:
    """Make parallel loops serial."""

def FlattenBuffer() -> Pass:
    """Make all accesses of buffers one-dimensional."""

def HoistExpression() -> Pass:
    """Hoist loop-invariant conditions and arithmetic."""

def HoistIfThenElse() -> Pass:
    """Hoist loop-invariant conditions."""

def InstrumentBoundCheckers() -> Pass:
    """Assert that every index is inside its buffer."""

def LoopPartition() -> Pass:
    """Turn conditions into loop bounds, and run whole tiles without them."""

def LowerInitBlock() -> Pass:
    """Make init regions loop nests of their own, before the reduction loops."""

def LowerOpaqueBlock() -> Pass:
    """Replace blocks by their bodies, and inline loops of one step."""

def PlanAndUpdateBufferAllocationLocation() -> Pass:
    """Move allocations into the innermost loop that all uses are in."""

def RemoveNoOp() -> Pass:
    """Remove loops, branches, stores and buffers without effect."""

def RenormalizeSplitPattern() -> Pass:
    """Canonicalize quotients and remainders of split loops, as simplify does."""

def RewriteUnsafeSelect() -> Pass:
    """Make selects of loads evaluate only the chosen value."""

def Simplify() -> Pass:
    """Simplify index arithmetic, conditions and predicates by the ranges of variables."""

def SkipAssert() -> Pass:
    """Remove the assertions of prim funcs."""

def StmtSimplify() -> Pass:
    """The name of simplify in TVM's later versions."""

def StorageFlatten() -> Pass:
    """The name of flatten-buffer in TVM's early versions."""

def StorageRewrite() -> Pass:
    """Let buffers with disjoint live ranges share memory."""

def UnrollLoop() -> Pass:
    """Unroll unrolled loops, and short ones by the config tir.UnrollLoop."""

def VectorizeLoop(enable_vectorize: bool = True, target: str = "") -> Pass:
    """Turn vectorized loops into code over vectors."""
