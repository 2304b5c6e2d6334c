"""Runs compiled programs: needs numpy, llvmlite and apache-tvm-ffi, nothing of the compiler."""

import importlib
from typing import Any

_EXPORTS = {
    "AssertOpError": "bytecode.builtins",
    "BenchmarkResult": "profiling.evaluator",
    "Executable": "executable",
    "GraphExecutor": "graph.executor",
    "GraphModule": "graph.module",
    "Report": "profiling.profile",
    "NativeObject": "executable",
    "VMFunction": "executable",
    "ExecBuilder": "exec_builder",
    "UnusedInputWarning": "exec_builder",
    "VMInstrumentReturnKind": "instrument",
    "VirtualMachine": "vm",
    "Device": "device",
    "DeviceAPI": "device",
    "DeviceAttrKind": "device",
    "Module": "module",
    "copy_to": "placement",
    "Tensor": "ndarray",
    "cpu": "device",
    "device_of": "placement",
    "empty": "placement",
    "load_module": "files.loading",
    "load_param_dict": "files.params",
    "save_param_dict": "files.params",
    "register_device_api": "device",
    "remove_device_api": "device",
    "register_func": "registry",
    "register_global_func": "registry",
    "tensor": "ndarray",
    "get_global_func": "registry",
    "remove_global_func": "registry",
    "list_global_func_names": "registry",
}

__all__ = [*_EXPORTS]


def __getattr__(name: str) -> Any:
    """Import what is asked for only then: programs that only build do not load the VM."""
    module = _EXPORTS.get(name)
    if module is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"relax_mlir.runtime.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})
