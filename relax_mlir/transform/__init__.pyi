"""The pass infrastructure: PassContext, passes, pipelines, and every pass by its name."""

# Made by .ci/stubs, do not edit.

from relax_mlir.pass_infra.config import list_configs, register_config_option
from relax_mlir.pass_infra.context import PassContext, build_config
from relax_mlir.pass_infra.execution.diagnostics import DiagnosticContext
from relax_mlir.pass_infra.execution.program_hash import fingerprint
from relax_mlir.pass_infra.info import PassInfo
from relax_mlir.pass_infra.kinds.dataflow_block import DataflowBlockPass
from relax_mlir.pass_infra.kinds.decorators import (
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
from relax_mlir.pass_infra.kinds.decorators import CreateSequentialPass as sequential
from relax_mlir.pass_infra.kinds.per_function import FunctionPass, PrimFuncPass
from relax_mlir.pass_infra.kinds.sequential import Sequential
from relax_mlir.pass_infra.passes import MLIRPass, ModulePass, Pass, PrintIR, mlir
from relax_mlir.pass_infra.registry import get_pass, register_pass
from relax_mlir.pass_infra.registry import get_pass as GetPass
from relax_mlir.pass_infra.text.pipeline import Pipeline
from relax_mlir.transform.grouping.fuse_ops_by_pattern import (
    FuseOpsByPattern,
    FusionPattern,
    PatternCheckContext,
)
from relax_mlir.transform.grouping.run_codegen import RunCodegen
from relax_mlir.transform.layout.alter_op_impl import AlterOpImpl
from relax_mlir.transform.layout.desired_layouts import DesiredLayouts, FunctionMap, LayoutCallback
from relax_mlir.transform.relax.bind_params import BindParams
from relax_mlir.transform.relax.bind_symbolic_vars import BindSymbolicVars
from relax_mlir.transform.rewriting.combine_parallel_matmul import CombineParallelMatmul
from relax_mlir.transform.rewriting.patterns import pattern, pdl, rewrite
from relax_mlir.transform.signatures.lazy_params import LazyTransformParams
from relax_mlir.transform.signatures.lift_transform_params import LiftTransformParams
from relax_mlir.transform.signatures.update_param_type import UpdateParamType
from relax_mlir.transform.signatures.update_param_type import (
    UpdateParamType as UpdateParamStructInfo,
)

__all__ = [
    "AdjustMatmulOrder",
    "AllocateWorkspace",
    "AlterOpImpl",
    "AlterOpLayout",
    "AnnotateEntryFunc",
    "AnnotateInvariantLoads",
    "AnnotateTIROpPattern",
    "AttachAttrLayoutFreeBuffers",
    "AttachGlobalSymbol",
    "BF16ComputeLegalize",
    "BackwardFoldScaleAxis",
    "BindParams",
    "BindSymbolicVars",
    "BoolToByte",
    "BundleModelParams",
    "CallTIRRewrite",
    "CanonicalizeBindings",
    "CanonicalizeLoop",
    "CheckAllocs",
    "CombineParallelMatmul",
    "CommonSubexprElim",
    "CommonSubexprElimTIR",
    "CompactBufferAllocation",
    "ComposePermuteDims",
    "Conv3dToConv2d",
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
    "DataflowUseInplaceCalls",
    "DeadCodeElimination",
    "DecomposeOpsForInference",
    "DecomposeOpsForTraining",
    "DiagnosticContext",
    "EliminateCommonSubexpr",
    "ExpandCopy",
    "ExpandMath",
    "ExpandMatmulOfSum",
    "ExpandTupleArguments",
    "ExportStock",
    "ExtractShapeFunctions",
    "FastMathTransform",
    "FlattenBuffer",
    "FoldBatchnormToConv2D",
    "FoldConstant",
    "FoldScaleAxis",
    "ForwardFoldScaleAxis",
    "FreeAllocs",
    "FunctionPass",
    "FuseAttention",
    "FuseKernels",
    "FuseOps",
    "FuseOpsByPattern",
    "FuseTIR",
    "FuseTransposeMatmul",
    "FusionPattern",
    "GetPass",
    "HoistExpression",
    "HoistIfThenElse",
    "ImportStock",
    "InferType",
    "InlinePrivateFunctions",
    "InstrumentBoundCheckers",
    "KillAfterLastUse",
    "LambdaLift",
    "LazyGetInput",
    "LazySetOutput",
    "LazyTransformParams",
    "LegalizeOps",
    "LiftTransformParams",
    "LoopPartition",
    "LowerAllocTensor",
    "LowerInitBlock",
    "LowerOpaqueBlock",
    "LowerRuntimeBuiltin",
    "LowerTIR",
    "MLIRPass",
    "MemrefToLLVM",
    "MergeCompositeFunctions",
    "ModulePass",
    "Normalize",
    "OptimizeLayoutTransform",
    "OutlineNative",
    "PackConvWeights",
    "PackVNNI",
    "PackWeights",
    "PackWinograd",
    "Pass",
    "PassContext",
    "PassInfo",
    "PatternCheckContext",
    "Pipeline",
    "PlanAndUpdateBufferAllocationLocation",
    "PrimFuncPass",
    "PrintIR",
    "RealizeVDevice",
    "RefineShapesBackward",
    "RemoveNoOp",
    "RemovePurityChecking",
    "RemoveRedundantReshape",
    "RemoveUnusedOutputs",
    "RemoveUnusedParameters",
    "RenormalizeSplitPattern",
    "ReorderPermuteDimsAfterConcat",
    "ReorderResizeAfterConv",
    "ReorderTakeAfterMatmul",
    "RewriteDataflowReshape",
    "RewriteUnsafeSelect",
    "RunCodegen",
    "SaturateCasts",
    "Sequential",
    "Simplify",
    "SimplifyInference",
    "SimplifyKnownStatistics",
    "SingleRoundingCasts",
    "SinkConstants",
    "SkipAssert",
    "SpecializePrimFuncBasedOnCallSite",
    "SplitConvOfConcat",
    "SplitLayoutRewritePreproc",
    "StaticPlanBlockMemory",
    "StmtSimplify",
    "StorageFlatten",
    "StorageRewrite",
    "ToANormalForm",
    "ToMixedPrecision",
    "ToNonDataflow",
    "TopologicalSort",
    "UnrollLoop",
    "UpdateParamStructInfo",
    "UpdateParamType",
    "VMBuiltinLower",
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
    "sequential",
]

def AdjustMatmulOrder() -> Pass:
    """Multiply three matrices in the order of fewer operations."""

def AllocateWorkspace() -> Pass:
    """Allocate the memory that functions of libraries work in."""

def AlterOpLayout() -> Pass:
    """Convert convolutions to the layouts of the fastest kernels."""

def AnnotateEntryFunc() -> Pass:
    """Mark the prim func that a module begins with."""

def AnnotateInvariantLoads() -> Pass:
    """Mark functions with loop-invariant loads."""

def AnnotateTIROpPattern() -> Pass:
    """Write the pattern kind of each prim func at it, for FuseOps."""

def AttachAttrLayoutFreeBuffers() -> Pass:
    """Write at prim funcs which of their buffers are weights."""

def AttachGlobalSymbol() -> Pass:
    """Make every function public."""

def BF16ComputeLegalize() -> Pass:
    """Compute bfloat16 in float32."""

def BackwardFoldScaleAxis() -> Pass:
    """Fold scales of convolution results into the weights."""

def BoolToByte() -> Pass:
    """Keep booleans in memory as bytes, as DLPack does."""

def BundleModelParams(param_tuple_name: str = "") -> Pass:
    """Make one tuple of the weights of functions."""

def CallTIRRewrite() -> Pass:
    """Turn call_tir into an allocation and a call in destination-passing style."""

def CanonicalizeBindings() -> Pass:
    """Remove bindings that are copies, and symbols that are equal to another."""

def CanonicalizeLoop() -> Pass:
    """Make all loops begin at 0."""

def CheckAllocs() -> Pass:
    """Return a status if an allocation fails."""

def CommonSubexprElim() -> Pass:
    """The name of common-subexpr-elim-tir in TVM's later versions."""

def CommonSubexprElimTIR() -> Pass:
    """Compute common subexpressions once."""

def CompactBufferAllocation() -> Pass:
    """Shrink buffers allocated in loops to the region that a step touches."""

def ComposePermuteDims() -> Pass:
    """Make transpositions in a row one, or none."""

def Conv3dToConv2d() -> Pass:
    """Write three-dimensional convolutions of single slices as two-dimensional ones."""

def ConvertBlocksToOpaque() -> Pass:
    """Substitute the iterators of blocks by their values."""

def ConvertForLoopsToSerial() -> Pass:
    """Make parallel loops serial."""

def ConvertLayout(
    desired_layouts: DesiredLayouts | str = "conv2d=NHWC,HWIO",
    layout_cb: LayoutCallback | None = None,
) -> Pass:
    """Convert convolutions and pooling to the given layouts."""

def ConvertToDataflow(min_size: int = 2) -> Pass:
    """Wrap runs of pure bindings in dataflow blocks."""

def DataflowUseInplaceCalls() -> Pass:
    """Write elementwise results over operands that are not needed any more."""

def DeadCodeElimination(entry_functions: tuple = ()) -> Pass:
    """Remove unused bindings, outputs, parameters and functions."""

def DecomposeOpsForInference(func_name: str = "") -> Pass:
    """Write batch normalization in simpler operations."""

def DecomposeOpsForTraining(func_name: str = "") -> Pass:
    """Write normalizations by the statistics of the batch."""

def EliminateCommonSubexpr(call_only: bool = False) -> Pass:
    """Merge equal bindings and remove unused ones."""

def ExpandCopy() -> Pass:
    """Turn strided memref.copy into loops."""

def ExpandMath(target: str = "") -> Pass:
    """Replace elementary functions by polynomials that vectorise."""

def ExpandMatmulOfSum() -> Pass:
    """Write products with sums as sums of products."""

def ExpandTupleArguments() -> Pass:
    """Have private functions take the fields of tuples."""

def ExportStock() -> Pass:
    """End regions with a terminator that a stock mlir-opt accepts."""

def ExtractShapeFunctions() -> Pass:
    """Extract functions that compute the shapes of results only."""

def FastMathTransform() -> Pass:
    """Make kernels of elementary functions by topi's fast ones."""

def FlattenBuffer() -> Pass:
    """Make all accesses of buffers one-dimensional."""

def FoldBatchnormToConv2D() -> Pass:
    """Fold batch normalizations into convolution weights."""

def FoldConstant(max_bytes: int = 65536, evaluate_tir: bool = True) -> Pass:
    """Evaluate operations on constants at compile time."""

def FoldScaleAxis() -> Pass:
    """Fold scales by channel into convolution weights, backward and forward."""

def ForwardFoldScaleAxis() -> Pass:
    """Fold scales of convolution inputs into the weights."""

def FreeAllocs() -> Pass:
    """Free buffers at the end of the block that allocated them."""

def FuseAttention() -> Pass:
    """Turn a softmax between two matrix products into one attention."""

def FuseKernels() -> Pass:
    """Merge chains of elementwise call_tir into one kernel each."""

def FuseOps(fuse_opt_level: int = -1) -> Pass:
    """Make functions of calls of prim funcs whose pattern kinds fit together."""

def FuseTIR() -> Pass:
    """Make one prim func of each function that FuseOps made."""

def FuseTransposeMatmul() -> Pass:
    """Make one prim func of a product with a transposed matrix."""

def HoistExpression() -> Pass:
    """Hoist loop-invariant conditions and arithmetic."""

def HoistIfThenElse() -> Pass:
    """Hoist loop-invariant conditions."""

def ImportStock() -> Pass:
    """Restore our terminators after a stock mlir-opt."""

def InferType() -> Pass:
    """Infer the types of bindings from their operands."""

def InlinePrivateFunctions() -> Pass:
    """Inline calls of private functions."""

def InstrumentBoundCheckers() -> Pass:
    """Assert that every index is inside its buffer."""

def KillAfterLastUse() -> Pass:
    """Release tensors and storages after their last use."""

def LambdaLift() -> Pass:
    """Lift nested functions to the module."""

def LazyGetInput() -> Pass:
    """Have functions load their weights by a function that they take."""

def LazySetOutput() -> Pass:
    """Have functions hand their results to a function that they take."""

def LegalizeOps(
    customize_legalize_map: FunctionMap | None = None,
    skip_ops: tuple = (),
    enable_warning: bool = False,
) -> Pass:
    """Turn relax operations into call_tir of generated prim funcs."""

def LoopPartition() -> Pass:
    """Turn conditions into loop bounds, and run whole tiles without them."""

def LowerAllocTensor() -> Pass:
    """Turn tensor allocations into storage and tensors of the virtual machine only."""

def LowerInitBlock() -> Pass:
    """Make init regions loop nests of their own, before the reduction loops."""

def LowerOpaqueBlock() -> Pass:
    """Replace blocks by their bodies, and inline loops of one step."""

def LowerRuntimeBuiltin() -> Pass:
    """Turn reshapes and shapes of tensors into builtins of the virtual machine."""

def LowerTIR(target: str = "") -> Pass:
    """Lower prim funcs to vector code."""

def MemrefToLLVM(target: str = "") -> Pass:
    """Lower prim funcs from memrefs and vectors to the LLVM dialect."""

def MergeCompositeFunctions() -> Pass:
    """Make one function for a library of neighbouring composite functions."""

def Normalize() -> Pass:
    """Bring Relax functions into the normal form that passes require."""

def OptimizeLayoutTransform() -> Pass:
    """Take out changes of layout that cancel each other."""

def OutlineNative() -> Pass:
    """Merge straight-line runs of call_tir into one native function."""

def PackConvWeights(target: str = "") -> Pass:
    """Pack constant convolution weights into blocks of output channels."""

def PackVNNI(target: str = "") -> Pass:
    """Pack constant convolution weights into VNNI layout."""

def PackWeights(target: str = "") -> Pass:
    """Pack constant B operands of GEMMs into panels."""

def PackWinograd(target: str = "") -> Pass:
    """Transform constant 3 x 3 weights for Winograd convolution."""

def PlanAndUpdateBufferAllocationLocation() -> Pass:
    """Move allocations into the innermost loop that all uses are in."""

def RealizeVDevice() -> Pass:
    """Take out hints about devices."""

def RefineShapesBackward(broadcast: bool = True) -> Pass:
    """Refine the types of values from their uses."""

def RemoveNoOp() -> Pass:
    """Remove loops, branches, stores and buffers without effect."""

def RemovePurityChecking() -> Pass:
    """Write pure calls of packed functions as plain ones."""

def RemoveRedundantReshape() -> Pass:
    """Take out reshapes that nothing depends on."""

def RemoveUnusedOutputs() -> Pass:
    """Remove unused fields of the tuples that private functions return."""

def RemoveUnusedParameters() -> Pass:
    """Remove unused parameters of private functions."""

def RenormalizeSplitPattern() -> Pass:
    """Canonicalize quotients and remainders of split loops, as simplify does."""

def ReorderPermuteDimsAfterConcat() -> Pass:
    """Permute joined tensors after they are joined."""

def ReorderResizeAfterConv() -> Pass:
    """Enlarge the results of pointwise convolutions instead of their inputs."""

def ReorderTakeAfterMatmul() -> Pass:
    """Take columns after a matrix product instead of before."""

def RewriteDataflowReshape() -> Pass:
    """Write kernels that copy in order as reshapes."""

def RewriteUnsafeSelect() -> Pass:
    """Make selects of loads evaluate only the chosen value."""

def SaturateCasts() -> Pass:
    """Make casts from float to integer saturate."""

def Simplify() -> Pass:
    """Simplify index arithmetic, conditions and predicates by the ranges of variables."""

def SimplifyInference() -> Pass:
    """Decompose normalizations and dropout for inference."""

def SimplifyKnownStatistics() -> Pass:
    """Decompose batch normalizations with constant statistics."""

def SingleRoundingCasts() -> Pass:
    """Round integers of 32 bits and more to bfloat16 once, not through f32."""

def SinkConstants() -> Pass:
    """Sink constants into parallel regions."""

def SkipAssert() -> Pass:
    """Remove the assertions of prim funcs."""

def SpecializePrimFuncBasedOnCallSite() -> Pass:
    """Call prim funcs whose sizes are the numbers that calls pass."""

def SplitConvOfConcat() -> Pass:
    """Write convolutions of joined images as sums of convolutions."""

def SplitLayoutRewritePreproc() -> Pass:
    """Move what lays out weights out of prim funcs."""

def StaticPlanBlockMemory() -> Pass:
    """Let tensors with disjoint live ranges share storage."""

def StmtSimplify() -> Pass:
    """The name of simplify in TVM's later versions."""

def StorageFlatten() -> Pass:
    """The name of flatten-buffer in TVM's early versions."""

def StorageRewrite() -> Pass:
    """Let buffers with disjoint live ranges share memory."""

def ToANormalForm() -> Pass:
    """Relay's name of normalize."""

def ToMixedPrecision(
    out_dtype: str = "float32", fp16_input_names: tuple = (), dtype: str = "float16"
) -> Pass:
    """Compute matrix products and convolutions on half precision or int8."""

def ToNonDataflow() -> Pass:
    """Inline dataflow blocks into the enclosing function."""

def TopologicalSort(order: str = "depth-first", direction: str = "from-inputs") -> Pass:
    """Order the bindings of dataflow blocks by a search along their uses."""

def UnrollLoop() -> Pass:
    """Unroll unrolled loops, and short ones by the config tir.UnrollLoop."""

def VMBuiltinLower() -> Pass:
    """TVM's older name of lower-runtime-builtin."""

def VMMemoryLower() -> Pass:
    """Turn tensor allocations into storage and tensors of the virtual machine."""

def VMShapeLower(emit_err_ctx: bool = True) -> Pass:
    """Compute symbolic shapes at run time through a shape heap and shape functions."""

def VectorizeLoop(enable_vectorize: bool = True, target: str = "") -> Pass:
    """Turn vectorized loops into code over vectors."""

def WellFormed() -> Pass:
    """Check symbols, calls and returns across whole functions."""
