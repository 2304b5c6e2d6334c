"""Programs of which a random search found that they left their buffers, or began sums anew."""

import numpy as np
import pytest
from scheduled_programs import PROGRAMS
from schedules import stays_inside

from relax_mlir import tir
from relax_mlir.errors import ScheduleError, VMError
from relax_mlir.script import from_source
from relax_mlir.tir import Schedule

_BY_NAME = {program.name: program for program in PROGRAMS}


def check(sch: Schedule, name: str) -> None:
    program = _BY_NAME[name]
    inputs = program.inputs()
    got = stays_inside(sch.mod, inputs, program.shapes[-1])
    np.testing.assert_allclose(got, program.want(*inputs), rtol=1e-4, atol=1e-4)


def test_a_loop_that_only_a_condition_names_stays_around_the_beginning() -> None:
    sch = Schedule(_BY_NAME["matmul"].module)
    block = sch.blockize(sch.get_loops("C")[2])
    sch.split(sch.get_loops(block)[0], [5, 2, None])
    sch.split(sch.get_loops(block)[2], [None, 4], preserve_unit_iters=False)
    sch.split(sch.get_loops(block)[0], [2, None, 4])
    sch.split(sch.get_loops(block)[3], [None, 2])
    for number, loop in enumerate(sch.get_loops(block)):
        copy = sch.copy()
        try:
            copy.decompose_reduction(block, loop)
        except ScheduleError:
            continue
        assert number < 8
        check(copy, "matmul")


def test_a_condition_of_the_reduction_and_loops_outside_is_refused() -> None:
    module = from_source("""
from relax_mlir.script import tir as T

@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.where(i + k < 7)
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vk]
""")
    sch = Schedule(module)
    _, k = sch.get_loops("C")
    with pytest.raises(ScheduleError, match="compares loops of the reduction with others"):
        sch.decompose_reduction("C", k)


def test_blockize_takes_the_loops_of_conditions_along() -> None:
    sch = Schedule(_BY_NAME["convolution"].module)
    block = sch.get_block("C")
    sch.split(sch.get_loops(block)[0], [2, 1, 2])
    sch.split(sch.get_loops(block)[1], [None, 4], preserve_unit_iters=False)
    sch.add_unit_loop(sch.get_loops(block)[3])
    sch.split(sch.get_loops(block)[2], [None, 4])
    sch.blockize(sch.get_loops(block)[2], preserve_unit_iters=False)
    check(sch, "convolution")


def test_copies_of_a_step_begin_a_sum_once() -> None:
    program = _BY_NAME["matmul"]
    sch = Schedule(program.module)
    sch.unroll(sch.get_loops("C")[2])
    unrolled = tir.transform.UnrollLoop()(sch.mod)
    inputs = program.inputs()
    for mod in (unrolled, tir.transform.LowerInitBlock()(unrolled)):
        got = stays_inside(mod, inputs, program.shapes[-1])
        np.testing.assert_allclose(got, program.want(*inputs), rtol=1e-4)


def test_a_wrong_index_is_an_error() -> None:
    module = from_source("""
from relax_mlir.script import tir as T

@T.prim_func
def main(A: T.Buffer((8,), "float32"), k: T.int64, B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = T.if_then_else(i < 4, A[i + k] + 1.0, 2.0)
""")
    shifted = tir.build(tir.transform.InstrumentBoundCheckers()(module))["main"]
    data, out = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    shifted(data, 4, out)
    np.testing.assert_array_equal(out, [5, 6, 7, 8, 2, 2, 2, 2])
    for wrong in (5, -1, 1 << 40):
        with pytest.raises(VMError, match="index out of bounds of buffer 'A'"):
            shifted(data, wrong, out)
