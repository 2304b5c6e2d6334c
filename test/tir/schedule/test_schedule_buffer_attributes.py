"""What is said of buffers: axis separators, other dtypes, declared regions."""

import numpy as np
import pytest
from scheduled_programs import CHAIN, MATMUL, NEAREST, ROW_SUM
from schedules import refused, results, runs

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


def test_separators_at_the_ends():
    sch = Schedule(ROW_SUM.module)
    sch.set_axis_separator("B", "B", [0, 1])
    assert "axis_separators=[0, 1]" in sch.mod.script()
    runs(sch, ROW_SUM)


def test_unsafe_hide_buffer_access():
    sch = Schedule(MATMUL.module)
    assert "tir.reads" in str(sch.get(sch.get_block("C")))
    sch.unsafe_hide_buffer_access("C", "read", [0, 1])
    sch.unsafe_hide_buffer_access("C", "write", [0])
    found = str(sch.get(sch.get_block("C")))
    assert found.count("tir.reads") == 1
    assert "tir.writes" not in found
    inputs = MATMUL.inputs()
    got = results(sch.mod, inputs, MATMUL.shapes[-1], "main")
    np.testing.assert_allclose(got, MATMUL.want(*inputs), rtol=1e-4)
    refused(sch, lambda: sch.unsafe_hide_buffer_access("C", "read", [7]), "7")
    refused(sch, lambda: sch.unsafe_hide_buffer_access("C", "both", [0]), "'read' or 'write'")


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


def test_declared_regions_are_inside_of_buffers():
    """Of `7 * j // 12 % 3` the range is from 0 to 2, not what a difference of quotients may be."""
    sch = Schedule(NEAREST.module)
    sch.blockize(sch.get_loops("B")[0])
    assert "T.reads(A[0:5, 0:7])" in sch.mod.script()
    runs(sch, NEAREST)
