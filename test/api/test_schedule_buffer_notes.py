"""What is said of buffers: axis separators, other dtypes, declared regions."""

import pytest
from scheduled_programs import CHAIN, MATMUL
from schedules import refused, runs

from relax_mlir.tir.schedule import Schedule


@pytest.mark.parametrize("buffer", ["B", "A", ("write", 0)])
def test_set_axis_separator(buffer):
    sch = Schedule(CHAIN.module)
    sch.set_axis_separator("B", buffer, [1])
    assert "axis_separators=[1]" in sch.mod.script()
    runs(sch, CHAIN)
    sch.set_axis_separator("B", buffer, None)
    assert "axis_separators" not in sch.mod.script()
    refused(sch, lambda: sch.set_axis_separator("B", buffer, [3]), "from 0 to 2")


def test_unsafe_set_dtype():
    sch = Schedule(CHAIN.module)
    sch.unsafe_set_dtype("B", 0, "float64")
    text = sch.mod.script()
    assert 'B[vi, vj] = T.Cast("float64", A[vi, vj] * 2.0)' in text
    assert 'T.Cast("float32", B[vi, vj])' in text
    runs(sch, CHAIN)
    refused(sch, lambda: sch.unsafe_set_dtype("D", 0, "float64"), "is a parameter")


def test_annotate_buffer_access():
    sch = Schedule(CHAIN.module)
    sch.annotate_buffer_access("B", 0, "read", lambda i, j: ((i, i + 1), (j, j + 2)))
    assert "T.reads(A[vi, vj:vj + 2])" in sch.mod.script()
    runs(sch, CHAIN)
    step = sch.annotate_buffer_access
    refused(sch, lambda: step("B", 0, "read", lambda i, j: (i, j)), "must give 4 numbers")
    refused(sch, lambda: step("B", 0, "read", lambda i, j: (0, i, 0, j)), "same everywhere")


def test_cache_inplace_of_a_block_of_blocks():
    sch = Schedule(MATMUL.module)
    sch.blockize(sch.get_loops("C")[1])
    sch.cache_inplace("C_o", "C", "local")
    runs(sch, MATMUL)
