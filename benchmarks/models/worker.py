"""A process that measures one thing and prints it as a line of JSON: worker.py ORDER."""

import json
import os
import resource
import sys
from pathlib import Path
from time import perf_counter, process_time

import numpy as np


def export(folder, order):
    """Write a model as ONNX, its inputs, and what torch computes of them."""
    import onnx
    import torch
    from capture import onnx_of
    from catalogue import MODELS
    from torch.utils import _pytree as pytree

    model = MODELS[order["model"]]
    (folder / "name").write_text(order["model"])
    onnx.save(
        onnx_of(model, small=False), folder / "model.onnx",
        save_as_external_data=True, location="model.data",
    )  # fmt: skip
    with torch.inference_mode():
        module = model.module()
        for row, sizes in model.measured.items():
            inputs = model.arguments(sizes)
            results = pytree.tree_leaves(module(*inputs))
            for what, tensors in (("inputs", inputs), ("results", results)):
                arrays = [_array(each) for each in tensors]
                np.savez(folder / f"{row}.{what}.npz", *arrays)
            shapes = [list(each.shape) for each in inputs]
            (folder / f"{row}.json").write_text(json.dumps(shapes))
    return {}


def _array(tensor):
    """Return a tensor as numpy can store it: bfloat16 by its bits."""
    import torch

    is_narrow = tensor.dtype == torch.bfloat16
    return tensor.view(torch.int16).numpy().view("uint16") if is_narrow else tensor.numpy()


def build(folder, order):
    """Import and build for a number of threads; the static twin for one row."""
    from relax_mlir import relax
    from relax_mlir.frontend.onnx import from_onnx

    start = perf_counter()
    shapes = None
    if order["static"]:
        import onnx

        proto = onnx.load(folder / "model.onnx", load_external_data=False)
        dims = json.loads((folder / f"{order['row']}.json").read_text())
        shapes = dict(zip((each.name for each in proto.graph.input), dims, strict=True))
    module = from_onnx(folder / "model.onnx", shape_dict=shapes)
    imported = perf_counter()
    built = relax.build(module, f"{order['target']} -num-threads={order['threads']}")
    ended = perf_counter()
    name = f"static-{order['row']}" if order["static"] else "model"
    built.save(folder / f"{name}-{order['threads']}.rxe")
    return {"import": imported - start, "build": ended - imported}


def run(folder, order):
    """Load, run once, compare, and run as often as fits in the time."""
    from runners import OURS, PEERS

    inputs = _stored(folder / f"{order['row']}.inputs.npz")
    expected = _stored(folder / f"{order['row']}.results.npz")
    if order["framework"] in OURS:
        inputs = [_narrow(each) if each.dtype == "uint16" else each for each in inputs]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = perf_counter()
    name = order["framework"]
    if name == "static":
        call = OURS["ours"](folder, inputs, order["threads"], f"static-{order['row']}")
    elif name == "iree":
        call = PEERS[name](folder, inputs, order["threads"], order["target"])
    else:
        call = {**OURS, **PEERS}[name](folder, inputs, order["threads"])
    loaded = perf_counter() - start
    results = call()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    worst = max(_difference(*pair) for pair in zip(results, expected, strict=True))
    times, end = [], perf_counter() + order["seconds"]
    while order["seconds"] and (not times or perf_counter() < end):
        start, processor = perf_counter(), process_time()
        call()
        times.append((perf_counter() - start, process_time() - processor))
    wall, processor = map(min, zip(*times, strict=True)) if times else (None, None)
    return {
        "load": loaded, "peak": peak / 1024, "before": before / 1024, "error": worst,
        "seconds": wall, "processor": processor,
    }  # fmt: skip


def _stored(path):
    with np.load(path) as arrays:
        return list(arrays.values())


def _narrow(array):
    import ml_dtypes

    return array.view(ml_dtypes.bfloat16)


def _widened(bits):
    return (bits.astype("uint32") << 16).view("float32")


def _difference(result, expected):
    if hasattr(result, "to_host"):
        result = result.to_host()
    if type(result).__module__.startswith("torch"):
        result = result.float()
    if expected.dtype == "uint16":
        expected = _widened(expected)
        # OpenVINO gives the bits of bfloat16 as float16.
        result = _widened(result.view("uint16")) if result.dtype == "float16" else result
    result, expected = np.asarray(result).astype("float64"), expected.astype("float64")
    if result.shape != expected.shape:
        return float("inf")
    scale = np.abs(expected).max(initial=0) or 1.0
    return float(np.abs(result - expected).max(initial=0) / scale)


def main():
    order = json.loads(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is not an answer
    found = globals()[order["do"]](Path(order["folder"]), order)
    answers.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
