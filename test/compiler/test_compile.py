"""`relax_mlir.compile` takes whatever can be compiled (TVM's `tvm.compile`)."""

import numpy as np
import pytest
from targets import with_threads

import relax_mlir
from relax_mlir import IRModule, relax, te, tir
from relax_mlir.compiler.pipeline import DEFAULT_PIPELINE
from relax_mlir.errors import FunctionNotFoundError, PipelineError
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Both:
    @T.prim_func
    def twice(a: T.handle, b: T.handle) -> None:
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.block("twice"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] * T.float32(2)

    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        return R.add(x, x)


X = np.arange(7, dtype=np.float32)


def _called(function: object) -> np.ndarray:
    got = np.empty_like(X)
    function(X, got)  # type: ignore[operator]
    return got


def _prim_func() -> IRModule:
    a = te.placeholder((te.var("n"),), "float32", name="A")
    return te.create_prim_func([a, te.compute(a.shape, lambda i: a[i] * 2.0, name="twice")])


def test_a_module_of_both() -> None:
    executable = relax_mlir.compile(Both)
    np.testing.assert_array_equal(executable["main"](X), X + X)
    np.testing.assert_array_equal(_called(executable["twice"]), X + X)
    np.testing.assert_array_equal(relax.VirtualMachine(executable)["main"](X), X + X)


def test_a_prim_func() -> None:
    np.testing.assert_array_equal(_called(relax_mlir.compile(_prim_func())["main"]), X + X)


def test_a_schedule() -> None:
    sch = tir.Schedule(_prim_func())
    outer, inner = sch.split(sch.get_loops("twice")[0], [None, 4])
    sch.parallel(outer)
    sch.vectorize(inner)
    executable = relax_mlir.compile(sch, with_threads(2))
    np.testing.assert_array_equal(_called(executable["main"]), X + X)


def test_passes_by_name() -> None:
    executable = relax_mlir.compile(Both, relax_pipeline=DEFAULT_PIPELINE)
    np.testing.assert_array_equal(executable["main"](X), X + X)
    with pytest.raises(PipelineError, match="zeroo"):
        relax_mlir.compile(Both, relax_pipeline="zeroo")


def test_what_cannot_be_compiled() -> None:
    with pytest.raises(
        TypeError, match="expected a module, a function or a schedule, got int; or a model"
    ):
        relax_mlir.compile(3)


def test_an_executable_names_all_its_functions() -> None:
    assert repr(relax_mlir.compile(_prim_func())) == "<Executable [main], 0 instructions>"
    assert "main, twice" in repr(relax_mlir.compile(Both))


def test_functions_of_a_module_are_timed() -> None:
    timed = relax_mlir.compile(_prim_func()).time_evaluator("main", "cpu", number=2, repeat=3)
    found = timed(X, np.empty_like(X))
    assert len(found.results) == 3
    assert found.min > 0
    with pytest.raises(FunctionNotFoundError, match="did you mean 'main'"):
        relax_mlir.compile(_prim_func()).time_evaluator("mian")
