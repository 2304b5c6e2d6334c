"""`reverse_compute_at` of blocks that read in several ways what the loop computes."""

from collections.abc import Callable

import numpy as np
import pytest
from scheduled_programs import Program
from schedules import refused, runs

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
