"""Tensors of which import knows the rank alone: of what may or may not be broadcast."""

import numpy as np
import onnx
import pytest
from onnx.parser import parse_model
from onnx.reference import ReferenceEvaluator

import relax_mlir
from relax_mlir.errors import TypeMismatchError
from relax_mlir.frontend.onnx import from_onnx
from relax_mlir.transform import PassContext

RNG = np.random.default_rng(0)
IMAGE = ("float", (1, 2, 6, 7))
# Nodes from inputs to y, with the inputs' element types and shapes.
CASES = {
    "max pool": ("y = MaxPool<kernel_shape = [2, 2], strides = [3, 3], ceil_mode = 1>(a)", [IMAGE]),
    "mean pool": (
        "y = AveragePool<kernel_shape = [3, 2], strides = [2, 2], pads = [1, 0, 1, 1],"
        " ceil_mode = 1>(a)",
        [IMAGE],
    ),
    "product of integers": (
        "y = MatMulInteger(a, b, c)",
        [("uint8", (3, 4)), ("uint8", (4, 5)), ("uint8", (1,))],
    ),
    "convolution of integers": (
        "y = ConvInteger(a, b, i, c)",
        [("uint8", (1, 2, 5, 5)), ("uint8", (3, 2, 2, 2)), ("uint8", (1,))],
    ),
    "scan": (
        """y, last = Scan<num_scan_inputs = 1, body = body (float[4] s, float[4] e)
=> (float[4] t, float[4] u) { t = Add(s, e) u = Identity(t) }>(i, a)""",
        [("float", (3, 4))],
    ),
}  # fmt: skip
WEIGHTS = {"convolution of integers": np.uint8(3), "scan": np.zeros(4, "float32")}


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_onnx(name: str) -> None:
    nodes, shapes = CASES[name]
    letters = "abc"[: len(shapes)]
    inputs, chosen, given = [], [], {}
    for letter, (kind, shape) in zip(letters, shapes, strict=True):
        array = RNG.integers(0, 9, shape).astype("float32" if kind == "float" else kind)
        for copy in "xz":
            dims = ",".join(f"{letter}{copy}{axis}" for axis in range(len(shape)))
            inputs.append(f"{kind}[{dims}] {letter}{copy}")
            given[f"{letter}{copy}"] = array
        chosen.append(f"{letter} = Where(which, {letter}x, {letter}z)")
    result = "int32" if "integers" in name else "float"
    model = parse_model(
        f"""<ir_version: 9, opset_import: ["" : 18]> g ({", ".join(inputs)}) => ({result} y)
<bool which = {{1}}, float i> {{ {" ".join(chosen)} {nodes} }}"""
    )
    if name in WEIGHTS:
        model.graph.initializer.append(onnx.numpy_helper.from_array(WEIGHTS[name], "i"))
    with PassContext(opt_level=0):
        main = relax_mlir.compile(from_onnx(model))
    (expected,) = ReferenceEvaluator(model).run(None, given)
    np.testing.assert_allclose(main(*given.values()), expected, rtol=1e-5, strict=True)


def test_what_follows_has_symbols() -> None:
    model = parse_model(
        """<ir_version: 9, opset_import: ["" : 18]>
g (float[n,m] a, float[k,l] b) => (float[i,j] y) { s = Add(a, b) y = Softmax(s) }"""
    )
    (line,) = (each for each in from_onnx(model).script().splitlines() if "softmax" in each)
    assert "ndim" not in line


def test_a_size_of_one_that_is_not_squeezed_is_an_error() -> None:
    model = parse_model(
        """<ir_version: 9, opset_import: ["" : 18]>
g (float[n,1,m] x) => (float[a,b] y) { s = Squeeze(x) y = Relu(s) }"""
    )
    main = relax_mlir.compile(model)
    for rows in (2, 0):
        assert main(np.ones((rows, 1, 3), "float32")).shape == (rows, 3)
    with pytest.raises(TypeMismatchError, match="expected 2 dimensions"):
        main(np.ones((1, 1, 3), "float32"))


def test_what_a_loop_shrinks_has_symbols() -> None:
    model = parse_model(
        """<ir_version: 9, opset_import: ["" : 18]>
g (float[1,2,h,w] x, int64 n) => (float[a,b,c,d] y) <bool yes = {1}> {
y = Loop<body = body (int64 i, bool before, float[p,q,r,s] v)
    => (bool after, float[p,q,k,l] u) {
    after = Identity(before)
    u = MaxPool<kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1>(v)
}>(n, yes, x) }"""
    )
    main, x = relax_mlir.compile(model), RNG.normal(size=(1, 2, 9, 7)).astype("float32")
    for count in np.arange(3):
        (expected,) = ReferenceEvaluator(model).run(None, {"x": x, "n": count})
        np.testing.assert_array_equal(main(x, count), expected)
