"""`reverse_compute_at` of blocks that read in several ways what the loop computes."""

from collections.abc import Callable

import numpy as np
import pytest
from scheduled_programs import HEAD, Program
from schedules import refused, results, runs

from relax_mlir.script import from_source
from relax_mlir.tir import Schedule

TEXT = """def main(A: T.Buffer((16,), "float32"), R: T.Buffer(SHAPE, "float32")):
    D = T.alloc_buffer((16,), "float32")
    E = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("D"):
            vi = T.axis.spatial(16, i)
            D[vi] = A[vi] + 1.0
    for i in range(16):
        with T.block("E"):
            vi = T.axis.spatial(16, i)
            E[vi] = D[vi] * 2.0
    for i, j in T.grid(*SHAPE):
        with T.block("R"):
            vi, vj = T.axis.remap("SS", [i, j])
            R[vi, vj] = VALUE
"""


def program(value: str, columns: int, want: Callable[..., np.ndarray] | None) -> Program:
    text = TEXT.replace("VALUE", value).replace("*SHAPE", f"16, {columns}")
    return Program("moved", text.replace("SHAPE", f"(16, {columns})"), [(16,), (16, columns)], want)


@pytest.mark.parametrize("value", ["D[vi] * D[15 - vi]", "D[vi] + D[vi // 2]", "D[15 - vi]"])
def test_what_one_step_does_not_tell(value: str) -> None:
    """Elements that another access reads may be computed by later steps only."""
    sch = Schedule(program(value, 1, None).module)
    refused(sch, lambda: sch.reverse_compute_at("R", sch.get_loops("D")[0]), "follows loop 'i'")


def test_each_iterator_by_another_buffer() -> None:
    outer = program("D[vi] * E[vj]", 16, lambda a: np.outer(a + 1, (a + 1) * 2))
    sch = Schedule(outer.module)
    loop = sch.get_loops("D")[0]
    sch.reverse_compute_at("E", loop)
    refused(sch, lambda: sch.reverse_compute_at("R", loop), "follows loop 'i'")
    runs(sch, outer)


def test_the_last_step_has_all_elements() -> None:
    window = program(
        "D[vi] + D[T.min(vi + 1, 15)]", 1, lambda a: a + 2 + np.append(a[1:], a[-1])
    )  # fmt: skip
    sch = Schedule(window.module)
    refused(sch, lambda: sch.reverse_compute_at("R", sch.get_loops("D")[0]), "follows loop 'i'")


def test_what_the_loop_reads_is_not_written_early() -> None:
    text = """def main(A: T.Buffer((16,), "float32"), R: T.Buffer((16,), "float32")):
    D = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("D"):
            vi = T.axis.spatial(16, i)
            D[vi] = A[vi] + R[15 - vi]
    for i in range(16):
        with T.block("R"):
            vi = T.axis.spatial(16, i)
            R[vi] = D[vi] * 2.0
"""
    sch = Schedule(Program("early", text, [(16,), (16,)], lambda a: a).module)
    refused(sch, lambda: sch.reverse_compute_at("R", sch.get_loops("D")[0]), "'D' reads 'R'")


PARTS = """def main(A: T.Buffer((SIZE, 6), "float32"), S: T.Buffer((SIZE,), "float32")):
    D = T.alloc_buffer((SIZE, 6), "float32")
    for i, j in T.grid(SIZE, 6):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = A[vi, vj] + 1.0
    for i, j in T.grid(SIZE, 6):
        with T.block("S"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                S[vi] = 0.0
            S[vi] = S[vi] + SUMMED
"""
HEADS = """def main(a: T.handle, s: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 6), "float32")
    S = T.match_buffer(s, (n,), "float32")
"""


def parts(summed: str, size: str = "8") -> Schedule:
    text = PARTS.replace("SUMMED", summed).replace("SIZE", size)
    if size == "n":
        text = HEADS + text[text.index("    D =") :]
    return Schedule(from_source(HEAD + text))


def check(sch: Schedule, more: float) -> None:
    given = np.random.default_rng(0).standard_normal((8, 6)).astype("float32")
    got = results(sch.mod, [given], (8,), "main")
    np.testing.assert_allclose(got, (given + more).sum(1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", ["8", "n"])
def test_a_reduction_over_the_steps_of_a_loop(size: str) -> None:
    for swapped in (False, True):
        sch = parts("D[vi, vj]", size)
        i, j = sch.get_loops("D")
        if swapped:
            sch.reorder(j, i)
        sch.reverse_compute_at("S", i if swapped else j)
        assert len(sch.get_loops("S")) == 2
        check(sch, 1)
    sch = parts("D[vi, vj]", size)
    i, j = sch.get_loops("D")
    j0, _ = sch.split(j, [None, 3])
    sch.reverse_compute_at("S", j0)
    check(sch, 1)
    refused(sch, lambda: sch.parallel(j0), "reduces over loop 'j_0'")


def test_reductions_whose_points_would_come_twice_or_late() -> None:
    for summed in ("D[vi, vj] * D[vi, T.max(vj - 1, 0)]", "D[vi, 5 - vj]"):
        sch = parts(summed)
        loop = sch.get_loops("D")[1]
        sch.reverse_compute_at("S", loop)  # each step has all of a row
        check_rows = "for ax0 in range(6)" in sch.mod.script()
        assert check_rows
    sch = parts("D[vi, vj]")
    _, j = sch.get_loops("D")
    j0, j1 = sch.split(j, [None, 4])
    refused(sch, lambda: sch.reverse_compute_at("S", j1), "would reduce over one step")
    sch = parts("D[vi, vj]")
    i, j = sch.get_loops("D")
    sch.parallel(j)
    refused(sch, lambda: sch.reverse_compute_at("S", j), "reduces over loop 'j'")
    del i, j0


def test_what_reads_only_parameters() -> None:
    sch = parts("A[vi, vj]")
    before = Schedule(sch.mod)
    i, j = sch.get_loops("D")
    sch.reverse_compute_at("S", i)
    assert len(sch.get_loops("S")) == 3
    check(sch, 0)
    loop = before.get_loops("D")[0]
    before.parallel(loop)
    refused(before, lambda: before.reverse_compute_at("S", loop), "same element of 'S'")
    sch = parts("A[vi, vj]", "n")
    loop = sch.get_loops("D")[0]
    refused(sch, lambda: sch.reverse_compute_at("S", loop), "may have no step")
    del j
