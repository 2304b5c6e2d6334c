"""Ways to run an ONNX model or a module of torch, each a function that gives a call.

Ours needs nothing but relax-mlir; the others import their frameworks.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np


def ours(folder: Path, inputs: list[np.ndarray], threads: int, name: str = "model") -> Any:
    """Load a saved executable."""
    from relax_mlir.runtime import Executable, VirtualMachine

    main = VirtualMachine(Executable.load(folder / f"{name}-{threads}.rxe"))["main"]
    return lambda: main(*inputs)


def static(folder: Path, inputs: list[np.ndarray], threads: int) -> Any:
    """Load an executable of fixed sizes."""
    return ours(folder, inputs, threads, "static")


def onnxruntime(folder: Path, inputs: list[np.ndarray], threads: int) -> Any:
    """ONNX Runtime with all of its optimizations; inputs are bound."""
    import onnxruntime as ort

    ort.set_default_logger_severity(4)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    path = str(folder / "model.onnx")
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for place, array in zip(session.get_inputs(), inputs, strict=True):
        binding.bind_ortvalue_input(place.name, ort.OrtValue.ortvalue_from_numpy(array))
    for place in session.get_outputs():
        binding.bind_output(place.name, "cpu")

    def call() -> list[np.ndarray]:
        session.run_with_iobinding(binding)
        return [each.numpy() for each in binding.get_outputs()]

    return call


def openvino(folder: Path, inputs: list[np.ndarray], threads: int) -> Any:
    """OpenVINO in float32; inputs are shared."""
    import openvino as ov

    settings = {
        "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0,
    }  # fmt: skip
    core = ov.Core()
    compiled = core.compile_model(core.read_model(folder / "model.onnx"), "CPU", settings)
    request = compiled.create_infer_request()
    for i, array in enumerate(inputs):
        tensor = (
            ov.Tensor(array, array.shape, ov.Type.bf16)
            if array.dtype == "uint16" else ov.Tensor(array, shared_memory=bool(array.size))
        )  # fmt: skip
        request.set_input_tensor(i, tensor)

    def call() -> list[np.ndarray]:
        request.infer()
        return [request.get_output_tensor(i).data for i in range(len(compiled.outputs))]

    return call


def iree(folder: Path, inputs: list[np.ndarray], threads: int, target: str = "llvm") -> Any:
    """IREE's code for the target's CPU, or for this one; what was compiled is kept."""
    import iree.runtime as rt

    if threads > 1:
        rt.flags.parse_flags(f"--task_topology_group_count={threads}")
    device = rt.get_device("local-task" if threads > 1 else "local-sync")
    path, tools = folder / "model.vmfb", Path(sys.executable).parent
    if not path.exists():
        text, cpu = folder / "model.mlir", re.search(r"-mcpu=(\S+)", target)
        subprocess.run([tools / "iree-import-onnx", folder / "model.onnx", "-o", text], check=True)
        command = [
            tools / "iree-compile", text, "-o", f"{path}.new", "--iree-hal-target-device=local",
            "--iree-hal-local-target-device-backends=llvm-cpu", "--iree-opt-level=O3",
            f"--iree-llvmcpu-target-cpu={cpu[1] if cpu else 'host'}", "--iree-opt-data-tiling=true",
            "--iree-llvmcpu-stack-allocation-limit=1048576",
        ]  # fmt: skip
        subprocess.run(command, check=True)
        Path(f"{path}.new").rename(path)
    context = rt.SystemContext(config=rt.Config(device=device))
    context.add_vm_module(rt.VmModule.mmap(context.instance, str(path)))
    (main,) = (
        context.modules.module[each] for each in ("main_graph", "main")
        if each in context.modules.module.vm_module.function_names
    )  # fmt: skip
    arrays = [rt.asdevicearray(device, array) for array in inputs]

    def call() -> list[Any]:
        results = main(*arrays)
        return list(results) if isinstance(results, (list, tuple)) else [results]

    return call


def torch(folder: Path, inputs: list[np.ndarray], threads: int, compiled: bool = False) -> Any:
    """PyTorch, eager."""
    import torch as th
    from catalogue import MODELS
    from torch.utils import _pytree as pytree

    th.set_num_threads(threads)
    th.inference_mode().__enter__()
    module = MODELS[(folder / "name").read_text()].module()
    module = th.compile(module, dynamic=True) if compiled else module
    tensors = [
        th.from_numpy(array.view("int16")).view(th.bfloat16)
        if array.dtype == "uint16" else th.from_numpy(array) for array in inputs
    ]  # fmt: skip
    return lambda: pytree.tree_leaves(module(*tensors))


def inductor(folder: Path, inputs: list[np.ndarray], threads: int) -> Any:
    """PyTorch, compiled by inductor with dynamic sizes."""
    return torch(folder, inputs, threads, compiled=True)


OURS = {"ours": ours, "static": static}
PEERS = {each.__name__: each for each in (onnxruntime, openvino, torch, inductor, iree)}
