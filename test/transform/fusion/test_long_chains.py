"""Long chains of elementwise operations: several kernels, called functions, quick builds."""

import time

import numpy as np
import pytest

from relax_mlir import relax, te, tir, transform
from relax_mlir.relax import op
from relax_mlir.script import relax as R

FUSE_DEPTH = "relax.FuseOps.max_depth"


def chain(length, shape, dtype="float32"):
    """Return a module that adds its argument to a function of what is so far, again and again."""
    x = relax.Var("x", R.Tensor(shape, dtype))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            y = x
            for step in range(length):
                y = builder.emit(op.add((op.sin, op.tanh, op.cos)[step % 3](y), x))
            y = builder.emit_output(y)
        builder.emit_func_output(y)
    return builder.get()


def expected(x, length):
    """Return what `chain` computes, in 64 bits."""
    x = x.astype("float64")
    y = x
    for step in range(length):
        y = (np.sin, np.tanh, np.cos)[step % 3](y) + x
    return y


def calls(module):
    """Return how many kernels are called where chains were fused."""
    text = relax.transform.FuseKernels()(relax.transform.LegalizeOps()(module)).script()
    return text.count("call_tir(")


@pytest.mark.parametrize("shape", [("n", 4), (1031, 4)])
def test_builds_take_time_in_proportion(shape):
    # 140 s, had each function been written out in one kernel.
    begin = time.process_time()
    main = relax.VirtualMachine(relax.build(chain(300, shape)))["main"]
    assert time.process_time() - begin < 30
    x = np.random.default_rng(0).uniform(-1, 1, (1031, 4)).astype("float32")
    np.testing.assert_allclose(main(x), expected(x, 300), rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize(
    ("dtype", "error"), [("float16", 5e-2), ("float32", 1e-5), ("float64", 1e-13)]
)
def test_called_functions_are_right_for_every_size(dtype, error):
    main = relax.VirtualMachine(relax.build(chain(48, ("n",), dtype)))["main"]
    for size in (0, 1, 7, 64, 67, 4099):
        x = np.random.default_rng(size).uniform(-1, 1, size).astype(dtype)
        np.testing.assert_allclose(main(x), expected(x, 48), rtol=error, atol=error)


def test_depth_of_fusion():
    module = chain(6, ("n",))
    for depth, count in ((1, 12), (4, 3), (256, 1)):
        with transform.PassContext(config={FUSE_DEPTH: depth}):
            assert calls(module) == count
    for wrong in (0, -1, True, "3"):
        with pytest.raises(TypeError, match="one operation or more"):
            transform.PassContext(config={FUSE_DEPTH: wrong})


def test_more_stages_than_python_calls_deep():
    # 79 s, or an error of calls too deep, had each buffer been checked inside of the last one's.
    a = x = te.placeholder((8,), name="A")
    for step in range(1100):
        x = te.compute((8,), lambda i, x=x: x[i] + 1.0, name=f"T{step}")
    begin = time.process_time()
    main = tir.build(te.create_prim_func([a, x]))["main"]
    assert time.process_time() - begin < 30
    found = np.empty(8, "float32")
    main(np.arange(8, dtype="float32"), found)
    np.testing.assert_array_equal(found, np.arange(8) + 1100)
