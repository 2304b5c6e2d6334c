"""Maps whose lanes read or write at places of their own, against numpy."""

from typing import Any

import numpy as np
import pytest
from programs import Program, tensor
from targets import DEFAULT, with_threads

from relax_mlir.dialects.relax import build as relax_op
from relax_mlir.dialects.relax.tuples import make_tuple
from relax_mlir.errors import ShapeMismatchError

pytestmark = pytest.mark.unoptimized

# Around no vector, one and several.
LENGTHS = (1, 2, 7, 16, 33, 131)
THREADS = with_threads(3)
# Of AMD's processors, too, with gathers.
GATHERS = f"{DEFAULT} -mattr=-sse4a"


def _numbers(shape: Any, dtype: str, seed: int = 0) -> np.ndarray:
    # Exact in every dtype, and so are sums and products of a few.
    return np.random.default_rng(seed).integers(0, 2 if dtype == "bool" else 5, shape).astype(dtype)


def _same(got: Any, want: np.ndarray, what: object) -> None:
    assert got.dtype == want.dtype, what
    np.testing.assert_array_equal(got, want, str(what))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bool"])
def test_rearranged_rows(dtype: str) -> None:
    program = Program()
    rows = (["n", "m"], dtype)
    program.op("flip", "flip", rows, axis=1)
    program.op("roll", "roll", rows, shift=[3, -1], axis=[1, 0])
    program.op("roll_all", "roll", rows, shift=[5], axis=None)
    program.op("tile", "tile", rows, repeats=[2, 3])
    for repeats in (2, 3, 5, 8, 11):
        program.op(f"repeat{repeats}", "repeat", rows, repeats=repeats, axis=1)
    program.op("spread", "repeat", rows, repeats=3, axis=None)
    vm = program.build()
    for m in LENGTHS:
        x = _numbers((3, m), dtype)
        _same(vm["flip"](x), x[:, ::-1], m)
        _same(vm["roll"](x), np.roll(x, (3, -1), (1, 0)), m)
        _same(vm["roll_all"](x), np.roll(x, 5), m)
        _same(vm["tile"](x), np.tile(x, (2, 3)), m)
        for repeats in (2, 3, 5, 8, 11):
            _same(vm[f"repeat{repeats}"](x), np.repeat(x, repeats, 1), (m, repeats))
        _same(vm["spread"](x), np.repeat(x, 3), m)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8"])
def test_elements_repeated_along_two_axes(dtype: str) -> None:
    program = Program()
    for first, a, second, b in ((1, 2, 2, 2), (2, 3, 1, 4), (0, 5, 2, 7), (2, 9, 0, 2)):
        program.function(
            f"f{first}{a}{second}{b}",
            lambda: [tensor(["n", "m", "k"], dtype)],
            lambda x, p=(first, a), q=(second, b): relax_op(
                "repeat",
                [relax_op("repeat", [x], {"repeats": p[1], "axis": p[0]})],
                {"repeats": q[1], "axis": q[0]},
            ),
        )
    vm = program.build(target=THREADS)
    for shape in ((1, 1, 1), (3, 2, 17), (2, 5, 16), (1, 3, 131), (2, 0, 3), (3, 4, 56)):
        x = _numbers(shape, dtype)
        for first, a, second, b in ((1, 2, 2, 2), (2, 3, 1, 4), (0, 5, 2, 7), (2, 9, 0, 2)):
            want = np.repeat(np.repeat(x, a, first), b, second)
            _same(vm[f"f{first}{a}{second}{b}"](x), want, (shape, first, second))


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_steps(dtype: str) -> None:
    program = Program()
    steps = (2, 3, 4, 7, -1, -2)
    for m in (1, 16, 33, 131):
        for step in steps:
            begin, end = (0, m) if step > 0 else (m - 1, -m - 1)
            attrs = {"axes": [1], "begin": [begin], "end": [end], "strides": [step]}
            program.op(f"s{m}_{step}", "strided_slice", ([3, m], dtype), **attrs)
    vm = program.build()
    for m in (1, 16, 33, 131):
        x = _numbers((3, m), dtype)
        for step in steps:
            _same(vm[f"s{m}_{step}"](x), x[:, ::step], (m, step))


def test_stacked_along_the_last_axis() -> None:
    program = Program()
    for dtype in ("float32", "float64", "int8"):
        for count in (2, 3, 4, 5):
            program.function(
                f"f{dtype}{count}",
                lambda dtype=dtype, count=count: [tensor(["n", "m"], dtype)] * count,
                lambda *parts: relax_op("stack", [make_tuple(parts)], {"axis": -1}),
            )
    vm = program.build(target=THREADS)
    for dtype in ("float32", "float64", "int8"):
        for count in (2, 3, 4, 5):
            for n, m in ((1, 1), (3, 16), (2, 37), (5, 0)):
                parts = [_numbers((n, m), dtype, seed) for seed in range(count)]
                want = np.stack(parts, -1)
                _same(vm[f"f{dtype}{count}"](*parts), want, (dtype, count, n, m))


def test_padding_by_elements() -> None:
    modes: dict[str, Any] = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    program = Program()
    for mode in modes:
        for m in LENGTHS:
            attrs = {"pad_width": [1, 0, 4, 9], "pad_mode": mode}
            program.op(f"{mode}{m}", "pad", ([3, m], "float32"), **attrs)
        attrs = {"pad_width": [0, 0, 2, 3], "pad_mode": mode}
        program.op(f"{mode}_any", "pad", ([3, "m"], "float32"), **attrs)
    vm = program.build()
    for mode, name in modes.items():
        for m in LENGTHS:
            x = _numbers((3, m), "float32")
            _same(vm[f"{mode}{m}"](x), np.pad(x, ((1, 0), (4, 9)), name), (mode, m))
            if m > 3:
                _same(vm[f"{mode}_any"](x), np.pad(x, ((0, 0), (2, 3)), name), (mode, m))


@pytest.mark.parametrize(
    ("index", "target", "dtypes"),
    [
        ("int64", DEFAULT, ("float32", "float64", "int8")),
        ("int32", THREADS, ("float32", "bool")),
        ("int32", GATHERS, ("float32", "int64")),
        ("uint8", DEFAULT, ("float16",)),
    ],
)
def test_lookups(index: str, target: str, dtypes: tuple[str, ...]) -> None:
    program = Program()
    for dtype in dtypes:
        rows = (["n", "m"], dtype)
        program.op(f"take{dtype}", "take", rows, (["k", 3], index), axis=1)
        program.op(f"flat{dtype}", "take", rows, (["k"], index), axis=None)
        program.op(f"row{dtype}", "gather_elements", rows, (["n", "k"], index), axis=1)
        program.op(f"column{dtype}", "gather_elements", rows, ([2, "m"], index), axis=0)
        program.op(f"nd{dtype}", "gather_nd", rows, (["k", 2], index))
    vm = program.build(target=target)
    rng = np.random.default_rng(0)
    for m in (1, 5, 33, 131):
        low = -m if index != "uint8" else 0
        for dtype in dtypes:
            x = _numbers((3, m), dtype)
            for k in (0, 1, 16, 37):
                which = rng.integers(low, m, (k, 3)).astype(index)
                _same(vm[f"take{dtype}"](x, which), x[:, which], (dtype, m, k))
                flat = which[:, 0]
                _same(vm[f"flat{dtype}"](x, flat), x.reshape(-1)[flat], (dtype, m, k))
                which = rng.integers(low, m, (3, k)).astype(index)
                want = np.take_along_axis(x, which.astype("int64"), 1)
                _same(vm[f"row{dtype}"](x, which), want, (dtype, m, k))
                pair = np.stack([rng.integers(0, 3, k), rng.integers(low, m, k)], 1)
                want = x[pair[:, 0], pair[:, 1]]
                _same(vm[f"nd{dtype}"](x, pair.astype(index)), want, (dtype, m, k))
            which = rng.integers(0, 3, (2, m)).astype(index)
            want = np.take_along_axis(x, which.astype("int64"), 0)
            _same(vm[f"column{dtype}"](x, which), want, (dtype, m))


_REDUCE = {
    "update": lambda a, b: b, "add": np.add, "mul": np.multiply, "max": np.maximum,
}  # fmt: skip


def _scattered(
    x: np.ndarray, places: list[tuple[Any, ...]], news: list[Any], kind: str
) -> np.ndarray:
    x = x.copy()
    for place, new in zip(places, news, strict=True):
        x[place] = _REDUCE[kind](x[place], new)
    return x


@pytest.mark.parametrize(
    ("kind", "target", "dtypes"),
    [
        ("update", DEFAULT, ("float32", "float64", "float16")),
        ("update", f"{GATHERS} -num-threads=3", ("float32",)),
        ("add", THREADS, ("float32", "int8")),
        ("mul", DEFAULT, ("int32",)),
        ("max", DEFAULT, ("float64",)),
    ],
)
def test_scatters(kind: str, target: str, dtypes: tuple[str, ...]) -> None:
    """Updates of one element are made in order, whatever the number of threads."""
    program = Program()
    for dtype in dtypes:
        rows = (["n", "m"], dtype)
        for axis in (0, 1):
            if axis == 0:
                args = (rows, (["k", "m"], "int64"), (["k", "m"], dtype))
            else:
                args = (rows, (["n", "k"], "int64"), (["n", "k"], dtype))
            program.op(f"along{axis}{dtype}", "scatter_elements", *args, axis=axis, reduction=kind)
        args = (rows, (["k", 1], "int64"), (["k", "m"], dtype))
        program.op(f"rows{dtype}", "scatter_nd", *args, reduction=kind)
        args = (rows, (["k", 2], "int32"), (["k"], dtype))
        program.op(f"ones{dtype}", "scatter_nd", *args, reduction=kind)
    vm = program.build(target=target)
    rng = np.random.default_rng(0)
    for n, m, k in ((1, 1, 1), (3, 37, 5), (5, 16, 20), (2, 131, 0)):
        for dtype in dtypes:
            x, what = _numbers((n, m), dtype), (dtype, n, m, k)
            which, new = rng.integers(-n, n, (k, m)), _numbers((k, m), dtype, 1)
            places = [(which[i, j], j) for i in range(k) for j in range(m)]
            want = _scattered(x, places, list(new.reshape(-1)), kind)
            _same(vm[f"along0{dtype}"](x, which, new), want, what)
            which, new = rng.integers(-m, m, (n, k)), _numbers((n, k), dtype, 1)
            places = [(i, which[i, j]) for i in range(n) for j in range(k)]
            want = _scattered(x, places, list(new.reshape(-1)), kind)
            _same(vm[f"along1{dtype}"](x, which, new), want, what)
            which, new = rng.integers(-n, n, (k, 1)), _numbers((k, m), dtype, 1)
            want = _scattered(x, [(i,) for i in which[:, 0]], list(new), kind)
            _same(vm[f"rows{dtype}"](x, which, new), want, what)
            pair = np.stack([rng.integers(0, n, k), rng.integers(-m, m, k)], 1).astype("int32")
            new = _numbers((k,), dtype, 1)
            want = _scattered(x, [tuple(each) for each in pair], list(new), kind)
            _same(vm[f"ones{dtype}"](x, pair, new), want, what)


@pytest.mark.parametrize("index", ["int64", "int8", "uint64"])
def test_indices_outside_are_refused(index: str) -> None:
    program = Program()
    rows = (["n", "m"], "float32")
    program.op("take", "take", rows, (["k"], index), axis=0)
    program.op("nd", "gather_nd", rows, (["k", 2], index))
    program.op("scatter", "scatter_nd", rows, (["k", 1], index), (["k", "m"], "float32"))
    vm = program.build()
    x, good = np.ones((3, 5), "float32"), [0, 2, 1] * 30
    vm["take"](x, np.array(good, index))
    worst = [3, 4, int(np.iinfo(index).max)]
    if index[0] == "i":
        worst += [-4, int(np.iinfo(index).min)]
    for bad in worst:
        for place in (0, 50, 89):
            which = np.array(good, index)
            which[place] = bad
            text = f"index {bad} is out of range for an axis of length 3"
            with pytest.raises(ShapeMismatchError, match=text):
                vm["take"](x, which)
            with pytest.raises(ShapeMismatchError, match=text):
                vm["scatter"](x, which[:, None], np.ones((90, 5), "float32"))
            pair = np.stack([which, which], 1)
            pair[:, 1] = 4
            with pytest.raises(ShapeMismatchError, match=text):
                vm["nd"](x, pair)
            pair[:, 0], pair[:, 1] = 0, which
            if not 0 <= bad < 5 and not -5 <= bad < 0:
                with pytest.raises(ShapeMismatchError, match="an axis of length 5"):
                    vm["nd"](x, pair)


def test_nothing_to_take() -> None:
    program = Program()
    for mode in ("fast", "clip", "wrap"):
        program.op(mode, "take", (["n"], "float32"), (["k"], "int64"), axis=0, mode=mode)
    vm = program.build()
    empty, none = np.ones(0, "float32"), np.ones(0, "int64")
    x, which = np.arange(5, dtype="float32"), np.array([-7, 9, 3, -1])
    _same(vm["clip"](x, which), np.take(x, which, mode="clip"), "clip")
    _same(vm["wrap"](x, which), np.take(x, which, mode="wrap"), "wrap")
    for mode in ("fast", "clip", "wrap"):
        assert vm[mode](empty, none).shape == (0,)
        with pytest.raises(ShapeMismatchError):
            vm[mode](empty, which)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_targets_of_a_loss(reduction: str) -> None:
    program = Program()
    attrs = {"reduction": reduction, "ignore_index": -7}
    scores, targets = (["n", 5, "m"], "float32"), (["n", "m"], "int64")
    program.op("f", "nll_loss", scores, targets, ([5], "float32"), **attrs)
    program.op("half", "nll_loss", (["n", 5], "float16"), (["n"], "uint8"), **attrs)
    vm = program.build()
    rng = np.random.default_rng(0)
    weights = np.arange(1, 6, dtype="float32")
    for n, m in ((1, 1), (3, 40), (0, 2)):
        x = rng.integers(-3, 4, (n, 5, m)).astype("float32")
        which = rng.integers(0, 5, (n, m))
        which.reshape(-1)[1::5] = -7
        counted = which != -7
        place = np.where(counted, which, 0)
        chosen = np.take_along_axis(x, place[:, None], 1)[:, 0]
        share = np.where(counted, weights[place], 0)
        losses = -chosen * share
        want: Any = losses if reduction == "none" else losses.sum()
        if reduction == "mean":
            with np.errstate(all="ignore"):
                want = want / share.sum()
        np.testing.assert_allclose(vm["f"](x, which, weights), want, rtol=1e-6)
        if n:
            for bad in (5, -1, -6, 2**62, -(2**63)):
                which[-1, -1] = bad
                with pytest.raises(ShapeMismatchError, match=f"target {bad} is none of 5"):
                    vm["f"](x, which, weights)
    x, which = np.eye(5, dtype="float16"), np.arange(5, dtype="uint8")
    want = {"none": -np.ones(5), "sum": -5, "mean": -1}[reduction]
    np.testing.assert_array_equal(vm["half"](x, which), np.asarray(want, "float16"))
