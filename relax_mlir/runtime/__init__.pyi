"""Runs compiled programs: needs numpy and apache-tvm-ffi, nothing of the compiler."""

# Made by .ci/stubs, do not edit.

from tvm_ffi._dtype import dtype as DataType

from relax_mlir.runtime.bytecode.builtins import AssertOpError
from relax_mlir.runtime.device.api import (
    Device,
    DeviceAPI,
    DeviceAttrKind,
    cpu,
    register_device_api,
    remove_device_api,
)
from relax_mlir.runtime.device.placement import copy_to, device_of
from relax_mlir.runtime.exec_builder import ExecBuilder, UnusedInputWarning
from relax_mlir.runtime.executable import Executable
from relax_mlir.runtime.files.loading import load_module
from relax_mlir.runtime.files.safetensors import load_param_dict, save_param_dict
from relax_mlir.runtime.graph.executor import GraphExecutor
from relax_mlir.runtime.graph.module import GraphModule
from relax_mlir.runtime.module import Module
from relax_mlir.runtime.native.threads import num_threads, set_num_threads
from relax_mlir.runtime.profiling.evaluator import BenchmarkResult
from relax_mlir.runtime.profiling.profile import Report
from relax_mlir.runtime.program import NativeObject, VMFunction
from relax_mlir.runtime.random_key import manual_seed
from relax_mlir.runtime.registry import (
    get_global_func,
    list_global_func_names,
    register_func,
    remove_global_func,
)
from relax_mlir.runtime.registry import register_func as register_global_func
from relax_mlir.runtime.values.ndarray import Tensor, convert, empty, from_dlpack
from relax_mlir.runtime.values.ndarray import array as tensor
from relax_mlir.runtime.vm.instrument import VMInstrumentReturnKind
from relax_mlir.runtime.vm.virtual_machine import VirtualMachine

__all__ = [
    "AssertOpError",
    "BenchmarkResult",
    "DataType",
    "Device",
    "DeviceAPI",
    "DeviceAttrKind",
    "ExecBuilder",
    "Executable",
    "GraphExecutor",
    "GraphModule",
    "Module",
    "NativeObject",
    "Report",
    "Tensor",
    "UnusedInputWarning",
    "VMFunction",
    "VMInstrumentReturnKind",
    "VirtualMachine",
    "convert",
    "copy_to",
    "cpu",
    "device_of",
    "empty",
    "from_dlpack",
    "get_global_func",
    "list_global_func_names",
    "load_module",
    "load_param_dict",
    "manual_seed",
    "num_threads",
    "register_device_api",
    "register_func",
    "register_global_func",
    "remove_device_api",
    "remove_global_func",
    "save_param_dict",
    "set_num_threads",
    "tensor",
]
