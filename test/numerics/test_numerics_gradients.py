"""Gradients of operations against plain loops; collectives, which nothing here runs."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from op_cases import Case, run_cases
from programs import Program
from samples import check, sample

from relax_mlir import relax, transform
from relax_mlir.errors import CompileError, ShapeMismatchError
from relax_mlir.script import from_source

pytestmark = pytest.mark.unoptimized


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_take(axis: int | None) -> None:
    shape = ["n"] if axis is None else [5, "n", "m"]
    middle = ["k", 2]
    given = middle if axis is None else [*shape[: axis % 3], *middle, *shape[axis % 3 + 1 :]]

    def reference(grad: np.ndarray, x: np.ndarray, at: np.ndarray, **env: int) -> np.ndarray:
        result = np.zeros(x.shape, "float64")
        if axis is None:
            np.add.at(result, at, grad)
        else:
            np.add.at(
                np.moveaxis(result, axis, 0),
                at,
                np.moveaxis(grad, [axis % 3, axis % 3 + 1], [0, 1]),
            )
        return result.astype(x.dtype)

    def data(shape: tuple[int, ...], dtype: str, place: int) -> np.ndarray:
        if place < 2:
            return np.round(sample(shape, dtype, place))
        return np.random.default_rng(0).integers(-1, 1, shape).astype(dtype)

    sizes = ({"n": 1, "m": 1, "k": 1}, {"n": 5, "m": 3, "k": 2}, {"n": 7, "m": 13, "k": 0})
    run_cases([
        Case("grad_take_backward", [(given, dtype), (shape, dtype), (middle, "int64")], reference,
             {"axis": axis}, data=data, sizes=sizes)
        for dtype in ("float32", "float16")
    ])  # fmt: skip


def _pool_gradient(
    kind: str, grad: np.ndarray, x: np.ndarray, size: Sequence[int], strides: Sequence[int],
    pads: Sequence[int], dilation: Sequence[int], include: bool,
) -> np.ndarray:  # fmt: skip
    result = np.zeros(x.shape, "float64")
    high, wide = x.shape[2] + pads[2], x.shape[3] + pads[3]
    for b, c, i, j in np.ndindex(*grad.shape):
        places = [
            tuple(
                at * stride - pad + step * each
                for at, stride, pad, step, each in zip(
                    (i, j), strides, pads, window, dilation, strict=False
                )
            )
            for window in itertools.product(*map(range, size))
        ]
        inside = [(p, q) for p, q in places if 0 <= p < x.shape[2] and 0 <= q < x.shape[3]]
        if not inside:
            continue
        if kind == "max":
            best = max(inside, key=lambda at: x[(b, c, *at)])
            result[(b, c, *best)] += grad[b, c, i, j]
            continue
        counted = len([1 for p, q in places if p < high and q < wide]) if include else len(inside)
        for at in inside:
            result[(b, c, *at)] += grad[b, c, i, j] / counted
    return result.astype(x.dtype)


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_pooling(kind: str) -> None:
    cases = [
        ((3, 3), (2, 2), (1, 0, 1, 2), (1, 1), True, True),
        ((3, 2), (2, 1), (1, 0, 1, 0), (1, 2), False, False),
        ((2, 2), (3, 3), (0, 0, 0, 0), (1, 1), True, False),
        ((1, 1), (1, 1), (0, 0, 0, 0), (1, 1), False, False),
    ]
    program, names = Program(), ("pool_size", "strides", "padding", "dilation", "ceil_mode")
    for index, case in enumerate(cases):
        attrs = dict(zip((*names, "count_include_pad"), case, strict=True))
        dims = (["n", 2, "h", "w"], "float32")
        program.op(f"out{index}", f"{kind}_pool2d", dims, **attrs)
        grad = (["n", 2, "a", "b"], "float32")
        program.op(f"f{index}", f"grad_{kind}_pool2d_backward", grad, dims, **attrs)
    vm = program.build()
    for index, (size, strides, pads, dilation, _, include) in enumerate(cases):
        for shape in ((1, 2, 7, 8), (0, 2, 5, 5)):
            x = sample(shape, "float32")
            grad = sample(np.asarray(vm[f"out{index}"](x)).shape, "float32", 1)
            wanted = _pool_gradient(kind, grad, x, size, strides, pads, dilation, include)
            check(vm[f"f{index}"](grad, x), wanted, ulps=8, scale=1.0, what=(index, shape))
    with pytest.raises(ShapeMismatchError, match="output_grad must have shape"):
        vm["f0"](sample((1, 2, 2, 2), "float32"), sample((1, 2, 7, 8), "float32"))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_nll_loss(reduction: str) -> None:
    attrs = {"reduction": reduction, "ignore_index": 2}
    rows = (["n", "m"], "float32") if reduction == "none" else ([], "float32")
    one = ([], "float32")
    program = Program()
    program.op("f", "grad_nll_loss_backward", rows, (["n", 5, "m"],), (["n", "m"], "int64"), ([5],),
               **attrs)  # fmt: skip
    program.op("one", "grad_nll_loss_backward", one, ([5],), ([], "int64"), **attrs)
    vm = program.build()
    x, weights = sample((3, 5, 7), "float32"), np.abs(sample(5, "float32", 1))
    targets = np.arange(21).reshape(3, 7) % 5
    grad = sample((3, 7), "float32", 2) if reduction == "none" else np.float32(0.5)
    factor = np.where(targets == 2, 0, weights[targets]).astype("float64")
    step = -factor * grad / (factor.sum() if reduction == "mean" else 1)
    wanted = np.where(np.arange(5)[:, None] == targets[:, None], step[:, None], 0)
    got = vm["f"](np.asarray(grad), x, targets, weights)
    check(got, wanted.astype("float32"), ulps=8)
    got = vm["one"](np.float32(0.5), x[0, :, 0].copy(), np.array(3))
    check(got, np.array([0, 0, 0, -0.5, 0], "float32"))
    with pytest.raises(ShapeMismatchError, match="target 5 is none of 5 classes"):
        vm["one"](np.float32(0.5), x[0, :, 0].copy(), np.array(5))


COLLECTIVES = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        a = R.ccl.allreduce(x, "max")
        b = R.ccl.allgather(x, 2, in_group=False)
        c = R.ccl.broadcast_from_worker0(x)
        d = R.ccl.scatter_from_worker0(x, 2, axis=1)
        return (a, b, c, d)
"""


def test_collectives_are_calls_that_a_build_refuses() -> None:
    module = from_source(COLLECTIVES)
    text = transform.LegalizeOps()(module).script()
    assert "runtime.disco.scatter_from_worker0" in text
    for call in ("allreduce", "allgather", "broadcast_from_worker0"):
        assert f'R.call_dps_packed("runtime.disco.{call}"' in text
    with pytest.raises(CompileError, match="works among several workers"):
        relax.build(module)
