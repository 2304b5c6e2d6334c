"""The pass infrastructure: PassContext, passes, pipelines, and every pass by its name."""

# Made by .ci/stubs, do not edit.

from relax_mlir.pass_infra.config import list_configs, register_config_option
from relax_mlir.pass_infra.context import PassContext, build_config
from relax_mlir.pass_infra.dataflow_block import DataflowBlockPass
from relax_mlir.pass_infra.decorators import (
    CreateDataflowBlockPass,
    CreateFunctionPass,
    CreateModulePass,
    CreatePrimFuncPass,
    CreateSequentialPass,
    dataflowblock_pass,
    function_pass,
    module_pass,
    prim_func_pass,
)
from relax_mlir.pass_infra.diagnostics import DiagnosticContext
from relax_mlir.pass_infra.info import PassInfo
from relax_mlir.pass_infra.passes import MLIRPass, ModulePass, Pass, PrintIR, mlir
from relax_mlir.pass_infra.per_function import FunctionPass, PrimFuncPass
from relax_mlir.pass_infra.pipeline import Pipeline
from relax_mlir.pass_infra.program_hash import fingerprint
from relax_mlir.pass_infra.registry import get_pass, register_pass
from relax_mlir.pass_infra.sequential import Sequential
from relax_mlir.transform.layout.desired_layouts import DesiredLayouts
from relax_mlir.transform.relax.bind_params import BindParams
from relax_mlir.transform.rewriting.patterns import pattern, pdl, rewrite

__all__ = [
    "AlterOpLayout",
    "AnnotateEntryFunc",
    "BF16ComputeLegalize",
    "BackwardFoldScaleAxis",
    "BindParams",
    "BoolToByte",
    "CallTIRRewrite",
    "CanonicalizeBindings",
    "CanonicalizeLoop",
    "CheckAllocs",
    "CommonSubexprElim",
    "CommonSubexprElimTIR",
    "CompactBufferAllocation",
    "ConstantsInside",
    "ConvertBlocksToOpaque",
    "ConvertForLoopsToSerial",
    "ConvertLayout",
    "ConvertToDataflow",
    "CreateDataflowBlockPass",
    "CreateFunctionPass",
    "CreateModulePass",
    "CreatePrimFuncPass",
    "CreateSequentialPass",
    "DataflowBlockPass",
    "DeadCodeElimination",
    "DiagnosticContext",
    "EliminateCommonSubexpr",
    "ExpandCopy",
    "ExpandMath",
    "ExportStock",
    "ExtractShapeFunctions",
    "FlattenBuffer",
    "FoldConstant",
    "FoldScaleAxis",
    "ForwardFoldScaleAxis",
    "FreeAllocs",
    "FunctionPass",
    "FuseAttention",
    "FuseOps",
    "HoistExpression",
    "HoistIfThenElse",
    "ImportStock",
    "InferType",
    "InstrumentBoundCheckers",
    "LambdaLift",
    "LegalizeOps",
    "LoopPartition",
    "LowerInitBlock",
    "LowerOpaqueBlock",
    "LowerTIR",
    "MLIRPass",
    "MemrefToLLVM",
    "ModulePass",
    "Normalize",
    "NoteInvariantLoads",
    "OutlineNative",
    "PackGroups",
    "PackKernels",
    "PackWeights",
    "PackWinograd",
    "Pass",
    "PassContext",
    "PassInfo",
    "Pipeline",
    "PlanAndUpdateBufferAllocationLocation",
    "PrimFuncPass",
    "PrintIR",
    "RefineShapesBackward",
    "RemoveNoOp",
    "RenormalizeSplitPattern",
    "RewriteUnsafeSelect",
    "RoundOnce",
    "SaturateCasts",
    "Sequential",
    "Simplify",
    "SimplifyInference",
    "SimplifyKnownStatistics",
    "SkipAssert",
    "StaticPlanBlockMemory",
    "StmtSimplify",
    "StorageFlatten",
    "StorageRewrite",
    "ToANormalForm",
    "ToNonDataflow",
    "UnrollLoop",
    "VMMemoryLower",
    "VMShapeLower",
    "VectorizeLoop",
    "WellFormed",
    "build_config",
    "dataflowblock_pass",
    "fingerprint",
    "function_pass",
    "get_pass",
    "list_configs",
    "mlir",
    "module_pass",
    "pattern",
    "pdl",
    "prim_func_pass",
    "register_config_option",
    "register_pass",
    "rewrite",
]

def AlterOpLayout() -> Pass:
    """Bring convolutions to the layouts in which kernels are fastest."""

def AnnotateEntryFunc() -> Pass:
    """Mark the prim func that a module begins with."""

def BF16ComputeLegalize() -> Pass:
    """Compute what is of bfloat16 in float32."""

def BackwardFoldScaleAxis() -> Pass:
    """Move scales of what convolutions return into their weights."""

def BoolToByte() -> Pass:
    """Keep booleans in memory as bytes, as DLPack does."""

def CallTIRRewrite() -> Pass:
    """Turn call_tir into an allocation and a call in destination-passing style."""

def CanonicalizeBindings() -> Pass:
    """Remove bindings that only rename something, and symbols that only repeat one."""

def CanonicalizeLoop() -> Pass:
    """Let all loops begin at 0."""

def CheckAllocs() -> Pass:
    """Let functions return a status when there is no memory for what they allocate."""

def CommonSubexprElim() -> Pass:
    """The name of common-subexpr-elim-tir in TVM's later versions."""

def CommonSubexprElimTIR() -> Pass:
    """Compute what is the same once."""

def CompactBufferAllocation() -> Pass:
    """Shrink buffers allocated in loops to the region that a step touches."""

def ConstantsInside() -> Pass:
    """Copy the constants of parallel regions into them."""

def ConvertBlocksToOpaque() -> Pass:
    """Put the values of blocks' iterators in their place."""

def ConvertForLoopsToSerial() -> Pass:
    """Make parallel loops serial."""

def ConvertLayout(desired_layouts: DesiredLayouts = "conv2d=NHWC,HWIO") -> Pass:
    """Bring convolutions and pooling to the layouts asked for."""

def ConvertToDataflow(min_size: int = 2) -> Pass:
    """Put runs of pure bindings into dataflow blocks."""

def DeadCodeElimination(entry_functions: tuple = ()) -> Pass:
    """Remove unused bindings, outputs, parameters and functions."""

def EliminateCommonSubexpr() -> Pass:
    """Merge equal bindings and drop unused ones."""

def ExpandCopy() -> Pass:
    """Turn strided memref.copy into loops."""

def ExpandMath(fma: bool = True, avx512: bool = False) -> Pass:
    """Compute exp, log, tanh, erf and their kin by polynomials that vectorise."""

def ExportStock() -> Pass:
    """End regions with a terminator that a stock mlir-opt accepts."""

def ExtractShapeFunctions() -> Pass:
    """Compute shapes of what functions return without calling them."""

def FlattenBuffer() -> Pass:
    """Access all buffers in one dimension."""

def FoldConstant(max_bytes: int = 65536, evaluate_tir: bool = True) -> Pass:
    """Compute at compile time what is known then."""

def FoldScaleAxis() -> Pass:
    """Move scales by channel into the weights of convolutions, backward and forward."""

def ForwardFoldScaleAxis() -> Pass:
    """Move scales of what convolutions take into their weights."""

def FreeAllocs() -> Pass:
    """Free buffers at the end of the block that allocated them."""

def FuseAttention() -> Pass:
    """Turn a softmax between two matrix products into one attention."""

def FuseOps() -> Pass:
    """Merge chains of elementwise call_tir into one kernel each."""

def HoistExpression() -> Pass:
    """Move conditions and arithmetic that do not change in a loop out of it."""

def HoistIfThenElse() -> Pass:
    """Move conditions that do not change in a loop out of it."""

def ImportStock() -> Pass:
    """Give regions our own terminators back after a stock mlir-opt."""

def InferType() -> Pass:
    """Refine the types of bindings by what their operands say."""

def InstrumentBoundCheckers() -> Pass:
    """Assert that every index is inside its buffer."""

def LambdaLift() -> Pass:
    """Make functions of the module of functions written in place."""

def LegalizeOps() -> Pass:
    """Turn relax operations into call_tir of generated prim funcs."""

def LoopPartition() -> Pass:
    """Shorten loops by the conditions in them, and run whole tiles without any."""

def LowerInitBlock() -> Pass:
    """Give the init regions of blocks places of their own, in front of their loops."""

def LowerOpaqueBlock() -> Pass:
    """Replace blocks by what is in them, and loops of one step by that step."""

def LowerTIR(
    target: str = "",
    vector_bits: int | None = None,
    vector_registers: int | None = None,
    fma: bool | None = None,
    threads: int | None = None,
    l1_bytes: int | None = None,
    l2_bytes: int | None = None,
    l3_bytes: int | None = None,
    dot_products: str | None = None,
    gathers: bool | None = None,
    fma_units: int | None = None,
) -> Pass:
    """Lower prim funcs to loops over vectors."""

def MemrefToLLVM(threads: int = 1, fma: bool = True, avx512: bool = False) -> Pass:
    """Lower prim funcs from memrefs and vectors to the LLVM dialect."""

def Normalize() -> Pass:
    """Bring Relax functions into the normal form that passes count on."""

def NoteInvariantLoads() -> Pass:
    """Mark functions whose loops compute from memory what does not change in them."""

def OutlineNative() -> Pass:
    """Merge straight-line runs of call_tir into one native function."""

def PackGroups(vector_bits: int = 512, vector_registers: int = 32, dot_products: str = "") -> Pass:
    """Put constant kernels of convolutions into the groups that targets multiply."""

def PackKernels() -> Pass:
    """Bring constant weights of convolutions into blocks of output channels."""

def PackWeights(vector_bits: int = 512, vector_registers: int = 32, dot_products: str = "") -> Pass:
    """Bring constant matrices into the panels that contractions read."""

def PackWinograd(
    vector_bits: int = 512, vector_registers: int = 32, l2_bytes: int = 2097152, fma_units: int = 2
) -> Pass:
    """Transform constant kernels of 3 x 3 for convolutions that add up fewer products."""

def PlanAndUpdateBufferAllocationLocation() -> Pass:
    """Move allocations into the innermost loop that all uses are in."""

def RefineShapesBackward(broadcast: bool = True) -> Pass:
    """Refine the types of values by what is made of them."""

def RemoveNoOp() -> Pass:
    """Remove loops, branches, stores and buffers that do nothing."""

def RenormalizeSplitPattern() -> Pass:
    """Bring quotients and remainders of split loops to one form, as simplify does."""

def RewriteUnsafeSelect() -> Pass:
    """Let selects of what is loaded evaluate only the value that they give."""

def RoundOnce() -> Pass:
    """Let integers of 32 bits and more become the nearest bfloat16, not that of an f32."""

def SaturateCasts() -> Pass:
    """Let floats that an integer does not hold become the nearest that it does."""

def Simplify() -> Pass:
    """Simplify index arithmetic, conditions and predicates by the ranges of variables."""

def SimplifyInference() -> Pass:
    """Write normalisation and dropout as the arithmetic that inference needs."""

def SimplifyKnownStatistics() -> Pass:
    """Write batch normalisations by constants as arithmetic that can be folded."""

def SkipAssert() -> Pass:
    """Remove the assertions of prim funcs."""

def StaticPlanBlockMemory() -> Pass:
    """Let tensors that live at different times share storage."""

def StmtSimplify() -> Pass:
    """The name of simplify in TVM's later versions."""

def StorageFlatten() -> Pass:
    """The name of flatten-buffer in TVM's early versions."""

def StorageRewrite() -> Pass:
    """Let buffers that are used at different times share memory."""

def ToANormalForm() -> Pass:
    """Relay's name of normalize."""

def ToNonDataflow() -> Pass:
    """Inline dataflow blocks into the function around them."""

def UnrollLoop() -> Pass:
    """Replace unrolled loops, and short ones by the config tir.UnrollLoop, by their steps."""

def VMMemoryLower() -> Pass:
    """Turn tensor allocations into storage and tensors of the virtual machine."""

def VMShapeLower() -> Pass:
    """Compute symbolic shapes at run time through a shape heap and shape functions."""

def VectorizeLoop(enable_vectorize: bool = True, vector_bits: int = 512) -> Pass:
    """Turn vectorized loops into code over vectors."""

def WellFormed() -> Pass:
    """Check symbols, calls and returns across whole functions."""
