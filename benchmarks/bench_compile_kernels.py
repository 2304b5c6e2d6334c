"""How long compiling one kernel takes, by class, type and what is known of its sizes."""

import argparse
import re
import time
from collections.abc import Callable, Sequence

import harness
import numpy as np

from relax_mlir import relax, tir
from relax_mlir.ir.module import IRModule
from relax_mlir.relax import op
from relax_mlir.script import relax as R
from relax_mlir.transform import PassContext

ROUNDS = 3
# Processor time of one kernel that the project asks for at most, in seconds.
BAR = 0.3
STAGES = ("LowerTIR", "MemrefToLLVM", "llvm-optimize", "llvm-emit")
Shape = Sequence[int | str]
Body = Callable[..., relax.Expr]


def _module(body: Body, shapes: Sequence[Shape], dtype: str = "float32") -> IRModule:
    """Return a function of tensors; sizes that are names are symbols."""
    symbols: dict[str, tir.Var] = {}
    params = []
    for number, shape in enumerate(shapes):
        dims = [
            symbols.setdefault(size, tir.Var(size, "int64")) if isinstance(size, str) else size
            for size in shape
        ]
        params.append(relax.Var(f"x{number}", R.Tensor(dims, dtype)))
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        with bb.dataflow():
            result = bb.emit_output(bb.normalize(body(*params)))
        bb.emit_func_output(result)
    return bb.get()


def _transposed(x: relax.Expr, w: relax.Expr) -> relax.Expr:
    return op.matmul(x, op.permute_dims(w, [0, 2, 1]))


def _convolution(kernel: Shape, **attrs: object) -> Body:
    weight = relax.const(np.ones([int(size) for size in kernel], "float32"))
    return lambda x: op.nn.conv2d(x, weight, **attrs)


def _up(kernel: Shape, **attrs: object) -> Body:
    weight = relax.const(np.ones([int(size) for size in kernel], "float32"))
    return lambda x: op.nn.conv2d_transpose(x, weight, **attrs)


def _layer_norm(x: relax.Expr) -> relax.Expr:
    scale = relax.const(np.ones(768, "float32"))
    return op.nn.layer_norm(x, scale, scale, axes=[-1])


def _attention(q: relax.Expr, k: relax.Expr, v: relax.Expr, *bias: relax.Expr) -> relax.Expr:
    return op.nn.attention(q, k, v, *bias)


def _cases() -> dict[str, Callable[[], IRModule]]:
    cases: dict[str, Callable[[], IRModule]] = {}

    def add(
        name: str,
        body: Body,
        static: Sequence[Shape],
        dynamic: Sequence[Shape] = (),
        dtype: str = "float32",
    ) -> None:
        cases[name] = lambda: _module(body, static, dtype)
        if dynamic:
            cases[f"{name}, any size"] = lambda: _module(body, dynamic, dtype)

    any_matrices = [("n", "k"), ("k", "m")]
    for dtype in ("float32", "float64", "float16", "bfloat16"):
        add(f"matmul {dtype}", op.matmul, [(512, 512)] * 2, any_matrices, dtype)
    for dtype in ("int8", "uint8"):
        add(
            f"matmul {dtype}",
            lambda x, w: op.matmul(x, w, out_dtype="int32"),
            [(512, 512)] * 2,
            any_matrices,
            dtype,
        )
    constant = relax.const(np.ones((768, 768), "float32"))
    add("matmul by a constant", lambda x: op.matmul(x, constant), [(77, 768)], [("n", 768)])
    add(
        "batched matmul",
        op.matmul,
        [(12, 512, 64), (12, 64, 512)],
        [("b", "n", "k"), ("b", "k", "m")],
    )
    add(
        "batched matmul, transposed",
        _transposed,
        [(12, 512, 64)] * 2,
        [("b", "n", "k"), ("b", "m", "k")],
    )
    add("matrix by vector", op.matmul, [(1024, 1024), (1024, 1)], [("n", "k"), ("k", 1)])
    image, any_image = [(1, 64, 56, 56)], [("n", 64, "h", "w")]
    add("convolution 1x1", _convolution((64, 64, 1, 1)), image, any_image)
    add("convolution 3x3", _convolution((64, 64, 3, 3), padding=1), image, any_image)
    add(
        "convolution 3x3, stride 2",
        _convolution((64, 64, 3, 3), padding=1, strides=2),
        image,
        any_image,
    )
    add(
        "convolution 7x7, stride 2",
        _convolution((64, 3, 7, 7), padding=3, strides=2),
        [(1, 3, 224, 224)],
        [("n", 3, "h", "w")],
    )
    add(
        "convolution 3x3, channels last",
        _convolution((3, 3, 64, 64), padding=1, data_layout="NHWC", kernel_layout="HWIO"),
        [(1, 56, 56, 64)],
        [("n", "h", "w", 64)],
    )
    add(
        "convolution 3x3, 4 groups",
        _convolution((64, 16, 3, 3), padding=1, groups=4),
        image,
        any_image,
    )
    add("depthwise 3x3", _convolution((64, 1, 3, 3), padding=1, groups=64), image, any_image)
    add("transposed convolution 3x3", _up((64, 64, 3, 3), padding=1, strides=2), image, any_image)
    add("transposed convolution 4x4", _up((64, 64, 4, 4), padding=1, strides=2), image, any_image)
    heads, any_heads = [(1, 512, 12, 64)] * 3, [("b", "n", "h", 64), *[("b", "m", "h", 64)] * 2]
    every = [("b", "n", "h", "d"), *[("b", "m", "h", "d")] * 2]
    add("attention", _attention, heads, any_heads)
    cases["attention, any size and width"] = lambda: _module(_attention, every)
    bias: Shape = ("b", "h", "n", "m")
    add("attention with a bias", _attention, [*heads, (1, 12, 512, 512)], [*any_heads, bias])
    add("attention bfloat16", _attention, heads, any_heads, "bfloat16")
    add("attention float16", _attention, heads, any_heads, "float16")
    rows, any_rows = [(512, 768)], [("n", "m")]
    add("softmax", lambda x: op.nn.softmax(x, axis=-1), rows, any_rows)
    add("layer norm", _layer_norm, rows, [("n", 768)])
    add("transpose", lambda x: op.permute_dims(x, [1, 0]), rows, any_rows)
    add("sum of rows", lambda x: op.sum(x, axis=1), rows, any_rows)
    add("sum of columns", lambda x: op.sum(x, axis=0), rows, any_rows)
    add("argmax", lambda x: op.argmax(x, axis=1), rows, any_rows)
    add(
        "max_pool2d",
        lambda x: op.nn.max_pool2d(x, pool_size=3, strides=2, padding=1),
        image,
        any_image,
    )
    add("exp", op.exp, rows, any_rows)
    add("gelu", op.nn.gelu, rows, any_rows)
    add("gelu float16", op.nn.gelu, rows, any_rows, "float16")
    add("sin", op.sin, rows, any_rows)
    add("sin float64", op.sin, rows, any_rows, "float64")
    add("topk", lambda x: op.topk(x, 10, axis=1, ret_type="values"), rows, any_rows)
    add("cumsum", lambda x: op.cumsum(x, axis=1), rows, any_rows)
    return cases


def _seconds(module: IRModule, target: str) -> tuple[float, dict[str, float], int]:
    """Return the CPU time of a build, the wall-clock time of its stages, and the code's size."""
    log = relax.BuildLog()
    # Native code from the cache on disk would leave out what takes longest.
    with PassContext(config={"relax.compile_cache": False}):
        start = time.process_time()
        executable = relax.build(module, target, log=log)
        seconds = time.process_time() - start
    return (
        seconds,
        {s.name: s.seconds for s in log.stages},
        sum(len(each.data) for each in executable.native),
    )


def main() -> None:
    """Print the CPU time of building each kernel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a regular expression of names")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    target = f"llvm -num-threads={arguments.threads}"
    rows, above = [], 0
    for name, make in _cases().items():
        if not re.search(arguments.only, name):
            continue
        module = make()
        _seconds(module, target)
        rounds = (_seconds(module, target) for _ in range(arguments.rounds))
        all_, stages, size = min(rounds, key=lambda each: each[0])
        above += all_ > BAR
        times = [all_, *(stages.get(stage, 0.0) for stage in STAGES)]
        rows.append([name, *(f"{1e3 * t:.0f}" for t in times), f"{size / 1e3:.1f}"])
    print(f"One kernel: CPU milliseconds, best of {arguments.rounds}; {harness.machine()}\n")
    harness.table(["kernel", "all", *STAGES, "code, KB"], rows)
    print(f"\n{above} of {len(rows)} take more than {1e3 * BAR:.0f} ms.")


if __name__ == "__main__":
    main()
