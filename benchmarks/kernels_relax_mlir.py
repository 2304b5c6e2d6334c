"""The process of `kernels.py` that runs our code, and the one that measures the machine."""

import sys

import ml_dtypes
import numpy as np
import serving
from workload import data, places

from relax_mlir import relax, tir
from relax_mlir.relax import op
from relax_mlir.script import relax as R


def sizes(x):
    """Return the dimensions of a variable as numbers."""
    return [dim.value for dim in x.struct_info.shape]


def take(x, axis, count):
    """Write a lookup of some rows or columns."""
    return op.take(x, relax.const(places([count], sizes(x)[axis])), axis=axis)


def gather(x, count):
    """Write a lookup of some elements of each row."""
    n, m = sizes(x)
    return op.gather_elements(x, relax.const(places([n, count], m)), axis=1)


def scatter(x, count):
    """Write new rows in the place of some."""
    n, m = sizes(x)
    news = relax.const(np.ones((count, m), "float32"))
    return op.scatter_nd(x, relax.const(places([count, 1], n)), news)


def step(x, step):
    """Write every so manieth column."""
    return op.strided_slice(x, [1], [0], [sizes(x)[1]], [step])


def pad(x, by, mode):
    """Write what is around images."""
    return op.nn.pad(x, [0] * 4 + [by] * 4, pad_mode=mode)


def dequantize_groups(w, scale, group):
    """Write what numbers stand for whose groups of rows have scales."""
    (k, n), groups = sizes(w), sizes(scale)[0]
    split = op.astype(op.reshape(w, (groups, group, n)), "float32")
    return op.reshape(op.multiply(split, op.reshape(scale, (groups, 1, n))), (k, n))


OPS = {
    "take": take,
    "gather": gather,
    "scatter": scatter,
    "concat": lambda x: op.concat([x, x], axis=1),
    "flip": lambda x: op.flip(x, axis=1),
    "step": step,
    "pad": pad,
    "upsample": lambda x: op.repeat(op.repeat(x, 2, axis=2), 2, axis=3),
    "topk": lambda x, k: op.topk(x, k, axis=1, ret_type="values"),
    "sort": lambda x: op.sort(x, axis=1),
    "argsort": lambda x: op.argsort(x, axis=1, dtype="int64"),
    "matmul": op.matmul,
    "dequantize": lambda w, scale: op.multiply(op.astype(w, "float32"), scale),
    "dequantize_groups": dequantize_groups,
    "conv": lambda x, w, strides, padding, groups: op.nn.conv2d(
        x, w, strides=strides, padding=padding, groups=groups
    ),
    "batch_norm": lambda x, *stats: op.nn.batch_norm(x, *stats, axis=1, training=False)[0],
    "max_pool": lambda x: op.nn.max_pool2d(x, pool_size=3, strides=2, padding=1),
    "mean": lambda x, axes: op.mean(x, axis=axes),
    "multiply": op.multiply,
    "add": op.add,
    "sigmoid": op.sigmoid,
    "tanh": op.tanh,
    "relu": op.nn.relu,
    "gelu": op.nn.gelu,
    "exp": op.exp,
    "clip": op.clip,
    "softmax": lambda x: op.nn.softmax(x, axis=-1),
    "log_softmax": lambda x: op.nn.log_softmax(x, axis=-1),
    "silu": op.nn.silu,
    "rms_norm": lambda x, gamma: op.nn.rms_norm(x, gamma, axes=[-1]),
    "cumsum": lambda x, axis: op.cumsum(x, axis=axis),
    "layer_norm": lambda x, gamma, beta: op.nn.layer_norm(x, gamma, beta, axes=[-1]),
    "sum": lambda x, axes: op.sum(x, axis=axes),
    "max": lambda x, axes: op.max(x, axis=axes),
    "argmax": lambda x, axes: op.argmax(x, axis=axes[0]),
    "transpose": lambda x, axes: op.permute_dims(x, axes=list(axes)),
    "attention": lambda q, k, v, scale: op.nn.attention(q, k, v, scale=scale),
}


def module(work, weights, dynamic=False):
    """Return a workload as a module whose function is `main`."""
    symbols, params = {}, {}
    for name, shape in {**work.inputs, **work.native}.items():
        if dynamic:
            shape = [
                symbols.setdefault(size, tir.Var(size, "int64")) if isinstance(size, str) else size
                for size in work.symbols[name]
            ]
        dtype = work.dtypes.get(name, "float32")
        params[name] = relax.Var(name, R.Tensor(tuple(shape), dtype))
    values = {**params, **{name: relax.const(array) for name, array in weights.items()}}
    bb = relax.BlockBuilder()
    with bb.function("main", list(params.values())):
        with bb.dataflow():
            for i, node in enumerate(work.nodes):
                call = OPS[node.op](*(values[name] for name in node.args), **node.attrs)
                last = i + 1 == len(work.nodes)
                values[f"t{i}"] = bb.emit_output(call) if last else bb.emit(call)
        bb.emit_func_output(values[f"t{len(work.nodes) - 1}"])
    return bb.get()


def target(threads):
    """Return what to compile for."""
    text = sys.argv[2] if len(sys.argv) > 2 else "llvm"
    return f"{text} -num-threads={threads}"


def prepare(work, threads, dynamic):
    """Return a call of our compiled code, and what gives its result."""
    inputs, weights = (
        {
            name: array.astype(ml_dtypes.bfloat16) if work.dtypes.get(name) == "bfloat16" else array
            for name, array in arrays.items()
        }
        for arrays in data(work)
    )
    built = relax.build(module(work, weights, dynamic), target(threads))
    main = relax.VirtualMachine(built)["main"]
    arrays = [array.reshape(work.native.get(name, array.shape)) for name, array in inputs.items()]
    return lambda: main(*arrays), lambda: _known(np.asarray(main(*arrays)))


def _known(result):
    """Return a result as numpy knows it."""
    return result.astype("float32") if result.dtype == ml_dtypes.bfloat16 else result


def main():
    if sys.argv[1] == "ours":
        serving.serve(prepare)
    # Not at the top: `compare.py` runs this file with old versions, whose modules lie elsewhere.
    from relax_mlir.lowering.target.target import Target
    from relax_mlir.runtime.profiling.roofline import Roofs

    roofs = Roofs(Target(target(1)).vector_bits)

    def special(order):
        found = {}
        if order["flops"]:
            found["flops"] = roofs.flops(order["threads"], order["seconds"])
            found["loaded"] = roofs.loaded_flops(order["threads"], order["seconds"])
        if order["bytes"]:
            width = roofs.reading if order["only_reads"] else roofs.bandwidth
            found["bandwidth"] = width(order["bytes"], order["threads"], order["seconds"])
        return found

    serving.serve(None, special)


if __name__ == "__main__":
    main()
