"""Vector code of nests: NaN in extrema, split sums, non-temporal stores, iterators."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from kernel_classes import elementwise, permutation, reduction, softmax
from kernels import Guarded, build, close, run, sizes, values

from relax_mlir.dialects.tir.builder import BufferDecl, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, binary, cast, compare, select, unary
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector import parallel_region
from relax_mlir.lowering.tir_to_vector.reductions import reduction as reductions
from relax_mlir.lowering.tir_to_vector.reductions import split_rows
from relax_mlir.runtime import num_threads, set_num_threads

pytestmark = pytest.mark.unoptimized

SHAPES = [(1, 1, 1), (3, 5, 70), (2, 3, 0), (0, 2, 3), (7, 130, 17), (2, 3, 517), (9, 40, 129)]


@pytest.fixture
def threads() -> Iterator[int]:
    """Return the most threads to build for, and let any number run."""
    before = num_threads()
    yield 3
    set_num_threads(before)


def by_all_counts(most: int, kernel: Any, *arguments: Any) -> np.ndarray:
    """Return what a kernel gives, the same bits for any number of threads."""
    results = []
    for count in range(1, most + 1):
        if most > 1:
            set_num_threads(count)
        results.append(run(kernel, *arguments))
    assert len({result.tobytes() for result in results}) == 1
    return results[0]


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("axes", [(2,), (1,), (0, 1, 2)])
def test_extrema_of_nan(kind: str, axes: tuple[int, ...]) -> None:
    made = build([reduction("f", kind, axes, "float32")])
    for shape in [(3, 5, 70), (2, 3, 200), (1, 150, 3), (2, 9, 64)]:
        x = values(shape, "float32")
        x[0, 1] = np.inf
        x[-1, 0] = -np.inf
        shape_out = tuple(d for i, d in enumerate(shape) if i not in axes)
        want = getattr(x, kind)(axis=axes)
        np.testing.assert_array_equal(run(made["f"], [x], shape_out, "float32"), want)
        for place in range(0, x.size, max(1, x.size // 97)):
            one = x.copy()
            one.flat[place] = np.nan
            want = getattr(one, kind)(axis=axes)
            np.testing.assert_array_equal(run(made["f"], [one], shape_out, "float32"), want)


@pytest.mark.parametrize("kind", ["sum", "max", "prod"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_sums_in_pieces(
    kind: str, dtype: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    monkeypatch.setattr(reductions, "_PIECE", 128)
    made = build([reduction("f", kind, (0, 1, 2), dtype)], threads=threads)
    for shape in [*SHAPES, (1, 1, 128), (1, 1, 129), (5, 100, 100)]:
        x = values(shape, dtype)
        x = np.sign(x) if kind == "prod" else x
        if kind == "max" and not x.size:
            continue
        want = getattr(x, kind)(dtype=dtype) if kind != "max" else x.max()
        got = by_all_counts(threads, made["f"], [x], (), dtype)
        close(got, np.asarray(want, dtype))


@pytest.mark.parametrize("kind", ["sum", "prod"])
def test_sums_of_rows_kept_in_the_cache(
    kind: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    monkeypatch.setattr(Machine, "far_bytes", 0)
    made = build([reduction("f", kind, (1,), "float32")], threads=threads)
    for shape in [*SHAPES, (2, 9, 1024), (1, 8, 517), (1, 7, 600), (1, 9, 8500)]:
        x = values(shape, "float32")
        x = np.sign(x) if kind == "prod" else x
        got = by_all_counts(threads, made["f"], [x], (shape[0], shape[2]), "float32")
        close(got, getattr(x, kind)(axis=1, dtype="float32"))


@pytest.mark.parametrize("l3_bytes", [4000, 1 << 40])
@pytest.mark.parametrize(
    ("kind", "dtype"), [("sum", "float32"), ("max", "int32"), ("prod", "float64")]
)
def test_sums_of_pieces_of_rows(
    kind: str, dtype: str, l3_bytes: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    monkeypatch.setattr(Machine, "far_bytes", 0)
    for name, value in (("_SHORT", 0), ("_MIN_ROWS", 2)):
        monkeypatch.setattr(split_rows, name, value)
    asked = [reduction("first", kind, (0,), dtype), reduction("both", kind, (0, 1), dtype)]
    made = build(asked, threads=threads, l3_bytes=l3_bytes)
    alone = build(asked, l3_bytes=l3_bytes)
    for shape in [*SHAPES, (16, 1, 1), (17, 5, 70), (67, 2, 65), (40, 3, 0), (130, 1, 4200)]:
        x = values(shape, dtype)
        x = np.sign(x) if kind == "prod" else x
        for name, axes in (("first", (0,)), ("both", (0, 1))):
            result = shape[len(axes) :]
            if kind == "max" and not np.prod(shape[: len(axes)]):
                continue
            got = by_all_counts(threads, made[name], [x], result, dtype)
            np.testing.assert_array_equal(got, run(alone[name], [x], result, dtype))
            more = {} if kind == "max" else {"dtype": dtype}
            close(got, getattr(x, kind)(axis=axes, **more))


@pytest.mark.parametrize("dims", [["m", "n"], [37, 529]])
def test_softmax_in_one_pass_less(dims: list[Any], threads: int) -> None:
    made = build([softmax("f", dims, 1)], threads=threads)
    for shape in [(1, 1), (3, 70), (5, 0), (37, 529)] if dims[0] == "m" else [(37, 529)]:
        x = values(shape, "float32") * 30
        power = np.exp(x - x.max(axis=1, keepdims=True, initial=-np.inf))
        got = by_all_counts(threads, made["f"], [x], shape, "float32")
        close(got, power / power.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("dims", [["m", "n"], [3, 529], [2, 4, 260]])
def test_rows_written_late(
    dims: list[Any], dtype: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    asked = [softmax(f"f{log}", dims, len(dims) - 1, dtype, log=bool(log)) for log in (0, 1)]
    far = build(asked, threads=threads, l3_bytes=1)
    near = build(asked, l3_bytes=1 << 40)
    some = [(1, 256), (7, 257), (3, 300), (2, 529), (5, 64), (3, 0), (0, 300), (1, 9001)]
    for shape in some if dims[0] == "m" else [tuple(dims)]:
        x = (values(shape, "float32") * 30).astype(dtype)
        for name, kernel in far.items():
            got = by_all_counts(threads, kernel, [x], shape, dtype)
            np.testing.assert_array_equal(got, run(near[name], [x], shape, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8"])
def test_stores_past_the_cache(dtype: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    all_ = ["a", "b", "c"]
    made = build(
        [
            elementwise("double", lambda x: x + x, [all_, all_], [dtype] * 2),
            elementwise("row", lambda x, y: x + y, [all_, ["c"], all_], [dtype] * 3),
            elementwise("fixed", lambda x: x + x, [[3, 5, 301], [3, 5, 301]], [dtype] * 2),
            *(
                permutation(f"order{i}", all_, order, dtype)
                for i, order in enumerate([(0, 2, 1), (2, 1, 0), (1, 0, 2), (1, 2, 0)])
            ),
        ],
        threads=threads,
        l3_bytes=4000,
    )
    # The last has several blocks of what is read of each row.
    for shape in [*SHAPES, (3, 5, 301), (16, 16, 64), (32, 48, 33), (1, 40, 1200)]:
        x = values(shape, dtype)
        row = values(shape[2:], dtype)
        np.testing.assert_array_equal(
            by_all_counts(threads, made["double"], [x], shape, dtype), x + x
        )
        got = by_all_counts(threads, made["row"], [x, row], shape, dtype)
        np.testing.assert_array_equal(got, x + row)
        if shape == (3, 5, 301):
            got = by_all_counts(threads, made["fixed"], [x], shape, dtype)
            np.testing.assert_array_equal(got, x + x)
        for i, order in enumerate([(0, 2, 1), (2, 1, 0), (1, 0, 2), (1, 2, 0)]):
            want = x.transpose(order)
            got = by_all_counts(threads, made[f"order{i}"], [x], want.shape, dtype)
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("l3_bytes", [4000, 1 << 40])
@pytest.mark.parametrize("order", [(0, 2, 1, 3), (2, 0, 1, 3), (2, 1, 0, 3)])
def test_copies_in_the_order_of_the_source(
    order: tuple[int, ...], l3_bytes: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    known: list[Any] = [3, 5, 4, 77]
    made = build(
        [
            permutation("known", known, order, "float32"),
            permutation("any", ["a", "b", "c", "d"], order, "float32"),
        ],
        threads=threads,
        l3_bytes=l3_bytes,
    )
    for shape in [(3, 5, 4, 77), (1, 2, 3, 16), (3, 5, 0, 2), (2, 3, 2, 300), (17, 1, 5, 9)]:
        x = values(shape, "float32")
        want = x.transpose(order)
        for name in ["any", "known"] if list(shape) == known else ["any"]:
            got = by_all_counts(threads, made[name], [x], want.shape, "float32")
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("l3_bytes", [4000, 1 << 40])
def test_functions_of_many_instructions(l3_bytes: int) -> None:
    """The code for several vectors and that for the rest under a mask, aligned or not."""
    square = elementwise("square", lambda x: binary("pow", x, 2), [["n"], ["n"]], ["float32"] * 2)
    made = build([square], l3_bytes=l3_bytes)
    for n in (0, 1, 15, 16, 17, 63, 64, 65, 127, 1000, 1023):
        x = values((n,), "float32")
        close(run(made["square"], [x], (n,), "float32"), x * x)


def numbered(name: str, dims: list[Any], body: Any, dtype: str) -> Any:
    """Return a builder of a function of an element and its indices."""

    def function() -> None:
        shape = sizes(dims)
        builder = PrimFuncBuilder(name, [BufferDecl(x, shape, dtype) for x in "AB"])
        with builder.body():
            source, out = builder.buffers
            with builder.nest(name, [("spatial", dim) for dim in shape]) as block:
                at = tuple(block)
                out.store(body(source[at], *at), at)

    return function


def lower_triangle(x: Scalar, i: Scalar, j: Scalar) -> Scalar:
    return select(compare("ge", i, j), x, 0)


def test_iterators_in_the_body(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    dims = ["m", "n"]
    made = build(
        [
            numbered("tril", dims, lower_triangle, "float32"),
            numbered("byte", dims, lambda x, i, j: x + cast(i * 3 + j, "int8"), "int8"),
            numbered("mod", dims, lambda x, i, j: x + cast(j % 5, "int64"), "int64"),
            numbered("one", [1, "n"], lambda x, i, j: x + cast(i + j, "int32"), "int32"),
            numbered("exp", dims, lambda x, i, j: unary("exp", x) + cast(j, "float32"), "float32"),
        ],
        threads=threads,
    )
    for m, n in [(1, 1), (3, 0), (5, 70), (61, 13), (9, 300)]:
        i, j = np.ogrid[:m, :n]
        x = values((m, n), "float32")
        get = lambda name, a: by_all_counts(threads, made[name], [a], a.shape, str(a.dtype))  # noqa: E731
        np.testing.assert_array_equal(get("tril", x), np.tril(x))
        close(get("exp", x), np.exp(x) + j.astype("f4"))
        y = values((m, n), "int8")
        np.testing.assert_array_equal(get("byte", y), y + (i * 3 + j).astype("i1"))
        z = values((m, n), "int64")
        np.testing.assert_array_equal(get("mod", z), z + j % 5)
        w = values((1, n), "int32")
        np.testing.assert_array_equal(get("one", w), w + j.astype("i4"))


def test_triangles_past_the_cache(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their vectors are narrow, so rows are aligned to less than the registers of several."""
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    body = lambda x, i, j: select(compare("ge", i - j, 0), x, 0)  # noqa: E731
    made = build([numbered("tril", ["m", "n"], body, "float32")], threads=threads, l3_bytes=4000)
    for shape in ((5, 17), (37, 1001), (9, 129)):
        x = values(shape, "float32")
        got = by_all_counts(threads, made["tril"], [x], shape, "float32")
        np.testing.assert_array_equal(got, np.tril(x))


def test_a_transposed_iterator_in_the_body() -> None:
    def function() -> None:
        m, n = sizes(["m", "n"])
        builder = PrimFuncBuilder(
            "f", [BufferDecl("A", [n, m], "float32"), BufferDecl("B", [m, n], "float32")]
        )
        with builder.body():
            source, out = builder.buffers
            with builder.nest("f", [("spatial", m), ("spatial", n)]) as (i, j):
                out.store(source[j, i] + cast(i * 100 + j, "float32"), (i, j))

    made = build([function])
    for m, n in [(1, 1), (5, 3), (16, 16), (37, 70)]:
        x = values((n, m), "float32")
        i, j = np.ogrid[:m, :n]
        close(run(made["f"], [x], (m, n), "float32"), x.T + (i * 100 + j).astype("f4"))


def test_a_place_in_the_output_is_read_first() -> None:
    """A map that reads what it writes must not use non-temporal stores, and is right in place."""
    made = build([elementwise("f", lambda x: x + 1, [["n"], ["n"]], ["float32"] * 2)])
    x = Guarded(values((1000,), "float32"))
    want = x.array + 1
    out = Guarded(np.zeros(1000, np.float32))
    made["f"](x.array, out.array)
    out.check()
    np.testing.assert_array_equal(out.array, want)


def placed(x: np.ndarray, elements: int) -> np.ndarray:
    """Return a copy that begins `elements` elements after the beginning of a cache line."""
    raw = np.empty(x.nbytes + 192, np.uint8)
    start = -raw.ctypes.data % 64 + elements * x.itemsize
    made = raw[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
    made[...] = x
    return made


@pytest.mark.parametrize("l3_bytes", [4000, 1 << 40])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
def test_transposes_wherever_tensors_begin(
    dtype: str, l3_bytes: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Non-temporal stores must be aligned, and tiles begin with cache lines of the source."""
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    known = [(130, 144), (144, 130), (128, 192), (8, 1024), (1024, 24), (2, 16, 192), (2, 129, 131)]
    shapes: list[list[Any]] = [list(shape) for shape in known]
    made = build(
        [
            permutation(f"f{i}", dims, [*range(len(dims) - 2), len(dims) - 1, len(dims) - 2], dtype)
            for i, dims in enumerate([*shapes, ["m", "n"], ["b", "m", "n"]])
        ],
        threads=threads,
        l3_bytes=l3_bytes,
    )
    for i, shape in enumerate(known):
        x = values(shape, dtype)
        want = np.swapaxes(x, -1, -2)
        for begin, out_begin in [(0, 0), (3, 0), (15, 0), (4, 4), (1, 8)]:
            for name in (f"f{i}", f"f{len(known) + len(shape) - 2}"):
                out = placed(np.full_like(want, -1), out_begin)
                made[name](placed(x, begin), out)
                np.testing.assert_array_equal(out, want)


def add_transpose() -> None:
    builder = PrimFuncBuilder(
        "f", [BufferDecl(name, sizes([160, 160]), "float32") for name in "AB"]
    )
    with builder.body():
        source, out = builder.buffers
        with builder.nest("f", [("spatial", 160), ("spatial", 160)]) as (i, j):
            out.store(source[j, i] + out[i, j], (i, j))


def test_a_transpose_added_in_place() -> None:
    """What is written is read, so no element may be computed twice."""
    made = build([add_transpose])
    x, y = values((160, 160), "float32"), values((160, 160), "float32") + 1
    for begin in (0, 3):
        out = placed(y, 0)
        made["f"](placed(x, begin), out)
        np.testing.assert_array_equal(out, x.T + y)
