"""`compute_at`, `compute_inline` and their reverses: what they make and refuse."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scheduled_programs import (
    CHAIN,
    ELEMENTWISE,
    HEAD,
    MATMUL_RELU,
    SOFTMAX,
    WINDOW,
    Program,
)
from schedules import becomes, refused, results, runs

from relax_mlir.script import from_source
from relax_mlir.tir import Schedule


def test_compute_inline() -> None:
    sch = Schedule(CHAIN.module)
    sch.compute_inline("B")
    sch.compute_inline("C")
    becomes(
        sch,
        """def main(A: T.Buffer((8, 9), "float32"), D: T.Buffer((8, 9), "float32")):
    for i, j in T.grid(8, 9):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = (A[vi, vj] * 2.0 + A[vi, vj]) * (A[vi, vj] * 2.0)
""",
    )
    runs(sch, CHAIN)


def test_compute_inline_into_a_reduction() -> None:
    for program, name in ((WINDOW, "B"), (SOFTMAX, "power")):
        sch = Schedule(program.module)
        sch.compute_inline(name)
        assert f'T.block("{name}")' not in sch.mod.script()
        runs(sch, program)


def test_reverse_compute_inline() -> None:
    sch = Schedule(CHAIN.module)
    sch.compute_inline("B")
    sch.split(sch.get_loops("D")[1], [None, 4])
    sch.reverse_compute_inline("D")
    becomes(
        sch,
        """def main(A: T.Buffer((8, 9), "float32"), D: T.Buffer((8, 9), "float32")):
    for i, j in T.grid(8, 9):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = (A[vi, vj] * 2.0 + A[vi, vj]) * (A[vi, vj] * 2.0)
""",
    )
    runs(sch, CHAIN)


def test_compute_at() -> None:
    sch = Schedule(WINDOW.module)
    outer, _ = sch.split(sch.get_loops("C")[0], [None, 5])
    sch.compute_at("B", outer)
    becomes(
        sch,
        """def main(A: T.Buffer((14,), "float32"), C: T.Buffer((12,), "float32")):
    B = T.alloc_buffer((14,), "float32")
    for i_0 in range(3):
        for ax0 in range(7):
            with T.block("B"):
                vi = T.axis.spatial(14, i_0 * 5 + ax0)
                T.where(i_0 * 5 + ax0 < 14)
                B[vi] = A[vi] * 3.0
        for i_1, k in T.grid(5, 3):
            with T.block("C"):
                vi = T.axis.spatial(12, i_0 * 5 + i_1)
                vk = T.axis.reduce(3, k)
                T.where(i_0 * 5 + i_1 < 12)
                with T.init():
                    C[vi] = T.float32(-1000)
                C[vi] = T.max(C[vi], B[vi + vk])
""",
    )
    runs(sch, WINDOW)
    sch.parallel(outer)
    runs(sch, WINDOW)


def test_compute_at_moves_reductions_too() -> None:
    sch = Schedule(MATMUL_RELU.module)
    i, j = sch.get_loops("D")
    i0, i1 = sch.split(i, [None, 4])
    sch.reorder(i0, j, i1)
    sch.compute_at("C", j)
    becomes(
        sch,
        MATMUL_RELU.text[: MATMUL_RELU.text.index("    for i, j, k")]
        + """    for i_0, j in T.grid((n + 3) // 4, 6):
        for ax0, ax1 in T.grid(4, 8):
            with T.block("C"):
                vi = T.axis.spatial(n, i_0 * 4 + ax0)
                vj = T.axis.spatial(6, j)
                vk = T.axis.reduce(8, ax1)
                T.where(i_0 * 4 + ax0 < n)
                with T.init():
                    C[vi, vj] = 0.0
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
        for i_1 in range(4):
            with T.block("D"):
                vi = T.axis.spatial(n, i_0 * 4 + i_1)
                vj = T.axis.spatial(6, j)
                T.where(i_0 * 4 + i_1 < n)
                D[vi, vj] = T.max(C[vi, vj], 0.0)
""",
    )
    sch.parallel(i0)
    runs(sch, MATMUL_RELU)


def test_reverse_compute_at() -> None:
    sch = Schedule(MATMUL_RELU.module)
    i, j, _ = sch.get_loops("C")
    i0, i1 = sch.split(i, [None, 4])
    j0, j1 = sch.split(j, [None, 4])
    sch.reorder(i0, j0, i1, j1)
    sch.reverse_compute_at("D", j0)
    assert [len(sch.get_loops(name)) for name in "CD"] == [5, 4]
    sch.parallel(i0)
    sch.vectorize(sch.get_loops("D")[3])
    runs(sch, MATMUL_RELU)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_softmax_in_one_loop(reverse: bool) -> None:
    sch = Schedule(SOFTMAX.module)
    if reverse:
        i = sch.get_loops("most")[0]
        for name in ("power", "total", "B"):
            sch.reverse_compute_at(name, i)
    else:
        i = sch.get_loops("B")[0]
        for name in ("total", "power", "most"):
            sch.compute_at(name, i)
    assert len(sch.get_child_blocks(i)) == 4
    sch.parallel(i)
    runs(sch, SOFTMAX)


def test_where_in_the_loop() -> None:
    for index, position in ((-1, 1), (-2, 0), (0, 0), (1, 1)):
        sch = Schedule(CHAIN.module)
        i = sch.get_loops("D")[0]
        sch.compute_at("C", i)
        block = sch.get_block("B")
        refused(
            sch, lambda s=sch, b=block, i=i: s.compute_at(b, i, index=7), "from position 0 to 0"
        )
        other = Schedule(from_source(HEAD + TWO_INPUTS))
        j = other.get_loops("D")[0]
        other.compute_at("B", j)
        other.compute_at("C", j, index=index)
        names = [other.get(b).attributes["block_name"].value for b in other.get_child_blocks(j)]
        assert names.index("C") == position


TWO_INPUTS = """def main(A: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    C = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * 2.0
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi] + 1.0
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = B[vi] + C[vi]
"""
# The block in the middle writes what the first one reads.
OVERWRITTEN = """def main(A: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * 2.0
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            A[vi] = 0.0
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = B[vi] + 1.0
"""
GAPS = """def main(A: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi * 2] = A[vi]
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = T.if_then_else(vi % 2 == 0, B[vi], 1.0)
"""
Step = Callable[[Schedule], Any]
REFUSALS: list[tuple[str, Step, str]] = [
    (CHAIN.text, lambda s: s.compute_inline("D"), "'D', which block 'D' writes, is a parameter"),
    (MATMUL_RELU.text, lambda s: s.compute_inline("C"), "block 'C' is no complete block"),
    (MATMUL_RELU.text, lambda s: s.reverse_compute_inline("D"), "block 'C' is no complete block"),
    (CHAIN.text, lambda s: s.reverse_compute_inline("D"), "reads what 2 blocks compute"),
    (CHAIN.text, lambda s: s.reverse_compute_inline("C"), "'B' is used elsewhere too"),
    (CHAIN.text, lambda s: s.reverse_compute_inline("B"), "reads what 0 blocks compute"),
    (OVERWRITTEN, lambda s: s.compute_inline("B"), "block 'C' writes 'A' after block 'B'"),
    (OVERWRITTEN, lambda s: s.compute_at("B", s.get_loops("D")[0]),
     "block 'C' uses what block 'B' uses before it would run"),
    (OVERWRITTEN, lambda s: s.reverse_compute_at("C", s.get_loops("B")[0]),
     "block 'B' reads 'A', which block 'C' writes, in later steps of loop 'i'"),
    (OVERWRITTEN, lambda s: s.reverse_compute_at("D", s.get_loops("C")[0]), "no block inside"),
    (GAPS, lambda s: s.compute_inline("B"), "are not its iterators"),
    (GAPS, lambda s: s.reverse_compute_at("D", s.get_loops("B")[0]), "not known to give all"),
    (CHAIN.text, lambda s: s.compute_at("D", s.get_loops("C")[0]), "no sibling of block 'D'"),
    (CHAIN.text, lambda s: s.compute_at("B", s.get_loops("B")[0]), "is inside loop 'i' already"),
    (CHAIN.text, lambda s: s.compute_at("B", s.get_loops("C")[0]),
     "block 'D', which reads what block 'B' computes, is not inside loop 'i'"),
    (SOFTMAX.text, lambda s: s.reverse_compute_at("power", s.get_loops("most")[1]),
     "block 'most' is not done with its reduction inside loop 'k'"),
    (ELEMENTWISE.text, lambda s: s.compute_inline("root"), "the body of a function"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "step", "why"), REFUSALS)
def test_refusals(text: str, step: Step, why: str) -> None:
    sch = Schedule(from_source(HEAD + text))
    refused(sch, lambda: step(sch), why)


def test_a_predicate_that_leaves_points_out_stays() -> None:
    text = CHAIN.text.replace(
        "            B[vi, vj] = A[vi, vj] * 2.0", "            T.where(i + j < 9)\n"
        "            B[vi, vj] = A[vi, vj] * 2.0",
    )  # fmt: skip
    sch = Schedule(from_source(HEAD + text))
    sch.compute_at("C", sch.get_loops("D")[1])
    refused(
        sch, lambda: sch.compute_at("B", sch.get_loops("D")[0]), "may leave out some of its points"
    )


def test_numbers_of_every_dtype_are_inlined() -> None:
    for dtype, number in (("float16", "1.5"), ("int8", "3"), ("bool", "True"), ("uint64", "7")):
        first = "A[vi]" if dtype == "bool" else f"A[vi] + T.{dtype}({number})"
        last = "B[vi]" if dtype == "bool" else "B[vi] * B[vi]"
        text = f"""def main(A: T.Buffer((5,), "{dtype}"), C: T.Buffer((5,), "{dtype}")):
    B = T.alloc_buffer((5,), "{dtype}")
    for i in range(5):
        with T.block("B"):
            vi = T.axis.spatial(5, i)
            B[vi] = {first}
    for i in range(5):
        with T.block("C"):
            vi = T.axis.spatial(5, i)
            C[vi] = {last}
"""
        given = np.array([0, 1, 2, 3, 1]).astype(dtype)
        outputs = []
        for reverse in (None, False, True):
            sch = Schedule(from_source(HEAD + text))
            if reverse is not None:
                (sch.reverse_compute_inline if reverse else sch.compute_inline)("CB"[not reverse])
            outputs.append(results(sch.mod, [given], (5,), "main", dtype))
        np.testing.assert_array_equal(outputs[1], outputs[0])
        np.testing.assert_array_equal(outputs[2], outputs[0])


def test_sampled_locations() -> None:
    found = set()
    for seed in range(1, 16):
        sch = Schedule(CHAIN.module, seed=seed)
        where = sch.sample_compute_location("C")
        sch.compute_at("C", where)
        trace = sch.trace
        assert trace is not None
        decision = trace.decisions[next(i for i in trace.insts if i.kind.samples)]
        if decision not in found:
            runs(sch, CHAIN)
        found.add(decision)
    assert found == {-2, -1, 0, 1}
    sch = Schedule(CHAIN.module)
    assert sch.get_sref(sch.get_loops("D")[0]) == sch.get_sref(
        sch.sample_compute_location("C", decision=0)
    )
    sch.compute_at("B", sch.sample_compute_location("B", decision=9))
    becomes(sch, CHAIN.text)


LOCAL = Program(
    "local",
    """def main(A: T.Buffer((6, 8), "float32"), C: T.Buffer((6,), "float32")):
    B = T.alloc_buffer((6, 8), "float32")
    for i, j in T.grid(6, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.max(A[vi, vj], 0.0)
    for i, k in T.grid(6, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + B[vi, vk]
""",
    [(6, 8), (6,)],
    lambda a: np.maximum(a, 0).sum(1),
)


def test_every_place_of_a_producer() -> None:
    for split in (None, 3):
        for depth in range(3):
            sch = Schedule(LOCAL.module)
            if split:
                sch.split(sch.get_loops("C")[1], [None, split])
            loops = sch.get_loops("C")
            if depth < len(loops):
                sch.compute_at("B", loops[depth])
                runs(sch, LOCAL)


def test_what_an_index_says_that_the_consumer_loads_is_not_known_around_it() -> None:
    text = """def main(A: T.Buffer((9,), "float32"), C: T.Buffer((8,), "float32")):
    P = T.alloc_buffer((9,), "float32")
    I = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("I"):
            vi = T.axis.spatial(8, i)
            I[vi] = T.Cast("int32", vi * 3 % 8)
    for i in range(9):
        with T.block("P"):
            vi = T.axis.spatial(9, i)
            P[vi] = A[vi] * 2.0
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = P[I[vi]] + 1.0
"""
    program = Program("loaded", text, [(9,), (8,)], lambda a: a[np.arange(8) * 3 % 8] * 2 + 1)
    sch = Schedule(program.module)
    sch.compute_at("P", sch.get_loops("C")[0])
    assert "for ax0 in range(9)" in sch.mod.script()
    runs(sch, program)


@pytest.mark.parametrize("step", ["compute_inline", "reverse_compute_inline"])
def test_inline_of_what_has_another_layout(step: str) -> None:
    """The layout is of digits of the iterators."""
    sch = Schedule(CHAIN.module)
    sch.cache_read("D", "C", "local")
    sch.transform_layout("C", ("write", 0), lambda i, j: (j, i // 2, i % 2))
    getattr(sch, step)("C" if step == "compute_inline" else "C_local")
    assert "// 2" not in sch.mod.script()
    runs(sch, CHAIN)
    sch = Schedule(CHAIN.module)
    sch.transform_layout("C", ("write", 0), lambda i, j: (i, j // 2, j % 2), pad_value=0.0)
    refused(sch, lambda: sch.compute_inline("C"), "C' is no complete block|are not its iterators")
