"""Prim funcs as vector code: numbers against numpy at every edge, and no byte beside a buffer."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from kernel_classes import IDENTITY, classify, elementwise, permutation, reduction, softmax
from kernels import Guarded, Size, build, close, contraction, run, sizes, values
from targets import WIDTHS

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.dialects.tir.builder import BufferDecl, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import binary, cast, const, select, unary
from relax_mlir.errors import PassError
from relax_mlir.lowering.tir_to_vector.lower_tir import lower_tir

pytestmark = pytest.mark.unoptimized

LETTERS = "bhklmn"
DYNAMIC: dict[str, Size] = {letter: letter for letter in LETTERS}
STATIC: dict[str, Size] = {"b": 3, "h": 2, "k": 70, "l": 5, "m": 13, "n": 35}
SPECS = (
    "mk,kn->mn", "mk,nk->mn", "km,kn->mn", "km,nk->mn", "bmk,bkn->bmn", "bmk,kn->bmn",
    "bmk,bnk->bmn", "hbmk,hbkn->bmhn", "k,kn->n", "mk,k->m", "mk,kn->nm", "mkl,kln->mn", "m,n->mn",
    "bk,bkn->bn",
)  # fmt: skip
# Nothing, one, odd, prime, more than a register tile, more than a block of the cache.
EXTENTS = (
    {"b": 3, "h": 2, "k": 70, "l": 5, "m": 13, "n": 35},
    {"b": 1, "h": 1, "k": 1, "l": 1, "m": 1, "n": 1},
    {"b": 2, "h": 3, "k": 3, "l": 2, "m": 5, "n": 0},
    {"b": 2, "h": 3, "k": 0, "l": 2, "m": 5, "n": 7},
    {"b": 2, "h": 3, "k": 4, "l": 2, "m": 0, "n": 7},
    {"b": 2, "h": 1, "k": 61, "l": 7, "m": 37, "n": 129},
    {"b": 1, "h": 1, "k": 401, "l": 2, "m": 17, "n": 33},
    {"b": 1, "h": 1, "k": 390, "l": 1, "m": 50, "n": 530},
    {"b": 2, "h": 2, "k": 9, "l": 3, "m": 3, "n": 150},
)


def check_contraction(
    function: Any, spec: str, dims: dict[str, int], dtypes: tuple[str, str]
) -> None:
    inputs, out = spec.split("->")
    arrays = [values([dims[x] for x in letters], dtypes[0]) for letters in inputs.split(",")]
    exact = "float64" if "float" in dtypes[0] else "int64"
    want = np.einsum(spec, *(a.astype(exact) for a in arrays)).astype(dtypes[1])
    close(run(function, arrays, [dims[x] for x in out], dtypes[1]), want)


@pytest.fixture(scope="module")
def contractions() -> dict[str, Any]:
    made = []
    for number, spec in enumerate(SPECS):
        made.append(contraction(f"dynamic{number}", spec, DYNAMIC))
        made.append(contraction(f"static{number}", spec, STATIC))
    return build(made)


@pytest.mark.parametrize("spec", SPECS)
def test_contraction(contractions: dict[str, Any], spec: str) -> None:
    number = SPECS.index(spec)
    check_contraction(contractions[f"static{number}"], spec, EXTENTS[0], ("float32", "float32"))
    for dims in EXTENTS:
        check_contraction(contractions[f"dynamic{number}"], spec, dims, ("float32", "float32"))


@pytest.mark.parametrize(
    "dtypes",
    [
        ("float64", "float64"), ("int32", "int32"), ("int64", "int64"), ("int8", "int8"),
        ("float16", "float32"), ("int8", "int32"), ("uint8", "int32"),
    ],
)  # fmt: skip
def test_contraction_dtypes(dtypes: tuple[str, str]) -> None:
    specs = ("mk,kn->mn", "bmk,bnk->bmn")
    made = build([contraction(f"f{i}", spec, DYNAMIC, dtypes) for i, spec in enumerate(specs)])
    for i, spec in enumerate(specs):
        for dims in EXTENTS:
            check_contraction(made[f"f{i}"], spec, dims, dtypes)


@pytest.mark.parametrize("bits", [256, 128])
def test_narrower_machines(bits: int) -> None:
    kernels = [contraction("f", "mk,kn->mn", DYNAMIC), softmax("g", ["m", "n"], 1)]
    made = build(kernels, target=WIDTHS[bits])
    for dims in EXTENTS:
        check_contraction(made["f"], "mk,kn->mn", dims, ("float32", "float32"))
        check_softmax(made["g"], (dims["m"], dims["n"]), 1, "float32")


def test_contraction_adds_to_what_is_there() -> None:
    made = build([contraction("more", "mk,kn->mn", DYNAMIC, init=None)])
    a, b = values((17, 400), "float32"), values((400, 50), "float32")
    held = Guarded(np.full((17, 50), 3, np.float32))
    made["more"](a, b, held.array)
    close(held.array, a @ b + 3)


def test_contraction_starts_from_its_init() -> None:
    made = build([contraction("start", "mk,kn->mn", DYNAMIC, init=2.5)])
    for k in (0, 5, 400):
        a, b = values((17, k), "float32"), values((k, 50), "float32")
        close(run(made["start"], [a, b], (17, 50), "float32"), (a @ b + 2.5).astype(np.float32))


GRID = [(0, 3), (1, 1), (3, 0), (5, 16), (7, 33), (64, 64), (31, 127)]


def test_elementwise_and_broadcast() -> None:
    m_n: list[Size] = ["m", "n"]
    f32 = ["float32"] * 3
    made = build(
        [
            elementwise("add", lambda x, y: x + y, [m_n] * 3, f32),
            elementwise("bias", lambda x, y: binary("max", x + y, 0.0), [m_n, ["n"], m_n], f32),
            elementwise(
                "column", lambda x, y: x * y, [m_n, ["m", 1], m_n], f32,
                lambda at, i: (at[0], 0 if i else at[1]),
            ),
            elementwise("one", lambda x, y: x - y, [m_n, [], m_n], f32),
            elementwise("exp", lambda x: unary("exp", x), [m_n] * 2, f32[:2]),
            elementwise("less", lambda x, y: x < y, [m_n] * 3, [*f32[:2], "bool"]),
            elementwise("pick", lambda c, x: select(c, x, 0.0), [m_n] * 3, ["bool", *f32[:2]]),
            elementwise("cast", lambda x: cast(x, "int64"), [m_n] * 2, ["float32", "int64"]),
            elementwise("half", lambda x, y: x * y, [m_n] * 3, ["float16"] * 3),
            elementwise("bytes", lambda x, y: x + y, [m_n] * 3, ["int8"] * 3),
            elementwise(
                "quotient", lambda x, y: binary("floordiv", x, y), [m_n] * 3, ["int32"] * 3
            ),
            elementwise("scalar", lambda x: x + 1.0, [[], []], f32[:2]),
        ]
    )  # fmt: skip
    for shape in GRID:
        x, y = values(shape, "float32"), values(shape[::-1], "float32").reshape(shape)
        n, m = values(shape[1:], "float32"), values((shape[0], 1), "float32")
        close(run(made["add"], [x, y], shape, "float32"), x + y)
        close(run(made["bias"], [x, n], shape, "float32"), np.maximum(x + n, 0))
        close(run(made["column"], [x, m], shape, "float32"), x * m)
        close(run(made["one"], [x, np.float32(3)], shape, "float32"), x - np.float32(3))
        close(run(made["exp"], [x], shape, "float32"), np.exp(x))
        close(run(made["less"], [x, y], shape, "bool"), x < y)
        close(run(made["pick"], [x < y, x], shape, "float32"), np.where(x < y, x, np.float32(0)))
        close(run(made["cast"], [x * 9], shape, "int64"), (x * 9).astype(np.int64))
        h = x.astype(np.float16)
        close(run(made["half"], [h, h], shape, "float16"), h * h)
        i, j = values(shape, "int8"), values(shape, "int32") + 1
        close(run(made["bytes"], [i * 5, i], shape, "int8"), i * 5 + i)
        # A divisor of zero would end the process: none may be made up beyond an edge.
        close(run(made["quotient"], [j * 7, j], shape, "int32"), j * 7 // j)
    close(run(made["scalar"], [np.float32(2)], (), "float32"), np.float32(3))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8"])
def test_permutations(dtype: str) -> None:
    orders = [(0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    made = build(
        [permutation(f"p{i}", ["a", "b", "c"], order, dtype) for i, order in enumerate(orders)]
    )
    for shape in [(3, 4, 5), (1, 1, 1), (0, 3, 4), (17, 33, 16), (3, 64, 32), (40, 2, 19)]:
        x = values(shape, dtype)
        for i, order in enumerate(orders):
            want = np.transpose(x, order)
            close(run(made[f"p{i}"], [x], want.shape, dtype), want)


def test_transposed_operand_beside_others() -> None:
    shapes: list[Sequence[Size]] = [["m", "n"], ["n", "m"], ["m"], ["m", "n"]]
    made = build(
        [
            elementwise(
                "mixed", lambda x, y, z: x + y * z, shapes, ["float32"] * 4,
                lambda at, i: (tuple(at), tuple(at)[::-1], tuple(at)[:1])[i],
            )
        ]
    )  # fmt: skip
    for m, n in GRID:
        x, y, z = (values(shape, "float32") for shape in ((m, n), (n, m), (m,)))
        close(run(made["mixed"], [x, y, z], (m, n), "float32"), x + y.T * z[:, None])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_reductions(dtype: str) -> None:
    all_axes = [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)]
    kinds = list(IDENTITY) if dtype == "float32" else ["sum", "max"]
    made = build(
        [
            reduction(f"{kind}{i}", kind, axes, dtype)
            for kind in kinds
            for i, axes in enumerate(all_axes)
        ]
    )
    for shape in [(3, 5, 70), (1, 1, 1), (2, 3, 0), (2, 0, 3), (0, 2, 3), (7, 130, 17)]:
        x = values(shape, dtype)
        for kind in kinds:
            data = (x / 50 + 1).astype(dtype) if kind == "prod" else x
            start = IDENTITY[kind]
            if dtype == "int32" and math.isinf(start):
                start = 2**31 - 1 if start > 0 else -(2**31)
            for i, axes in enumerate(all_axes):
                wide = data.astype(np.float64) if "float" in dtype else data
                want = np.asarray(getattr(np, kind)(wide, axis=axes, initial=start)).astype(dtype)
                got = run(made[f"{kind}{i}"], [data], want.shape, dtype)
                close(got, want) if kind != "prod" else np.testing.assert_allclose(got, want, 1e-3)


def test_maximum_keeps_nan() -> None:
    made = build([reduction("peak", "max", (2,), "float32")])
    for position in (0, 20, 69):
        x = values((1, 2, 70), "float32")
        x[0, 1, position] = np.nan
        got = run(made["peak"], [x], (1, 2), "float32")
        assert not np.isnan(got[0, 0])
        assert np.isnan(got[0, 1])


def check_softmax(function: Any, shape: Sequence[int], axis: int, dtype: str) -> None:
    x = values(shape, dtype)
    wide = x.astype(np.float64)
    power = np.exp(wide - wide.max(axis, keepdims=True, initial=-np.inf))
    with np.errstate(invalid="ignore"):
        want = (power / power.sum(axis, keepdims=True)).astype(dtype)
    close(run(function, [x], shape, dtype), want)


def test_softmax() -> None:
    cases = {
        "first": (["a", "b", "c"], 0, "float32"),
        "middle": (["a", "b", "c"], 1, "float32"),
        "last": (["a", "b", "c"], 2, "float32"),
        "half": (["a", "b", "c"], 2, "float16"),
    }
    made = build([softmax(name, *case) for name, case in cases.items()])
    for shape in [(3, 5, 70), (1, 1, 1), (2, 3, 0), (0, 2, 3), (7, 130, 17), (5, 64, 64)]:
        for name, (_, axis, dtype) in cases.items():
            check_softmax(made[name], shape, axis, dtype)
    ten = build([softmax("ten", ["m", 10], 1)])["ten"]
    for rows in (0, 1, 17, 64):
        check_softmax(ten, (rows, 10), 1, "float32")


def test_rows_by_blocks() -> None:
    # Blocks of sixteen rows, of what the fastest cache holds, and of one that comes from far away.
    shapes = [(33, 20), (3, 17, 130), (5, 1, 4099), (1030, 520)]
    for dtype in ("float32", "float16"):
        cases = [softmax(f"f{i}", shape, len(shape) - 1, dtype) for i, shape in enumerate(shapes)]
        made, threaded = build(cases), build(cases, threads=2)
        for i, shape in enumerate(shapes):
            check_softmax(made[f"f{i}"], shape, len(shape) - 1, dtype)
            x = values(shape, dtype)
            one, two = (run(each[f"f{i}"], [x], shape, dtype) for each in (made, threaded))
            np.testing.assert_array_equal(one, two)


def flat_copy() -> None:
    (n,) = sizes(["n"])
    decls = [BufferDecl("A", [n, 6], "float32"), BufferDecl("C", [n * 2, 3], "float32")]
    builder = PrimFuncBuilder("reshape", decls)
    with builder.body():
        source, out = (builder.linear(buffer) for buffer in builder.buffers)
        with builder.nest("reshape", [("spatial", n * 6)]) as (i,):
            out.store(source[i], i)
        # Through the buffer itself: the views must not hide that this reads what is written above.
        _, whole = builder.buffers
        with builder.nest("twice", [("spatial", n * 2), ("spatial", 3)]) as (i, j):
            whole.store(whole[i, j] + whole[i, j], (i, j))


def test_flat_views() -> None:
    made = build([flat_copy])
    for rows in (0, 1, 5, 40):
        x = values((rows, 6), "float32")
        close(run(made["reshape"], [x], (rows * 2, 3), "float32"), 2 * x.reshape(rows * 2, 3))


def window() -> None:
    h, w, n = sizes(["h", "w", "n"])
    decls = [
        BufferDecl("A", [h + 2, w + 2, 4], "float32"),
        BufferDecl("B", [3, 3, 4, n], "float32"),
        BufferDecl("C", [h, w, n], "float32"),
    ]
    builder = PrimFuncBuilder("window", decls)
    axes = [*(("spatial", dim) for dim in (h, w, n)), *(("reduction", dim) for dim in (3, 3, 4))]
    with builder.body():
        a, b, c = builder.buffers
        with builder.nest("window", axes) as (i, j, o, p, q, k):
            c.store(c[i, j, o] + a[i + p, j + q, k] * b[p, q, k, o], (i, j, o))


def test_window_is_a_contraction_too() -> None:
    made = build([window])
    for h, w, n in [(1, 1, 1), (5, 7, 20), (14, 13, 33)]:
        a, b = values((h + 2, w + 2, 4), "float32"), values((3, 3, 4, n), "float32")
        out = np.ones((h, w, n), np.float32)
        made["window"](a, b, out)
        views = np.lib.stride_tricks.sliding_window_view(a, (3, 3), (0, 1))
        close(out, 1 + np.einsum("ijkpq,pqko->ijo", views, b))


def gather() -> None:
    n, m = sizes(["n", "m"])
    decls = [
        BufferDecl("A", [m], "float32"),
        BufferDecl("I", [n], "int64"),
        BufferDecl("C", [n], "float32"),
    ]
    builder = PrimFuncBuilder("gather", decls)
    with builder.body():
        table, index, out = builder.buffers
        with builder.nest("gather", [("spatial", n)]) as (i,):
            out.store(table[index[i]], i)


def scattered() -> None:
    n, m = sizes(["n", "m"])
    decls = [
        BufferDecl("A", [n], "float32"),
        BufferDecl("I", [n], "int64"),
        BufferDecl("C", [m], "float32"),
    ]
    builder = PrimFuncBuilder("scattered", decls)
    with builder.body():
        source, index, out = builder.buffers
        with builder.nest("scattered", [("spatial", n)]) as (i,):
            out.store(source[i], index[i])


def iota() -> None:
    (n,) = sizes(["n"])
    builder = PrimFuncBuilder("iota", [BufferDecl("C", [n * 2], "int64")], ["n"])
    with builder.body():
        (out,) = builder.buffers
        with builder.nest("iota", [("spatial", n * 2)], kind="parallel") as (i,):
            out.store(cast(i, "int64"), i)


def test_what_has_no_fast_path_still_runs() -> None:
    made = build([gather, scattered, iota])
    table, index = values((9,), "float32"), np.array([8, 0, 3, 3], np.int64)
    out = np.zeros(4, np.float32)
    made["gather"](table, index, out)
    np.testing.assert_array_equal(out, table[index])
    made["scattered"](np.arange(3, dtype=np.float32), np.array([3, 0, 1]), out)
    np.testing.assert_array_equal(out[[3, 0, 1]], np.arange(3))
    numbers = Guarded(np.zeros(14, np.int64))
    made["iota"](numbers.array, 7)
    numbers.check()
    np.testing.assert_array_equal(numbers.array, np.arange(14))


def test_classify_names_the_reason() -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            contraction("f", "mk,nk->mn", DYNAMIC)()
            softmax("g", ["m", "n"], 1)()
            permutation("h", ["m", "n"], (1, 0), "float32")()
            gather()
            scattered()
            iota()
        told = [info for op in module.body.operations for info in classify(op)]
    assert [(info.name, info.kind, info.fast) for info in told] == [
        ("contract", "contraction", True),
        ("peak", "reduction", True),
        ("exps", "broadcast", True),
        ("total", "reduction", True),
        ("softmax", "broadcast", True),
        ("h", "injective", True),
        ("gather", "injective", True),
        ("scattered", "opaque", False),
        ("iota", "elementwise", True),
    ]
    assert [info.reason for info in told if not info.fast] == [
        "it computes an index from data, or with a quotient",
    ]


def test_symbol_without_a_value() -> None:
    def unbound() -> None:
        n, m = sizes(["n", "m"])
        builder = PrimFuncBuilder("unbound", [BufferDecl("C", [n + m], "int64")])
        with builder.body():
            (out,) = builder.buffers
            with builder.nest("iota", [("spatial", n)]) as (i,):
                out.store(const(1, "int64"), i)

    with make_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            unbound()
        with pytest.raises(PassError, match="symbol 'n' has no value"):
            lower_tir(module.operation)
