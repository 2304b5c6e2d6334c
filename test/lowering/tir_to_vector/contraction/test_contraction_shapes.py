"""Contractions of known shapes: each kind of kernel, each rest of rows and columns, any threads."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from kernel_classes import classify
from kernels import build, close, contraction, run, values
from targets import WIDTHS

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.lowering.tir_to_vector import parallel_region
from relax_mlir.lowering.tir_to_vector.contraction.blocking import RowTiles, column_tiles
from relax_mlir.runtime import num_threads, set_num_threads

pytestmark = pytest.mark.unoptimized

# Rows, depth, columns: few rows, one tile, tiles of two sizes, several blocks of k and of columns.
SHAPES = (
    (1, 70, 33), (1, 9, 4200), (2, 17, 50), (3, 1100, 19), (4, 33, 40), (11, 5, 31), (13, 64, 32),
    (23, 600, 7), (25, 520, 65), (37, 61, 129), (77, 48, 96), (60, 1030, 530), (1, 0, 5), (5, 0, 9),
    (2, 0, 3), (0, 4, 5), (3, 4, 0), (1, 1, 1), (19, 35, 112), (10, 601, 80), (13, 3, 17),
    (50, 1700, 49),
)  # fmt: skip
SOME = SHAPES[1:3] + SHAPES[8:12]


@pytest.fixture
def few_threads() -> Iterator[None]:
    before = num_threads()
    yield
    set_num_threads(before)


def made(spec: str, dtypes: tuple[str, str], shapes: Sequence = SHAPES, **options: object) -> dict:
    functions = [
        contraction(f"f{i}", spec, dict(zip("mkn", shape, strict=True)), dtypes)
        for i, shape in enumerate(shapes)
    ]
    return build(functions, **options)


def arguments(spec: str, shape: tuple[int, int, int], dtype: str) -> list[np.ndarray]:
    sizes = dict(zip("mkn", shape, strict=True))
    return [values([sizes[x] for x in part], dtype) for part in spec.split("->")[0].split(",")]


@pytest.mark.parametrize(
    ("spec", "dtypes"),
    [
        ("mk,kn->mn", ("float32", "float32")),
        ("mk,nk->mn", ("float32", "float32")),
        ("km,nk->mn", ("float64", "float64")),
        ("mk,kn->mn", ("int32", "int32")),
        ("mk,nk->mn", ("float16", "float32")),
    ],
)
def test_known_shapes(spec: str, dtypes: tuple[str, str]) -> None:
    shapes = SHAPES if dtypes == ("float32",) * 2 else SOME
    functions = made(spec, dtypes, shapes)
    for i, shape in enumerate(shapes):
        inputs = arguments(spec, shape, dtypes[0])
        exact = "float64" if "float" in dtypes[0] else "int64"
        want = np.einsum(spec, *(x.astype(exact) for x in inputs)).astype(dtypes[1])
        got = run(functions[f"f{i}"], inputs, [shape[0], shape[2]], dtypes[1])
        if "float" in dtypes[1]:
            np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3, err_msg=str(shape))
        else:
            close(got, want)


@pytest.mark.parametrize(("bits", "units"), [(512, 1), (512, 2), (256, 2)])
@pytest.mark.parametrize("unknown", ["m", "n", "k", "mk", "mn", "kn", "mkn"])
def test_some_sizes_known(unknown: str, bits: int, units: int) -> None:
    spec = "mk,kn->mn"
    # Too few rows or columns to pack, or enough; the last tiles and panels whole or not.
    shapes = ((5, 70, 31), (13, 33, 64), (45, 300, 33), (261, 300, 96), (60, 1030, 530))
    functions = []
    for i, shape in enumerate(shapes):
        dims = {x: x if x in unknown else size for x, size in zip("mkn", shape, strict=True)}
        functions.append(contraction(f"f{i}", spec, dims))
    if unknown == "mkn":
        functions = functions[:1]
    made = build(functions, target=WIDTHS[bits], fma_units=units)
    for i, shape in enumerate(shapes):
        inputs = arguments(spec, shape, "float32")
        want = inputs[0].astype("f8") @ inputs[1].astype("f8")
        got = run(made[f"f{i % len(functions)}"], inputs, want.shape, "float32")
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3, err_msg=str(shape))


@pytest.mark.parametrize("bits", [512, 256, 128])
@pytest.mark.parametrize(
    ("dtypes", "unknown"),
    [
        (("float32", "float32"), ""),
        (("float32", "float32"), "mkn"),
        (("float32", "float32"), "m"),
        (("float64", "float64"), "mkn"),
        (("float16", "float32"), "mkn"),
        (("int32", "int32"), "m"),
    ],
)
def test_adjacent_rows(dtypes: tuple[str, str], unknown: str, bits: int) -> None:
    spec = "km,kn->mn"
    # The last two are far: a small cache, steps a kilobyte apart or more, few columns.
    shapes = ((1, 30, 20), (13, 33, 64), (37, 1100, 61), (256, 40, 40), (512, 600, 17))
    functions = []
    for i, shape in enumerate(shapes):
        dims = {x: x if x in unknown else size for x, size in zip("mkn", shape, strict=True)}
        functions.append(contraction(f"f{i}", spec, dims, dtypes))
    functions = functions[:1] if unknown == "mkn" else functions
    made = build(functions, target=WIDTHS[bits], l2_bytes=1 << 14)
    for i, shape in enumerate(shapes):
        inputs = arguments(spec, shape, dtypes[0])
        exact = "float64" if "float" in dtypes[0] else "int64"
        want = np.einsum(spec, *(x.astype(exact) for x in inputs)).astype(dtypes[1])
        got = run(made[f"f{i % len(functions)}"], inputs, want.shape, dtypes[1])
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3, err_msg=str(shape))


@pytest.mark.parametrize("unknown", ["", "m", "mkn"])
def test_few_rows_of_a_large_matrix(
    unknown: str, monkeypatch: pytest.MonkeyPatch, few_threads: None
) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    spec, k, n = "mk,kn->mn", 277, 4133
    rows = (4, 7, 8, 9) if not unknown else (0, 1, 2, 3, 4, 5, 8, 9)
    dims = [dict(zip("mkn", (m, k, n), strict=True)) for m in rows[: None if not unknown else 1]]
    kernels = [
        contraction(f"f{i}", spec, {x: x if x in unknown else d[x] for x in d})
        for i, d in enumerate(dims)
    ]
    # The cache is smaller than the matrix of either, so that it is read in order.
    one = build(kernels, l2_bytes=1 << 20)
    more = build(kernels, l2_bytes=1 << 20, threads=3)
    for i, m in enumerate(rows):
        inputs = arguments(spec, (m, k, n), "float32")
        name = f"f{0 if unknown else i}"
        got = run(one[name], inputs, [m, n], "float32")
        want = inputs[0].astype("f8") @ inputs[1].astype("f8")
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3, err_msg=str(m))
        again = run(more[name], inputs, [m, n], "float32")
        assert again.tobytes() == got.tobytes(), m


@pytest.mark.parametrize("spec", ["mk,kn->mn", "mk,nk->mn"])
def test_same_bits_on_any_threads(
    spec: str, monkeypatch: pytest.MonkeyPatch, few_threads: None
) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    types = ("float32", "float32")
    serial, threaded = made(spec, types, SOME), made(spec, types, SOME, threads=5)
    for i, shape in enumerate(SOME):
        inputs = arguments(spec, shape, "float32")
        want = run(serial[f"f{i}"], inputs, [shape[0], shape[2]], "float32").tobytes()
        for count in (1, 2, 3, 5):
            set_num_threads(count)
            got = run(threaded[f"f{i}"], inputs, [shape[0], shape[2]], "float32").tobytes()
            assert got == want, (shape, count)


@pytest.mark.parametrize("units", [1, 2])
def test_any_number_of_rows(units: int, monkeypatch: pytest.MonkeyPatch, few_threads: None) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    kernel = contraction("f", "mk,kn->mn", {"m": "m", "k": "k", "n": "n"})
    one = build([kernel], target=WIDTHS[512], fma_units=units)
    more = build([kernel], target=WIDTHS[512], threads=3, fma_units=units)
    # Threads share rows, where there are enough, as there are few columns.
    for m in (*range(20), *range(44, 64)):
        inputs = arguments("mk,kn->mn", (m, 19, 50), "float32")
        got = run(one["f"], inputs, [m, 50], "float32")
        want = inputs[0].astype("f8") @ inputs[1].astype("f8")
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-5, err_msg=str(m))
        assert run(more["f"], inputs, [m, 50], "float32").tobytes() == got.tobytes(), m


@pytest.mark.parametrize(("init", "units"), [(0, 2), (None, 2), (0, 1), (None, 1)])
def test_any_number_of_columns(
    init: float | None, units: int, monkeypatch: pytest.MonkeyPatch, few_threads: None
) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    kernel = contraction("f", "mk,kn->mn", {"m": "m", "k": "k", "n": "n"}, init=init)
    # Blocks of k begin and end within 1100 steps; threads share rows.
    one = build([kernel], target=WIDTHS[512], fma_units=units)
    more = build([kernel], target=WIDTHS[512], threads=3, fma_units=units)
    for n in range(1, 41):
        for m, k in ((1, 13), (3, 20), (9, 0), (23, 7), (31, 1100), (40, 300)):
            inputs = arguments("mk,kn->mn", (m, k, n), "float32")
            if init is None:
                got, again = np.ones([2, m, n], "float32")
                one["f"](*inputs, got)
                more["f"](*inputs, again)
            else:
                got, again = (run(x["f"], inputs, [m, n], "float32") for x in (one, more))
            want = inputs[0].astype("f8") @ inputs[1].astype("f8") + (init is None)
            np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3, err_msg=f"{m}, {k}, {n}")
            assert again.tobytes() == got.tobytes(), (m, k, n)


def test_long_batches() -> None:
    # Memory on the stack taken anew for each product of a batch overflowed it.
    kernel = contraction("f", "bmk,bkn->bmn", {x: x for x in "bmkn"})
    for threads in (1, 2):
        made = build([kernel], threads=threads)
        for m in (5, 40):
            inputs = [values([20_000, m, 3], "float32"), values([20_000, 3, 7], "float32")]
            close(run(made["f"], inputs, [20_000, m, 7], "float32"), inputs[0] @ inputs[1])


@pytest.mark.parametrize(("dtype", "bits"), [("float32", 512), ("float32", 256), ("float64", 512)])
def test_few_rows_by_panels(
    dtype: str, bits: int, monkeypatch: pytest.MonkeyPatch, few_threads: None
) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    # Panels of 32 columns: m unknown, then known; the last has rows that no cache would keep.
    rows = ("m", 1, 3, 6, 8, 9, "m")
    spec, dims = "mk,pkn->mpn", {"p": 5, "k": 83, "n": 32}
    kernels = [
        contraction(f"f{i}", spec, {**dims, "m": m}, (dtype,) * 2) for i, m in enumerate(rows[:-1])
    ]
    kernels.append(contraction("f6", spec, {"m": "m", "p": 2, "k": 100_003, "n": 32}, (dtype,) * 2))
    one = build(kernels, target=WIDTHS[bits])
    more = build(kernels, target=WIDTHS[bits], threads=3)
    for i, known in enumerate(rows):
        p, k = (2, 100_003) if i == 6 else (5, 83)
        matrices = values([p, k, 32], dtype)
        some = (1, 4, 8, 9) if i == 6 else (0, 1, 2, 4, 5, 7, 8, 9, 13)
        for m in some if known == "m" else (known,):
            inputs = [values([m, k], dtype), matrices]
            got = run(one[f"f{i}"], inputs, [m, p, 32], dtype)
            want = np.einsum(spec, *(x.astype("f8") for x in inputs))
            np.testing.assert_allclose(got, want, rtol=1e-3, atol=k * 1e-6, err_msg=f"{m}, {k}")
            for count in (1, 3):
                set_num_threads(count)
                again = run(more[f"f{i}"], inputs, [m, p, 32], dtype)
                assert again.tobytes() == got.tobytes(), (m, k, count)


def test_special_values() -> None:
    functions = made("mk,kn->mn", ("float32", "float32"), SOME)
    for i, shape in enumerate(SOME):
        a, b = arguments("mk,kn->mn", shape, "float32")
        a[-1, -1], b[0, -1], a[0, 0] = np.inf, np.nan, 1e-42
        with np.errstate(invalid="ignore"):
            want = a.astype("f8") @ b.astype("f8")
        got = run(functions[f"f{i}"], [a, b], want.shape, "float32")
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want), err_msg=str(shape))
        np.testing.assert_array_equal(np.isinf(got), np.isinf(want), err_msg=str(shape))


# Two sums, of adjacent matrices: rows, columns, and what they are summed over.
SUMS = (
    (1, 5, 3, 7),
    (9, 48, 4, 33),
    (37, 61, 5, 129),
    (13, 530, 3, 600),
    (4, 3, 1, 2),
    (5, 7, 2, 0),
)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_sums_of_products(dtype: str, few_threads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    spec = "bmk,bkn->mn"
    shapes = [dict(zip("mnbk", shape, strict=True)) for shape in SUMS]
    kernels = [contraction(f"f{i}", spec, d, (dtype,) * 2) for i, d in enumerate(shapes)]
    one, two = build(kernels), build(kernels, threads=2)
    for i, sizes in enumerate(shapes):
        inputs = [values([sizes[x] for x in part], dtype) for part in ("bmk", "bkn")]
        want = np.einsum(spec, *inputs)
        got = run(one[f"f{i}"], inputs, want.shape, dtype)
        close(got, want)
        np.testing.assert_array_equal(run(two[f"f{i}"], inputs, want.shape, dtype), got)


def test_sums_of_products_are_no_windows() -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            for i, spec in enumerate(("bmk,bkn->mn", "mbk,bkn->mn", "kbm,bkn->mn")):
                dims = {"b": 4, "m": 20, "k": 30, "n": 40}
                contraction(f"f{i}", spec, dims, ("float32",) * 2)()
        kinds = [info.kind for op in module.body.operations for info in classify(op)]
    assert kinds == ["contraction", "contraction", "window"]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    ("most", "full"),
    [(6, False), (9, False), (12, False), (32, True)],
)
def test_row_tiles_cover_every_row_once(most: int, full: bool, known: bool) -> None:
    class Numbers:
        max, min = staticmethod(max), staticmethod(min)
        select = staticmethod(lambda condition, a, b: a if condition else b)

    for rows in range(200):
        # A number of numpy's is no `int`: it stands for one that is known at run time only.
        tiles = RowTiles(Numbers(), rows if known else np.int64(rows), most, full)
        for cut in range(tiles.count + 1):
            seen: list[int] = []
            for first, last in ((0, cut), (cut, tiles.count)):
                for loop in tiles.loops(first, last):
                    for number in range(loop.first, loop.last):
                        start = number * loop.rows + loop.base
                        count = min(loop.rows, rows - start) if loop.partial else loop.rows
                        seen += range(start, start + count)
                        assert 0 < count <= loop.rows <= most
            assert seen == list(range(rows))
        loops = list(tiles.loops(0, tiles.count))
        computed = sum(x.rows * max(0, x.last - x.first) for x in loops)
        if not full:
            # Less than a small tile is wasted.
            assert computed < rows + most // 3
            # Enough rows are a sum of the two largest tiles.
            assert rows < most * (most - 1) or computed == rows


@pytest.mark.parametrize("threads", [2, 3, 5])
@pytest.mark.parametrize("most", [6, 9, 12])
def test_threads_share_tiles_of_known_rows(most: int, threads: int) -> None:
    for rows in range(200):
        tiles = RowTiles(None, rows, most, threads=threads)
        alone = RowTiles(None, rows, most)
        assert tiles.count % threads == 0 or tiles.count == alone.count
        # As many of them have enough rows, or tiles are those of one thread.
        shared = -(-alone.count // threads) * threads
        assert (tiles.count == shared) == (rows >= 5 * shared or shared == alone.count)
        assert tiles.largest <= most
        assert (
            (tiles.largest - 1) * tiles.count < max(1, rows) <= max(1, tiles.largest * tiles.count)
        )


@pytest.mark.parametrize("known", [True, False])
def test_column_tiles_cover_every_column_once(known: bool) -> None:
    class Numbers:
        max, min = staticmethod(max), staticmethod(min)
        round_down = staticmethod(lambda a, step: a // step * step)

    lanes = 16
    for columns in range(300):
        exact = columns % lanes == 0
        cut = column_tiles(Numbers(), columns if known else np.int64(columns), lanes, exact)
        end, vectors = 0, 0
        for tiles in cut:
            assert tiles.first == end
            end, width = tiles.last, tiles.vectors * lanes
            left = (tiles.last - tiles.first) % width
            assert tiles.masked or not left
            vectors += -(-(tiles.last - tiles.first) // width) * tiles.vectors
        assert end == columns
        # No vector is wasted, unless there is only one.
        assert vectors == max(-(-columns // lanes), 2 if columns else 0)
