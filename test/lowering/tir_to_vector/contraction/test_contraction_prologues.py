"""Products of matrices that are computed in the loop that multiplies them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from kernel_classes import classify
from kernels import build, close, run, sizes, values

from relax_mlir import compile as compile_
from relax_mlir import te
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.dialects.tir.builder import BufferDecl, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import binary, cast, compare, select, unary
from relax_mlir.lowering.tir_to_vector import parallel_region
from relax_mlir.runtime import set_num_threads


@dataclass(frozen=True)
class Case:
    """A sum of products over k: letters of tensors, their dtypes, the two factors, in numpy too."""

    letters: tuple[str, ...]
    dtypes: tuple[str, ...]
    factors: Callable[..., tuple[Any, Any]]
    expected: Callable[..., np.ndarray]


F32 = ("float32",) * 4
CASES = {
    "relu of A": Case(
        ("mk", "kn", "mn"), F32[:3],
        lambda at, a, b: (binary("max", a, 0.0), b),
        lambda a, b: np.maximum(a, 0) @ b,
    ),
    "quantised B": Case(
        ("mk", "kn", "n", "mn"), ("float32", "int8", "float32", "float32"),
        lambda at, a, b, s: (a, cast(b, "float32") * s),
        lambda a, b, s: a @ (b.astype("f4") * s),
    ),
    "quantised transposed B": Case(
        ("mk", "nk", "n", "mn"), ("float32", "int8", "float32", "float32"),
        lambda at, a, b, s: (a, (cast(b, "float32") - 3.0) * s),
        lambda a, b, s: a @ ((b.astype("f4") - 3) * s[:, None]).T,
    ),
    "scaled A, doubled B": Case(
        ("mk", "k", "kn", "mn"), F32,
        lambda at, a, s, b: (a * s, b + b),
        lambda a, s, b: (a * s) @ (b * 2),
    ),
    "transposed A": Case(
        ("km", "m", "nk", "mn"), ("float64",) * 4,
        lambda at, a, s, b: (unary("exp", a) * s, b),
        lambda a, s, b: (np.exp(a) * s).T @ b.T,
    ),
    "zero points": Case(
        ("mk", "kn", "mn"), ("int8", "int8", "int32"),
        lambda at, a, b: (cast(a, "int32") - 7, cast(b, "int32") - 9),
        lambda a, b: (a.astype("i4") - 7) @ (b.astype("i4") - 9),
    ),
    "lower triangle of B": Case(
        ("mk", "kn", "mn"), F32[:3],
        lambda at, a, b: (a, select(compare("ge", at["k"], at["n"]), b, 0.0)),
        lambda a, b: a @ np.tril(b),
    ),
    "batches": Case(
        ("bmk", "bkn", "bmn"), F32[:3],
        lambda at, a, b: (binary("max", a, 0.0), unary("tanh", b)),
        lambda a, b: np.maximum(a, 0) @ np.tanh(b),
    ),
    "one factor has all iterators": Case(
        ("mk", "kn", "m", "mn"), F32,
        lambda at, a, b, s: (a, binary("max", b, s)),
        lambda a, b, s: np.einsum("mk,mkn->mn", a, np.maximum(b, s[:, None, None])),
    ),
}  # fmt: skip
# Batches, rows, steps, columns.
SHAPES = [
    (1, 1, 1, 1), (2, 3, 5, 17), (1, 4, 33, 70), (3, 37, 61, 40), (1, 5, 0, 9), (1, 0, 4, 5),
    (2, 3, 4, 0), (0, 3, 4, 5), (1, 65, 300, 129),
]  # fmt: skip


def function(name: str, case: Case, dims: dict[str, Any]) -> Callable[[], None]:
    def make() -> None:
        shape = {letter: sizes([dim])[0] for letter, dim in dims.items()}
        decls = [
            BufferDecl(f"A{i}", [shape[x] for x in letters], dtype)
            for i, (letters, dtype) in enumerate(zip(case.letters, case.dtypes, strict=True))
        ]
        out = case.letters[-1]
        axes = [("spatial", shape[x]) for x in out] + [("reduction", shape["k"])]
        builder = PrimFuncBuilder(name, decls)
        with builder.body():
            *inputs, c = builder.buffers
            with builder.nest("contract", axes) as block:
                at = dict(zip([*out, "k"], block, strict=True))
                here = tuple(at[x] for x in out)
                with block.init() as first:
                    c.store(0, tuple(first)[: len(out)])
                read = [
                    x[tuple(at[i] for i in letters)]
                    for x, letters in zip(inputs, case.letters[:-1], strict=True)
                ]
                left, right = case.factors(at, *read)
                c.store(c[here] + left * right, here)

    return make


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_computed_factors(name: str, known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    threads = 3
    used = dict.fromkeys("".join(case.letters))
    shapes = [dict(zip("bmkn", shape, strict=True)) for shape in SHAPES]
    shapes = [shape for shape in shapes if "b" in used or shape["b"] == 1]
    shapes = shapes[1::2] if known else shapes
    dims = shapes if known else [{x: x for x in used}]
    made = build(
        [function(f"f{i}", case, {x: each[x] for x in used}) for i, each in enumerate(dims)],
        threads=threads,
    )
    for i, shape in enumerate(shapes):
        arguments = [
            values([shape[x] for x in letters], dtype)
            for letters, dtype in zip(case.letters[:-1], case.dtypes, strict=False)
        ]
        want = case.expected(*arguments)
        results = set()
        for count in range(1, threads + 1):
            if threads > 1:
                set_num_threads(count)
            kernel = made[f"f{i if known else 0}"]
            got = run(kernel, arguments, want.shape, case.dtypes[-1])
            close(got, want.astype(case.dtypes[-1]))
            results.add(got.tobytes())
        assert len(results) == 1


@pytest.mark.parametrize("name", CASES)
def test_classes(name: str) -> None:
    """A factor of all three iterators would be as large as all products, and is not written."""
    case = CASES[name]
    with make_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            function("f", case, {x: x for x in dict.fromkeys("".join(case.letters))})()
        (info,) = classify(module.body.operations[0])
    assert (info.kind == "contraction") == (name != "one factor has all iterators")
    assert info.fast


def test_computed_factors_of_bytes() -> None:
    """No register adds up bytes as they are: plain loops do, and what is computed is no panel."""
    n, m, k = (te.var(name) for name in "nmk")
    a, b, c, w = (
        te.placeholder((size,), "uint8", name)
        for size, name in zip((n, n, m, k), "abcw", strict=True)
    )
    r = te.reduce_axis((0, k), "r")
    body = lambda i, j: te.sum((a[j] - b[j] * c[i]) * w[r], axis=r)  # noqa: E731
    made = compile_(te.create_prim_func([a, b, c, w, te.compute((m, n), body, "out")]))["main"]
    for sizes_ in ((1, 1, 1), (5, 33, 7), (40, 3, 65)):
        given = [values((size,), "uint8") for size in (sizes_[0], *sizes_)]
        out = np.zeros((sizes_[1], sizes_[0]), "uint8")
        made(*given, out)
        x, y, z, u = given
        wanted = (x - y * z[:, None])[..., None] * u
        np.testing.assert_array_equal(out, wanted.sum(-1, dtype="uint8"))
