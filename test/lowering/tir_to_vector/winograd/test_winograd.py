"""Convolutions of transformed tiles: the numbers of direct sums in all sizes and layouts."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from convolution import convolve
from samples import check, sample
from targets import AVX512, with_threads
from thread_counts import bits, check_bits

from relax_mlir import relax, tir
from relax_mlir.compiler.pipeline import lower
from relax_mlir.errors import ShapeMismatchError
from relax_mlir.lowering.tir_to_vector import parallel_region
from relax_mlir.lowering.tir_to_vector.winograd import sizes as winograd_sizes
from relax_mlir.lowering.tir_to_vector.winograd.pattern import element_places
from relax_mlir.transform import PassContext

MAX_TILE = "relax.PackWinograd.max_tile"
# Data, weight, attributes; "last" has channels last. Sizes are 1, odd, prime, and whole tiles.
CASES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((1, 64, 28, 28), (64, 64, 3, 3), {"padding": [1, 1]}),
    ((3, 5, 17, 70), (17, 5, 3, 3), {"padding": [1, 2, 0, 1]}),
    ((1, 3, 1, 2), (16, 3, 3, 3), {"padding": [1, 1]}),
    ((2, 3, 5, 4), (16, 3, 3, 3), {"padding": [4, 5, 6, 7]}),
    ((1, 90, 19, 19), (48, 90, 3, 3), {}),
    ((2, 12, 6, 9), (96, 4, 3, 3), {"groups": 3, "padding": [1, 0]}),
    ((2, 64, 7, 7), (80, 64, 3, 3), {"padding": [1, 1], "last": True}),
    ((1, 6, 31, 3), (5, 6, 3, 3), {"last": True}),
    ((2, 40, 13, 30), (36, 20, 3, 3), {"groups": 2, "padding": [0, 1], "last": True}),
]


def _add(
    builder: relax.BlockBuilder, name: str, dims: list[Any], weight: np.ndarray,
    follow: bool = False, last: bool = False, **attrs: Any,
) -> None:  # fmt: skip
    symbols = {dim: tir.Var(dim, "int64") for dim in dims if isinstance(dim, str)}
    n, c, h, w = (symbols.get(d, d) for d in dims)
    x = relax.Var("x", relax.TensorStructInfo([n, h, w, c] if last else [n, c, h, w], "float32"))
    layout = {"data_layout": "NHWC" if last else "NCHW", "kernel_layout": "OIHW"}
    with builder.function(name, [x]):
        with builder.dataflow():
            made = builder.emit(relax.op.nn.conv2d(x, relax.const(weight), **layout, **attrs))
            if follow:
                bias = relax.const(_bias(weight).reshape((-1,) if last else (-1, 1, 1)))
                made = builder.emit(relax.op.nn.relu(builder.emit(relax.op.add(made, bias))))
            result = builder.emit_output(made)
        builder.emit_func_output(result)


def _bias(weight: np.ndarray) -> np.ndarray:
    return np.linspace(-50, 50, len(weight), dtype="float32")


def _moved(x: np.ndarray, last: bool) -> np.ndarray:
    return np.ascontiguousarray(np.moveaxis(x, 1, -1)) if last else x


def _build(builder: relax.BlockBuilder, tile: int, threads: int = 1) -> relax.VirtualMachine:
    with PassContext(config={MAX_TILE: tile}):
        return relax.VirtualMachine(relax.build(builder.get(), with_threads(threads)))


@pytest.fixture
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Transform whatever can be, also where that does not pay."""
    monkeypatch.setattr(winograd_sizes, "MARGIN", 0)


@pytest.mark.parametrize("tile", [2, 4])
@pytest.mark.usefixtures("_always")
def test_against_numpy(tile: int) -> None:
    builder = relax.BlockBuilder()
    cases = CASES[tile // 4 :: 2] + CASES[:1]
    for index, (data, shape, attrs) in enumerate(cases):
        _add(builder, f"f{index}", list(data), sample(shape, "float32", 1), index % 3 == 0, **attrs)
    with PassContext(config={MAX_TILE: tile}):
        packed = lower(builder.get(), "PackWinograd", target=AVX512).mlir_module
    assert str(packed).count("tir.winograd") == len(cases)
    vm = _build(builder, tile)
    for index, (data, shape, attrs) in enumerate(cases):
        x, weight = sample(data, "float32"), sample(shape, "float32", 1)
        last = attrs.get("last", False)
        wanted = convolve(x, weight, **{k: v for k, v in attrs.items() if k != "last"})
        if index % 3 == 0:
            wanted = np.maximum(wanted + _bias(weight).reshape(-1, 1, 1), 0)
        got = vm[f"f{index}"](_moved(x, last))
        check(got, _moved(wanted, last).astype("float32"), ulps=32, scale=300, what=(tile, index))


@pytest.mark.parametrize(("last", "margin"), [(False, 1.25), (False, 0.01), (True, 0.01)])
def test_one_kernel_for_all_sizes(
    last: bool, margin: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes direct sums, small tiles or large ones; with a small margin never direct sums."""
    monkeypatch.setattr(winograd_sizes, "MARGIN", margin)
    weight = sample((48, 40, 3, 3), "float32", 1)
    builder = relax.BlockBuilder()
    _add(builder, "main", ["n", 40, "h", "w"], weight, last=last, padding=[1, 1])
    vm = _build(builder, 4)
    with pytest.raises(ShapeMismatchError, match="room for windows"):
        vm["main"](_moved(sample((1, 40, 0, 4), "float32"), last))
    # The last ones have tiles enough.
    for size in ((1, 1, 1), (0, 3, 5), (1, 3, 9), (2, 5, 150), (3, 14, 14), (1, 33, 29)):
        x = sample((size[0], 40, *size[1:]), "float32")
        wanted = convolve(x, weight, padding=[1, 1])
        got = vm["main"](_moved(x, last))
        check(got, _moved(wanted, last).astype("float32"), ulps=32, scale=300, what=size)


def test_small_tiles_read_the_first_weights_only() -> None:
    """What they do not use is memory that a model of one image need not have."""
    places = np.array(element_places(4)).reshape(6, 6)
    assert sorted(places.flat) == list(range(36))
    used = [0, 1, 2, 5]
    assert places[np.ix_(used, used)].flatten().tolist() == element_places(2) == list(range(16))


@pytest.mark.usefixtures("_always")
def test_what_is_not_finite() -> None:
    """Such results are those of direct sums, bit by bit; also where only tiles would overflow."""
    weight = sample((17, 6, 3, 3), "float32", 1)
    weight[0] = 0
    builder = relax.BlockBuilder()
    for last in (False, True):
        _add(builder, f"f{int(last)}", [2, 6, 9, 13], weight, True, last=last, padding=[1, 1])
    direct, tiles = _build(builder, 0), _build(builder, 4)
    plain = sample((2, 6, 9, 13), "float32")
    for value in (np.inf, -np.inf, np.nan, 1.5e38):
        x = plain.copy()
        x[1, 3, 4, 5] = value
        for last in (False, True):
            name, data = f"f{int(last)}", _moved(x, last)
            with np.errstate(invalid="ignore", over="ignore"):
                wanted = np.asarray(direct[name](data))
            got = np.asarray(tiles[name](data))
            np.testing.assert_array_equal(got, wanted, err_msg=f"{value} {last}")
            # The other image has no such number.
            assert np.isfinite(got[0]).all()


@pytest.mark.usefixtures("_always")
def test_tiny_numbers() -> None:
    weight = sample((16, 8, 3, 3), "float32", 1)
    builder = relax.BlockBuilder()
    _add(builder, "main", [1, 8, 10, 10], weight, padding=[1, 1])
    x = sample((1, 8, 10, 10), "float32") * np.float32(1e-42)
    got = np.asarray(_build(builder, 4)["main"](x))
    wanted = convolve(x, weight, padding=[1, 1]).astype("float32")
    # Transformed numbers are rounded to subnormal ones too.
    np.testing.assert_allclose(
        got, wanted, rtol=0, atol=300 * float(np.finfo("f4").smallest_subnormal)
    )


@pytest.mark.usefixtures("_always")
def test_same_bits_on_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    builder = relax.BlockBuilder()
    cases = [CASES[i] for i in (1, 3, 5, 8)]
    for index, (data, shape, attrs) in enumerate(cases):
        weight = sample(shape, "float32", 1)
        dims = list(data) if index % 2 else ["n", data[1], "h", "w"]
        _add(builder, f"f{index}", dims, weight, **attrs)
    one, many = _build(builder, 4), _build(builder, 4, threads=5)
    for index, (data, _, attrs) in enumerate(cases):
        for special in (0.0, np.inf):
            x = sample(data, "float32")
            x[0, 0, 0, 0] = special
            x = _moved(x, attrs.get("last", False))
            wanted = bits(one[f"f{index}"], x)
            check_bits(partial(bits, many[f"f{index}"], x), wanted)


def _distributions(rng: np.random.Generator) -> dict[str, np.ndarray]:
    shape = (1, 64, 24, 24)
    scales = 10.0 ** np.linspace(-3, 3, 64).reshape(1, 64, 1, 1)
    return {
        "normal": rng.standard_normal(shape),
        "uniform": rng.uniform(0, 1, shape),
        "badly scaled channels": rng.standard_normal(shape) * scales,
    }


def test_errors_beside_those_of_direct_sums() -> None:
    """As docs/kernels.md says: those of tiles of 2 x 2 are smaller, of 4 x 4 no more than twice."""
    rng = np.random.default_rng(5)
    weight = (rng.standard_normal((64, 64, 3, 3)) / 24).astype("float32")
    builder = relax.BlockBuilder()
    _add(builder, "main", [1, 64, 24, 24], weight, padding=[1, 1])
    machines = {tile: _build(builder, tile) for tile in (0, 2, 4)}
    for name, data in _distributions(rng).items():
        x = data.astype("float32")
        wanted = convolve(x, weight, padding=[1, 1])
        errors = {
            tile: float(np.sqrt(np.mean((np.asarray(vm["main"](x)) - wanted) ** 2)))
            for tile, vm in machines.items()
        }
        assert errors[2] <= errors[0], (name, errors)
        assert errors[4] <= 2 * errors[0], (name, errors)


def test_the_switch() -> None:
    builder = relax.BlockBuilder()
    _add(builder, "main", [1, 64, 28, 28], sample((64, 64, 3, 3), "float32"), padding=[1, 1])
    for tile, wanted in ((0, None), (2, "array<i64: 2, "), (4, "array<i64: 4, ")):
        with PassContext(config={MAX_TILE: tile}):
            text = str(lower(builder.get(), "PackWinograd", target=AVX512).mlir_module)
        assert ("tir.winograd" in text) == (wanted is not None)
        assert wanted is None or f"tir.winograd = {wanted}" in text
    with pytest.raises(TypeError, match="2 or 4 outputs along an axis, or 0 for none, got 3"):
        PassContext(config={MAX_TILE: 3})
