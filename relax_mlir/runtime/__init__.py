"""Runs compiled programs: needs numpy and apache-tvm-ffi, nothing of the compiler."""

from relax_mlir.lazy import lazy_exports

_EXPORTS = {
    "runtime.bytecode.builtins": ("AssertOpError",),
    "runtime.device.api": (
        "Device", "DeviceAPI", "DeviceAttrKind", "cpu", "register_device_api", "remove_device_api",
    ),
    "runtime.device.placement": ("copy_to", "device_of"),
    "runtime.exec_builder": ("ExecBuilder", "UnusedInputWarning"),
    "runtime.executable": ("Executable",),
    "runtime.files.loading": ("load_module",),
    "runtime.files.safetensors": ("load_param_dict", "save_param_dict"),
    "runtime.graph.executor": ("GraphExecutor",),
    "runtime.graph.module": ("GraphModule",),
    "runtime.module": ("Module",),
    "runtime.native.threads": ("num_threads", "set_num_threads"),
    "runtime.profiling.evaluator": ("BenchmarkResult",),
    "runtime.profiling.profile": ("Report",),
    "runtime.program": ("NativeObject", "VMFunction"),
    "runtime.random_key": ("manual_seed",),
    "runtime.registry": (
        "get_global_func", "list_global_func_names", "register_func", "register_global_func",
        "remove_global_func",
    ),
    "runtime.values.ndarray": ("DataType", "Tensor", "convert", "empty", "from_dlpack", "tensor"),
    "runtime.vm.instrument": ("VMInstrumentReturnKind",),
    "runtime.vm.virtual_machine": ("VirtualMachine",),
}  # fmt: skip

# The class of dtypes is the FFI's, which `import *` does not load.
__all__ = [name for names in _EXPORTS.values() for name in names if name != "DataType"]
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
