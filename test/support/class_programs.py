"""One Relax module that has a function for every class of kernels, compiled for a target by name.

Run with targets, it compiles that for each and prints the CPU: should LLVM end the process, it is
that one, and the last line names the CPU before. For a target behind `special:` it compiles the
classes whose instructions differ between CPUs with the same vectors.
"""

import sys
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from relax_mlir import relax, tir
from relax_mlir.ir.module import IRModule
from relax_mlir.relax import op
from relax_mlir.script import relax as R

Shape = Sequence[int | str]
Body = Callable[..., relax.Expr]
Case = tuple[Body, Sequence[Shape], str]


def _weights(shape: Sequence[int], dtype: str = "float32") -> relax.Expr:
    return relax.const(np.arange(np.prod(shape)).reshape(shape).astype(dtype))


def _conv(shape: Sequence[int], **attrs: object) -> Body:
    return lambda x: op.nn.conv2d(x, _weights(shape), **attrs)


def _conv_int8(x: relax.Expr) -> relax.Expr:
    return op.nn.conv2d(x, _weights((32, 16, 3, 3), "int8"), padding=1, out_dtype="int32")


def _layer_norm(x: relax.Expr) -> relax.Expr:
    return op.nn.layer_norm(x, _weights([96]), _weights([96]), axes=[-1])


def _int8(x: relax.Expr, y: relax.Expr) -> relax.Expr:
    return op.matmul(x, y, out_dtype="int32")


def _epilogue(x: relax.Expr) -> relax.Expr:
    return op.nn.gelu(op.add(op.matmul(x, _weights((96, 80))), _weights([80])))


MATRICES: Sequence[Shape] = [("n", "k"), ("k", "m")]
ROWS: Sequence[Shape] = [("n", "m")]
IMAGE: Sequence[Shape] = [("n", 64, "h", "w")]
HEADS: Sequence[Shape] = [("b", "n", "h", 64), *[("b", "m", "h", 64)] * 2]
F32 = "float32"
CASES: dict[str, Case] = {
    **{
        f"gemm_{dtype}": (op.matmul, MATRICES, dtype)
        for dtype in (F32, "float64", "float16", "bfloat16")
    },
    **{f"gemm_{dtype}": (_int8, MATRICES, dtype) for dtype in ("int8", "uint8", "int16")},
    "gemm_static": (op.matmul, [(96, 96)] * 2, F32),
    "gemm_int8_static": (_int8, [(48, 64), (64, 64)], "int8"),
    "gemm_packed": (_epilogue, [("n", 96)], F32),
    "gemm_batched": (op.matmul, [("b", "n", "k"), ("b", "k", "m")], F32),
    "gemm_skinny": (op.matmul, [(3, "k"), ("k", "m")], F32),
    "gemm_tall": (op.matmul, [("n", "k"), ("k", 5)], F32),
    "gemv": (op.matmul, [("n", "k"), ("k", 1)], F32),
    "conv_1x1": (_conv((64, 64, 1, 1)), IMAGE, F32),
    "conv_winograd": (_conv((64, 64, 3, 3), padding=1), [(1, 64, 28, 28)], F32),
    "conv_stride": (_conv((64, 64, 3, 3), padding=1, strides=2), IMAGE, F32),
    "conv_channels_last": (
        _conv((3, 3, 64, 64), padding=1, data_layout="NHWC", kernel_layout="HWIO"),
        [("n", "h", "w", 64)],
        F32,
    ),
    "conv_int8": (_conv_int8, [(1, 16, 12, 20)], "int8"),
    "conv_groups": (_conv((64, 16, 3, 3), padding=1, groups=4), IMAGE, F32),
    "depthwise": (_conv((64, 1, 3, 3), padding=1, groups=64), IMAGE, F32),
    "conv_transpose": (
        lambda x: op.nn.conv2d_transpose(x, _weights((64, 32, 4, 4)), strides=2, padding=1),
        [(1, 64, 9, 9)],
        F32,
    ),
    "max_pool": (lambda x: op.nn.max_pool2d(x, 3, strides=2, padding=1), IMAGE, F32),
    "avg_pool": (lambda x: op.nn.avg_pool2d(x, 2, strides=2), IMAGE, F32),
    **{
        f"attention_{dtype}": (op.nn.attention, HEADS, dtype)
        for dtype in (F32, "float16", "bfloat16")
    },
    "softmax": (lambda x: op.nn.softmax(x, axis=-1), ROWS, F32),
    "layer_norm": (_layer_norm, [("n", 96)], F32),
    "transpose": (lambda x: op.permute_dims(x, [1, 0]), ROWS, F32),
    "transpose_int8": (lambda x: op.permute_dims(x, [1, 0]), ROWS, "int8"),
    "sum_rows": (lambda x: op.sum(x, axis=1), ROWS, F32),
    "sum_columns": (lambda x: op.sum(x, axis=0), ROWS, "float16"),
    "argmax": (lambda x: op.argmax(x, axis=1), ROWS, F32),
    "cumsum": (lambda x: op.cumsum(x, axis=1), ROWS, F32),
    "topk": (lambda x: op.topk(x, 10, axis=1, ret_type="values"), ROWS, F32),
    "sort": (lambda x: op.sort(x, axis=1), ROWS, "int32"),
    "gather": (lambda x: op.take(x, _weights([9], "int64"), axis=1), [(7, 33)], F32),
    "flip": (lambda x: op.flip(x, axis=1), ROWS, F32),
    "resize": (lambda x: op.image.resize2d(x, (19, 23), layout="NCHW"), [(1, 3, 9, 11)], F32),
    "exp": (op.exp, ROWS, F32),
    "exp_float64": (op.exp, ROWS, "float64"),
    "gelu": (op.nn.gelu, ROWS, F32),
    "gelu_float16": (op.nn.gelu, ROWS, "float16"),
    "tanh": (op.tanh, ROWS, "bfloat16"),
    "sin": (op.sin, ROWS, F32),
    "power": (op.power, [*ROWS, *ROWS], F32),
    "cast": (lambda x: op.astype(x, "int8"), ROWS, F32),
}
# Products of few bits, conversions, and what gathers.
SPECIAL = [
    name
    for name, (_, _, dtype) in CASES.items()
    if dtype not in (F32, "float64") or name in ("gather", "resize", "topk", "argmax", "cast")
]


def program(names: Iterable[str] = CASES) -> IRModule:
    """Return the module of some classes; sizes that are names are symbols."""
    bb = relax.BlockBuilder()
    for name in names:
        body, shapes, dtype = CASES[name]
        symbols: dict[str, tir.Var] = {}
        params = []
        for number, shape in enumerate(shapes):
            dims = [
                symbols.setdefault(size, tir.Var(size, "int64")) if isinstance(size, str) else size
                for size in shape
            ]
            params.append(relax.Var(f"x{number}", R.Tensor(dims, dtype)))
        with bb.function(name, params):
            with bb.dataflow():
                result = bb.emit_output(bb.normalize(body(*params)))
            bb.emit_func_output(result)
    return bb.get()


if __name__ == "__main__":
    modules = {"": program(), "special:": program(SPECIAL)}
    for argument in sys.argv[1:]:
        kind = "special:" if argument.startswith("special:") else ""
        native = relax.build(modules[kind], argument.removeprefix(kind)).native
        print(native[0].cpu, all(len(each.data) > 0 for each in native), flush=True)
