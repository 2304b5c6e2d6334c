"""Operations as the versions of the operator set before the newest define them."""

from typing import Any

import numpy as np
import onnx
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from onnx.parser import parse_model

import relax_mlir
from relax_mlir.frontend.onnx import from_onnx

pytestmark = [pytest.mark.codegen, pytest.mark.unoptimized]
RNG = np.random.default_rng(0)


def model(opset: int, text: str) -> onnx.ModelProto:
    return parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> g {text}')


def normal(*size: int) -> np.ndarray:
    return RNG.normal(size=size).astype("float32")


def compiled(opset: int, text: str) -> Any:
    return relax_mlir.compile(from_onnx(model(opset, text)))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_hardmax_of_all_axes_from_one_on(axis: int) -> None:
    main = compiled(11, f"(float[n,m,4] x) => (float[a,b,c] y) {{ y = Hardmax<axis = {axis}>(x) }}")
    x = normal(2, 3, 4)
    rows = x.reshape(int(np.prod(x.shape[:axis])), -1)
    wanted = np.eye(rows.shape[1], dtype="float32")[rows.argmax(1)].reshape(x.shape)
    np.testing.assert_array_equal(main(x), wanted)


def test_hardmax_of_one_axis() -> None:
    main = compiled(13, "(float[n,m,4] x) => (float[a,b,c] y) { y = Hardmax<axis = 1>(x) }")
    x = normal(2, 3, 4)
    np.testing.assert_array_equal(main(x), x == x.max(1, keepdims=True))


def test_slices_by_indices_before_there_were_batches() -> None:
    main = compiled(11, "(float[n,m,4] x, int64[k,2] i) => (float[a,b] y) { y = GatherND(x, i) }")
    x = normal(2, 3, 4)
    np.testing.assert_array_equal(main(x, np.array([[0, 1], [1, -1]])), x[[0, 1], [1, -1]])


def test_images_by_scales_that_are_an_attribute() -> None:
    scales = "scales = [1.0, 1.0, 2.0, 3.0]"
    main = compiled(7, f"(float[1,c,h,w] x) => (float[1,a,b,d] y) {{ y = Upsample<{scales}>(x) }}")
    x = normal(1, 2, 3, 4)
    np.testing.assert_array_equal(main(x), x.repeat(2, 2).repeat(3, 3))


@pytest.mark.parametrize("count", ["int64[1] k = {0}", ""])
def test_the_greatest_none(count: str) -> None:
    inputs = "float[n,4] x" if count else "float[n,4] x, int64[1] k"
    main = compiled(11, f"({inputs}) => (float[a,b] y, int64[c,d] i) <{count}> "
                    "{ y, i = TopK(x, k) }")  # fmt: skip
    given = [normal(3, 4), np.zeros(1, "int64")]
    values, places = main(*given[: 1 if count else 2])
    assert values.shape == places.shape == (3, 0)


@pytest.mark.parametrize("p", [1, 3])
def test_norms_of_channels(p: int) -> None:
    main = compiled(7, f"(float[n,c,w] x) => (float[a,b,d] y) {{ y = GlobalLpPool<p = {p}>(x) }}")
    x = normal(2, 3, 5)
    wanted = (np.abs(x) ** p).sum(2, keepdims=True) ** (1 / p)
    np.testing.assert_allclose(main(x), wanted, rtol=1e-5)


@pytest.mark.parametrize("where", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("counts", [0, 1])
def test_means_of_windows_whose_padding_depends_on_a_size(counts: int, where: str) -> None:
    main = compiled(11, "(float[1,2,n,7] x) => (float[a,b,c,d] y, float[a,b,c,d] z) { "
                    f'y = AveragePool<auto_pad = "{where}", count_include_pad = {counts}, '
                    "kernel_shape = [3, 2], strides = [2, 3]>(x) "
                    f'z = LpPool<auto_pad = "{where}", kernel_shape = [3, 2], p = 2, '
                    "strides = [2, 3]>(x) }")  # fmt: skip
    for n in (8, 9):
        x = normal(1, 2, n, 7)
        total = max(-(-n // 2) * 2 + 1 - n, 0), 1
        pads = [(each // 2, each - each // 2)[:: 1 if where == "SAME_UPPER" else -1]
                for each in total]  # fmt: skip
        sums, numbers, squares = (
            sliding_window_view(np.pad(image, [(0, 0), (0, 0), *pads]), (3, 2), (2, 3))[
                :, :, ::2, ::3
            ].sum((-1, -2))
            for image in (x, np.ones_like(x), x * x)
        )
        means, norms = main(x)
        np.testing.assert_allclose(means, sums / (6 if counts else numbers), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(norms, np.sqrt(squares), rtol=1e-5)
