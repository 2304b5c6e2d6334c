"""Sizes at the edge: none, those only run time knows, and those that do not fit."""

import numpy as np
import onnx
import pytest
from onnx.parser import parse_model
from onnx.reference import ReferenceEvaluator

import relax_mlir
from relax_mlir.errors import ShapeMismatchError

RNG = np.random.default_rng(0)


def model(text: str) -> onnx.ModelProto:
    return parse_model(f'<ir_version: 10, opset_import: ["" : 23]> g {text}')


CASES = {
    "no channels": (
        "(float[n,0,2,4] x) => (float[a,b,c,d] y) { y = DepthToSpace<blocksize = 2>(x) }",
        {"x": (3, 0, 2, 4)},
    ),
    "no pixels": (
        "(float[n,2,0,4] x) => (float[a,b,c,d] y) { y = SpaceToDepth<blocksize = 2>(x) }",
        {"x": (3, 2, 0, 4)},
    ),
    "zero is a size": (
        "(float[3,0,4] x) => (float[a,b,c] y) <int64[3] s = {4, 3, 0}> "
        "{ y = Reshape<allowzero = 1>(x, s) }",
        {"x": (3, 0, 4)},
    ),
    "nothing flattened": ("(float[3,0] x) => (float[a,b] y) { y = Flatten(x) }", {"x": (3, 0)}),
    "kernel of any size": (
        "(float[1,2,9,9] x, float[3,2,h,w] k) => (float[a,b,c,d] y) { y = Conv(x, k) }",
        {"x": (1, 2, 9, 9), "k": (3, 2, 3, 4)},
    ),
    "last window": (
        "(float[1,1,n] x) => (float[a,b,c] y) "
        "{ y = AveragePool<kernel_shape = [1], strides = [2], ceil_mode = 1>(x) }",
        {"x": (1, 1, 8)},
    ),
    "scale of one": (
        "(float[2,4,3] x, float[n,1] s) => (float[a,b,c] y) "
        "{ y = RMSNormalization<axis = 1>(x, s) }",
        {"x": (2, 4, 3), "s": (1, 1)},
    ),
    "parts of any size": (
        "(float[n,2] x) => (float[a,b] y, float[c,d] z) <int64[2] s = {1, 2}> "
        "{ y, z = Split<axis = 0>(x, s) }",
        {"x": (3, 2)},
    ),
}


@pytest.mark.codegen
@pytest.mark.parametrize("name", CASES)
def test_sizes(name: str) -> None:
    text, shapes = CASES[name]
    inputs = {key: RNG.normal(size=shape).astype("float32") for key, shape in shapes.items()}
    made = relax_mlir.compile(model(text))(*inputs.values())
    wanted = ReferenceEvaluator(model(text)).run(None, inputs)
    for mine, other in zip(made if isinstance(made, tuple) else [made], wanted, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6, strict=True)


@pytest.mark.codegen
def test_parts_that_do_not_fit() -> None:
    main = relax_mlir.compile(model(CASES["parts of any size"][0]))
    with pytest.raises(ShapeMismatchError, match="dimension 0 is 4, expected 3"):
        main(np.ones((4, 2), "float32"))
