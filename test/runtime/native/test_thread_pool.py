"""The thread pool: every piece once, whatever the threads, callers, forks and barriers."""

import ctypes.util
import multiprocessing
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from targets import with_threads

from relax_mlir import relax, runtime, script
from relax_mlir.errors import CompileError
from relax_mlir.lowering.codegen.llvm.parallel_regions import call_thread_pool
from relax_mlir.runtime.native.thread_pool import pool_object

# A product whose columns are shared out, a loop that the schedule language calls parallel, and one
# row that is too long for one thread: its parts meet at barriers.
PROGRAM = """
@I.ir_module
class Module:
    @T.prim_func
    def double(x: T.handle, y: T.handle):
        n = T.int64()
        a = T.match_buffer(x, (n, 64), "float32")
        b = T.match_buffer(y, (n, 64), "float32")
        for i in T.parallel(n):
            for j in T.serial(64):
                with T.block("b"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    b[vi, vj] = a[vi, vj] * T.float32(2)

    @R.function
    def main(x: R.Tensor(("n", 64), "float32"), w: R.Tensor((64, 64), "float32")):
        n = T.int64()
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.call_tir(Module.double, (y,), out_sinfo=R.Tensor((n, 64), "float32"))
            R.output(z)
        return z

    @R.function
    def row(x: R.Tensor((1, 1000000), "float32")):
        with R.dataflow():
            y = R.nn.softmax(x)
            R.output(y)
        return y
"""
RNG = np.random.default_rng(0)
X, W = (RNG.random(shape, np.float32) for shape in ((3000, 64), (64, 64)))
ROW = RNG.random((1, 1000000), np.float32)


@pytest.fixture(scope="module")
def vm() -> Any:
    executable = relax.build(script.from_source(PROGRAM), with_threads(4))
    assert executable.native[0].is_parallel
    return relax.VirtualMachine(executable)


@pytest.fixture(autouse=True)
def _threads() -> Any:
    before = runtime.num_threads()
    runtime.set_num_threads(4)
    yield
    runtime.set_num_threads(before)


def test_the_same_results_from_many_callers(vm: Any) -> None:
    main, row = vm["main"](X, W), vm["row"](ROW)
    np.testing.assert_allclose(main, 2 * (X @ W), rtol=1e-5)
    wrong: list[int] = []

    def work(seed: int) -> None:
        for _ in range(20):
            if not np.array_equal(vm["main"](X, W), main) or not np.array_equal(
                vm["row"](ROW), row
            ):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong
    assert not any(thread.is_alive() for thread in threads)


def _in_child(vm: Any, queue: Any) -> None:
    queue.put((np.asarray(vm["main"](X, W)).tobytes(), np.asarray(vm["row"](ROW)).tobytes()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_workers_of_its_own(vm: Any) -> None:
    want = np.asarray(vm["main"](X, W)).tobytes(), np.asarray(vm["row"](ROW)).tobytes()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(vm, queue), daemon=True)
    child.start()
    assert queue.get(timeout=60) == want
    child.join(60)
    assert np.asarray(vm["main"](X, W)).tobytes() == want[0]


def test_other_runtimes_in_the_process_change_nothing(vm: Any, tmp_path: Path) -> None:
    # PyTorch brings GCC's OpenMP runtime: calls of one runtime must not end in the other.
    if (name := ctypes.util.find_library("gomp")) is None:
        pytest.skip("GCC's OpenMP runtime is not there")
    want = np.asarray(vm["main"](X, W))
    vm.executable.save(tmp_path / "model.rxe")
    np.savez(tmp_path / "inputs.npz", x=X, w=W)
    code = (
        "import ctypes, numpy as np\n"
        f"ctypes.CDLL({name!r}, mode=ctypes.RTLD_GLOBAL)\n"
        "from relax_mlir.runtime import Executable, VirtualMachine\n"
        "inputs = np.load('inputs.npz')\n"
        "main = VirtualMachine(Executable.load('model.rxe'))['main']\n"
        "np.save('result.npy', main(inputs['x'], inputs['w']))\n"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "4"}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "result.npy"), want)


@pytest.mark.parametrize("count", [1, 2, 3, 200])
def test_any_number_of_threads(vm: Any, count: int) -> None:
    want = np.asarray(vm["main"](X, W)).tobytes(), np.asarray(vm["row"](ROW)).tobytes()
    runtime.set_num_threads(count)
    assert runtime.num_threads() == count
    assert np.asarray(vm["main"](X, W)).tobytes() == want[0]
    assert np.asarray(vm["row"](ROW)).tobytes() == want[1]


@pytest.mark.parametrize("count", [0, -1, 256])
def test_numbers_that_are_refused(count: int) -> None:
    with pytest.raises(ValueError, match=f"kernels use 1 to 255 threads, not {count}"):
        runtime.set_num_threads(count)


@pytest.mark.parametrize(("text", "known"), [("3", 3), ("3,2", 3), ("many", None), ("0", None)])
def test_the_environment_says_how_many(text: str, known: int | None) -> None:
    code = "from relax_mlir import runtime; print(runtime.num_threads())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "OMP_NUM_THREADS": text}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert int(done.stdout) == (known or len(os.sched_getaffinity(0)))


def test_other_constructs_of_openmp_are_errors() -> None:
    with pytest.raises(CompileError, match="'__kmpc_critical'; supported are parallel regions"):
        call_thread_pool("  call void @__kmpc_critical(ptr @1, i32 %0, ptr @2)\n")


@pytest.mark.parametrize("triple", ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"])
def test_an_object_for_libraries(triple: str) -> None:
    assert b"relax_mlir_parallel" in pool_object(triple)


def test_jobs_follow_each_other_at_once(vm: Any) -> None:
    # The place of a job that is done is taken by the next before its workers have left it.
    x = RNG.random((2000, 64), np.float32)
    want = [np.asarray(vm["main"](a, W)) for a in (X, x)]
    for _ in range(1500):
        for a, expected in zip((X, x), want, strict=True):
            assert np.array_equal(vm["main"](a, W), expected)
