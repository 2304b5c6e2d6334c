"""TVM's Relax passes that are unsupported, each with what to use instead."""

_DEVICES = "programs run on one device"
_KERNELS = "kernels are fast without it (docs/kernels.md)"

UNSUPPORTED: dict[str, str] = {
    "ComputePrimValue": "leave it out: the VM computes symbolic integers; prim funcs return none",
    "SplitCallTIRByPattern": "FuseOpsByPattern and RunCodegen hand operations to libraries",
    "AnnotateUsedMemory": "StaticPlanBlockMemory plans memory; viz.memory shows the plan",
    **dict.fromkeys(
        ("UpdateVDevice", "RewriteCUDAGraph"), _DEVICES),
    **dict.fromkeys(
        ("FewShotTuning", "MetaScheduleApplyDatabase",
         "MetaScheduleTuneIRMod", "MetaScheduleTuneTIR"),
        f"leave it out: {_KERNELS}"),
    "AttachExternModules": "nn.ExternModule names packed functions, which register_func registers",
    "Gradient": "there is no automatic differentiation",
    "NormalizeGlobalVar": "a function's name is its symbol, the only one that it has",
}  # fmt: skip
