"""Kernels on several threads: the same bits as on one, for every class and every edge."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from kernel_classes import elementwise, permutation, reduction, softmax
from kernels import build, contraction, run, values
from targets import AVX512, with_threads

from relax_mlir import relax, script, tir
from relax_mlir.dialects.tir.scalar import unary
from relax_mlir.lowering.tir_to_vector import parallel_region
from relax_mlir.runtime import num_threads, set_num_threads

# More than the machine may have, and than some of the loops have steps.
MAX_THREADS = 5
CONTRACTIONS = {
    "square": "mk,kn->mn", "transposed": "mk,nk->mn", "batch": "bmk,bkn->bmn", "vector": "k,kn->n",
    "rows": "mk,k->m", "heads": "hbmk,hbkn->bmhn", "sums": "mkl,kln->mn",
}  # fmt: skip
DIMS = (
    {"b": 3, "h": 2, "k": 70, "l": 5, "m": 61, "n": 35},
    {"b": 1, "h": 1, "k": 1, "l": 1, "m": 1, "n": 1},
    {"b": 2, "h": 3, "k": 3, "l": 2, "m": 5, "n": 0},
    {"b": 2, "h": 3, "k": 0, "l": 2, "m": 0, "n": 7},
    {"b": 11, "h": 1, "k": 390, "l": 1, "m": 50, "n": 1037},
)
SHAPES = [(3, 5, 70), (1, 1, 1), (2, 3, 0), (0, 2, 3), (23, 130, 17), (2, 3, 517)]


@pytest.fixture(autouse=True)
def _threads_as_before() -> Iterator[None]:
    before = num_threads()
    yield
    set_num_threads(before)


def both(
    functions: list[Callable[[], None]], monkeypatch: pytest.MonkeyPatch
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Build for one thread, and for several even where there is little to do."""
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    return build(functions), build(functions, threads=MAX_THREADS)


def same(serial: Any, threaded: Any, inputs: list[np.ndarray], shape: Any, dtype: str) -> None:
    want = run(serial, inputs, shape, dtype).tobytes()
    for count in (1, 2, 3, MAX_THREADS, 2):
        set_num_threads(count)
        assert run(threaded, inputs, shape, dtype).tobytes() == want, (shape, count)


def test_contractions(monkeypatch: pytest.MonkeyPatch) -> None:
    dynamic = {letter: letter for letter in "bhklmn"}
    static = DIMS[0]
    made = [
        contraction(f"{name}_{kind}", spec, dims)
        for name, spec in CONTRACTIONS.items()
        for kind, dims in (("dynamic", dynamic), ("static", static))
    ]
    serial, threaded = both(made, monkeypatch)
    for dims in DIMS:
        for name, spec in CONTRACTIONS.items():
            inputs, out = spec.split("->")
            arrays = [values([dims[x] for x in part], "float32") for part in inputs.split(",")]
            for kind in ("dynamic", "static") if dims is static else ("dynamic",):
                label = f"{name}_{kind}"
                shape = [dims[x] for x in out]
                same(serial[label], threaded[label], arrays, shape, "float32")


def test_convolution_of_any_number_of_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads share the images, but the pixels of a single one."""
    regions = []
    original = parallel_region.ParallelEmitter.parallel_region

    def noted(self: Any, loops: Any, work: Any) -> Any:
        regions.append(loops)
        return original(self, loops, work)

    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    sizes = [tir.Var(name, "int64") for name in "nhw"]
    dims = [sizes[0], 128, *sizes[1:]]
    x = relax.Var("x", relax.TensorStructInfo(dims, "float32"))
    weight = relax.const(values((16, 128, 1, 1), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(relax.op.nn.conv2d(x, weight))
        builder.emit_func_output(result)
    with monkeypatch.context() as patch:
        patch.setattr(parallel_region.ParallelEmitter, "parallel_region", noted)
        _llvm_ir(builder.get())
    (loops,) = regions
    unknown = [dim for dim in loops if not isinstance(dim.extent, int)]
    assert [dim.min_extent for dim in unknown] == [MAX_THREADS, 0]
    serial, threaded = (
        relax.VirtualMachine(relax.build(builder.get(), with_threads(count)))
        for count in (1, MAX_THREADS)
    )
    for shape in ((1, 128, 70, 5), (7, 128, 3, 19), (2, 128, 41, 1)):
        data = values(shape, "float32")
        want = np.asarray(serial["main"](data)).tobytes()
        for count in (1, 2, 3, MAX_THREADS):
            set_num_threads(count)
            assert np.asarray(threaded["main"](data)).tobytes() == want, (shape, count)


def test_elementwise_and_transposes(monkeypatch: pytest.MonkeyPatch) -> None:
    dims = ["a", "b", "c"]
    made = [
        elementwise("exp", lambda x: unary("exp", x), [dims, dims], ["float32"] * 2),
        elementwise("half", lambda x: x * 3.0, [dims, dims], ["float16"] * 2),
        permutation("last", dims, (0, 2, 1), "float32"),
        permutation("all", dims, (2, 1, 0), "float32"),
    ]
    serial, threaded = both(made, monkeypatch)
    for shape in SHAPES:
        x = values(shape, "float32")
        same(serial["exp"], threaded["exp"], [x], shape, "float32")
        same(serial["half"], threaded["half"], [x.astype("f2")], shape, "float16")
        for name, order in (("last", (0, 2, 1)), ("all", (2, 1, 0))):
            same(serial[name], threaded[name], [x], [shape[i] for i in order], "float32")


def test_reductions_and_fused_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    all_axes = [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)]
    made = [reduction(f"sum{i}", "sum", axes, "float32") for i, axes in enumerate(all_axes)]
    made += [softmax(f"softmax{axis}", ["a", "b", "c"], axis) for axis in range(3)]
    made += [softmax("half", ["a", "b", "c"], 2, "float16")]
    serial, threaded = both(made, monkeypatch)
    for shape in SHAPES:
        x = values(shape, "float32")
        for i, axes in enumerate(all_axes):
            rest = [size for axis, size in enumerate(shape) if axis not in axes]
            same(serial[f"sum{i}"], threaded[f"sum{i}"], [x], rest, "float32")
        for axis in range(3):
            name = f"softmax{axis}"
            same(serial[name], threaded[name], [x], shape, "float32")
        same(serial["half"], threaded["half"], [x.astype("f2")], shape, "float16")


def test_little_work_is_not_split() -> None:

    program = script.from_source(
        """
@I.ir_module
class Sizes:
    @R.function
    def small(x: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        return y

    @R.function
    def large(x: R.Tensor((512, 1024), "float32")):
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        return y
"""
    )
    executable = relax.build(program, with_threads(MAX_THREADS))
    (native,) = executable.native
    assert native.is_parallel
    # One region, that of the large kernel.
    log = _llvm_ir(program)
    assert log.count("call void @relax_mlir_parallel(") == 1
    x = values((512, 1024), "float32")
    vm = relax.VirtualMachine(executable)
    want = relax.VirtualMachine(relax.build(program))["large"](x)
    np.testing.assert_array_equal(vm["large"](x), want)
    assert not relax.build(program, with_threads(1)).native[0].is_parallel


def _llvm_ir(program: Any) -> str:
    from relax_mlir.relax import BuildLog

    class Log(BuildLog):
        texts: dict[str, str] = {}  # noqa: RUF012

        @property
        def dumps(self) -> bool:
            return True

        def add(self, name: str, seconds: float, text: str | None = None, suffix: str = "") -> None:
            self.texts[name] = text or ""

    log = Log()
    relax.build(program, f"{AVX512} -num-threads={MAX_THREADS}", log=log)
    return log.texts["llvm-optimize"]
