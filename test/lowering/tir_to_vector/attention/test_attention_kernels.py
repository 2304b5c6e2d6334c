"""The kernel of attention against numpy: lengths, layouts, heads, masks, dtypes, special values."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_classes import classify
from programs import Program, tensor
from samples import check, sample
from targets import with_threads
from thread_counts import bits, check_bits

from relax_mlir import IRModule
from relax_mlir.compiler.pipeline import lower
from relax_mlir.dialects.relax import InferError
from relax_mlir.dialects.relax import build as relax_op
from relax_mlir.lowering.tir_to_vector import parallel_region
from relax_mlir.transform import PassContext

# Queries and keys: none, one, few, tiles and blocks of keys, and one more or less than those.
LENGTHS = (
    (0, 3), (3, 0), (1, 1), (1, 77), (2, 7), (6, 513), (7, 16), (16, 17), (17, 255), (12, 512),
    (49, 513), (77, 77),
)  # fmt: skip
MODES: tuple[dict[str, Any], ...] = (
    {},
    {"causal_mask": "TopLeft", "scale": 0.3},
    {"causal_mask": "BottomRight", "window_size": 19},
)


def moved(x: np.ndarray, letters: str, to: str = "BNSH") -> np.ndarray:
    """Return an array with its dimensions in another order, those left out as 1."""
    kept = [letter for letter in to if letter in letters]
    x = x.transpose([letters.index(letter) for letter in kept])
    return x.reshape([x.shape[kept.index(c)] if c in kept else 1 for c in to])


def of_scores(x: np.ndarray) -> np.ndarray:
    """Return a bias or mask as it broadcasts to scores."""
    return {2: x[:, None, None] if x.ndim == 2 else x, 3: x[:, None]}.get(x.ndim, x)


def scores_of(
    q: np.ndarray, k: np.ndarray, bias: np.ndarray | None, attrs: dict[str, Any]
) -> np.ndarray:
    scale = attrs.get("scale")
    scores = q @ k.swapaxes(-1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if bias is not None:
        scores = scores + of_scores(bias)
    if "mask" in attrs:
        scores = np.where(of_scores(attrs["mask"]), scores, attrs["unseen_score"])
    if attrs.get("causal_mask"):
        i, j = np.indices(scores.shape[2:])
        shift = scores.shape[3] - scores.shape[2]
        i = i + (shift if attrs["causal_mask"] == "BottomRight" else 0)
        window = attrs.get("window_size")
        scores = np.where((j <= i) & (window is None or i - j < (window or 0)), scores, -np.inf)
    return scores


def attention(
    operands: Sequence[np.ndarray], bias: np.ndarray | None = None, layout: str = "BSNH",
    **attrs: Any,
) -> np.ndarray:  # fmt: skip
    """Return attention in float64."""
    layouts = layout.split(",") if "," in layout else [layout] * 4
    q, k, v = (
        moved(x.astype("float64"), letters) for x, letters in zip(operands, layouts, strict=False)
    )
    if k.shape[1]:
        k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    bias = None if bias is None else bias.astype("float64")
    with np.errstate(invalid="ignore"):
        scores = scores_of(q, k, bias, attrs)
        peak = scores.max(axis=-1, keepdims=True, initial=-np.inf)
        powers = np.exp(scores - np.where(peak == -np.inf, 0, peak))
        total = powers.sum(axis=-1, keepdims=True)
        # What nobody sees is not multiplied by, whatever it is.
        seen = np.where(powers == 0, 0, powers / np.where(total == 0, 1, total))
        out = seen @ v
    return moved(out, "BNSH", layouts[3])


def arrays(
    layout: str, sizes: dict[str, int], dtype: str = "float32", seed: int = 0
) -> list[np.ndarray]:
    """Return query, key and value; capital letters of keys are `M`, their heads `G`, `W` wide."""
    layouts = layout.split(",") if "," in layout else [layout] * 4
    own = ({"S": "N_", "N": "H_", "H": "D"}, {"S": "M", "N": "G", "H": "D"},
           {"S": "M", "N": "G", "H": "W"})  # fmt: skip
    return [
        sample([sizes[names.get(c, c)] for c in letters], dtype, seed + i, scale=1.0)
        for i, (letters, names) in enumerate(zip(layouts, own, strict=False))
    ]


def sizes_of(n: int, m: int, heads: int = 4, groups: int = 2) -> dict[str, int]:
    return {"B": 2, "N_": n, "M": m, "H_": heads, "G": groups, "D": 20, "W": 37}


def types(layout: str, dtype: str = "float32", heads: Any = 4, groups: Any = 2) -> list[Any]:
    layouts = layout.split(",") if "," in layout else [layout] * 4
    dims = ({"B": 2, "S": "n", "N": heads, "H": 20}, {"B": 2, "S": "m", "N": groups, "H": 20},
            {"B": 2, "S": "m", "N": groups, "H": 37})  # fmt: skip
    return [
        ([each[c] for c in letters], dtype) for letters, each in zip(layouts, dims, strict=False)
    ]


LAYOUTS = ("BSNH", "BNSH", "BSNH,BNSH,BNSH,BSNH", "BNSH,BNHS,BSNH,BSNH", "SBNH,BHSN,NBSH,NBSH")


def test_lengths_layouts_and_masks() -> None:
    program = Program()
    cases = [(layout, {}) for layout in LAYOUTS] + [("BSNH", attrs) for attrs in MODES[1:]]
    for index, (layout, attrs) in enumerate(cases):
        program.op(f"f{index}", "attention", *types(layout), layout=layout, **attrs)
    vm = program.build()
    for index, (layout, attrs) in enumerate(cases):
        for n, m in LENGTHS:
            given = arrays(layout, sizes_of(n, m))
            got = vm[f"f{index}"](*given)
            wanted = attention(given, layout=layout, **attrs).astype("float32")
            check(got, wanted, ulps=32, scale=2, what=(layout, attrs, n, m))


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_other_dtypes(dtype: str) -> None:
    program = Program()
    program.op("f", "attention", *types("BSNH", dtype), causal_mask="BottomRight")
    program.op("b", "attention", *types("BNSH", dtype), ([2, 1, "n", "m"], dtype), layout="BNSH")
    vm = program.build()
    for n, m in LENGTHS:
        given = arrays("BSNH", sizes_of(n, m), dtype)
        wanted = attention(given, causal_mask="BottomRight").astype(dtype)
        check(vm["f"](*given), wanted, ulps=32, scale=2, what=(n, m))
        given = arrays("BNSH", sizes_of(n, m), dtype)
        bias = sample((2, 1, n, m), dtype, 7, scale=1.0)
        wanted = attention(given, bias, "BNSH").astype(dtype)
        check(vm["b"](*given, bias), wanted, ulps=32, scale=2, what=(n, m))


def test_bfloat16() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    program = Program()

    def body(q: Any, k: Any, v: Any) -> Any:
        narrow = [relax_op("astype", [x], {"dtype": "bfloat16"}) for x in (q, k, v)]
        return relax_op("astype", [relax_op("attention", narrow, {})], {"dtype": "float32"})

    program.function("f", lambda: [tensor(*each) for each in types("BSNH")], body)
    vm = program.build()
    for n, m in LENGTHS:
        given = [x.astype(ml_dtypes.bfloat16) for x in arrays("BSNH", sizes_of(n, m))]
        got = vm["f"](*(x.astype("float32") for x in given))
        wanted = attention(given)
        np.testing.assert_allclose(got, wanted, rtol=2**-7, atol=2**-8)


@pytest.mark.parametrize("heads", [(1, 1), (6, 1), (6, 3), (8, 2)])
def test_static_sizes_and_groups(heads: tuple[int, int]) -> None:
    program = Program()
    chosen = [pair for pair in LENGTHS if 0 not in pair][::2]
    for n, m in chosen:
        dims = [[1, n, heads[0], 20], [1, m, heads[1], 20], [1, m, heads[1], 37]]
        program.op(f"f{n}_{m}", "attention", *((each, "float32") for each in dims))
    vm = program.build()
    for n, m in chosen:
        given = arrays("BSNH", {**sizes_of(n, m, *heads), "B": 1})
        wanted = attention(given).astype("float32")
        check(vm[f"f{n}_{m}"](*given), wanted, ulps=32, scale=2, what=(n, m))


def test_known_sizes() -> None:
    # Queries 3 KB apart, which tiles read where they are, and a page, where they are copied; parts
    # of tiles and of panels; one block of keys, and more.
    cases = (
        ("BSNH", (77, 77, 12, 64, 64), "float32"), ("BSNH", (30, 79, 16, 64, 48), "float32"),
        ("BNSH", (49, 255, 2, 20, 37), "float32"), ("BNSH", (49, 1030, 2, 32, 32), "float32"),
        ("BSNH", (33, 40, 2, 24, 40), "float16"), ("BSNH", (19, 33, 3, 16, 33), "float64"),
    )  # fmt: skip
    program, again, dims = Program(), Program(), []
    for i, (layout, (n, m, heads, depth, width), dtype) in enumerate(cases):
        sizes = {**sizes_of(n, m, heads, heads), "D": depth, "W": width}
        dims.append(sizes)
        shapes = [x.shape for x in arrays(layout, sizes)]
        typed = [(list(shape), dtype) for shape in shapes]
        program.op(f"f{i}", "attention", *typed, layout=layout)
        if i == 0:
            again.op("f0", "attention", *typed, layout=layout)
        program.op(f"b{i}", "attention", *typed, ([1, 1, n, m], dtype), layout=layout)
    serial, threaded = (
        program.build(target=with_threads(1)),
        again.build(target=with_threads(2)),
    )
    for i, (layout, (n, m, *_), dtype) in enumerate(cases):
        given = arrays(layout, dims[i], dtype)
        # Some keys are hidden, and from one query all are.
        bias = np.zeros((1, 1, n, m), dtype)
        bias[..., ::3], bias[:, :, 5] = -np.inf, -np.inf
        for name, more in ((f"f{i}", []), (f"b{i}", [bias])):
            got = serial[name](*given, *more)
            wanted = attention(given, *more, layout=layout).astype(dtype)
            check(got, wanted, ulps=32, scale=2, what=(name, layout))
            if name == "f0":
                assert threaded[name](*given).tobytes() == got.tobytes()


def test_biases() -> None:
    shapes: tuple[list[Any], ...] = (
        [2, "m"], [1, "m"], [2, "n", "m"], [1, "n", "m"], [2, 1, 1, "m"], [1, 4, "n", "m"],
        [2, 4, "n", 1], [1, 1, "n", "m"],
    )  # fmt: skip
    program = Program()
    for index, shape in enumerate(shapes):
        attrs = MODES[index % 3]
        program.op(f"f{index}", "attention", *types("BSNH"), (shape, "float32"), **attrs)
    vm = program.build()
    rng = np.random.default_rng(0)
    for index, shape in enumerate(shapes):
        for n, m in LENGTHS[index % 2 :: 2]:
            given = arrays("BSNH", sizes_of(n, m))
            bias = sample([{"n": n, "m": m}.get(d, d) for d in shape], "float32", 5, scale=1.0)
            bias[rng.random(bias.shape) < 0.3] = -np.inf
            if n and shape[-2:-1] == ["n"]:
                bias[..., 0, :] = -np.inf
            got = vm[f"f{index}"](*given, bias)
            wanted = attention(given, bias, **MODES[index % 3]).astype("float32")
            check(got, wanted, ulps=32, scale=2, what=(shape, n, m))


def test_masks() -> None:
    shapes: tuple[list[Any], ...] = (
        [2, "m"], [2, "n", "m"], [1, 4, "n", "m"], [2, 4, "n", 1], [1, 1, "n", "m"],
    )  # fmt: skip
    hidden = (-math.inf, -1e4, -math.inf, float(np.finfo("float32").min), -math.inf)
    program = Program()
    for index, shape in enumerate(shapes):
        bias = [([2, 1, "n", "m"], "float32")] * (index % 2)
        each = [*types("BSNH"), *bias, (shape, "bool")]
        attrs = {**MODES[index % 3], "unseen_score": hidden[index]}
        program.function(
            f"f{index}",
            lambda each=each: [tensor(*item) for item in each],
            lambda q, k, v, *rest, attrs=attrs: relax_op(
                "attention", [q, k, v, *[None] * (2 - len(rest)), *rest], attrs
            ),
        )
    vm = program.build()
    rng = np.random.default_rng(0)
    for index, shape in enumerate(shapes):
        for n, m in LENGTHS[index % 2 :: 2]:
            given = arrays("BSNH", sizes_of(n, m))
            bias = [sample((2, 1, n, m), "float32", 5, scale=1.0)] * (index % 2)
            mask = rng.random([{"n": n, "m": m}.get(d, d) for d in shape]) < 0.6
            if n and shape[-2:-1] == ["n"]:
                mask[..., 0, :] = False
            attrs = {**MODES[index % 3], "mask": mask, "unseen_score": hidden[index]}
            wanted = attention(given, *bias, **attrs).astype("float32")
            # What a key is does not matter where nobody sees it.
            given[1][~np.broadcast_to(of_scores(mask), (2, 4, n, m)).any(axis=(1, 2))] = np.nan
            got = vm[f"f{index}"](*given, *bias, mask)
            check(got, wanted, ulps=32, scale=2, what=(shape, n, m))


def test_a_cache_that_grows() -> None:
    """One compilation decodes at every length; keys hidden at the end change no bit."""
    program = Program()
    shapes: list[list[Any]] = [[1, 1, 4, 20], [1, "m", 2, 20], [1, "m", 2, 37]]
    each = [(shape, "float32") for shape in shapes]
    program.op("step", "attention", *each)
    program.function(
        "padded",
        lambda: [tensor(*item) for item in [*each, ([1, "m"], "bool")]],
        lambda q, k, v, mask: relax_op("attention", [q, k, v, None, mask], {}),
    )
    vm = program.build()
    whole = 150
    q, k, v = arrays("BSNH", {**sizes_of(whole, whole), "B": 1})
    wanted = attention([q, k, v], causal_mask="TopLeft").astype("float32")
    for n in (*range(1, 40), 63, 64, 65, whole):
        query = q[:, n - 1 : n]
        got = vm["step"](query, k[:, :n].copy(), v[:, :n].copy())
        check(got, wanted[:, n - 1 : n], ulps=32, scale=2, what=n)
        seen = np.arange(whole)[None] < n
        assert vm["padded"](query, k, v, seen).tobytes() == got.tobytes(), n


def test_unknown_lengths_of_rows_that_follow_each_other() -> None:
    # Queries and values are read in place; the last tile of queries is partial.
    program = Program()
    shapes = [[2, 3, "n", 64], [2, 3, "m", 64], [2, 3, "m", 96]]
    for name, attrs in (("f", {}), ("c", MODES[1])):
        each = [(shape, "float32") for shape in shapes]
        program.op(name, "attention", *each, layout="BNSH", **attrs)
    vm = program.build()
    for n, m in (*LENGTHS, (13, 1100), (53, 70)):
        given = arrays("BNSH", {**sizes_of(n, m, 3, 3), "D": 64, "W": 96})
        for name, attrs in (("f", {}), ("c", MODES[1])):
            wanted = attention(given, layout="BNSH", **attrs).astype("float32")
            check(vm[name](*given), wanted, ulps=32, scale=2, what=(name, n, m))


def test_special_values() -> None:
    program = Program()
    program.op("f", "attention", *types("BSNH"))
    vm = program.build()
    for n, m in ((1, 40), (3, 17), (31, 600)):
        for position, number in ((0, np.nan), (1, np.nan), (0, np.inf), (1, -np.inf), (2, np.inf)):
            given = arrays("BSNH", sizes_of(n, m))
            given[position][0, -1, 1, 3] = number
            got = vm["f"](*given)
            with np.errstate(invalid="ignore"):
                wanted = attention(given).astype("float32")
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5, err_msg=str(number))
        # Scores far apart, and all alike.
        given = arrays("BSNH", sizes_of(n, m))
        given[0] *= 300
        check(vm["f"](*given), attention(given).astype("float32"), ulps=1024, scale=2)
        given[0][...] = 0
        check(vm["f"](*given), attention(given).astype("float32"), ulps=32, scale=2)


def composed(layout: str, bias: bool, factor: Any) -> Any:
    """Return a body that spells attention in simpler operations."""
    rank = len(layout)
    axes = [layout.index(letter) for letter in "BNSH" if letter in layout]
    to_keys = [*axes[:-2], axes[-1], axes[-2]]
    back = [axes.index(i) for i in range(rank)]

    def body(q: Any, k: Any, v: Any, *added: Any) -> Any:
        def permute(x: Any, order: list[int]) -> Any:
            return relax_op("permute_dims", [x], {"axes": order})

        scores = relax_op("matmul", [permute(q, axes), permute(k, to_keys)], {})
        scores = relax_op("multiply", [scores, factor], {})
        if bias:
            scores = relax_op("add", [scores, added[0]], {})
        shares = relax_op("softmax", [scores], {"axis": -1})
        return permute(relax_op("matmul", [shares, permute(v, axes)], {}), back)

    return body


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_composed_graphs_are_fused(dtype: str) -> None:
    program = Program()
    masks: dict[str, list[Any] | None] = {
        "BSNH": None, "BNSH": ["n", "m"], "NBSH": ["m"], "SBNH": [4, "n", "m"],
    }  # fmt: skip
    for layout, mask in masks.items():
        each = [*types(layout, dtype, 4, 4), *([] if mask is None else [(mask, dtype)])]
        program.function(
            layout,
            lambda each=each: [tensor(*item) for item in each],
            composed(layout, mask is not None, 0.25),
        )
    flat = [([6, size, depth], dtype) for size, depth in (("n", 20), ("m", 20), ("m", 37))]
    program.function("flat", lambda: [tensor(*item) for item in flat], composed("BSH", False, 0.5))
    lowered = str(lower(IRModule(program.module), "FuseAttention").mlir_module)
    assert lowered.count('"relax.attention"') == len(masks) + 1
    assert "relax.softmax" not in lowered
    assert "relax.permute_dims" not in lowered
    fused = program.build()
    with PassContext(disabled_pass=["FuseAttention"]):
        apart = program.build()
    tolerance = 2e-5 if dtype == "float32" else 5e-3
    for n, m in LENGTHS:
        programs = {layout: arrays(layout, sizes_of(n, m, 4, 4), dtype) for layout in masks}
        for layout, mask in masks.items():
            if mask is not None:
                added = sample([{"n": n, "m": m}.get(d, d) for d in mask], dtype, 3, scale=1.0)
                added[..., 1:2] = -np.inf
                if n > 2 and len(mask) > 1:
                    # A query that sees nothing gets no number, as of a softmax.
                    added[..., 1, :] = -np.inf
                programs[layout].append(added)
        programs["flat"] = [
            sample((6, size, depth), dtype, size, scale=1.0)
            for size, depth in ((n, 20), (m, 20), (m, 37))
        ]
        for name, operands in programs.items():
            got, wanted = (vm[name](*operands) for vm in (fused, apart))
            assert got.dtype == wanted.dtype
            np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("sizes", [(13, 13), ("n", "m"), (7, 70)])
def test_columns_that_are_apart(sizes: tuple[Any, Any]) -> None:
    """Keys are transposed in memory, and so is what is stored."""
    n, m = ({"n": 5, "m": 11}.get(size, size) for size in sizes)
    shapes = [[2, 4, sizes[0], 16], [2, 4, 16, sizes[1]], [2, 4, sizes[1], 16]]

    def body(q: Any, k: Any, v: Any) -> Any:
        scores = relax_op("multiply", [relax_op("matmul", [q, k], {}), 0.25], {})
        result = relax_op("matmul", [relax_op("softmax", [scores], {"axis": -1}), v], {})
        return relax_op("permute_dims", [result], {"axes": [0, 1, 3, 2]})

    program = Program()
    program.function("f", lambda: [tensor(shape, "float32") for shape in shapes], body)
    given = arrays("BNSH", sizes_of(n, m, 4, 4) | {"D": 16, "W": 16})
    wanted = attention(given, layout="BNSH").swapaxes(2, 3)
    got = program.build()["f"](given[0], given[1].swapaxes(2, 3).copy(), given[2])
    np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5)


@pytest.fixture(scope="module")
def dynamic() -> Any:
    program = Program()
    for index, attrs in enumerate(MODES):
        dims = (("n", 6, "d"), ("m", 3, "d"), ("m", 3, "w"))
        each = [(["b", size, heads, depth], "float32") for size, heads, depth in dims]
        program.op(f"f{index}", "attention", *each, **attrs)
    return program.build()


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2), st.integers(0, 3), st.integers(0, 70), st.integers(0, 600),
    st.integers(1, 70), st.integers(1, 70), st.integers(0, 99),
)  # fmt: skip
def test_random_sizes(
    dynamic: Any, mode: int, b: int, n: int, m: int, d: int, w: int, seed: int
) -> None:
    sizes = {"B": b, "N_": n, "M": m, "H_": 6, "G": 3, "D": d, "W": w}
    given = arrays("BSNH", sizes, seed=seed)
    wanted = attention(given, **MODES[mode]).astype("float32")
    check(dynamic[f"f{mode}"](*given), wanted, ulps=64, scale=2)


def test_few_queries_of_whole_vectors(dynamic: Any) -> None:
    # Past the last query there is whatever the heap held; times a masked key it was NaN at times.
    sizes = {"B": 1, "N_": 4, "M": 1, "H_": 6, "G": 3, "D": 48, "W": 1}
    for seed in range(12):
        given = arrays("BSNH", sizes, seed=seed)
        check(dynamic["f0"](*given), attention(given).astype("float32"), ulps=64, scale=2)


def test_it_is_one_kernel_of_its_class() -> None:
    program = Program()
    program.op("f", "attention", *types("BSNH", "float16"), causal_mask="TopLeft")
    program.op("g", "attention", *types("BSNH"), ([2, "m"], "float32"))
    lowered = lower(IRModule(program.module), "LegalizeOps").mlir_module
    kernels = [op for op in lowered.body.operations if "tir.prim_func" in op.operation.attributes]
    assert len(kernels) == 2
    with lowered.context:
        for kernel in kernels:
            assert {(info.kind, info.fast) for info in classify(kernel)} == {("attention", True)}


def test_wrong_layouts_and_groups() -> None:
    def refused(shapes: list[list[int]], message: str, **attrs: Any) -> None:
        with pytest.raises(InferError, match=message):
            Program().op("f", "attention", *((shape, "float32") for shape in shapes), **attrs)

    refused([[1, 2, 3, 4]] * 3, "layout must be letters of BSNH", layout="NCHW")
    refused([[1, 2, 3, 4]] * 3, "layout must be letters of BSNH", layout="BSNH,BSNH")
    refused([[1, 2, 3, 4]] * 3, "query must have 3 dimensions, got 4", layout="BSH")
    refused([[1, 2, 4, 4], *[[1, 2, 3, 4]] * 2], "multiple of that of key, got 4 and 3")


def test_threads_do_not_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    program = Program()
    for index, attrs in enumerate(MODES):
        program.op(f"f{index}", "attention", *types("BSNH"), **attrs)
    one = [([1, size, 1, 24], "float32") for size in "nmm"]
    program.op("one", "attention", *one)
    program.op("near", "attention", *one, causal_mask="BottomRight", window_size=600)
    serial, threaded = (program.build(target=with_threads(n)) for n in (1, 5))
    for n, m in ((1, 77), (5, 33), (77, 600), (130, 40), (6, 1420)):
        for name in ("f0", "f1", "f2", "one", "near"):
            given = arrays("BSNH", sizes_of(n, m))
            if name in ("one", "near"):
                given = [sample((1, size, 1, 24), "float32", size) for size in (n, m, m)]
            check_bits(partial(bits, threaded[name], *given), bits(serial[name], *given))
