"""`resize2d` against sums over all pixels: every method and mode, kernels and library."""

import itertools
from typing import Any

import numpy as np
import pytest
from programs import Program, tensor

from relax_mlir import relax
from relax_mlir.dialects.relax import InferError, SymExpr
from relax_mlir.dialects.relax import build as relax_op
from relax_mlir.dialects.relax import types as T
from relax_mlir.errors import RelaxMLIRError
from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import from_source

pytestmark = pytest.mark.unoptimized

METHODS = ("nearest_neighbor", "linear", "cubic")
CROP = "tf_crop_and_resize"
ROI = (0.25, -0.1, 0.75, 1.2)
MODES = {
    "half_pixel": lambda x, n, m, ends: (x + 0.5) * n / m - 0.5,
    "align_corners": lambda x, n, m, ends: x * (n - 1) / max(m - 1, 1),
    "asymmetric": lambda x, n, m, ends: x * n / m,
    "pytorch_half_pixel": lambda x, n, m, ends: (x + 0.5) * n / m - 0.5 if m > 1 else x * 0.0,
    "tf_half_pixel_for_nn": lambda x, n, m, ends: (x + 0.5) * n / m,
    CROP: lambda x, n, m, ends: (
        ends[0] * (n - 1) + x * (n - 1) * (ends[1] - ends[0]) / (m - 1)
        if m > 1 else x * 0.0 + 0.5 * sum(ends) * (n - 1)
    ),
}  # fmt: skip
ROUND = {
    "round": np.rint,
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": lambda x: np.floor(x + 1e-5),
    "ceil": lambda x: np.ceil(x - 1e-5),
}
# Up, down, one, odd, as it is, longer than a vector.
SIZES = [(8, 4), (2, 23), (1, 1), (5, 7), (67, 131)]


def kernel(d: np.ndarray, method: str, a: float) -> np.ndarray:
    """Return how much a pixel counts at a distance."""
    d = np.abs(d)
    if method == "linear":
        return np.maximum(1 - d, 0)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    return np.where(d <= 1, near, np.where(d < 2, a * (((d - 5) * d + 8) * d - 4), 0))


def weights(n: int, m: int, which: int, attrs: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return how much each of n pixels counts for each of m, and which m are outside."""
    mode, method = attrs.get("coordinate_transformation_mode", "half_pixel"), attrs["method"]
    ends = attrs.get("roi", ROI)[which::2]
    places = MODES[mode](np.arange(m, dtype="float64"), n, m, ends)
    pixels = np.arange(-n - 9, 3 * n + 9)
    if method == "nearest_neighbor":
        chosen = ROUND[attrs.get("rounding_method", "round")](places)
        share = 1.0 * (pixels == np.clip(chosen, 0, n - 1)[:, None])
    else:
        share = kernel(pixels - places[:, None], method, attrs.get("cubic_alpha", -0.75))
        if attrs.get("cubic_exclude"):
            share *= (pixels >= 0) & (pixels < n)
            with np.errstate(all="ignore"):
                share /= share.sum(1, keepdims=True)
    found = np.zeros((m, n))
    for k, pixel in enumerate(pixels):
        found[:, min(max(pixel, 0), n - 1)] += share[:, k]
    return found, (places < 0) | (places > n - 1)


def resized(x: np.ndarray, size: tuple[int, int], attrs: dict[str, Any]) -> np.ndarray:
    """Return float64 images of NCHW in another size."""
    (rows, above), (columns, left) = (
        weights(n, m, which, attrs)
        for which, (n, m) in enumerate(zip(x.shape[2:], size, strict=True))
    )
    result = np.einsum("ya,xb,ncab->ncyx", rows, columns, x.astype("float64"), optimize=True)
    if attrs.get("coordinate_transformation_mode") == CROP:
        away = above[:, None] | left
        result[..., away] = attrs.get("extrapolation_value", 0.0)
    return result


def add(
    program: Program, name: str, shape: Any, size: Any, dtype: str = "float32", **attrs: Any
) -> None:
    """Add a function that resizes; a string is a symbol, a size of them is a parameter."""

    def types() -> list[Any]:
        dims = [SymExpr.var(dim) for dim in size if isinstance(dim, str)]
        return [tensor(shape, dtype), *([T.shape_type(dims)] if dims else [])]

    def body(x: Any, wanted: Any = size) -> Any:
        return relax_op("resize2d", [x, wanted], attrs)

    program.function(name, types, body)


def image(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    numbers = np.random.default_rng(seed).normal(size=shape)
    return (numbers * 30 + 100 if dtype[0] in "iu" else numbers).clip(-90, 250).astype(dtype)


@pytest.mark.parametrize("method", METHODS)
def test_methods_and_modes(method: str) -> None:
    program, cases = Program(), []
    for mode in MODES:
        attrs: dict[str, Any] = {"method": method, "coordinate_transformation_mode": mode}
        if mode == CROP:
            attrs |= {"roi": ROI, "extrapolation_value": 7.5}
        if mode == "asymmetric":
            attrs |= {"cubic_exclude": 1, "cubic_alpha": -0.5}
        cases.append((mode, attrs))
        # The library sees no shape at all; "s" has sizes of the image and of the result as symbols.
        add(program, f"{mode}_s", ("n", "c", "h", "w"), ("p", "q"), **attrs)
        add(program, f"{mode}_library", None, (8, 4), **attrs)
        add(program, f"{mode}_last", (2, 5, 7, 3), (8, 4), layout="NHWC", **attrs)
    vm = program.build()
    x = image(2, 3, 5, 7)
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    for mode, attrs in cases:
        wanted = resized(x, (8, 4), attrs)
        near = {"rtol": 0, "atol": 4e-6, "err_msg": mode}
        np.testing.assert_allclose(vm[f"{mode}_library"](x), wanted, **near)
        np.testing.assert_allclose(vm[f"{mode}_last"](last).transpose(0, 3, 1, 2), wanted, **near)
        for size in SIZES:
            got = vm[f"{mode}_s"](x, size)
            np.testing.assert_allclose(got, resized(x, size, attrs), **near)
        one = image(1, 1, 1, 1)
        np.testing.assert_allclose(
            vm[f"{mode}_s"](one, (3, 5)), resized(one, (3, 5), attrs), **near
        )
        assert vm[f"{mode}_s"](x, (0, 3)).shape == (2, 3, 0, 3)
        assert vm[f"{mode}_s"](x[:, :0], (4, 3)).shape == (2, 0, 4, 3)
        with pytest.raises(RelaxMLIRError):
            vm[f"{mode}_s"](x[:, :, :0], (4, 3))


def test_roundings() -> None:
    program = Program()
    sizes = [(5, 7), (10, 14), (3, 20)]
    for rounding in ROUND:
        add(
            program, rounding, (2, 1, 5, 7), ("p", "q"), method="nearest_neighbor",
            rounding_method=rounding,
        )  # fmt: skip
    add(
        program, "unsaid", (2, 1, 5, 7), ("p", "q"), method="nearest_neighbor", rounding_method="",
        coordinate_transformation_mode="asymmetric",
    )  # fmt: skip
    # As often as each other, no tables: with symbols, by different numbers, and just not.
    modes = ("half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn")
    sizes_of_whole = [(10, 21), (5, 7), (5, 14), (25, 56), (10, 20)]
    for (mode, rounding), size in itertools.product(
        itertools.product(modes, ROUND), sizes_of_whole
    ):
        add(
            program, f"{mode}{rounding}{size}", (2, 1, 5, 7), size, method="nearest_neighbor",
            rounding_method=rounding, coordinate_transformation_mode=mode,
        )  # fmt: skip
    vm, x = program.build(), image(2, 1, 5, 7)
    for mode, rounding in itertools.product(modes, ROUND):
        attrs = {
            "method": "nearest_neighbor", "rounding_method": rounding,
            "coordinate_transformation_mode": mode,
        }  # fmt: skip
        for size in sizes_of_whole:
            got, wanted = vm[f"{mode}{rounding}{size}"](x), resized(x, size, attrs)
            np.testing.assert_array_equal(got, wanted, err_msg=f"{attrs} {size}")
    for rounding, size in itertools.product(ROUND, sizes):
        wanted = resized(x, size, {"method": "nearest_neighbor", "rounding_method": rounding})
        np.testing.assert_array_equal(vm[rounding](x, size), wanted, err_msg=rounding)
    np.testing.assert_array_equal(vm["unsaid"](x, (10, 14)), np.kron(x, np.ones((2, 2))))


def test_dtypes() -> None:
    program, size = Program(), (9, 33)
    dtypes = ("float16", "float64", "uint8", "int8", "int32", "uint64")
    for dtype, method in itertools.product(dtypes, METHODS):
        add(program, f"{dtype}{method}", (1, 3, 5, 17), size, dtype, method=method)
        add(program, f"{dtype}{method}_", None, size, dtype, method=method)
    add(program, "bool", (1, 3, 5, 17), size, "bool", method="nearest_neighbor")
    add(program, "wider", (1, 3, 5, 17), size, "uint8", out_dtype="float32")
    vm = program.build()
    for dtype, method in itertools.product(dtypes, METHODS):
        x = image(1, 3, 5, 17, dtype=dtype)
        wanted = resized(x, size, {"method": method})
        near = {"float16": 2e-3, "float64": 1e-12}.get(dtype, 1e-4)
        for name in (f"{dtype}{method}", f"{dtype}{method}_"):
            got = vm[name](x)
            assert got.dtype == dtype
            if dtype[0] in "iu":
                # Towards zero: sums just below a whole number may be it.
                limits = np.iinfo(dtype)
                low, high = (
                    np.trunc((wanted + shift).clip(limits.min, limits.max)).astype(dtype)
                    for shift in (-near, near)
                )
                assert ((low <= got) & (got <= high)).all(), name
            else:
                np.testing.assert_allclose(got, wanted, rtol=near, atol=near, err_msg=name)
    mask = image(1, 3, 5, 17) > 0
    np.testing.assert_array_equal(
        vm["bool"](mask), resized(mask, size, {"method": "nearest_neighbor"}) != 0
    )
    x = image(1, 3, 5, 17, dtype="uint8")
    wanted = resized(x, size, {"method": "linear"})
    np.testing.assert_allclose(vm["wider"](x), wanted, rtol=1e-6, atol=1e-4)


def test_integers_end_where_their_range_does() -> None:
    program = Program()
    steps = np.zeros((1, 1, 1, 16))
    steps[..., 8:] = 1
    for dtype in ("uint8", "int64"):
        add(program, dtype, (1, 1, 1, 16), (1, 64), dtype, method="cubic")
        add(program, f"{dtype}_library", None, (1, 64), dtype, method="cubic")
    vm = program.build()
    for dtype in ("uint8", "int64"):
        high = np.iinfo(dtype).max
        x = np.where(steps > 0, high, np.iinfo(dtype).min).astype(dtype)
        got = vm[dtype](x)
        # Over- and undershoot of a cubic would wrap around.
        assert (got[..., 34:] > high // 2).all()
        assert (got[..., :30] < high // 2).all()
        np.testing.assert_allclose(got, vm[f"{dtype}_library"](x), rtol=1e-6, atol=1)


def test_script_and_functions() -> None:
    source = """
@R.function
def main(x: R.Tensor((1, 2, 5, 7), "float32"), u: R.Tensor):
    a = R.image.resize2d(x, (4, 4), method="cubic", cubic_exclude=1)
    b = R.image.resize2d(u, (4, 4), roi=[0, 0, 1, 0.5],
                         coordinate_transformation_mode="tf_crop_and_resize")
    return (a, b)
"""
    module = from_source(source)
    text = module.script()
    assert "R.image.resize2d(x, R.shape([4, 4])" in text
    assert "roi=[0.0, 0.0, 1.0, 0.5]" in text
    assert_structural_equal(from_source(text), module)
    x = image(1, 2, 5, 7)
    a, b = relax.VirtualMachine(relax.build(module))["main"](x, x)
    attrs: dict[str, Any] = {"method": "cubic", "cubic_exclude": 1}
    np.testing.assert_allclose(a, resized(x, (4, 4), attrs), rtol=0, atol=4e-6)
    attrs = {
        "method": "linear", "roi": (0, 0, 1, 0.5), "coordinate_transformation_mode": CROP,
    }  # fmt: skip
    np.testing.assert_allclose(b, resized(x, (4, 4), attrs), rtol=0, atol=4e-6)
    builder = relax.BlockBuilder()
    v = relax.Var("x", relax.TensorStructInfo((1, 2, 5, 7), "float32"))
    with builder.function("main", [v]):
        builder.emit_func_output(builder.emit(relax.op.image.resize2d(v, 3, layout="NCHW")))
    assert relax.VirtualMachine(relax.build(builder.get()))["main"](x).shape == (1, 2, 3, 3)
    with pytest.raises(AttributeError, match=r"relax.op.image.resize.*resize[23]d"):
        _ = relax.op.image.resize


def test_refused() -> None:
    for attrs, message in (
        ({"method": "bilinear"}, "method must be one of nearest_neighbor"),
        ({"coordinate_transformation_mode": CROP}, "needs the roi"),
        ({"roi": (0, float("nan"), 1, 1)}, "roi is a part"),
        ({"layout": "NCDHW"}, "layout"),
        ({"cubic_alpha": float("inf")}, "cubic_alpha"),
    ):
        with pytest.raises(InferError, match=message):
            add(Program(), "f", (1, 1, 2, 2), (3, 3), **attrs)
