"""The lowerings between dialects, and the table of lowering passes by flag."""

from relax_mlir.lowering.pass_spec import TARGET, PassSpec

_RELAX_TO_VM = "relax_mlir.lowering.relax_to_vm"
_TIR_TO_LLVM = "relax_mlir.lowering.tir_to_llvm"


def _table(*specs: PassSpec) -> dict[str, PassSpec]:
    return {spec.flag: spec for spec in specs}


# In the order in which a compilation runs them. Importing this loads no MLIR: `entry` is a name.
PASSES: dict[str, PassSpec] = _table(
    PassSpec(
        flag="to-non-dataflow",
        name="ToNonDataflow",
        entry=f"{_RELAX_TO_VM}.to_non_dataflow:to_non_dataflow",
        summary="Inline dataflow blocks into the enclosing function",
    ),
    PassSpec(
        flag="call-tir-rewrite",
        name="CallTIRRewrite",
        entry=f"{_RELAX_TO_VM}.call_tir_rewrite:call_tir_rewrite",
        summary="Turn call_tir into an allocation and a call in destination-passing style",
    ),
    PassSpec(
        flag="static-plan-block-memory",
        name="StaticPlanBlockMemory",
        entry=f"{_RELAX_TO_VM}.static_plan_block_memory:static_plan_block_memory",
        summary="Let tensors with disjoint live ranges share storage",
    ),
    PassSpec(
        flag="lower-alloc-tensor",
        name="LowerAllocTensor",
        entry=f"{_RELAX_TO_VM}.lower_alloc_tensor:lower_alloc_tensor",
        summary="Turn tensor allocations into storage and tensors of the virtual machine only",
    ),
    PassSpec(
        flag="kill-after-last-use",
        name="KillAfterLastUse",
        entry=f"{_RELAX_TO_VM}.kill_after_last_use:kill_after_last_use",
        summary="Release tensors and storages after their last use",
    ),
    PassSpec(
        flag="lower-runtime-builtin",
        name="LowerRuntimeBuiltin",
        entry=f"{_RELAX_TO_VM}.lower_runtime_builtin:lower_runtime_builtin",
        summary="Turn reshapes and shapes of tensors into builtins of the virtual machine",
    ),
    PassSpec(
        flag="vm-builtin-lower",
        name="VMBuiltinLower",
        entry=f"{_RELAX_TO_VM}.lower_runtime_builtin:vm_builtin_lower",
        summary="TVM's older name of lower-runtime-builtin",
    ),
    PassSpec(
        flag="vm-memory-lower",
        name="VMMemoryLower",
        entry=f"{_RELAX_TO_VM}.vm_memory_lower:vm_memory_lower",
        summary="Turn tensor allocations into storage and tensors of the virtual machine",
    ),
    PassSpec(
        flag="vm-shape-lower",
        name="VMShapeLower",
        entry=f"{_RELAX_TO_VM}.vm_shape_lower:vm_shape_lower",
        summary="Compute symbolic shapes at run time through a shape heap and shape functions",
    ),
    PassSpec(
        flag="lower-tir",
        name="LowerTIR",
        entry="relax_mlir.lowering.tir_to_vector.lower_tir:lower_tir",
        summary="Lower prim funcs to vector code",
        options=(TARGET,),
    ),
    PassSpec(
        flag="bool-to-byte",
        name="BoolToByte",
        entry=f"{_TIR_TO_LLVM}.bool_to_byte:bool_to_byte",
        summary="Keep booleans in memory as bytes, as DLPack does",
    ),
    PassSpec(
        flag="check-allocs",
        name="CheckAllocs",
        entry=f"{_TIR_TO_LLVM}.check_allocs:check_allocs",
        summary="Return a status if an allocation fails",
    ),
    PassSpec(
        flag="free-allocs",
        name="FreeAllocs",
        entry=f"{_TIR_TO_LLVM}.free_allocs:free_allocs",
        summary="Free buffers at the end of the block that allocated them",
    ),
    PassSpec(
        flag="expand-copy",
        name="ExpandCopy",
        entry=f"{_TIR_TO_LLVM}.expand_copy:expand_copy",
        summary="Turn strided memref.copy into loops",
    ),
    PassSpec(
        flag="expand-math",
        name="ExpandMath",
        entry=f"{_TIR_TO_LLVM}.math.expand_math:expand_math",
        summary="Replace elementary functions by polynomials that vectorise",
        options=(TARGET,),
    ),
    PassSpec(
        flag="saturate-casts",
        name="SaturateCasts",
        entry=f"{_TIR_TO_LLVM}.saturate_casts:saturate_casts",
        summary="Make casts from float to integer saturate",
    ),
    PassSpec(
        flag="single-rounding-casts",
        name="SingleRoundingCasts",
        entry=f"{_TIR_TO_LLVM}.single_rounding_casts:single_rounding_casts",
        summary="Round integers of 32 bits and more to bfloat16 once, not through f32",
    ),
    PassSpec(
        flag="annotate-invariant-loads",
        name="AnnotateInvariantLoads",
        entry=f"{_TIR_TO_LLVM}.annotate_invariant_loads:annotate_invariant_loads",
        summary="Mark functions with loop-invariant loads",
    ),
    PassSpec(
        flag="sink-constants",
        name="SinkConstants",
        entry=f"{_TIR_TO_LLVM}.sink_constants:sink_constants",
        summary="Sink constants into parallel regions",
    ),
    PassSpec(
        flag="memref-to-llvm",
        name="MemrefToLLVM",
        entry=f"{_TIR_TO_LLVM}.memref_to_llvm:memref_to_llvm",
        summary="Lower prim funcs from memrefs and vectors to the LLVM dialect",
        options=(TARGET,),
    ),
    PassSpec(
        flag="export-stock",
        name="ExportStock",
        entry="relax_mlir.lowering.interop.stock_terminators:export_stock",
        summary="End regions with a terminator that a stock mlir-opt accepts",
    ),
    PassSpec(
        flag="import-stock",
        name="ImportStock",
        entry="relax_mlir.lowering.interop.stock_terminators:import_stock",
        summary="Restore our terminators after a stock mlir-opt",
    ),
    PassSpec(
        flag="well-formed",
        name="WellFormed",
        entry="relax_mlir.dialects.relax.well_formed:well_formed",
        summary="Check symbols, calls and returns across whole functions",
    ),
)
