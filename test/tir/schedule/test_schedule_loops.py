"""`split`, `fuse`, `reorder`, `merge`, `loop_partition` and the like: what they make and refuse."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scheduled_programs import (
    CHAIN,
    CONVOLUTION,
    DYNAMIC,
    DYNAMIC_MATMUL,
    ELEMENTWISE,
    MATMUL,
    MATMUL_RELU,
    ROW_SUM,
    WINDOW,
    Program,
)
from schedules import becomes, refused, results, runs

from relax_mlir import tir
from relax_mlir.errors import ExprTypeError
from relax_mlir.tir import Schedule

HEAD = 'def main(A: T.Buffer((12, 10), "float32"), B: T.Buffer((12, 10), "float32")):\n'


def test_split_that_divides() -> None:
    sch = Schedule(ELEMENTWISE.module)
    i, _ = sch.get_loops("B")
    outer, inner = sch.split(i, factors=[3, 4])
    assert [sch.get(x).attributes["kind"].value for x in (outer, inner)] == ["serial", "serial"]
    becomes(
        sch,
        HEAD
        + """
    for i_0, i_1, j in T.grid(3, 4, 10):
        with T.block("B"):
            vi = T.axis.spatial(12, i_0 * 4 + i_1)
            vj = T.axis.spatial(10, j)
            B[vi, vj] = A[vi, vj] * 2.0 + 1.0
""",
    )
    runs(sch, ELEMENTWISE)


def test_split_with_a_predicate() -> None:
    sch = Schedule(ELEMENTWISE.module)
    _, j = sch.get_loops("B")
    sch.split(j, factors=[None, 2, 4])
    becomes(
        sch,
        HEAD
        + """
    for i, j_0, j_1, j_2 in T.grid(12, 2, 2, 4):
        with T.block("B"):
            vi = T.axis.spatial(12, i)
            vj = T.axis.spatial(10, j_0 * 8 + j_1 * 4 + j_2)
            T.where(j_0 * 8 + j_1 * 4 + j_2 < 10)
            B[vi, vj] = A[vi, vj] * 2.0 + 1.0
""",
    )
    runs(sch, ELEMENTWISE)


def test_split_of_a_symbolic_extent() -> None:
    sch = Schedule(DYNAMIC.module)
    i, j = sch.get_loops("B")
    sch.split(i, factors=[None, 4])
    sch.split(j, factors=[3, None])
    becomes(
        sch,
        """def main(a: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (m, n), "float32")
    for i_0, i_1, j_0, j_1 in T.grid((n + 3) // 4, 4, 3, (m + 2) // 3):
        with T.block("B"):
            vi = T.axis.spatial(n, i_0 * 4 + i_1)
            vj = T.axis.spatial(m, j_0 * ((m + 2) // 3) + j_1)
            T.where(i_0 * 4 + i_1 < n and j_0 * ((m + 2) // 3) + j_1 < m)
            B[vj, vi] = A[vi, vj] * 2.0
""",
    )
    runs(sch, DYNAMIC)


def test_split_by_sizes_of_the_program() -> None:
    """A factor can be a size; `n * m` into `n` and `m` needs no predicate."""
    sch = Schedule(DYNAMIC.module)
    n, m = tir.SizeVar("n", "int64"), tir.SizeVar("m", "int64")
    sch.split(sch.fuse(*sch.get_loops("B")), factors=[n, m])
    becomes(
        sch,
        """def main(a: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (m, n), "float32")
    for i, j in T.grid(n, m):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vj, vi] = A[vi, vj] * 2.0
""",
    )
    runs(sch, DYNAMIC)
    refused(sch, lambda: sch.split(sch.get_loops("B")[0], [tir.SizeVar("q", "int64"), None]),
            "factor q is made of sizes that this function does not have")  # fmt: skip


def test_unit_iterators_stay_or_go() -> None:
    for stays, index in ((True, "i_0 * 12 + i_1"), (False, "i_1")):
        sch = Schedule(ELEMENTWISE.module)
        sch.split(sch.get_loops("B")[0], [1, None], preserve_unit_iters=stays)
        becomes(
            sch,
            HEAD
            + f"""
    for i_0, i_1, j in T.grid(1, 12, 10):
        with T.block("B"):
            vi = T.axis.spatial(12, {index})
            vj = T.axis.spatial(10, j)
            B[vi, vj] = A[vi, vj] * 2.0 + 1.0
""",
        )
        runs(sch, ELEMENTWISE)


def test_a_split_without_predicate_is_believed_only_where_it_may_be() -> None:
    sch = Schedule(DYNAMIC.module)
    sch.split(sch.get_loops("B")[0], [None, 1], disable_predication=True)
    assert "T.where" not in sch.mod.script()
    sch = Schedule(ELEMENTWISE.module)
    refused(sch, lambda: sch.split(sch.get_loops("B")[1], [None, 4], disable_predication=True),
            "without a predicate 12 steps would run, loop 'j' has 10")  # fmt: skip


def test_fuse() -> None:
    sch = Schedule(ELEMENTWISE.module)
    sch.fuse(*sch.get_loops("B"))
    becomes(
        sch,
        HEAD
        + """
    for i_j_fused in range(120):
        with T.block("B"):
            vi = T.axis.spatial(12, i_j_fused // 10)
            vj = T.axis.spatial(10, i_j_fused % 10)
            B[vi, vj] = A[vi, vj] * 2.0 + 1.0
""",
    )
    runs(sch, ELEMENTWISE)


def test_fuse_of_loops_without_steps() -> None:
    text = (
        HEAD.replace("12, 10", "3, 0")
        + """    for i, j in T.grid(3, 0):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
"""
    )
    empty = Program("empty", text, [(3, 0), (3, 0)], np.copy)
    sch = Schedule(empty.module)
    sch.fuse(*sch.get_loops("B"))
    runs(sch, empty)


def test_fuse_undoes_split() -> None:
    """What is split and fused again is what it was, names aside."""
    sch = Schedule(ELEMENTWISE.module)
    i, _ = sch.get_loops("B")
    sch.fuse(*sch.split(i, [3, 4]))
    becomes(sch, ELEMENTWISE.text)


def test_reorder_keeps_loops_between_in_place() -> None:
    sch = Schedule(CONVOLUTION.module)
    o, x, c, r = sch.get_loops("C")
    sch.reorder(r, o)
    assert [sch.get(loop) for loop in sch.get_loops("C")] == [sch.get(rv) for rv in (r, x, c, o)]
    becomes(
        sch,
        """def main(A: T.Buffer((3, 10), "float32"), W: T.Buffer((4, 3, 3), "float32"),
             C: T.Buffer((4, 8), "float32")):
    for r, x, c, o in T.grid(3, 8, 3, 4):
        with T.block("C"):
            vo = T.axis.spatial(4, o)
            vx = T.axis.spatial(8, x)
            vc = T.axis.reduce(3, c)
            vr = T.axis.reduce(3, r)
            with T.init():
                C[vo, vx] = 0.0
            C[vo, vx] = C[vo, vx] + A[vc, vx + vr] * W[vo, vc, vr]
""",
    )
    runs(sch, CONVOLUTION)


def test_a_tiled_matmul() -> None:
    sch = Schedule(MATMUL.module)
    i, j, k = sch.get_loops("C")
    i0, i1 = sch.split(i, [None, 4])
    j0, j1 = sch.split(j, [None, 3])
    k0, k1 = sch.split(k, [2, 4])
    sch.reorder(i0, j0, k0, i1, k1, j1)
    runs(sch, MATMUL)


def test_add_unit_loop() -> None:
    sch = Schedule(ELEMENTWISE.module)
    sch.add_unit_loop("B")
    sch.add_unit_loop(sch.get_loops("B")[0])
    becomes(
        sch,
        ELEMENTWISE.text.replace("i, j in T.grid(12, 10)", "u, i, j, w in T.grid(1, 12, 10, 1)"),
    )
    runs(sch, ELEMENTWISE)
    refused(sch, lambda: sch.add_unit_loop(sch.get_block("root")), "body of a function")


def test_merge() -> None:
    sch = Schedule(CHAIN.module)
    merged = sch.merge(*(sch.get_loops(name)[0] for name in "BCD"))
    assert len(sch.get_child_blocks(merged)) == 3
    becomes(
        sch,
        """def main(A: T.Buffer((8, 9), "float32"), D: T.Buffer((8, 9), "float32")):
    B = T.alloc_buffer((8, 9), "float32")
    C = T.alloc_buffer((8, 9), "float32")
    for i in range(8):
        for j in range(9):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0
        for j in range(9):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + A[vi, vj]
        for j in range(9):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj] * B[vi, vj]
""",
    )
    runs(sch, CHAIN)
    inner = [sch.get_loops(name)[1] for name in "BCD"]
    sch.merge(*inner)
    runs(sch, CHAIN)


def test_merge_refuses_what_needs_the_first_loop_done() -> None:
    sch = Schedule(WINDOW.module)
    loops = [sch.get_loops("B")[0], sch.get_loops("C")[0]]
    refused(sch, lambda: sch.merge(*loops), "loop 'i' makes 14 steps and loop 'i' 12")
    part, _ = sch.loop_partition(loops[0], [12, None])
    refused(sch, lambda: sch.merge(part, loops[1]), "block 'B_i_1'|runs between the loops")


def test_loop_partition() -> None:
    sch = Schedule(ROW_SUM.module)
    _, k = sch.get_loops("B")
    refused(sch, lambda: sch.loop_partition(k, [3, None]), "loop 'k' makes m steps")
    refused(sch, lambda: sch.loop_partition(k, [None, 3]), "loop 'k' makes m steps")
    sch = Schedule(MATMUL.module)
    sch.loop_partition(sch.get_loops("C")[2], [3, None])
    becomes(
        sch,
        """def main(A: T.Buffer((6, 8), "float32"), B: T.Buffer((8, 10), "float32"),
             C: T.Buffer((6, 10), "float32")):
    for i, j in T.grid(6, 10):
        for k in range(3):
            with T.block("C_k_0"):
                vi = T.axis.spatial(6, i)
                vj = T.axis.spatial(10, j)
                vk = T.axis.reduce(8, k)
                with T.init():
                    C[vi, vj] = 0.0
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
        for k in range(3, 8):
            with T.block("C_k_1"):
                vi = T.axis.spatial(6, i)
                vj = T.axis.spatial(10, j)
                vk = T.axis.reduce(8, k)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""",
    )
    runs(sch, MATMUL)


Step = Callable[[Schedule], Any]
REFUSALS: list[tuple[Program, Step, str]] = [
    (ELEMENTWISE, lambda s: s.split(s.get_loops("B")[0], [3, 3]),
     "the product of the factors, 9, is not at least the extent of loop 'i', 12"),
    (DYNAMIC, lambda s: s.split(s.get_loops("B")[0], [300, 4]),
     "the product of the factors, 1200, is not at least the extent of loop 'i', n"),
    (ELEMENTWISE, lambda s: s.split(s.get_loops("B")[0], [None, None]), "only one factor"),
    (ELEMENTWISE, lambda s: s.split(s.get_loops("B")[0], []), "at least one factor"),
    (ELEMENTWISE, lambda s: s.split(s.get_loops("B")[0], [0, None]), "must be positive, got 0"),
    (ELEMENTWISE, lambda s: s.split(s.get_loops("B")[0], [-2, None]), "must be positive, got -2"),
    (ELEMENTWISE, lambda s: s.fuse(), "at least one loop"),
    (ELEMENTWISE, lambda s: s.fuse(*reversed(s.get_loops("B"))),
     "loop 'i' is not right inside loop 'j'"),
    (ELEMENTWISE, lambda s: s.fuse(*[s.get_loops("B")[0]] * 2), "loop 'i' is given twice"),
    (CHAIN, lambda s: s.fuse(s.get_loops("B")[0], s.get_loops("C")[1]), "is not right inside"),
    (ELEMENTWISE, lambda s: s.reorder(*[s.get_loops("B")[0]] * 2), "loop 'i' is given twice"),
    (ELEMENTWISE, lambda s: s.reorder(), "at least one loop"),
    (CHAIN, lambda s: s.reorder(s.get_loops("B")[0], s.get_loops("C")[1]), "siblings"),
    (ELEMENTWISE, lambda s: s.merge(s.get_loops("B")[0]), "at least two loops"),
    (MATMUL_RELU, lambda s: s.merge(s.get_loops("C")[1], s.get_loops("D")[0]), "equally deep"),
    (ELEMENTWISE, lambda s: s.merge(*s.get_loops("B")), "equally deep|siblings"),
    (ELEMENTWISE, lambda s: s.loop_partition(s.get_loops("B")[0], [7, 6]), "makes 12 steps"),
    (ELEMENTWISE, lambda s: s.loop_partition(s.get_loops("B")[0], []), "needs factors"),
]  # fmt: skip


@pytest.mark.parametrize(("program", "step", "why"), REFUSALS)
def test_refusals(program: Program, step: Step, why: str) -> None:
    sch = Schedule(program.module)
    refused(sch, lambda: step(sch), why)


def test_what_loops_become_is_serial() -> None:
    for kind in ("parallel", "unroll", "vectorize"):
        for step in (
            lambda s: s.split(s.get_loops("B")[1], [None, 2]),
            lambda s: s.fuse(*s.get_loops("B")),
        ):
            sch = Schedule(ELEMENTWISE.module)
            getattr(sch, kind)(sch.get_loops("B")[1])
            step(sch)
            assert not any(each in sch.mod.script() for each in ("llel", "rolled", "vectorized"))
            runs(sch, ELEMENTWISE)


def test_loops_that_are_not_plain_are_refused() -> None:
    sch = Schedule(ELEMENTWISE.module)
    i, j = sch.get_loops("B")
    sch.annotate(j, "note", 1)
    refused(sch, lambda: sch.fuse(i, j), "loop 'j' has annotations")
    refused(sch, lambda: sch.split(j, [None, 2]), "loop 'j' has annotations")
    sch.unannotate(j, "note")
    sch.bind(j, "threadIdx.x")
    refused(sch, lambda: sch.split(j, [None, 2]), "loop 'j' is bound to 'threadIdx.x'")


def test_loops_that_do_not_begin_at_zero() -> None:
    sch = Schedule(program("for i in range(3, 9):", "T.axis.spatial(12, i)"))
    (i,) = sch.get_loops("B")
    refused(sch, lambda: sch.split(i, [None, 2]), "loop 'i' does not start at 0")
    refused(sch, lambda: sch.fuse(i), "loop 'i' does not start at 0")


def program(loop: str, binding: str) -> Any:
    return Program(
        "one",
        f"""def main(A: T.Buffer((12,), "float32"), B: T.Buffer((12,), "float32")):
    {loop}
        with T.block("B"):
            vi = {binding}
            B[vi] = A[vi] + 1.0
""",
        [],
        lambda a: a,
    ).module


def test_a_triangle_keeps_its_order() -> None:
    """A range that depends on a loop keeps it outside."""
    sch = Schedule(
        Program(
            "triangle",
            """def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i in range(8):
        for j in range(i + 1):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                vj = T.axis.spatial(8, j)
                B[vi, vj] = A[vi, vj] + 1.0
""",
            [], lambda a: a,
        ).module
    )  # fmt: skip
    i, j = sch.get_loops("B")
    refused(sch, lambda: sch.reorder(j, i), "the range of loop 'j' depends on loop 'i'")
    refused(sch, lambda: sch.fuse(i, j), "the extent of loop 'j' depends on loop 'i'")
    sch.split(j, [None, 4])
    given = np.arange(64, dtype="float32").reshape(8, 8)
    got = results(sch.mod, [given], (8, 8), "main")
    np.testing.assert_array_equal(np.tril(got), np.tril(given + 1))


def test_a_scan_keeps_its_order() -> None:
    sch = Schedule(
        Program(
            "scan",
            """def main(A: T.Buffer((8, 6), "float32"), B: T.Buffer((9, 6), "float32")):
    for i, j in T.grid(8, 6):
        with T.block("B"):
            vi = T.axis.scan(8, i)
            vj = T.axis.spatial(6, j)
            B[vi + 1, vj] = A[vi, vj] + B[vi, vj]
""",
            [], lambda a: a,
        ).module
    )  # fmt: skip
    refused(
        sch, lambda: sch.reorder(*reversed(sch.get_loops("B"))), "block 'B' has a scan iterator"
    )


def test_what_a_reduction_begins_with_comes_first() -> None:
    """A loop over elements and the reduction at once cannot be cut and turned around."""
    sch = Schedule(ROW_SUM.module)
    f = sch.fuse(*sch.get_loops("B"))
    outer, inner = sch.split(f, [None, 2])
    refused(sch, lambda: sch.reorder(inner, outer), "a loop of the reduction too")
    runs(sch, ROW_SUM)


def test_iterators_that_are_no_one_to_one_function() -> None:
    sch = Schedule(
        Program(
            "overlap",
            """def main(A: T.Buffer((12,), "float32"), B: T.Buffer((12,), "float32")):
    for i, j in T.grid(6, 4):
        with T.block("B"):
            vi = T.axis.spatial(12, i * 2 + j)
            B[vi] = A[vi] + 1.0
""",
            [], lambda a: a,
        ).module
    )  # fmt: skip
    refused(sch, lambda: sch.reorder(*reversed(sch.get_loops("B"))),
            "the iterators of block 'B' are no one-to-one function of loop 'i'")  # fmt: skip


def test_what_is_given_must_be_of_the_right_kind() -> None:
    sch = Schedule(ELEMENTWISE.module)
    block: Any = sch.get_block("B")
    with pytest.raises(TypeError, match="a LoopRV is needed, got BlockRV"):
        sch.split(block, [None, 2])
    with pytest.raises(ExprTypeError, match="an integer, a size or an ExprRV is needed"):
        sch.split(sch.get_loops("B")[0], [None, 2.5])  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="missing a required argument"):
        sch.split(sch.get_loops("B")[0])  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize("factors", [[None, 1], [1, None], [None, 1, 2], [2, 1, None]])
def test_loops_of_one_step_hide_nothing(factors):
    """`i_0 + i_1` tells `i_0` where `i_1` takes one step."""
    for program in (MATMUL, DYNAMIC_MATMUL):
        sch = Schedule(program.module)
        _, j, k = sch.get_loops("C")
        sch.split(k, [None, 1])
        made = sch.split(sch.get_loops("C")[0], factors)
        sch.reorder(*made[::-1], j)
        sch.reorder(*sch.get_loops("C")[::-1])
        runs(sch, program)
