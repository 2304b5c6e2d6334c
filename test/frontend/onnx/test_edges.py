"""Sizes at the edge: none, those only run time knows, and those that do not fit."""

import numpy as np
import onnx
import pytest
from onnx.parser import parse_model
from onnx.reference import ReferenceEvaluator

import relax_mlir
from relax_mlir.errors import RelaxMLIRError, ShapeMismatchError
from relax_mlir.frontend.onnx import from_onnx

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
    "determinants of any size": (
        "(float[n,m,m] x) => (float[a] y) { y = Det(x) }",
        {"x": (3, 4, 4)},
    ),
    "what places choose": (
        "(float[n,m] x) => (float[a,b] y) <int64[1] z = {1}> "
        "{ p = NonZero(x) i = Transpose(p) g = GatherND(x, i) y = Unsqueeze(g, z) }",
        {"x": (3, 4)},
    ),
    "nothing flattened": ("(float[3,0] x) => (float[a,b] y) { y = Flatten(x) }", {"x": (3, 0)}),
    "kernel of any size": (
        "(float[1,2,9,9] x, float[3,2,h,w] k) => (float[a,b,c,d] y) { y = Conv(x, k) }",
        {"x": (1, 2, 9, 9), "k": (3, 2, 3, 4)},
    ),
    "padding for a kernel of any size": (
        "(float[1,2,9,9] x, float[3,2,h,w] k) => (float[a,b,c,d] y) "
        '{ y = Conv<auto_pad = "SAME_UPPER">(x, k) }',
        {"x": (1, 2, 9, 9), "k": (3, 2, 3, 5)},
    ),
    "last window": (
        "(float[1,1,n] x) => (float[a,b,c] y) "
        "{ y = AveragePool<kernel_shape = [1], strides = [2], ceil_mode = 1>(x) }",
        {"x": (1, 1, 8)},
    ),
    "negative numbers beside sizes": (
        "(float[n,3] x) => (int64[a] y, int64[b] z) "
        "<int64[2] w = {0, -1}, int64[1] f = {5}> "
        "{ s = Shape<start = 0, end = 1>(x) y = Concat<axis = 0>(w, s) "
        "z = Sub(s, f) }",
        {"x": (4, 3)},
    ),
    "scale of one": (
        "(float[2,4,3] x, float[n,1] s) => (float[a,b,c] y) "
        "{ y = RMSNormalization<axis = 1>(x, s) }",
        {"x": (2, 4, 3), "s": (1, 1)},
    ),
    "means of integers": (
        "(int32[n,5] x) => (int32[a] y, int32[b] z) <int64[1] s = {1}> "
        "{ y = ReduceMean<keepdims = 0>(x, s) z = ReduceL2<keepdims = 0>(x, s) }",
        {"x": (3, 5)},
    ),
    "parts of any size": (
        "(float[n,2] x) => (float[a,b] y, float[c,d] z) <int64[2] s = {1, 2}> "
        "{ y, z = Split<axis = 0>(x, s) }",
        {"x": (3, 2)},
    ),
    "weights of any size": (
        "(float[t,n,d] x, float[1,g,d] w, float[1,3,3] r, float[1,b] c) => (float[a,e,f,h] y) "
        "{ y = RNN<hidden_size = 3>(x, w, r, c) }",
        {"x": (5, 2, 4), "w": (1, 3, 4), "r": (1, 3, 3), "c": (1, 6)},
    ),
}


@pytest.mark.codegen
@pytest.mark.parametrize("name", CASES)
def test_sizes(name: str) -> None:
    text, shapes = CASES[name]
    dtype = "int32" if "int32" in text else "float32"
    inputs = {key: (RNG.normal(size=shape) * 9).astype(dtype) for key, shape in shapes.items()}
    made = relax_mlir.compile(model(text))(*inputs.values())
    wanted = ReferenceEvaluator(model(text)).run(None, inputs)
    for mine, other in zip(made if isinstance(made, tuple) else [made], wanted, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6, strict=True)


@pytest.mark.codegen
def test_parts_that_do_not_fit() -> None:
    main = relax_mlir.compile(model(CASES["parts of any size"][0]))
    with pytest.raises(ShapeMismatchError, match="dimension 0 is 4, expected 3"):
        main(np.ones((4, 2), "float32"))


@pytest.mark.codegen
@pytest.mark.parametrize("start", ["int64[1] s = {-9}", ""])
def test_slices_backwards_begin_at_the_first_element(start: str) -> None:
    # By ONNX's specification and its inference; its reference slices as Python does.
    inputs = "float[n] x" if start else "float[n] x, int64[1] s"
    known = ", ".join([start, "int64[1] e = {-9}, int64[1] a = {0}, int64[1] p = {-2}"]).strip(", ")
    text = f"({inputs}) => (float[m] y) <{known}> {{ y = Slice(x, s, e, a, p) }}"
    main = relax_mlir.compile(model(text))
    for n, wanted in ((8, [0]), (9, []), (10, [])):
        x = np.arange(n, dtype="float32")
        given = (x,) if start else (x, np.array([-9]))
        np.testing.assert_array_equal(main(*given), wanted)


PADDED = """
(float[1,1,n,7] x, float[1,1,3,3] k) => (float[a,b,c,d] y, float[e,f,g,h] z) {
    y = Conv<auto_pad = "SAME_UPPER", strides = [2, 2]>(x, k)
    z = MaxPool<auto_pad = "SAME_LOWER", strides = [2, 2], kernel_shape = [3, 2]>(x)
}"""


@pytest.mark.codegen
def test_padding_that_depends_on_a_size() -> None:
    # onnx's reference pads what it need not.
    main = relax_mlir.compile(model(PADDED))
    kernel = RNG.normal(size=(1, 1, 3, 3)).astype("float32")
    for n in (8, 9):
        x = RNG.normal(size=(1, 1, n, 7)).astype("float32")
        static = relax_mlir.compile(from_onnx(model(PADDED), shape_dict={"x": x.shape}))
        for mine, other in zip(main(x, kernel), static(x, kernel), strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6, strict=True)


# Rows of a table for as many tokens as there are: `min(6, n)` of them, which broadcast with n.
CLIPPED = """(float[b,n,4] x, float[6,4] t) => (float[b,n,4] y, float[b,n,4] z, float[b,n,1,1] p, \
float[b,n,4] q) <int64[1] zero = {0}, int64[1] two = {2}> {
    size = Shape<start = 1, end = 2>(x)
    part = Slice(t, zero, size, zero)
    r = Unsqueeze(part, zero)
    a = Add(r, x)
    less = Less(r, x)
    y = Where(less, r, a)
    z = Max(r, x, r)
    u = Unsqueeze(x, two)
    v = Unsqueeze(r, two)
    w = Transpose<perm = [0, 1, 3, 2]>(v)
    p = MatMul(u, w)
    s = Shape(x)
    q = Expand(r, s)
}"""
FEWER = """(float[b,n] x, float[6] t) => (float[a,c] y) <int64[1] zero = {0}> {
    size = Shape<start = 1, end = 2>(x)
    part = Slice(t, zero, size, zero)
    s = Shape(part)
    y = Expand(x, s)
}"""


@pytest.mark.codegen
def test_slices_that_have_the_size_of_what_they_meet() -> None:
    module = from_onnx(model(CLIPPED))
    assert "ndim=" not in module.script(), "every shape is known in symbols"
    main, fewer = relax_mlir.compile(module), relax_mlir.compile(model(FEWER))
    table = RNG.normal(size=(6, 4)).astype("float32")
    for n in (0, 1, 5, 6):
        x = RNG.normal(size=(2, n, 4)).astype("float32")
        wanted = ReferenceEvaluator(model(CLIPPED)).run(None, {"x": x, "t": table})
        for mine, other in zip(main(x, table), wanted, strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6, strict=True)
        np.testing.assert_array_equal(fewer(x[..., 0], table[:, 0]), x[..., 0])
    long = np.ones((2, 7, 4), "float32")
    with pytest.raises(ShapeMismatchError, match="dimension 1 is 6, expected 7"):
        main(long, table)
    with pytest.raises(RelaxMLIRError, match="6"):
        fewer(long[..., 0], table[:, 0])


@pytest.mark.parametrize("align", [0, 1])
def test_cubic_samples_beside_the_border_are_torchs(align: int) -> None:
    torch = pytest.importorskip("torch")
    x, at = (RNG.normal(size=size).astype("float32") for size in ((2, 3, 9, 7), (2, 4, 5, 2)))
    sample = relax_mlir.compile(model(
        "(float[n,c,h,w] x, float[n,k,l,2] at) => (float[a,b,c,d] y) { y = GridSample<"
        f'mode = "cubic", padding_mode = "border", align_corners = {align}>(x, at) }}'
    ))  # fmt: skip
    wanted = torch.nn.functional.grid_sample(
        torch.tensor(x), torch.tensor(at), "bicubic", "border", bool(align)
    )
    np.testing.assert_allclose(sample(x, at), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("kernel", "stride", "pads"), [(3, 2, (2, 1)), (2, 4, (0, 0))])
def test_norms_of_windows_past_the_end(kernel: int, stride: int, pads: tuple[int, int]) -> None:
    norms = relax_mlir.compile(from_onnx(model(
        f"(float[1,2,n] x) => (float[a,b,c] y) {{ y = LpPool<kernel_shape = [{kernel}], "
        f"strides = [{stride}], pads = {list(pads)}, ceil_mode = 1>(x) }}"
    )))  # fmt: skip
    for size in range(2, 10):
        x = RNG.normal(size=(1, 2, size)).astype("float32")
        # Windows that begin in the padding at the end are none.
        begins = range(0, min(size + sum(pads) - kernel + stride, size + pads[0]), stride)
        zeros = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[1] + kernel + stride)))
        wanted = [np.linalg.norm(zeros[..., i : i + kernel], axis=-1) for i in begins]
        np.testing.assert_allclose(norms(x), np.stack(wanted, -1), rtol=1e-5)


@pytest.mark.parametrize("p", [1, 2])
def test_what_has_no_length_is_normalized_to_zeros(p: int) -> None:
    divide = relax_mlir.compile(from_onnx(model(
        f"(float[n,m] x) => (float[a,b] y) {{ y = LpNormalization<axis = 1, p = {p}>(x) }}"
    )))  # fmt: skip
    x = RNG.normal(size=(4, 5)).astype("float32")
    # Squares of the third row are below the least number.
    x[1], x[2] = 0, 1e-30
    wanted = x / np.linalg.norm(x, p, axis=1, keepdims=True).astype("float32").clip(1e-30)
    wanted[2] = 0 if p == 2 else 0.2
    np.testing.assert_allclose(divide(x), wanted, rtol=1e-6)
