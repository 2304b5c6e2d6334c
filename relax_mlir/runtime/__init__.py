"""Runs compiled programs: needs numpy and apache-tvm-ffi, nothing of the compiler."""

import importlib
from typing import Any

_EXPORTS = {
    "AssertOpError": "bytecode.builtins",
    "BenchmarkResult": "profiling.evaluator",
    "Executable": "executable",
    "GraphExecutor": "graph.executor",
    "GraphModule": "graph.module",
    "Report": "profiling.profile",
    "NativeObject": "program",
    "VMFunction": "program",
    "ExecBuilder": "exec_builder",
    "UnusedInputWarning": "exec_builder",
    "VMInstrumentReturnKind": "vm.instrument",
    "VirtualMachine": "vm.virtual_machine",
    "DataType": "values.ndarray",
    "Device": "device.api",
    "DeviceAPI": "device.api",
    "DeviceAttrKind": "device.api",
    "Module": "module",
    "copy_to": "device.placement",
    "Tensor": "values.ndarray",
    "cpu": "device.api",
    "device_of": "device.placement",
    "empty": "values.ndarray",
    "load_module": "files.loading",
    "load_param_dict": "files.safetensors",
    "save_param_dict": "files.safetensors",
    "register_device_api": "device.api",
    "remove_device_api": "device.api",
    "register_func": "registry",
    "register_global_func": "registry",
    "manual_seed": "random_key",
    "num_threads": "native.threads",
    "set_num_threads": "native.threads",
    "convert": "values.ndarray",
    "from_dlpack": "values.ndarray",
    "tensor": "values.ndarray",
    "get_global_func": "registry",
    "remove_global_func": "registry",
    "list_global_func_names": "registry",
}

# The class of dtypes is the FFI's, which `import *` does not load.
__all__ = [name for name in _EXPORTS if name != "DataType"]


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
