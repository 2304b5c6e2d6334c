"""`rolling_buffer`: what it makes, results, and what it refuses."""

import numpy as np
import pytest
from scheduled_programs import CHAIN, STENCIL, Program
from schedules import refused, runs, stays_inside

from relax_mlir.tir import Schedule


def pooled(rows: int, cols: int, taps: int = 3) -> Program:
    inner, outer = (rows + 2 * (taps - 1), cols + 2 * (taps - 1)), (rows, cols)
    middle = (rows + taps - 1, cols + taps - 1)
    block = """    for i, j, y, x in T.grid({0}, {1}, {taps}, {taps}):
        with T.block("{name}"):
            vi, vj, vy, vx = T.axis.remap("SSRR", [i, j, y, x])
            with T.init():
                {name}[vi, vj] = T.float32(-1000)
            {name}[vi, vj] = T.max({name}[vi, vj], {source}[vi + vy, vj + vx])
"""
    text = f"""def main(A: T.Buffer({inner}, "float32"), C: T.Buffer({outer}, "float32")):
    B = T.alloc_buffer({middle}, "float32")
{block.format(*middle, name="B", source="A", taps=taps)}
{block.format(*outer, name="C", source="B", taps=taps)}"""

    def most(a: np.ndarray) -> np.ndarray:
        view = np.lib.stride_tricks.sliding_window_view(a, (taps, taps))
        return view.max((2, 3))

    return Program("pooled", text, [inner, outer], lambda a: most(most(a)))


POOLED = pooled(8, 12)


def tiled(program: Program, tile: tuple[int, int], at: int, swapped: bool = False) -> Schedule:
    sch = Schedule(program.module)
    i, j, _, _ = sch.get_loops("C")
    i0, i1 = sch.split(i, [None, tile[0]])
    j0, j1 = sch.split(j, [None, tile[1]])
    sch.reorder(*((j0, i0) if swapped else (i0, j0)), i1, j1)
    sch.compute_at("B", sch.get_loops("C")[at])
    return sch


@pytest.mark.parametrize("tile", [(4, 4), (2, 3), (2, 6), (8, 2), (4, 12)])
@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize("swapped", [False, True])
def test_rolling_buffer(tile: tuple[int, int], at: int, swapped: bool) -> None:
    sch = tiled(POOLED, tile, at, swapped)
    rows, cols = tile[0] + 2, tile[1] + 2
    if (tile[1] if swapped else tile[0]) == (12 if swapped else 8) and at == 0:
        refused(sch, lambda: sch.rolling_buffer("B", 0), "no dimension of 'B' is used in parts")
        return
    sch.rolling_buffer("B", 0)
    text = sch.mod.script()
    if tile[0] != 8 and tile[1] != 12:
        assert f"B = T.alloc_buffer({(10, cols) if swapped else (rows, 14)}" in text
        assert f"vi % {rows}" in text or f"vj % {cols}" in text
    runs(sch, POOLED)
    inputs = POOLED.inputs()
    got = stays_inside(sch.mod, inputs, POOLED.shapes[-1])
    np.testing.assert_array_equal(got, POOLED.want(*inputs))


def test_what_a_folded_buffer_forbids() -> None:
    sch = tiled(POOLED, (4, 4), 1)
    sch.rolling_buffer("B", 0)
    loops = sch.get_loops("C")
    refused(sch, lambda: sch.parallel(loops[0]), "cannot be run at once")
    refused(sch, lambda: sch.reorder(loops[1], loops[0]), "are no one-to-one function")
    sch.split(loops[0], [1, 2])
    sch.unroll(sch.get_loops("C")[2])
    runs(sch, POOLED)


def test_a_reader_of_a_folded_buffer_stays_in_its_loop() -> None:
    text = """def main(A: T.Buffer((14,), "float32"), D: T.Buffer((12,), "float32")):
    B = T.alloc_buffer((14,), "float32")
    C = T.alloc_buffer((12,), "float32")
    for i in T.serial(14):
        with T.block("B"):
            vi = T.axis.spatial(14, i)
            B[vi] = A[vi] * 2.0
    for i in T.serial(12):
        with T.block("C"):
            vi = T.axis.spatial(12, i)
            C[vi] = B[vi] + B[vi + 1] + B[vi + 2]
    for i in T.serial(12):
        with T.block("D"):
            vi = T.axis.spatial(12, i)
            D[vi] = C[vi] * 3.0
"""
    program = Program("window", text, [(14,), (12,)], lambda a: 6 * (a[:-2] + a[1:-1] + a[2:]))
    sch = Schedule(program.module)
    outer, _ = sch.split(sch.get_loops("C")[0], [None, 4])
    sch.compute_at("B", outer)
    sch.rolling_buffer("B", 0)
    refused(sch, lambda: sch.compute_inline("C"), "is written over by later steps of loop 'i_0'")
    runs(sch, program)
    sch.reverse_compute_at("D", outer)
    sch.compute_inline("C")
    runs(sch, program)


def test_rolling_buffer_refuses() -> None:
    sch = Schedule(CHAIN.module)
    refused(sch, lambda: sch.rolling_buffer("D", 0), "is a parameter of the function")
    text = refused(sch, lambda: sch.rolling_buffer("B", 0), "no loop is around block 'B' and all")
    assert "^" in text
    sch = Schedule(POOLED.module, enable_check=False)
    sch.compute_at("B", sch.get_loops("C")[0])
    sch.parallel(sch.get_loops("C")[0])
    refused(sch, lambda: sch.rolling_buffer("B", 0), "the steps of loop 'i' do not run in order")


def test_readers_of_a_rolling_buffer_do_not_leave_its_loops():
    """Outside of them only the rows of the last steps are there."""
    sch = Schedule(STENCIL.module)
    sch.compute_at("P", sch.get_loops("B")[1])
    sch.rolling_buffer("P", 0)
    place = sch.get_loops("C")[0]
    refused(sch, lambda: sch.compute_at("B", place), "may write an element of 'P' several times")
    runs(sch, STENCIL)


@pytest.mark.parametrize("at", ["vi + 1, vi + 2", "vi + 1, 2 * vi", "vi + 1, 15 - vi"])
def test_dimensions_that_move_together(at: str) -> None:
    """What is new in one dimension is new, whatever the step before had in the other."""
    text = f"""def main(A: T.Buffer((16, 16), "float32"), C: T.Buffer((7,), "float32")):
    B = T.alloc_buffer((16, 16), "float32")
    for i, j in T.grid(16, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i in range(7):
        with T.block("C"):
            vi = T.axis.spatial(7, i)
            C[vi] = B[{at}] - B[{at.replace("vi +", "1 + vi +")}]
"""
    rows = np.arange(7)
    second = {"vi + 1, vi + 2": rows + 3, "vi + 1, 2 * vi": 2 * rows, "vi + 1, 15 - vi": 15 - rows}
    first = {"vi + 1, vi + 2": rows + 2, "vi + 1, 2 * vi": 2 * rows, "vi + 1, 15 - vi": 15 - rows}
    program = Program(
        "diagonal", text, [(16, 16), (7,)],
        lambda a: 2 * (a[rows + 1, first[at]] - a[rows + 2, second[at]]),
    )  # fmt: skip
    sch = Schedule(program.module)
    sch.compute_at("B", sch.get_loops("C")[0])
    if at == "vi + 1, vi + 2":
        sch.rolling_buffer("B", 0)
        assert "B = T.alloc_buffer((2, 16)" in sch.mod.script()
    else:
        refused(sch, lambda: sch.rolling_buffer("B", 0), "no dimension of 'B' is used in parts")
    runs(sch, program)
