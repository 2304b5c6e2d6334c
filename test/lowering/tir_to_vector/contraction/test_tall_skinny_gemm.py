"""Contractions of many rows and a few columns: rows are read along k, whatever follows the sums."""

import numpy as np
import pytest
from kernels import build, contraction, run, values
from targets import WIDTHS

from relax_mlir import relax, tir
from relax_mlir.lowering.tir_to_vector import parallel_region
from relax_mlir.relax import op
from relax_mlir.script import relax as R

pytestmark = pytest.mark.unoptimized

# Rows, steps, columns: with rests of all of them.
SHAPES = ((16, 64, 2), (37, 129, 3), (61, 300, 4), (18, 259, 8), (100, 333, 7))
# A single column, and what is nearly few columns.
OTHERS = (
    (1, 16, 1), (8, 15, 1), (9, 100, 1), (33, 17, 1), (3, 300, 1), (2, 300, 5), (20, 300, 9),
    (17, 20, 3), (0, 64, 2), (5, 64, 0), (7, 0, 1),
)  # fmt: skip


@pytest.mark.parametrize("spec", ["mk,kn->mn", "mk,nk->mn", "bmk,bkn->bmn"])
@pytest.mark.parametrize(
    ("dtypes", "bits"),
    [
        (("float32", "float32"), 512),
        (("float32", "float32"), 256),
        (("float32", "float32"), 128),
        (("float64", "float64"), 512),
        (("float16", "float32"), 512),
        (("int32", "int32"), 256),
    ],
)
def test_any_layout(spec: str, dtypes: tuple[str, str], bits: int) -> None:
    sizes = [{"b": 2, **dict(zip("mkn", shape, strict=True))} for shape in SHAPES]
    letters = set(spec) - set(",->")
    functions = [
        contraction(f"f{i}", spec, {x: size for x, size in each.items() if x in letters}, dtypes)
        for i, each in enumerate(sizes)
    ]
    # And of so many rows as run time says.
    functions.append(
        contraction("any", spec, {**{x: sizes[-1][x] for x in letters}, "m": "m"}, dtypes)
    )
    # And of sizes that only run time knows, where tiles take more columns or fewer steps.
    functions.append(contraction("all", spec, {x: x for x in letters}, dtypes))
    made = build(functions, target=WIDTHS[bits])
    calls = [(f"f{i}", each) for i, each in enumerate(sizes)]
    calls += [("any", {**sizes[-1], "m": m}) for m in (0, 1, 5)]
    calls += [("all", {"b": 2, **dict(zip("mkn", x, strict=True))}) for x in (*SHAPES, *OTHERS)]
    for name, each in calls:
        parts = spec.split("->")[0].split(",")
        inputs = [values([each[x] for x in part], dtypes[0]) for part in parts]
        exact = "float64" if "float" in dtypes[0] else "int64"
        want = np.einsum(spec, *(x.astype(exact) for x in inputs)).astype(dtypes[1])
        got = run(made[name], inputs, want.shape, dtypes[1])
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3, err_msg=str(each))


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("init", [0, 2.5, None])
def test_threads_do_not_change_a_bit(
    init: float | None, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    shape = (103, 300, 5) if known else "mkn"
    function = contraction("f", "mk,kn->mn", dict(zip("mkn", shape, strict=True)), init=init)
    inputs = [values(shape, "float32") for shape in ((103, 300), (300, 5))]
    results = []
    for threads in (1, 2, 3):
        kernel = build([function], threads=threads)["f"]
        out = np.ones((103, 5), "float32")
        kernel(*inputs, out)
        results.append(out)
    want = inputs[0].astype("f8") @ inputs[1] + (1 if init is None else init)
    np.testing.assert_allclose(results[0], want, rtol=1e-3, atol=1e-3)
    assert all(each.tobytes() == results[0].tobytes() for each in results)


@pytest.mark.parametrize(
    ("spec", "dtypes"),
    [
        ("km,kn->mn", ("float32", "float32")),
        ("mk,kn->mn", ("int8", "int32")),
        ("mk,nk->mn", ("int16", "int32")),
    ],
)
def test_one_column_of_any_number(
    spec: str, dtypes: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    function = contraction("f", spec, {x: x for x in "mkn"}, dtypes)
    one, more = (build([function], target=WIDTHS[512], threads=n) for n in (1, 3))
    for m, k, n in ((1, 1, 1), (37, 61, 1), (100, 300, 1), (16, 5, 2), (0, 5, 1), (5, 0, 1)):
        sizes = {"m": m, "k": k, "n": n}
        inputs = [values([sizes[x] for x in part], dtypes[0]) for part in spec[:5].split(",")]
        got = run(one["f"], inputs, [m, n], dtypes[1])
        want = np.einsum(spec, *(x.astype("f8") for x in inputs))
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3, err_msg=str(sizes))
        assert run(more["f"], inputs, [m, n], dtypes[1]).tobytes() == got.tobytes()


@pytest.mark.parametrize("unknown", ["", "n", "nkm"])
def test_what_follows(unknown: str) -> None:
    count, steps, columns = (
        tir.Var(name, "int64") if name in unknown else size
        for name, size in (("n", 50), ("k", 200), ("m", 6))
    )
    x = relax.Var("x", R.Tensor((count, steps), "float32"))
    w = relax.Var("w", R.Tensor((steps, columns), "float32"))
    b = relax.Var("b", R.Tensor((columns,), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, w, b]):
        with bb.dataflow():
            made = bb.emit(op.nn.relu(op.add(op.matmul(x, w), b)))
            out = bb.emit_output(op.add(made, op.tanh(made)))
        bb.emit_func_output(out)
    vm = relax.VirtualMachine(relax.build(bb.get()))
    for number in (6, 1) if "m" in unknown else (6,):
        shapes = ((50, 200), (200, number), (number,))
        inputs = [values(shape, "float32") for shape in shapes]
        exact = [each.astype("f8") for each in inputs]
        made = np.maximum(exact[0] @ exact[1] + exact[2], 0)
        got = np.asarray(vm["main"](*inputs))
        np.testing.assert_allclose(got, made + np.tanh(made), rtol=1e-3, atol=1e-3)
