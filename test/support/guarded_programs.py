"""Runs programs of every kernel class with each buffer beside pages without access.

Prints what runs before it runs: a stray access ends the process there.
"""

import sys
from typing import Any

import numpy as np
from guard_pages import guarded
from targets import with_threads

from relax_mlir import relax, script
from relax_mlir.errors import ShapeMismatchError
from relax_mlir.runtime.native import loader
from relax_mlir.runtime.values.convert import numpy_dtype

_UNARY = (
    "exp", "log", "tanh", "sigmoid", "erf", "sqrt", "rsqrt", "sin", "cos", "nn.relu", "nn.gelu",
    "nn.silu", "abs", "floor", "negative",
)  # fmt: skip
_M_N = ("m", "n")
_CONSTANTS = {
    "W": np.arange(70 * 256).reshape(70, 256) % 7 - 3.0,
    "V": np.arange(70 * 239).reshape(70, 239) % 7 - 3.0,
    "K": np.arange(33 * 5 * 9).reshape(33, 5, 3, 3) % 5 - 2.0,
}
# name: (shapes of the arguments, over letters and numbers; body)
PROGRAMS: dict[str, tuple[tuple[tuple[int | str, ...], ...], str]] = {
    **{name.replace(".", "_"): ((_M_N,), f"R.{name}(a)") for name in _UNARY},
    "add": ((_M_N, _M_N), "R.add(a, b)"),
    "row": ((_M_N, ("n",)), "R.multiply(a, b)"),
    "column": ((_M_N, ("m", 1)), "R.subtract(a, b)"),
    "power": ((_M_N, _M_N), "R.power(R.abs(a), b)"),
    "less": ((_M_N, _M_N), "R.less(a, b)"),
    "where": ((_M_N, _M_N), "R.where(R.less(a, b), a, b)"),
    "half": ((_M_N,), 'R.exp(R.astype(a, "float16"))'),
    "byte_tail": (((7, 7),), 'R.astype(R.square(R.astype(a, "int32")), "int8")'),
    "byte_tail_long": (((15, 15),), 'R.astype(R.square(R.astype(a, "int32")), "int8")'),
    "turned_rows": ((_M_N, ("n", 1)), "R.multiply(R.permute_dims(a), b)"),
    "turned_few": (((32, 5), (5, 1)), "R.multiply(R.permute_dims(a), b)"),
    "double": ((_M_N,), 'R.exp(R.astype(a, "float64"))'),
    "integer": ((_M_N,), 'R.astype(a, "int8")'),
    "sum0": ((_M_N,), "R.sum(a, axis=0)"),
    "sum1": ((_M_N,), "R.sum(a, axis=1)"),
    "sum": ((_M_N,), "R.sum(a)"),
    "mean": ((_M_N,), "R.mean(a, axis=-1, keepdims=True)"),
    "max": (((3, "m", "n"),), "R.max(a, axis=(0, 2))"),
    "argmax": ((_M_N,), "R.argmax(a, axis=1)"),
    "softmax": ((_M_N,), "R.nn.softmax(a, axis=-1)"),
    "softmax0": ((_M_N,), "R.nn.softmax(a, axis=0)"),
    "log_softmax": ((_M_N,), "R.nn.log_softmax(a, axis=-1)"),
    "layer_norm": ((_M_N, ("n",), ("n",)), "R.nn.layer_norm(a, b, c, axes=-1)"),
    "rms_norm": ((_M_N, ("n",)), "R.nn.rms_norm(a, b, axes=-1)"),
    "transpose": ((_M_N,), "R.permute_dims(a)"),
    "transpose3": (((3, "m", "n"),), "R.permute_dims(a, axes=(1, 2, 0))"),
    "concat": ((_M_N, _M_N), "R.concat((a, b), axis=1)"),
    "flip": ((_M_N,), "R.flip(a, axis=1)"),
    "cumsum": ((_M_N,), "R.cumsum(a, axis=1)"),
    "cumsum0": ((_M_N,), "R.cumsum(a, axis=0)"),
    "cumprod": ((_M_N,), "R.cumprod(a, axis=1, exclusive=True)"),
    "sort": ((_M_N,), "R.sort(a, axis=1)"),
    "sort0": ((_M_N,), "R.sort(a, axis=0, descending=True)"),
    "argsort": ((_M_N,), "R.argsort(a, axis=1)"),
    "sort_long": (((2, 777),), "R.sort(a, axis=1)"),
    "topk": (((3, 1003),), "R.topk(a, 5, axis=1)[0]"),
    "searchsorted": ((("k",), _M_N), "R.searchsorted(R.sort(a), b)"),
    "take": ((_M_N,), "R.take(a, R.argsort(R.sum(a, axis=1)), axis=0)"),
    "stack": ((_M_N, _M_N), "R.stack((a, b), axis=2)"),
    "take_last": ((_M_N,), "R.take(a, R.argsort(R.sum(a, axis=0)), axis=1)"),
    "gather": ((_M_N,), "R.gather_elements(a, R.argsort(a, axis=1), axis=1)"),
    "gather0": ((_M_N,), "R.gather_elements(a, R.argsort(a, axis=0), axis=0)"),
    "gather_half": (
        (_M_N,), 'R.gather_elements(R.astype(a, "float16"), R.argsort(a, axis=1), axis=1)',
    ),
    "scatter": ((_M_N, _M_N), "R.scatter_elements(a, R.argsort(a, axis=1), b, axis=1)"),
    "scatter0": (
        (_M_N, _M_N), 'R.scatter_elements(a, R.argsort(a, axis=0), b, axis=0, reduction="add")',
    ),
    "scatter_byte": (
        (_M_N,),
        'R.scatter_elements(R.astype(a, "int8"), R.argsort(a, axis=0), R.astype(a, "int8"), 0)',
    ),
    "flip_half": ((_M_N,), 'R.flip(R.astype(a, "float16"), axis=1)'),
    "flip_byte": ((_M_N,), 'R.flip(R.astype(a, "int8"), axis=1)'),
    "repeat": ((_M_N,), "R.repeat(a, 3, axis=1)"),
    "repeat_byte": ((_M_N,), 'R.repeat(R.astype(a, "int8"), 2, axis=1)'),
    "tile": ((_M_N,), "R.tile(a, (2, 3))"),
    "roll": ((_M_N,), "R.roll(a, [3], axis=[1])"),
    "step2": (((3, 67),), "R.strided_slice(a, axes=[1], begin=[0], end=[67], strides=[2])"),
    "step3": (((3, 68),), "R.strided_slice(a, axes=[1], begin=[1], end=[68], strides=[3])"),
    "step_half": (
        ((3, 131),),
        'R.strided_slice(R.astype(a, "float16"), axes=[1], begin=[0], end=[131], strides=[2])',
    ),
    "step_back": (((3, 67),), "R.strided_slice(a, axes=[1], begin=[66], end=[-68], strides=[-1])"),
    "step9": (((3, 200),), "R.strided_slice(a, axes=[1], begin=[3], end=[200], strides=[9])"),
    "reflect": (((3, 37),), 'R.nn.pad(a, [0, 0, 4, 7], pad_mode="reflect")'),
    "edge": (((3, 37),), 'R.nn.pad(a, [0, 0, 4, 7], pad_mode="replicate")'),
    "circular": (((3, 37),), 'R.nn.pad(a, [1, 0, 4, 7], pad_mode="circular")'),
    "flip0": ((_M_N,), "R.flip(a, axis=0)"),
    "split": ((("m", 7),), "R.split(a, [2, 5], axis=1)[1]"),
    "concat0": ((_M_N, ("k", "n")), "R.concat((a, b), axis=0)"),
    "matmul": ((_M_N, ("n", "k")), "R.matmul(a, b)"),
    "matmul_nt": ((_M_N, ("k", "n")), "R.matmul(a, R.permute_dims(b))"),
    "matmul_tn": ((("n", "m"), ("n", "k")), "R.matmul(R.permute_dims(a), b)"),
    "matmul_rows": (((5, "n"), ("n", "k")), "R.matmul(a, b)"),
    "matmul_columns": ((("m", 300), (300, 41)), "R.matmul(a, b)"),
    "gemv": ((_M_N, ("n",)), "R.matmul(a, b)"),
    "batch": ((("b", "m", "n"), ("b", "n", "k")), "R.matmul(a, b)"),
    "conv2d": (((1, 3, "m", "n"), (5, 3, 3, 3)), "R.nn.conv2d(a, b, padding=(1, 1))"),
    "conv2d_known": (
        ((1, 5, 13, 17), (33, 5, 3, 3)), "R.nn.conv2d(a, b, strides=(2, 1), padding=(1, 2, 0, 1))",
    ),
    "conv2d_last": (
        ((1, 9, 15, 3), (21, 3, 3, 3)), "R.nn.conv2d(a, b, padding=(1, 1), data_layout='NHWC')",
    ),
    "depthwise_known": (
        ((1, 3, 9, 37), (3, 1, 3, 3)),
        "R.nn.conv2d(a, b, strides=(2, 2), padding=(1, 0, 1, 2), groups=3)",
    ),
    "winograd": (
        ((2, 20, "m", "n"),),
        "R.nn.conv2d(a, R.full((72, 20, 3, 3), R.const(0.5), 'float32'), padding=(1, 0, 1, 2))",
    ),
    "winograd_last": (
        (("b", 13, 18, 17),),
        "R.nn.conv2d(a, R.full((70, 17, 3, 3), R.const(0.5), 'float32'), data_layout='NHWC')",
    ),
    "conv2d_inside": (((1, 3, "m", 35), (19, 3, 1, 3)), "R.nn.conv2d(a, b, strides=(1, 2))"),
    "conv2d_leaping": (((1, 3, "m", 35), (16, 3, 1, 1)), "R.nn.conv2d(a, b, strides=(2, 3))"),
    "conv1d": (((2, 3, "m"), (16, 3, 5)), "R.nn.conv1d(a, b, padding=(4, 4), dilation=2)"),
    "conv3d": (((1, 2, 3, "m", 9), (16, 2, 2, 3, 3)), "R.nn.conv3d(a, b, padding=(1, 1, 1))"),
    "depthwise": (((1, 4, "m", "n"), (4, 1, 3, 3)), "R.nn.conv2d(a, b, padding=(1, 1), groups=4)"),
    "depthwise_strided": (
        ((1, 4, "m", "n"), (4, 1, 5, 5)),
        "R.nn.conv2d(a, b, strides=(2, 2), padding=(2, 2), groups=4)",
    ),
    "depthwise_turned": (
        ((2, 18, "m", 5), (18, 1, 3, 3)), "R.nn.conv2d(a, b, padding=(1, 1), groups=18)",
    ),
    "max_pool": (((1, 3, "m", "n"),), "R.nn.max_pool2d(a, (2, 2), padding=(1, 1))"),
    "max_pool_last": (
        ((1, "m", "n", 19),), "R.nn.max_pool2d(a, (3, 3), (2, 2), (1, 1), layout='NHWC')",
    ),
    "depthwise_last": (
        ((1, "m", "n", 19),),
        "R.nn.conv2d(a, R.full((19, 1, 3, 3), R.const(0.5), 'float32'), padding=(1, 1), "
        "groups=19, data_layout='NHWC')",
    ),
    "attention": (
        (("b", "m", 6, 20), ("b", "n", 3, 20), ("b", "n", 3, 20)),
        'R.nn.attention(a, b, c, causal_mask="BottomRight")',
    ),
    "attention_bias": (
        (("b", 3, "m", 20), ("b", 3, "n", 20), (1, 1, "m", "n")),
        'R.nn.attention(a, b, b, c, layout="BNSH")',
    ),
    "attention_mask": (
        (("b", "m", 6, 20), ("b", "n", 3, 20), (1, 1, "m", "n")),
        'R.nn.attention(a, b, b, mask=R.less(c, R.exp(c)))',
    ),
    "pad": ((_M_N,), "R.nn.pad(a, (1, 2, 3, 4))"),
    "packed": ((("m", 70),), 'R.nn.relu(R.matmul(a, R.const(W, "float32")))'),
    "packed_ragged": (
        (("m", 70), (239,)), 'R.nn.relu(R.add(R.matmul(a, R.const(V, "float32")), b))',
    ),
    "packed_ragged_row": (((1, 70), (239,)), 'R.add(R.matmul(a, R.const(V, "float32")), b)'),
    "packed_window": (
        ((1, 5, 13, 17),), 'R.nn.conv2d(a, R.const(K, "float32"), padding=(1, 1))',
    ),
    "packed_values": (
        ((2, "n", 70), (2, "k", 70)),
        "R.permute_dims(R.matmul(R.nn.softmax(R.matmul(a, R.permute_dims(b, [0, 2, 1]))), b))",
    ),
}  # fmt: skip
# Those that run in bytes too; in bfloat16, and in float16.
BYTES = (
    "conv2d",
    "conv2d_known",
    "conv2d_last",
    "conv2d_leaping",
    "conv3d",
    "matmul",
    "depthwise",
    "max_pool",
)
HALF = (
    "exp", "row", "sum0", "argmax", "layer_norm", "transpose", "cumsum", "sort", "matmul",
    "matmul_nt", "matmul_rows", "depthwise", "max_pool", "attention_bias", "packed_values", "gemv",
    "sum1",
    "softmax", "conv2d", "conv2d_last", "conv2d_known", "attention",
)  # fmt: skip
KERNELS = {
    **{name: ("float32", program) for name, program in PROGRAMS.items()},
    **{f"{name}_int8": ("int8", PROGRAMS[name]) for name in BYTES},
    **{f"{name}_bfloat16": ("bfloat16", PROGRAMS[name]) for name in HALF},
    **{f"{name}_float16": ("float16", PROGRAMS[name]) for name in HALF[-4:]},
}  # fmt: skip
SIZES = (
    {"m": 1, "n": 1, "k": 1, "b": 1}, {"m": 3, "n": 17, "k": 5, "b": 2},
    {"m": 13, "n": 61, "k": 33, "b": 1}, {"m": 37, "n": 7, "k": 129, "b": 2},
    {"m": 0, "n": 5, "k": 3, "b": 1}, {"m": 17, "n": 401, "k": 70, "b": 1},
)  # fmt: skip


def source(kernels: dict[str, Any]) -> str:
    """Return the module of these programs."""
    functions = []
    for name, (dtype, (shapes, body)) in kernels.items():
        params = ", ".join(
            f"{letter}: R.Tensor(({', '.join(map(repr, shape))},), '{dtype}')"
            for letter, shape in zip("abc", shapes, strict=False)
        )
        functions.append(
            f"    @R.function\n    def {name}({params}):\n        with R.dataflow():\n"
            f"            y = {body}\n            R.output(y)\n        return y\n"
        )
    return "@I.ir_module\nclass Programs:\n" + "\n".join(functions)


def main() -> None:
    """Run them all; with a number of threads as argument, on so many."""
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    target = with_threads(threads)
    kernels = dict(KERNELS)
    if threads > 1:
        # They differ in arithmetic only, which threads do not change: the first two stand for all.
        for name in _UNARY[2:]:
            del kernels[name.replace(".", "_")]
        from relax_mlir.lowering.tir_to_vector import parallel_region

        parallel_region.MIN_PARALLEL_WORK = 0
        # What they access does not depend on LLVM's optimiser, which one thread's kernels went
        # through.
        target += " -O=0"
    plain: dict[str, Any] = {}
    load = loader.load_objects

    def loading(objects: Any) -> dict[str, Any]:
        functions = load(objects)
        plain.update(functions)
        return {name: guarded(function) for name, function in functions.items()}

    loader.load_objects = loading
    executable = relax.build(script.from_source(source(kernels), extra_vars=_CONSTANTS), target)
    vm = relax.VirtualMachine(executable)
    rng = np.random.default_rng(0)
    for name, (dtype, (shapes, _)) in kernels.items():
        for sizes in SIZES:
            if name in ("argmax", "argmax_bfloat16", "max") and 0 in sizes.values():
                continue
            print(name, sizes, flush=True)
            arrays = [
                rng.standard_normal([sizes.get(d, d) for d in shape]).astype(numpy_dtype(dtype))
                for shape in shapes
            ]
            try:
                vm[name](*arrays)
            except ShapeMismatchError:
                # A window does not fit in nothing.
                if 0 not in sizes.values():
                    raise
    print("all ran", len(plain), flush=True)


if __name__ == "__main__":
    main()
