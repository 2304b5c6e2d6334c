"""relax-mlir: Relax and TIR as MLIR dialects, compiled to native CPU code.

Importing this is cheap: MLIR and LLVM are loaded when something needs them.
"""

from relax_mlir.lazy import lazy_exports

__version__ = "0.1.0"

_MODULES = (
    "arith", "contrib", "error", "errors", "frontend", "instrument", "ir", "nd", "relax",
    "runtime", "s_tir", "script", "support", "target", "te", "testing", "tir", "tirx", "topi",
    "transform", "viz",
)  # fmt: skip
# Names of TVM's that have no counterpart.
_UNSUPPORTED = {
    "autotvm": "kernels are fast without tuning; tir.Schedule changes them by hand",
    "auto_scheduler": "kernels are fast without tuning; tir.Schedule changes them by hand",
    "cuda": "GPUs have no lowering",
    "dlight": "kernels are fast without schedules",
    "meta_schedule": "kernels are fast without tuning; tir.Schedule has its sampling primitives",
    "relay": "models are Relax functions; relax_mlir.contrib.relay has its names",
    **dict.fromkeys(
        ("hexagon", "metal", "opencl", "rocm", "vpi", "vulkan", "ext_dev"),
        "programs run on CPUs",
    ),
}
_EXPORTS = {
    "compiler.driver": ("build", "compile"),
    "errors": ("TVMError",),
    "ir.module": ("IRModule",),
    "runtime": ("get_global_func", "register_func", "register_global_func"),
    "runtime.device.api": ("cpu", "device", "device_from_target"),
    "runtime.values.ndarray": ("DataType",),
    "tir.lowering": ("lower",),
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS, _MODULES, _UNSUPPORTED)
