"""Results without elements take no time, however many rows of nothing they have."""

import numpy as np
import pytest

from relax_mlir import relax
from relax_mlir.script import from_source

_BODIES = {
    "bias": "R.add(x, R.sum(x, axis=0))", "softmax": "R.nn.softmax(x, axis=-1)",
    "transpose": "R.permute_dims(x, [1, 0])", "pad": "R.nn.pad(x, (0, 0, 0, 0))",
    "sums": "R.sum(x, axis=0)",
    "numbered": "R.nn.relu(R.multiply(x, R.arange(0, m, dtype='float32')))",
}  # fmt: skip


@pytest.mark.parametrize("threads", [1, 2])
def test_many_rows_of_nothing(threads: int) -> None:
    functions = [
        f'    @R.function\n    def {name}(x: R.Tensor(("n", "m"), "float32")):\n'
        f"        n = T.int64()\n        m = T.int64()\n"
        f"        with R.dataflow():\n            y = {body}\n            R.output(y)\n"
        "        return y\n"
        for name, body in _BODIES.items()
    ]
    module = from_source("@I.ir_module\nclass M:\n" + "\n".join(functions))
    vm = relax.VirtualMachine(relax.build(module, f"llvm -num-threads={threads}"))
    for name in _BODIES:
        x = np.zeros((1 << 59, 0), "float32")
        shapes = {"transpose": (0, 1 << 59), "sums": (0,)}
        assert vm[name](x).shape == shapes.get(name, x.shape)
        x = np.ones((3, 5), "float32")
        assert np.asarray(vm[name](x)).any()
