"""The process of `kernels.py` that runs one peer: worker.py PEER THREADS."""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import serving
from workload import data


def onnxruntime(threads):
    """ONNX Runtime, inputs and outputs bound."""
    import onnx_models
    import onnxruntime as ort

    ort.set_default_logger_severity(4)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Activations are not rounded to bytes where weights are.
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL

    def bound(model, inputs):
        session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        results = session.run(None, inputs)
        binding = session.io_binding()
        for name, array in inputs.items():
            binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array))
        places = [ort.OrtValue.ortvalue_from_numpy(array) for array in results]
        for output, place in zip(session.get_outputs(), places, strict=True):
            binding.bind_ortvalue_output(output.name, place)
        return lambda: session.run_with_iobinding(binding), places[0].numpy

    def prepare(work, _threads, _dynamic):
        if "bfloat16" in work.dtypes.values():
            raise NotImplementedError("no products of bfloat16 on this device")
        inputs = data(work)[0]
        ways = [bound(model, inputs) for model in onnx_models.models(work, contrib=True)]
        for call, _ in ways:
            call()
        return min(ways, key=lambda way: serving.best_call(way[0], 0.03) if ways[1:] else 0)

    return prepare


def openvino(threads):
    """OpenVINO, float32 throughout, inputs and outputs bound."""
    import onnx_models
    import openvino as ov

    core = ov.Core()
    settings = {
        "INFERENCE_PRECISION_HINT": "f32",
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
    }

    def prepare(work, _threads, _dynamic):
        inputs = data(work)[0]
        model = core.read_model(onnx_models.models(work)[0])
        # Models have bfloat16 as float32 numbers that it holds; elsewhere nothing is rounded.
        narrow = "bfloat16" in work.dtypes.values()
        more = {"INFERENCE_PRECISION_HINT": "bf16"} if narrow else {}
        if work.dtypes:
            more["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = 0
        compiled = core.compile_model(model, "CPU", {**settings, **more})
        request = compiled.create_infer_request()
        for name, array in inputs.items():
            request.set_tensor(name, ov.Tensor(array, shared_memory=True))

        def result():
            return request.get_output_tensor(0).data if inputs else None  # keeps what is shared

        return request.infer, result

    return prepare


def torch(threads):
    """PyTorch, eager."""
    import torch as th
    from torch_functions import function

    th.set_num_threads(threads)
    th.set_float32_matmul_precision("highest")
    mode = th.inference_mode()
    mode.__enter__()

    def prepare(work, _threads, _dynamic):
        inputs, weights = data(work)
        tensors = {n: th.from_numpy(array) for n, array in {**inputs, **weights}.items()}
        for name in tensors.keys() & work.dtypes.keys():
            kind = work.dtypes[name].replace("int4", "int8")
            tensors[name] = tensors[name].to(getattr(th, kind))
        call = function(work, tensors)

        def result():
            made = call()
            return (made.float() if made.dtype == th.bfloat16 else made).numpy()

        return call, result

    return prepare


def iree(threads):
    """IREE's llvm-cpu for this CPU, from ONNX; what was compiled is kept."""
    import iree.runtime as rt
    import onnx_models

    if threads > 1:
        rt.flags.parse_flags(f"--task_topology_group_count={threads}")
    device = rt.get_device("local-task" if threads > 1 else "local-sync")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "relax-mlir-peers"
    cache.mkdir(parents=True, exist_ok=True)

    def compiled(model):
        from importlib.metadata import version

        key = hashlib.sha256(model + version("iree-base-compiler").encode()).hexdigest()[:24]
        path = cache / f"{key}.vmfb"
        if not path.exists():
            tools = Path(sys.executable).parent
            with tempfile.TemporaryDirectory() as folder:
                source, text = Path(folder, "in.onnx"), Path(folder, "in.mlir")
                source.write_bytes(model)
                _run([tools / "iree-import-onnx", source, "-o", text])
                _run([
                    tools / "iree-compile", text, "-o", f"{path}.new",
                    "--iree-hal-target-device=local",
                    "--iree-hal-local-target-device-backends=llvm-cpu",
                    "--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3",
                    "--iree-opt-data-tiling=true",
                ])  # fmt: skip
            Path(f"{path}.new").rename(path)
        return path

    def prepare(work, _threads, _dynamic):
        inputs = data(work)[0]
        path = compiled(onnx_models.models(work)[0])
        context = rt.SystemContext(config=rt.Config(device=device))
        context.add_vm_module(rt.VmModule.mmap(context.instance, str(path)))
        main = context.modules.module["main"]
        arrays = [rt.asdevicearray(device, array) for array in inputs.values()]
        return lambda: main(*arrays), lambda: main(*arrays).to_host()

    return prepare


def _run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line]
        raise RuntimeError(f"{Path(command[0]).name}: {lines[0] if lines else done.returncode}")


PEERS = {make.__name__: make for make in (onnxruntime, openvino, iree, torch)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("threads", type=int)
    options = parser.parse_args()
    serving.serve(PEERS[options.peer](options.threads))


if __name__ == "__main__":
    main()
