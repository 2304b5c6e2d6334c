"""Products of permuted tensors: read as they lie or not, results are those of numpy."""

from itertools import permutations

import numpy as np
import pytest
from targets import with_threads

from relax_mlir import relax, tir
from relax_mlir.relax import op
from relax_mlir.script import relax as R

# Axes whose last one stays in a matrix: one kernel; the others are two.
TURNED = [axes for axes in permutations(range(3)) if axes != (0, 1, 2)]
Axes = tuple[int, ...]


def built(left: Axes, right: Axes, names: str, threads: int = 1) -> relax.VirtualMachine:
    """Compile a product of two permuted tensors; sizes are those of `SIZES` but the named ones."""
    known = {"b": 3, "m": 13, "k": 70, "n": 50}
    sizes = {x: tir.Var(x, "int64") if x in names else size for x, size in known.items()}
    shapes = [
        [sizes[part[axes.index(i)]] for i in range(3)]
        for part, axes in (("bmk", left), ("bkn", right))
    ]
    x, y = (relax.Var(name, R.Tensor(s, "float32")) for name, s in zip("xy", shapes, strict=True))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y]):
        with bb.dataflow():
            product = op.matmul(op.permute_dims(x, list(left)), op.permute_dims(y, list(right)))
            out = bb.emit_output(bb.normalize(product))
        bb.emit_func_output(out)
    return relax.VirtualMachine(relax.build(bb.get(), with_threads(threads)))


def check(vm: relax.VirtualMachine, left: Axes, right: Axes, sizes: dict[str, int]) -> np.ndarray:
    """Compare with numpy, and return the result."""
    rng = np.random.default_rng(0)
    x, y = (
        rng.standard_normal([sizes[part[axes.index(i)]] for i in range(3)], dtype="float32")
        for part, axes in (("bmk", left), ("bkn", right))
    )
    got = np.asarray(vm["main"](x, y))
    want = x.transpose(left).astype("f8") @ y.transpose(right).astype("f8")
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4, err_msg=f"{left} {right} {sizes}")
    return got


@pytest.mark.parametrize("axes", TURNED)
def test_known_sizes(axes: Axes) -> None:
    sizes = {"b": 3, "m": 13, "k": 70, "n": 50}
    check(built((0, 1, 2), axes, ""), (0, 1, 2), axes, sizes)
    check(built(axes, (0, 1, 2), ""), axes, (0, 1, 2), sizes)


@pytest.mark.parametrize(("left", "right"), [((0, 1, 2), (0, 2, 1)), ((0, 2, 1), (1, 0, 2))])
def test_unknown_sizes(left: Axes, right: Axes) -> None:
    vms = [built(left, right, "bmkn", threads) for threads in (1, 2)]
    for b, m, k, n in (
        (2, 37, 61, 129), (1, 1, 1, 1), (3, 0, 4, 5), (3, 4, 0, 5), (0, 4, 5, 6), (1, 3, 300, 70),
        (2, 256, 530, 40), (5, 9, 33, 1),
    ):  # fmt: skip
        sizes = {"b": b, "m": m, "k": k, "n": n}
        one, two = (check(vm, left, right, sizes) for vm in vms)
        assert one.tobytes() == two.tobytes()


def test_one_tensor_that_is_both() -> None:
    n = tir.Var("n", "int64")
    x = relax.Var("x", R.Tensor((n, n), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            turned = bb.emit(op.permute_dims(x))
            both = bb.emit(op.matmul(turned, turned))
            out = bb.emit_output(op.matmul(x, op.permute_dims(both)))
        bb.emit_func_output(out)
    vm = relax.VirtualMachine(relax.build(bb.get()))
    for size in (0, 1, 45):
        given = np.random.default_rng(size).standard_normal((size, size), dtype="float32")
        exact = given.astype("f8")
        want = exact @ (exact.T @ exact.T).T
        np.testing.assert_allclose(np.asarray(vm["main"](given)), want, rtol=1e-3, atol=1e-3)
