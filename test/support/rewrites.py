"""Programs that a pass rewrites, compared with what they computed before."""

import math
from typing import Any

import numpy as np

from relax_mlir import relax, transform
from relax_mlir.relax import BlockBuilder

RNG = np.random.default_rng(0)


def random_const(*shape: int) -> Any:
    """Return a constant of random numbers, weights whose sums of products are near one."""
    scale = math.prod(shape[1:]) ** -0.5
    return relax.const((RNG.standard_normal(shape) * scale).astype("float32"))


def dataflow_module(shape: tuple, body: Any) -> Any:
    """Return a program of one dataflow block, given what it computes of an image."""
    builder = BlockBuilder()
    x = relax.Var("x", relax.TensorType(shape, "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(body(x))
        builder.emit_func_output(result)
    return builder.get()


def compare_without(passes: list[str], module: Any, *shape: int) -> None:
    """Compare what a build computes of a random image with what one without some passes does."""
    x = RNG.standard_normal(shape).astype("float32")
    result = relax.VirtualMachine(relax.build(module))["main"](x)
    with transform.PassContext(disabled_pass=passes):
        expected = relax.VirtualMachine(relax.build(module))["main"](x)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
