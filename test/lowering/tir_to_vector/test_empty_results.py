"""Rows of nothing take no time, however many: in results, between kernels, in reductions."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from targets import with_threads

from relax_mlir import relax
from relax_mlir.script import from_source

pytestmark = pytest.mark.unoptimized

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
    vm = relax.VirtualMachine(relax.build(module, with_threads(threads)))
    for name in _BODIES:
        x = np.zeros((1 << 59, 0), "float32")
        shapes = {"transpose": (0, 1 << 59), "sums": (0,)}
        assert vm[name](x).shape == shapes.get(name, x.shape)
        x = np.ones((3, 5), "float32")
        assert np.asarray(vm[name](x)).any()


# What is made of x, of 2**59 rows without elements, in kernels of their own or in one.
_BETWEEN = {
    "sums": "R.sum(R.sum(x, axis=0))", "softmax": "R.sum(R.nn.softmax(x, axis=-1))",
    "transpose": "R.sum(R.permute_dims(x))", "cumsum": "R.sum(R.cumsum(x, axis=0))",
    "joined": "R.concat((R.sum(x, axis=0), R.ones((3,), 'float32')), axis=0)",
    "bias": "R.sum(R.add(x, R.sum(x, axis=0)))",
}  # fmt: skip
# What is made of y, of 2**59 times 3 rows.
_REDUCED = {
    "ends": "R.sum(y, axis=(0, 2))", "turned": "R.sum(R.permute_dims(y, [1, 0, 2]), axis=(1, 2))",
    "mean": "R.mean(R.exp(y), axis=(0, 2))", "variance": "R.variance(y, axis=(0, 2))",
    "deep": "R.sum(R.reshape(y, (n, 3, k, 1)), axis=(0, 2))",
    "most": "R.max(y, axis=(0, 2))", "least": "R.min(R.abs(y), axis=(0, 2))",
    "factors": "R.prod(y, axis=(0, 2))", "squares": "R.einsum((y, y), 'njk,nlk->jl')",
    "crossed": "R.einsum((y, R.astype(R.exp(y), 'float32')), 'njk,nlk->jl')",
    "bytes": "R.einsum((R.astype(y, 'int8'), R.astype(y, 'int8')), 'njk,nlk->jl')",
    "halves": "R.einsum((R.astype(y, 'bfloat16'), R.astype(y, 'bfloat16')), 'njk,nlk->jl')",
    "row": "R.einsum((y, R.astype(y, 'float32')), 'njk,njk->j')",
}  # fmt: skip
_RUN = """
import sys
import numpy as np
from relax_mlir.runtime import Executable, VirtualMachine
vm = VirtualMachine(Executable.load(sys.argv[1]))
for shape, names in (((1 << 59, 0), sys.argv[2]), ((1 << 59, 3, 0), sys.argv[3])):
    for name in names.split():
        print(name, np.asarray(vm[name](np.zeros(shape, "float32"))).ravel().tolist())
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_many_rows_of_nothing_inside(threads: int, tmp_path: Path) -> None:
    """Results with elements of intermediate tensors, and of reductions, without any."""
    shapes = {"x": '("n", "m")', "y": '("n", 3, "k")'}
    functions = [
        f'    @R.function\n    def {name}({x}: R.Tensor({shapes[x]}, "float32")):\n'
        f"        n = T.int64()\n        k = T.int64()\n"
        f"        with R.dataflow():\n            z = {body}\n            R.output(z)\n"
        "        return z\n"
        for x, bodies in (("x", _BETWEEN), ("y", _REDUCED))
        for name, body in bodies.items()
    ]
    module = from_source("@I.ir_module\nclass M:\n" + "\n".join(functions))
    executable = relax.build(module, with_threads(threads))
    executable.save(tmp_path / "model.rxe")
    # Apart, as nothing ends a loop of years in this process.
    names = " ".join(_BETWEEN), " ".join(_REDUCED)
    done = subprocess.run(
        [sys.executable, "-c", _RUN, tmp_path / "model.rxe", *names],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    nothing = {
        "joined": "[1.0, 1.0, 1.0]",
        "mean": "[nan, nan, nan]",
        "variance": "[nan, nan, nan]",
        "most": str([float("-inf")] * 3),
        "least": str([float("inf")] * 3),
        "factors": "[1.0, 1.0, 1.0]",
        "bytes": str([0] * 9),
        **dict.fromkeys(("squares", "crossed", "halves"), str([0.0] * 9)),
    }
    wanted = {name: nothing.get(name, "[0.0]") for name in _BETWEEN}
    wanted |= {name: nothing.get(name, "[0.0, 0.0, 0.0]") for name in _REDUCED}
    assert dict(line.split(" ", 1) for line in done.stdout.splitlines()) == wanted
    vm = relax.VirtualMachine(executable)
    x = np.random.default_rng(0).standard_normal((5, 3, 37)).astype("float32")
    for name in ("ends", "turned", "deep"):
        got = np.asarray(vm[name](x)).reshape(3)
        np.testing.assert_allclose(got, x.sum((0, 2)), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(np.asarray(vm["most"](x)), x.max((0, 2)))
    np.testing.assert_array_equal(np.asarray(vm["least"](x)), np.abs(x).min((0, 2)))
    np.testing.assert_allclose(np.asarray(vm["factors"](x)), x.prod((0, 2)), rtol=1e-4)
    squares = np.einsum("njk,nlk->jl", x, x)
    np.testing.assert_allclose(np.asarray(vm["squares"](x)), squares, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(np.asarray(vm["sums"](x[:, 0])), x[:, 0].sum(), rtol=1e-4)


@pytest.mark.parametrize(
    ("shape", "axis"),
    [(("n", 0, 2, "m"), 1), (("n", 2, 0, "m"), 2), (("n", "m", 0, 3), 2), (("n", "m", 0), 2)],
)
def test_products_of_nothing_beside_symbols_are_one(shape: tuple[object], axis: int) -> None:
    # What slides over no taps is no window.
    module = from_source(
        "@I.ir_module\nclass M:\n    @R.function\n"
        f'    def main(x: R.Tensor({shape}, "float32")):\n        return R.prod(x, axis=[{axis}])\n'
    )
    vm = relax.VirtualMachine(relax.build(module))
    dims = [5 if isinstance(dim, str) else dim for dim in shape]
    np.testing.assert_array_equal(
        vm["main"](np.zeros(dims, "float32")), np.ones([*dims[:axis], *dims[axis + 1 :]], "float32")
    )
