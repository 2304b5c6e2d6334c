"""Programs that are easy to schedule wrongly: each random trace keeps what the program computes."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedule_moves import scheduled
from scheduled_programs import HEAD, Program
from schedules import refused, results, stays_inside

from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import from_source
from relax_mlir.tir import Schedule


def _triangle(a: np.ndarray) -> np.ndarray:
    return np.where(np.tri(len(a), dtype=bool), (a.T + 1) * 2, np.float32(0.5))


def _skewed(a: np.ndarray) -> np.ndarray:
    b = a.copy()
    for i in range(6):
        for j in range(7):
            b[i + 1, j] = b[i, j + 1] * np.float32(0.5) + a[i, j]
    return b


def _again(a: np.ndarray) -> np.ndarray:
    c = a
    for _ in range(3):
        d = c[::-1] + 1
        c = d[:, ::-1] * np.float32(0.5)
    return c + d


def _scan(a: np.ndarray) -> np.ndarray:
    return np.cumsum(a * np.float32(0.5), axis=1, dtype="float32")


TRIANGLE = """def main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, n), "float32")
    B = T.match_buffer(b, (n, n), "float32")
    C = T.alloc_buffer((n, n), "float32")
    for i, j in T.grid(n, n):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + 1.0
    for i, j in T.grid(n, n):
        with T.block("Z"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = 0.5
    for i in range(n):
        for j in range(i + 1):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = C[vj, vi] * 2.0
"""
SKEWED = """def main(A: T.Buffer((7, 8), "float32"), B: T.Buffer((7, 8), "float32")):
    for i, j in T.grid(7, 8):
        with T.block("Z"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
    for i, j in T.grid(6, 7):
        with T.block("B"):
            vi = T.axis.opaque(6, i)
            vj = T.axis.opaque(7, j)
            B[vi + 1, vj] = B[vi, vj + 1] * 0.5 + A[vi, vj]
"""
AGAIN = """def main(A: T.Buffer((6, 8), "float32"), B: T.Buffer((6, 8), "float32")):
    C = T.alloc_buffer((6, 8), "float32")
    D = T.alloc_buffer((6, 8), "float32")
    for i, j in T.grid(6, 8):
        with T.block("C0"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj]
    for t in range(3):
        for i, j in T.grid(6, 8):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[5 - vi, vj] + 1.0
        for i, j in T.grid(6, 8):
            with T.block("C1"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = D[vi, 7 - vj] * 0.5
    for i, j in T.grid(6, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = C[vi, vj] + D[vi, vj]
"""
SCAN = """def main(A: T.Buffer((6, 9), "float32"), B: T.Buffer((6, 9), "float32")):
    C = T.alloc_buffer((6, 9), "float32")
    for i, j in T.grid(6, 9):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * 0.5
    for i in range(6):
        with T.block("S"):
            vi = T.axis.spatial(6, i)
            B[vi, 0] = C[vi, 0]
    for i, j in T.grid(6, 8):
        with T.block("B"):
            vi = T.axis.spatial(6, i)
            vj = T.axis.opaque(8, j)
            B[vi, vj + 1] = B[vi, vj] + C[vi, vj + 1]
"""
MAYBE = """def main(a: T.handle, w: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    W = T.match_buffer(w, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    C = T.alloc_buffer((n, m), "float32")
    for i, j in T.grid(n, m):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + 1.0
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = W[vi] + T.if_then_else(m > 2, C[vi, 1], 4.0)
"""

PARTIAL = """def main(A: T.Buffer((6, 8), "float32"), P: T.Buffer((6, 8), "float32")):
    S = T.alloc_buffer((6,), "float32")
    for i, k in T.grid(6, 8):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = 0.0
            S[vi] = S[vi] + A[vi, vk]
        with T.block("P"):
            vi, vk = T.axis.remap("SS", [i, k])
            P[vi, vk] = S[vi]
"""


def _maybe(a: np.ndarray, w: np.ndarray) -> np.ndarray:
    return w + (a[:, 1] + 1 if a.shape[1] > 2 else np.float32(4))


PROGRAMS = [
    Program("triangle", TRIANGLE, [(7, 7), (7, 7)], _triangle),
    Program("skewed", SKEWED, [(7, 8), (7, 8)], _skewed),
    Program("again", AGAIN, [(6, 8), (6, 8)], _again),
    Program("scan", SCAN, [(6, 9), (6, 9)], _scan),
    Program("maybe", MAYBE, [(5, 0), (5,), (5,)], _maybe),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
@settings(max_examples=4)
@given(seed=st.integers(1, 1 << 30))
def test_random_traces(program: Program, seed: int) -> None:
    sch = Schedule(program.module, seed=seed, debug_mask="all", error_render_level="fast")
    scheduled(sch, Random(seed), 8)
    inputs = program.inputs()
    run = stays_inside if seed % 2 else lambda *args: results(*args, "main")
    got = run(sch.mod, inputs, program.shapes[-1])
    np.testing.assert_allclose(
        got, program.want(*inputs), rtol=1e-4, atol=1e-4, err_msg=str(sch.trace)
    )
    assert_structural_equal(from_source(sch.mod.script()), sch.mod)


def test_the_order_of_opaque_iterators_stays() -> None:
    sch = Schedule(from_source(HEAD + SKEWED))
    way = lambda i, j: (i // 4, j, i % 4)  # noqa: E731
    refused(sch, lambda: sch.transform_block_layout("B", way), "opaque iterator, whose order")


@pytest.mark.parametrize(
    "step",
    [
        lambda sch: sch.blockize(sch.get_loops("B")[1]),
        lambda sch: sch.transform_block_layout("B", lambda i, j: (j, i)),
        lambda sch: sch.transform_block_layout("B", lambda i, j: (i, j // 3, j % 3)),
    ],
)
def test_extents_that_follow_a_loop(step) -> None:
    sch = Schedule(from_source(HEAD + TRIANGLE))
    refused(sch, lambda: step(sch), "depend|extent|not just the variable")


def test_a_loop_without_steps_runs_nothing() -> None:
    """With no columns the block would never run, and it has a value for that."""
    sch = Schedule(PROGRAMS[-1].module)
    i, j = sch.get_loops("C")
    refused(sch, lambda: sch.reverse_compute_at("B", j), "loop 'j' may have no step")
    sch.reverse_compute_at("B", i)
    inputs = PROGRAMS[-1].inputs()
    got = results(sch.mod, inputs, (5,), "main")
    np.testing.assert_allclose(got, _maybe(*inputs), rtol=1e-6)


def test_what_a_loop_around_computes_anew_stays_in_it() -> None:
    sch = Schedule(from_source(HEAD + AGAIN))
    place = sch.get_loops("C0")[1]
    refused(sch, lambda: sch.reverse_compute_at("D", place, index=1), "several times")
    sch = Schedule(from_source(HEAD + PARTIAL))
    refused(sch, lambda: sch.reverse_compute_at("P", sch.get_loops("S")[0]), "several times|inside")


def test_parts_of_a_reduction_that_go_on_do_not_read_what_it_begins_with() -> None:
    text = PARTIAL.replace("S[vi] = 0.0", "S[vi] = A[vi, 0] * 2.0")
    sch = Schedule(from_source(HEAD + text[: text.index('        with T.block("P")')]))
    sch.add_unit_loop("S")
    sch.loop_partition(sch.get_loops("S")[1], [3, None])
    assert_structural_equal(from_source(sch.mod.script()), sch.mod)


def test_scopes_give_names_of_their_own() -> None:
    sch = Schedule(PROGRAMS[0].module)
    sch.cache_write("C", 0, "local")
    sch.set_scope("C_local", 0, "local")
    script = sch.mod.script()
    assert "C_local_1 = T.alloc_buffer" in script
    assert_structural_equal(from_source(script), sch.mod)


@pytest.mark.parametrize("condition", ["1 < m", "m > 1", "T.int64(1) < m"])
def test_a_number_in_front_of_a_size(condition: str) -> None:
    """It takes the dtype of a size; int32 would lose the upper half of one."""
    text = HEAD + MAYBE.replace("m > 2", condition)
    assert "int32" not in from_source(text).script()
