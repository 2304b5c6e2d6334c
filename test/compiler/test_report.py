"""What is reported of kernels: those without a fast path, and the report's numbers."""

import logging
import re

import numpy as np
import pytest
from checkout import ROOT
from targets import DEFAULT, with_threads

from relax_mlir import relax
from relax_mlir.compiler.pipeline import DEFAULT_PIPELINE as PASSES
from relax_mlir.lowering.target.target import Target
from relax_mlir.relax import op
from relax_mlir.runtime.profiling.roofline import Roofs
from relax_mlir.script import from_source
from relax_mlir.script import relax as R
from relax_mlir.tools.relax_compile import kernel_runs
from relax_mlir.tools.relax_compile.kernel_report import measure, report

SCRIPT = (ROOT / "test" / "tools" / "Inputs" / "kernels.py").read_text()
SLOW = (
    "kernel 'logistic' has no fast path (chaos: it has an iterator that neither maps nor reduces)"
)
# One of these is in the row of every kernel that was run.
LIMIT = re.compile(r"(FMA \d+ GFLOP/s|(?:copy|read) \d+ GB/s) +\d+% +(\d+%, )?[\d.e-]+ ms")


def _module(function, **params):
    bb = relax.BlockBuilder()
    variables = [relax.Var(name, R.Tensor(shape, dtype)) for name, (shape, dtype) in params.items()]
    with bb.function("main", variables):
        bb.emit_func_output(function(*variables))
    return bb.get()


def _rows(mod, target=DEFAULT, **sizes):
    table, *_ = report(mod, Target(target), PASSES, sizes).split("\n\n")
    lines = table.splitlines()
    return {line.split()[0]: line for line in lines[1:]}


@pytest.mark.parametrize("again", [False, True])
def test_a_slow_kernel_is_reported_once_in_each_build(caplog, again):
    # Also when its code was in the cache.
    relax.build(from_source(SCRIPT))
    assert [r.getMessage() for r in caplog.records] == [SLOW]
    assert caplog.records[0].name == "relax_mlir.kernels"
    assert caplog.records[0].levelno == logging.WARNING


LOOPS = """
from relax_mlir.script import ir as I, tir as T

@I.ir_module
class Module:
    @T.prim_func
    def first(A: T.Buffer((1000,), "float32"), B: T.Buffer((1000,), "float32")):
        for i in range(1000):
            B[i] = A[i] * T.float32(3)

    @T.prim_func
    def second(A: T.Buffer((1000,), "float32"), B: T.Buffer((1000,), "float32")):
        for i in range(1000):
            B[i] = A[i] * T.float32(2)

    @T.prim_func
    def few(A: T.Buffer((9,), "float32"), B: T.Buffer((9,), "float32")):
        for i in range(9):
            B[i] = A[i]

    @T.prim_func
    def chosen(A: T.Buffer((1000,), "float32"), B: T.Buffer((1000,), "float32")):
        for i in T.vectorized(1000):
            B[i] = A[i]
"""


def test_loops_without_blocks_are_reported_too(caplog):
    mod = from_source(LOOPS)
    relax.build(mod)
    assert [r.getMessage() for r in caplog.records] == [
        f"kernel '{name}' has no fast path (loops: no T.block says what they compute)"
        for name in ("first", "second")
    ]
    rows = _rows(mod)
    assert all("no fast path" in rows[name] for name in ("first", "second"))
    assert not any("no fast path" in rows[name] for name in ("few", "chosen"))


def test_classes_are_those_of_kernels():
    def program(x, y):
        return op.concat([op.nn.layer_norm(x, y, y, axes=[-1]), x], axis=1)

    rows = _rows(_module(program, x=(("n", 96), "float32"), y=((96,), "float32")), n=7)
    assert not any(name.startswith("shape_func") for name in rows)
    assert "opaque" not in "".join(rows.values())
    repeated = _rows(_module(lambda x: op.image.resize2d(x, (8, 8)), x=((1, 2, 4, 6), "float32")))
    assert " x elementwise, " in repeated["resize2d"]
    small = _rows(_module(lambda x: op.matmul(x, x, "int32"), x=((64, 64), "int8")))
    assert re.search(r" GB/s  -  +\S+ ms|  -         \S+", small["matmul"])


def test_warnings_can_be_silenced(caplog):
    caplog.set_level(logging.ERROR, "relax_mlir.kernels")
    relax.build(from_source(SCRIPT))
    assert not caplog.records


def test_fast_and_tiny_kernels_are_not_reported(caplog):
    relax.build(_module(lambda x: op.exp(x), x=(("n", 7), "float32")))
    small = SCRIPT.replace("n = T.int64()", "").replace("(n,)", "(9,)").replace("n - 1", "8")
    relax.build(from_source(small.replace('"m"', "9")))
    assert not caplog.records


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "bool"])
@pytest.mark.parametrize("rows", [0, 1, 67])
def test_kernels_of_any_size_and_dtype_are_run(dtype, rows):
    found = _rows(_module(lambda x: op.permute_dims(x), x=((rows, 5), dtype)))
    if rows == 67:
        assert LIMIT.search(found["permute_dims"])
    assert " ms" in found["permute_dims"]


def test_the_limit_of_small_results_is_reading():
    x = {"x": ((256, 1024), "float32")}
    (sums,) = _rows(_module(lambda x: op.sum(x, axis=[1]), **x)).values()
    (cumulative,) = _rows(_module(lambda x: op.cumsum(x, axis=1), **x)).values()
    assert re.search(r"read \d+ GB/s", sums)
    assert re.search(r"copy \d+ GB/s", cumulative)


def test_what_a_row_needs_once_is_not_expected_of_each_vector():
    x, row = ((64, 1024), "float32"), ((64, 1), "float32")
    each, once = (
        measure(_module(lambda x, y: op.add(x, op.sqrt(y)), x=x, y=y), Target(DEFAULT), PASSES, {})
        for y in (x, row)
    )
    assert sum(kernel.flops for kernel in once[0]) < sum(kernel.flops for kernel in each[0]) / 1.5


def test_more_than_the_peak_is_expected_of_fewer_products():
    weight = relax.const(np.ones((64, 64, 3, 3), "float32"))
    mod = _module(lambda x: op.nn.conv2d(x, weight, padding=1), x=((1, 64, 56, 56), "float32"))
    (row,) = _rows(mod).values()
    assert int(re.search(r"FMA \d+ GFLOP/s +(\d+)%", row)[1]) > 100


def test_sizes_that_cannot_be_are_refused():
    mod = _module(lambda x: op.exp(x[:-5]), x=(("n",), "float32"))
    assert all(" ms" in row for n in (2, 9) for row in _rows(mod, n=n).values())
    large = _rows(_module(op.exp, x=(("n", 5), "float32")), n=10**12)
    assert "have 40000000000000 bytes" in large["exp"]


def test_indices_are_in_range():
    mod = _module(lambda x, i: op.take(x, i, axis=0), x=(("n", 5), "float32"), i=(("m",), "int64"))
    assert " ms" in _rows(mod, n=9, m=3)["take"]


def test_sizes_that_are_missing_are_named():
    mod = _module(lambda x, w: op.matmul(x, w), x=(("n", "k"), "float32"), w=(("k", 3), "float32"))
    assert _rows(mod)["matmul"].endswith("for times give --report-size=n=...,k=...")
    assert _rows(mod, k=4)["matmul"].endswith("for times give --report-size=n=...")
    assert LIMIT.search(_rows(mod, k=40, n=500)["matmul"])
    text = report(mod, Target.default(), PASSES, {"kk": 3, "n": 2})
    assert text.endswith("\nno kernel has a size 'kk'; did you mean 'k'?")


@pytest.mark.parametrize(
    ("mcpu", "tile"), [("x86-64-v4", "16 x f32"), ("x86-64-v3", "8 x f32"), ("x86-64", "4 x f32")]
)
def test_vectors_are_the_targets(mcpu, tile):
    mod = _module(lambda x, w: op.matmul(x, w), x=(("n", 9), "float32"), w=((9, 70), "float32"))
    assert f" {tile} " in _rows(mod, f"llvm -mtriple=x86_64-linux-gnu -mcpu={mcpu}")["matmul"]


def test_threads_are_those_of_parallel_kernels():
    mod = _module(
        lambda x, w: (op.matmul(x, w), op.exp(w)),
        x=((512, 512), "float32"),
        w=((512, 3), "float32"),
    )
    found = _rows(mod, with_threads(2))
    threads = {name: re.search(r"x f32 +(\d+) ", row)[1] for name, row in found.items()}
    assert threads["exp"] == "1"
    assert threads["matmul"] in ("1", "2")


def test_a_module_without_kernels():
    mod = _module(lambda x: x, x=(("n",), "float32"))
    table = report(mod, Target.default(), PASSES, {})
    assert table == "no kernels" or "shape_func" in table


@pytest.mark.parametrize("vector_bits", [0, 128])
def test_roofs_are_measured(vector_bits):
    roofs = Roofs(vector_bits)
    assert all(roofs.flops(threads, 0.003) > 0 for threads in (1, 2))
    assert all(roofs.loaded_flops(threads, 0.003) > 0 for threads in (1, 2))
    for size in (100, 1 << 20):
        assert 0 < roofs.bandwidth(size, 2, 0.003) < np.inf
        assert 0 < roofs.reading(size, 2, 0.003) < np.inf


WHILE = """
from relax_mlir.script import ir as I, tir as T

@I.ir_module
class Module:
    @T.prim_func
    def endless(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
        i = T.alloc_buffer((1,), "int32")
        i[0] = 0
        while i[0] < 4:
            B[i[0]] = A[i[0]]
            i[0] = i[0] + A[0]

    @T.prim_func
    def halving(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
        i = T.alloc_buffer((1,), "int32")
        i[0] = 4
        while i[0] > 0:
            i[0] = i[0] // 2
            B[i[0]] = A[i[0]]
"""


def test_a_kernel_that_zeros_never_end_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(kernel_runs, "_PATIENCE", 0.5)
    rows = _rows(from_source(WHILE))
    assert rows["endless"].endswith("it did not end within 0.5 s; integers were zeros")
    assert re.search(r"copy \d+ GB/s .* ms", rows["halving"])
