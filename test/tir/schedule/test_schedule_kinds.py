"""`parallel`, `vectorize`, `unroll`, `bind`, `annotate`: what they make and refuse."""

from collections.abc import Callable
from typing import Any

import pytest
from scheduled_programs import (
    CHAIN,
    DYNAMIC,
    ELEMENTWISE,
    HEAD,
    MATMUL,
    MATMUL_RELU,
    ROW_SUM,
    SOFTMAX,
    Program,
)
from schedules import becomes, refused, runs

from relax_mlir.script import from_source
from relax_mlir.tir import Schedule


def test_kinds_of_loops() -> None:
    sch = Schedule(ELEMENTWISE.module)
    i, j = sch.get_loops("B")
    j0, j1 = sch.split(j, [None, 2])
    sch.parallel(i)
    sch.unroll(j0)
    sch.vectorize(j1)
    becomes(
        sch,
        """def main(A: T.Buffer((12, 10), "float32"), B: T.Buffer((12, 10), "float32")):
    for i in T.parallel(12):
        for j_0 in T.unroll(5):
            for j_1 in T.vectorized(2):
                with T.block("B"):
                    vi = T.axis.spatial(12, i)
                    vj = T.axis.spatial(10, j_0 * 2 + j_1)
                    B[vi, vj] = A[vi, vj] * 2.0 + 1.0
""",
    )
    runs(sch, ELEMENTWISE)


@pytest.mark.parametrize("kind", ["parallel", "vectorize"])
def test_what_is_fused_and_split_can_still_run_at_once(kind: str) -> None:
    for program in (ELEMENTWISE, DYNAMIC):
        for chosen in range(3):
            sch = Schedule(program.module)
            loops = sch.split(sch.fuse(*sch.get_loops("B")), [None, 3, 4])
            getattr(sch, kind)(loops[chosen])
            if chosen != 1:
                runs(sch, program)


def test_reductions_do_not_run_at_once() -> None:
    sch = Schedule(MATMUL.module)
    i, _, k = sch.get_loops("C")
    for step in (sch.parallel, sch.vectorize):
        refused(sch, lambda step=step: step(k), "block 'C' reduces over loop 'k'")
    refused(sch, lambda: sch.bind(k, "blockIdx.x"), "block 'C' reduces over loop 'k'")
    sch.bind(k, "threadIdx.x")
    sch.parallel(i)
    sch.unroll(sch.get_loops("C")[1])
    runs(sch, MATMUL)


def test_a_loop_of_elements_and_of_the_reduction_does_not_run_at_once() -> None:
    sch = Schedule(ROW_SUM.module)
    f = sch.fuse(*sch.get_loops("B"))
    refused(sch, lambda: sch.parallel(f), "block 'B' reduces over loop 'i_k_fused'")


RACES: list[tuple[str, str, str]] = [
    ("one element", "vi = T.axis.spatial(8, i)\n            B[0] = A[vi]", "element of 'B'"),
    ("neighbours", "vi = T.axis.spatial(7, i)\n            B[vi] = B[vi + 1] + A[vi]", "of 'B'"),
    ("halves", "vi = T.axis.spatial(8, i)\n            B[vi // 2] = A[vi]", "element of 'B'"),
]


@pytest.mark.parametrize(("what", "body", "why"), RACES, ids=[race[0] for race in RACES])
def test_races_are_refused(what: str, body: str, why: str) -> None:
    text = f"""def main(A: T.Buffer((8,), "float32"), B: T.Buffer((9,), "float32")):
    for i in range({7 if "7" in body else 8}):
        with T.block("B"):
            {body}
"""
    sch = Schedule(from_source(HEAD + text))
    (i,) = sch.get_loops("B")
    steps: list[Callable[[], Any]] = [
        lambda: sch.parallel(i), lambda: sch.vectorize(i), lambda: sch.bind(i, "blockIdx.x"),
    ]  # fmt: skip
    for step in steps:
        refused(sch, step, why)
    sch.unroll(i)


def test_memory_of_one_iteration_is_no_race() -> None:
    """What a loop's body allocates each of its iterations has for itself."""
    text = """def main(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
    for i in range(8):
        C = T.alloc_buffer((4,), "float32")
        for j in range(4):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                vj = T.axis.spatial(4, j)
                C[vj] = A[vi, vj] * 2.0
        for j in range(4):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                vj = T.axis.spatial(4, j)
                B[vi, vj] = C[3 - vj]
"""
    program = Program("local", text, [(8, 4), (8, 4)], lambda a: a[:, ::-1] * 2)
    sch = Schedule(program.module)
    sch.parallel(sch.get_loops("B")[0])
    runs(sch, program)


def test_memory_that_iterations_share_is_a_race() -> None:
    text = CHAIN.text
    sch = Schedule(from_source(HEAD + text))
    merged = sch.merge(*(sch.get_loops(name)[0] for name in "BCD"))
    sch.parallel(merged)
    runs(sch, CHAIN)
    shared = text.replace("B = T.alloc_buffer((8, 9)", "B = T.alloc_buffer((1, 9)").replace(
        "B[vi, vj]", "B[0, vj]"
    )
    sch = Schedule(from_source(HEAD + shared))
    refused(sch, lambda: sch.parallel(sch.get_loops("B")[0]), "the same element of 'B'")


@pytest.mark.parametrize(
    ("rows", "columns", "wide", "meet"),
    [
        ("f // 3", "f % 3", 4, False),
        ("f // 3", "f % 3", 5, True),
        ("f // 3", "f // 3", 4, True),
        ("f % 3", "f % 3", 4, True),
        ("f % 4", "f % 2", 4, True),
    ],
)
def test_tiles_that_meet_are_a_race(rows: str, columns: str, wide: int, meet: bool) -> None:
    text = f"""def main(A: T.Buffer((9,), "float32"), B: T.Buffer((16, 20), "float32")):
    for f in range(6):
        for i, j in T.grid(4, {wide}):
            with T.block("B"):
                v = T.axis.spatial(6, f)
                vi = T.axis.spatial(16, ({rows}) * 4 + i)
                vj = T.axis.spatial(20, ({columns}) * 4 + j)
                B[vi, vj] = A[v]
        for i, j in T.grid(4, 4):
            with T.block("C"):
                vi = T.axis.spatial(16, ({rows}) * 4 + i)
                vj = T.axis.spatial(20, ({columns}) * 4 + j)
                B[vi, vj] = B[vi, vj] * 2.0
"""
    sch = Schedule(from_source(HEAD + text))
    loop = sch.get_loops("B")[0]
    if meet:
        refused(sch, lambda: sch.parallel(loop), "the same element of 'B'")
    else:
        sch.parallel(loop)


def test_vectors_stay_inside() -> None:
    sch = Schedule(ELEMENTWISE.module)
    i, j = sch.get_loops("B")
    sch.vectorize(j)
    refused(sch, lambda: sch.vectorize(i), "loop 'j' inside loop 'i' is vectorized")
    sch = Schedule(ELEMENTWISE.module)
    i, j = sch.get_loops("B")
    sch.parallel(j)
    refused(sch, lambda: sch.vectorize(i), "loop 'j' inside loop 'i' is parallel")


def test_threads() -> None:
    sch = Schedule(ELEMENTWISE.module)
    i, j = sch.get_loops("B")
    refused(sch, lambda: sch.bind(i, "threadIdx.w"), "'threadIdx.w' is no thread axis")
    sch.bind(i, "blockIdx.x")
    refused(sch, lambda: sch.bind(j, "blockIdx.x"), "loop 'i' is bound to 'blockIdx.x' already")
    sch.bind(i, "threadIdx.x")
    refused(sch, lambda: sch.bind(j, "threadIdx.x"), "loop 'i' is bound to 'threadIdx.x' already")
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "threadIdx.x")
    becomes(
        sch,
        """def main(A: T.Buffer((12, 10), "float32"), B: T.Buffer((12, 10), "float32")):
    for i in T.thread_binding(12, thread="blockIdx.x"):
        for j in T.thread_binding(10, thread="threadIdx.x"):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0 + 1.0
""",
    )
    runs(sch, ELEMENTWISE)


def test_bound_loops_run_otherwise() -> None:
    sch = Schedule(ELEMENTWISE.module)
    i, j = sch.get_loops("B")
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "blockIdx.y")
    sch.parallel(i)
    sch.vectorize(j)
    becomes(
        sch,
        """def main(A: T.Buffer((12, 10), "float32"), B: T.Buffer((12, 10), "float32")):
    for i in T.parallel(12):
        for j in T.vectorized(10):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0 + 1.0
""",
    )
    runs(sch, ELEMENTWISE)


def test_annotations() -> None:
    sch = Schedule(MATMUL_RELU.module)
    i, j, k = sch.get_loops("C")
    sch.annotate(i, "pragma_auto_unroll_max_step", 16)
    sch.annotate(j, "note", {"list": [1, 2.5, "x"], "flag": True})
    sch.annotate("C", "schedule_rule", "none")
    sch.annotate(k, "number", sch.sample_categorical([4], [1.0]) * 2)
    script = sch.mod.script()
    assert 'annotations={"pragma_auto_unroll_max_step": 16}' in script
    assert 'T.block_attr({"schedule_rule": "none"})' in script
    assert '"number": 8' in script
    runs(sch, MATMUL_RELU)
    sch.annotate(i, "pragma_auto_unroll_max_step", 2)
    assert 'annotations={"pragma_auto_unroll_max_step": 2}' in sch.mod.script()
    sch.bind(i, "vthread.x")
    refused(sch, lambda: sch.unannotate(i, "x"), "loop 'i' has no annotation 'x'")
    for place, key in ((i, "pragma_auto_unroll_max_step"), (j, "note"), (k, "number")):
        sch.unannotate(place, key)
    sch.unannotate("C", "schedule_rule")
    bound = 'for i in T.thread_binding(n, thread="vthread.x"):'
    assert sch.mod.script().count(bound) == 1
    with pytest.raises(TypeError, match="an annotation is a string, a number"):
        sch.annotate(i, "x", object())


def test_a_whole_softmax() -> None:
    sch = Schedule(SOFTMAX.module)
    for name in ("most", "power", "total", "B"):
        i, j = sch.get_loops(name)
        sch.parallel(i)
        inner = sch.split(j, [None, 4])[1]
        if name in ("power", "B"):
            sch.vectorize(inner)
        else:
            sch.unroll(inner)
    runs(sch, SOFTMAX)
