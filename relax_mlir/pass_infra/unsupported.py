"""TVM's Relax passes that are unsupported, each with what to use instead."""

_PATTERNS = "transform.pattern and transform.pdl rewrite what patterns match (docs/passes.md)"
_OTHERS = "RunCodegen hands subgraphs to libraries, which allocate what they need"
_DEVICES = "programs run on one device"
_KERNELS = "kernels are fast without it (docs/kernels.md)"

UNSUPPORTED: dict[str, str] = {
    "ComputePrimValue": "leave it out: the VM computes symbolic integers; prim funcs return none",
    "SplitCallTIRByPattern": _PATTERNS,
    **dict.fromkeys(
        ("AllocateWorkspace", "AnnotateUsedMemory"),
        _OTHERS),
    **dict.fromkeys(
        ("RealizeVDevice", "UpdateVDevice", "RewriteCUDAGraph"), _DEVICES),
    **dict.fromkeys(
        ("FewShotTuning", "MetaScheduleApplyDatabase",
         "MetaScheduleTuneIRMod", "MetaScheduleTuneTIR", "SpecializePrimFuncBasedOnCallSite"),
        f"leave it out: {_KERNELS}"),
    **dict.fromkeys(
        ("AttachAttrLayoutFreeBuffers", "SplitLayoutRewritePreproc"),
        f"leave it out: PackWeights and the like lay constants out; {_KERNELS}"),
    "AttachExternModules": _OTHERS,
    "Gradient": "there is no automatic differentiation",
    "DataflowUseInplaceCalls": "StaticPlanBlockMemory shares memory",
    "NormalizeGlobalVar": "a function's name is its symbol, the only one that it has",
}  # fmt: skip
