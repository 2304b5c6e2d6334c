"""How long compiling takes, in CPU time: one kernel, the demo's model, many kernels, a convolution."""

import sys
import time
from collections import defaultdict
from collections.abc import Callable

import harness

from relax_mlir import relax, script
from relax_mlir.ir.module import IRModule

_HEAD = "@I.ir_module\nclass Program:\n"
_FUNCTION = """
    @R.function
    def {name}(x: R.Tensor(({shape}), "float32")):
        with R.dataflow():
            y = {body}
            R.output(y)
        return y
"""
_CONV = """
    @R.function
    def main(x: R.Tensor(("n", 16, "h", "w"), "float32"),
             k: R.Tensor((32, 16, 3, 3), "float32")):
        with R.dataflow():
            y = R.nn.conv2d(x, k, padding=(1, 1))
            R.output(y)
        return y
"""
_BODIES = (
    "R.exp(x)", "R.tanh(x)", "R.sigmoid(x)", "R.nn.relu(x)", "R.sqrt(x)", "R.add(x, x)",
    "R.sum(x, axis=1)", "R.max(x, axis=1)", "R.mean(x, axis=0)", "R.nn.softmax(x, axis=-1)",
)  # fmt: skip


def _many(count: int) -> str:
    return _HEAD + "".join(
        _FUNCTION.format(name=f"f{i}", shape=f"{i + 3}, {2 * i + 5}", body=_BODIES[i % 10])
        for i in range(count)
    )


def _layers(count: int) -> str:
    return _HEAD + "".join(
        _FUNCTION.format(name=f"f{i}", shape="64, 96", body="R.nn.softmax(x, axis=-1)")
        for i in range(count)
    )


def _one(shape: str, body: str) -> str:
    return _HEAD + _FUNCTION.format(name="main", shape=shape, body=body)


PROGRAMS: dict[str, Callable[[], IRModule]] = {
    "one kernel, exp": lambda: script.from_source(_one("64, 96", "R.exp(x)")),
    "one kernel, softmax": lambda: script.from_source(
        _one('"n", "m"', "R.nn.softmax(x, axis=-1)")
    ),
    "one kernel, matmul": lambda: script.from_source(_one('"n", "n"', "R.matmul(x, x)")),
    "the demo's model": lambda: harness.digits_model()[0],
    "100 small kernels": lambda: script.from_source(_many(100)),
    "20 equal kernels": lambda: script.from_source(_layers(20)),
    "conv2d of any size": lambda: script.from_source(_HEAD + _CONV),
}
