"""relax-mlir: Relax and TIR as MLIR dialects, compiled to native CPU code.

Importing this is cheap: MLIR and LLVM are loaded when something needs them.
"""

import importlib
from typing import Any

from relax_mlir import tvm_modules

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
    "relay": "models are Relax functions",
    **dict.fromkeys(
        ("hexagon", "metal", "opencl", "rocm", "vpi", "vulkan", "ext_dev"),
        "programs run on CPUs",
    ),
}
_EXPORTS = {
    "DataType": "relax_mlir.runtime.values.ndarray",
    "IRModule": "relax_mlir.ir.module",
    "TVMError": "relax_mlir.errors",
    "build": "relax_mlir.compiler.driver",
    "compile": "relax_mlir.compiler.driver",
    "cpu": "relax_mlir.runtime.device.api",
    "device": "relax_mlir.runtime.device.api",
    "device_from_target": "relax_mlir.runtime.device.api",
    "get_global_func": "relax_mlir.runtime",
    "lower": "relax_mlir.tir.lowering",
    "register_func": "relax_mlir.runtime",
    "register_global_func": "relax_mlir.runtime",
}
tvm_modules.install()


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"relax_mlir.{name}")
    if name in _EXPORTS:
        value = getattr(importlib.import_module(_EXPORTS[name]), name)
        globals()[name] = value
        return value
    from relax_mlir.errors import missing

    raise AttributeError(missing("", name, _UNSUPPORTED, __dir__()))


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES, *_EXPORTS])
