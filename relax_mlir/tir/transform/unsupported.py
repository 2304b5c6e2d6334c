"""TVM's TIR passes that are unsupported, each with the reason."""

_GPU = "it is about threads, memory or instructions of GPUs and other devices"
_CODEGEN = "code generation, which knows the target, does it"
_READ = "a script is read into values once, so there is nothing left for it to do"
_INDICES = "indices are the machine's integers"
_COPIES = "processors order copies and arithmetic themselves"
_FP8 = "there are no FP8 dtypes"
_TILES = "there are no tile primitives; topi and tir.Schedule write loops"

UNSUPPORTED: dict[str, str] = {
    **dict.fromkeys(
        ("DecorateDeviceScope", "DefaultGPUSchedule", "InferFragment", "InjectPTXAsyncCopy",
         "InjectPTXLDG32", "InjectPermutedLayout", "LiftThreadBinding", "LowerAsyncDMA",
         "LowerCrossThreadReduction", "LowerThreadAllreduce", "LowerVtcmAlloc", "LowerWarpMemory",
         "ManifestSharedMemoryLocalStage", "MergeSharedMemoryAllocations", "SplitHostDevice",
         "ThreadSync", "TransformMmaBufferLayout", "UnifyThreadBinding", "VerifyMemory",
         "VerifyVTCMLimit", "MergeDynamicSharedMemoryAllocations", "LowerDeviceStorageAccessInfo",
         "LowerDeviceKernelLaunch", "InjectCopyIntrin", "CoProcSync", "LiftAttrScope"), _GPU),
    **dict.fromkeys(
        ("BindTarget", "CombineContextCall", "LowerCustomDatatypes", "LowerIntrin",
         "LowerTVMBuiltin", "MakePackedAPI", "MakeUnpackedAPI", "PointerValueTypeRewrite"),
        _CODEGEN),
    **dict.fromkeys(
        ("BF16StorageLegalize", "BF16TypeLowering"),
        "bfloat16 is an element type of memory; BF16ComputeLegalize computes it in float32"),
    **dict.fromkeys(
        ("ConvertSSA", "LowerMatchBuffer", "RemoveAssume", "RemoveStoreUndef",
         "TextureFlatten"), _READ),
    **dict.fromkeys(("ForceNarrowIndexToInt32", "NarrowDataType"), _INDICES),
    **dict.fromkeys(("InjectDoubleBuffer", "InjectSoftwarePipeline"), _COPIES),
    **dict.fromkeys(("FP8ComputeLegalize", "FP8StorageLegalize"), _FP8),
    **dict.fromkeys(("LowerTIRx", "LowerTIRxOpaque", "TilePrimitiveDispatch"), _TILES),
    "AnnotateIrregularLoop": "lowering reads off loops whether they are counted",
    "HoistIfThenElseBasic": "HoistIfThenElse, whose config says how much it moves",
    "InjectPrefetch": "kernels prefetch where they were measured to gain",
    "InjectVirtualThread": "a loop bound to vthread runs in order",
    "InlinePrivateFunctions": "LLVM inlines",
    "InstrumentProfileIntrinsics": "relax.VirtualMachine.profile times kernels",
    "LowerAutoCopy": "read_at and write_at write the copies out",
    "ReduceBranchingThroughOvercompute": "Simplify and LoopPartition remove branches",
    "RemoveWeightLayoutRewriteBlock": "PackWeights packs constant weights at compile time",
    "UseAssumeToReduceBranches": "there are no assumptions; ranges of loops are known",
}  # fmt: skip
