"""TVM's Relax passes that are unsupported, each with what to use instead."""

_STAGES = "relax.build lowers by passes of its own: relax-compile --list-stages shows them"
_PATTERNS = "transform.pattern and transform.pdl rewrite what patterns match (docs/passes.md)"
_OTHERS = "RunCodegen hands subgraphs to libraries, which allocate what they need"
_DEVICES = "programs run on one device"
_KERNELS = "kernels are fast without it (docs/kernels.md)"

UNSUPPORTED: dict[str, str] = {
    **dict.fromkeys(
        ("ComputePrimValue", ),
        f"leave it out: {_STAGES}"),
    "SplitCallTIRByPattern": _PATTERNS,
    **dict.fromkeys(
        ("AllocateWorkspace", "AnnotateUsedMemory"),
        _OTHERS),
    **dict.fromkeys(
        ("RealizeVDevice", "UpdateVDevice", "RewriteCUDAGraph"), _DEVICES),
    **dict.fromkeys(
        ("FastMathTransform", "FewShotTuning", "MetaScheduleApplyDatabase",
         "MetaScheduleTuneIRMod", "MetaScheduleTuneTIR", "SpecializePrimFuncBasedOnCallSite"),
        f"leave it out: {_KERNELS}"),
    **dict.fromkeys(
        ("AlterOpImpl", "AttachAttrLayoutFreeBuffers", "OptimizeLayoutTransform",
         "SplitLayoutRewritePreproc"),
        f"leave it out: PackWeights and the like lay constants out; {_KERNELS}"),
    "AttachExternModules": _OTHERS,
    "Gradient": "there is no automatic differentiation",
    "DataflowUseInplaceCalls": "StaticPlanBlockMemory shares memory",
    "NormalizeGlobalVar": "a function's name is its symbol, the only one that it has",
}  # fmt: skip
