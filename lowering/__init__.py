"""The lowerings between dialects, and the table of lowering passes by flag."""

from relax_mlir.lowering.pass_spec import TARGET, PassOption, pass_of, pass_table

_pass = pass_of("relax_mlir.lowering")

# In the order in which a compilation runs them. Importing this loads no MLIR.
PASSES = pass_table(
    _pass(
        "relax_to_vm.to_non_dataflow", "ToNonDataflow",
        "Inline dataflow blocks into the enclosing function",
    ),
    _pass(
        "relax_to_vm.call_tir_rewrite", "CallTIRRewrite",
        "Turn call_tir into an allocation and a call in destination-passing style",
    ),
    _pass(
        "relax_to_vm.static_plan_block_memory", "StaticPlanBlockMemory",
        "Let tensors with disjoint live ranges share storage",
    ),
    _pass(
        "relax_to_vm.lower_alloc_tensor", "LowerAllocTensor",
        "Turn tensor allocations into storage and tensors of the virtual machine only",
    ),
    _pass(
        "relax_to_vm.kill_after_last_use", "KillAfterLastUse",
        "Release tensors and storages after their last use",
    ),
    _pass(
        "relax_to_vm.lower_runtime_builtin", "LowerRuntimeBuiltin",
        "Turn reshapes and shapes of tensors into builtins of the virtual machine",
    ),
    _pass(
        "relax_to_vm.lower_runtime_builtin:vm_builtin_lower", "VMBuiltinLower",
        "TVM's older name of lower-runtime-builtin",
    ),
    _pass(
        "relax_to_vm.vm_memory_lower", "VMMemoryLower",
        "Turn tensor allocations into storage and tensors of the virtual machine",
    ),
    _pass(
        "relax_to_vm.vm_shape_lower", "VMShapeLower",
        "Compute symbolic shapes at run time through a shape heap and shape functions",
        PassOption("emit_err_ctx", bool, True, "whether checks say what they are about"),
    ),
    _pass("tir_to_vector.lower_tir", "LowerTIR", "Lower prim funcs to vector code", TARGET),
    _pass(
        "tir_to_llvm.bool_to_byte", "BoolToByte",
        "Keep booleans in memory as bytes, as DLPack does",
    ),
    _pass("tir_to_llvm.check_allocs", "CheckAllocs", "Return a status if an allocation fails"),
    _pass(
        "tir_to_llvm.free_allocs", "FreeAllocs",
        "Free buffers at the end of the block that allocated them",
    ),
    _pass("tir_to_llvm.expand_copy", "ExpandCopy", "Turn strided memref.copy into loops"),
    _pass(
        "tir_to_llvm.math.expand_math", "ExpandMath",
        "Replace elementary functions by polynomials that vectorise", TARGET,
    ),
    _pass(
        "tir_to_llvm.saturate_casts", "SaturateCasts", "Make casts from float to integer saturate",
    ),
    _pass(
        "tir_to_llvm.single_rounding_casts", "SingleRoundingCasts",
        "Round integers of 32 bits and more to bfloat16 once, not through f32",
    ),
    _pass(
        "tir_to_llvm.annotate_invariant_loads", "AnnotateInvariantLoads",
        "Mark functions with loop-invariant loads",
    ),
    _pass("tir_to_llvm.sink_constants", "SinkConstants", "Sink constants into parallel regions"),
    _pass(
        "tir_to_llvm.memref_to_llvm", "MemrefToLLVM",
        "Lower prim funcs from memrefs and vectors to the LLVM dialect", TARGET,
    ),
    _pass(
        "interop.stock_terminators:export_stock", "ExportStock",
        "End regions with a terminator that a stock mlir-opt accepts",
    ),
    _pass(
        "interop.stock_terminators:import_stock", "ImportStock",
        "Restore our terminators after a stock mlir-opt",
    ),
    pass_of("relax_mlir")(
        "dialects.relax.well_formed", "WellFormed",
        "Check symbols, calls and returns across whole functions",
    ),
)  # fmt: skip
