"""`decompose_reduction` and `rfactor`: what they make and refuse."""

import numpy as np
import pytest
from scheduled_programs import (
    CONVOLUTION,
    DYNAMIC_MATMUL,
    ELEMENTWISE,
    HEAD,
    MATMUL,
    MATMUL_RELU,
    ROW_SUM,
    SOFTMAX,
    Program,
)
from schedules import becomes, refused, replays, results, runs

from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import from_source
from relax_mlir.tir import Schedule


def test_decompose_reduction() -> None:
    sch = Schedule(MATMUL.module)
    i, _, k = sch.get_loops("C")
    k0, k1 = sch.split(k, [None, 4])
    sch.reorder(i, k0, sch.get_loops("C")[1], k1)
    init = sch.decompose_reduction("C", k0)
    assert sch.get(init).attributes["block_name"].value == "C_init"
    becomes(
        sch,
        MATMUL.text[: MATMUL.text.index("    for")]
        + """    for i in range(6):
        for j in range(10):
            with T.block("C_init"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = 0.0
        for k_0, j, k_1 in T.grid(2, 10, 4):
            with T.block("C_update"):
                vi = T.axis.spatial(6, i)
                vj = T.axis.spatial(10, j)
                vk = T.axis.reduce(8, k_0 * 4 + k_1)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""",
    )
    runs(sch, MATMUL)
    sch.vectorize(sch.get_loops(init)[-1])
    runs(sch, MATMUL)


def test_decompose_reduction_keeps_the_predicate_of_elements() -> None:
    sch = Schedule(DYNAMIC_MATMUL.module)
    i, _, k = sch.get_loops("C")
    i0, i1 = sch.split(i, [None, 4])
    k0, _ = sch.split(k, [None, 4])
    sch.reorder(i0, k0, i1)
    block = sch.get_block("C")
    sch.decompose_reduction(block, k0)
    script = sch.mod.script()
    assert "T.where(i_0 * 4 + i_1 < n)" in script
    assert "T.where(i_0 * 4 + i_1 < n and k_0 * 4 + k_1 < 6)" in script
    assert sch.get(block).attributes["block_name"].value == "C_update"
    runs(sch, DYNAMIC_MATMUL)


def test_decompose_reduction_refuses() -> None:
    sch = Schedule(MATMUL.module)
    i, j, k = sch.get_loops("C")
    sch.reorder(k, i)
    refused(sch, lambda: sch.decompose_reduction("C", i), "loop 'k', around loop 'i', is one of")
    sch.decompose_reduction("C", k)
    refused(sch, lambda: sch.decompose_reduction("C_update", k), "it has no init region")
    sch = Schedule(SOFTMAX.module)
    loop = sch.get_loops("most")[0]
    refused(sch, lambda: sch.decompose_reduction("total", loop), "is not around block 'total'")
    refused(sch, lambda: sch.decompose_reduction("power", loop), "no reduction block")
    del j


@pytest.mark.parametrize("axis", [-3, -2, -1, 0, 1, 2])
def test_rfactor(axis: int) -> None:
    sch = Schedule(MATMUL.module)
    k0, _ = sch.split(sch.get_loops("C")[2], [None, 4])
    block = sch.rfactor(k0, axis)
    assert sch.get(block).attributes["block_name"].value == "C_rf"
    shape = [6, 10]
    shape.insert(axis if axis >= 0 else axis + 3, 2)
    assert f"C_rf = T.alloc_buffer(({', '.join(map(str, shape))})" in sch.mod.script()
    sch.parallel(sch.get_loops(block)[2])
    runs(sch, MATMUL)


def test_what_rfactor_makes() -> None:
    sch = Schedule(ROW_SUM.module)
    sch.rfactor(sch.get_loops("B")[1], 0)
    becomes(
        sch,
        ROW_SUM.text[: ROW_SUM.text.index("    for")]
        + """    B_rf = T.alloc_buffer((m, n), "float32")
    for i, k in T.grid(n, m):
        with T.block("B_rf"):
            vk, vi = T.axis.remap("SS", [k, i])
            B_rf[vk, vi] = A[vi, vk]
    for i, k in T.grid(n, m):
        with T.block("B"):
            vk, vi = T.axis.remap("RS", [k, i])
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + B_rf[vk, vi]
""",
    )
    runs(sch, ROW_SUM)


def test_rfactor_beside_other_blocks() -> None:
    sch = Schedule(MATMUL_RELU.module)
    i, j, k = sch.get_loops("C")
    i0, _ = sch.split(i, [None, 4])
    sch.reverse_compute_at("D", i0)
    sch.parallel(i0)
    before = Schedule(sch.mod)
    first = sch.rfactor(sch.split(k, [None, 2])[1], 0)
    assert sch.mod.script().count("in T.parallel(") == 2  # both nests run as the one did
    assert sch.get(sch.get_loops(first)[0]).attributes["kind"].value == "parallel"
    runs(sch, MATMUL_RELU)
    del j
    loop = before.get_loops("C")[0]
    refused(before, lambda: before.rfactor(loop, 0), "parallel|no loop of the reduction")
    sch = Schedule(MATMUL_RELU.module)
    i, _, k = sch.get_loops("C")
    sch.compute_at(sch.cache_read("C", 0, "local"), i)
    refused(sch, lambda: sch.rfactor(k, 0), "block 'A_local' writes 'A_local' in loop 'i' too")
    sch = Schedule(MATMUL.module)
    i, j, k = sch.get_loops("C")
    sch.reorder(k, i, j)
    sch.compute_at(sch.cache_read("C", 1, "local"), i)
    refused(sch, lambda: sch.rfactor(k, 0), "is not all that loop 'k' holds|holds 2 blocks")


def test_rfactor_of_a_sum_that_is_repeated() -> None:
    text = """def main(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")):
    for LOOPS in T.grid(8, 2):
        with T.block("B"):
            vi, vk = T.axis.S(1, 0), T.axis.R(8, k)
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vk]
"""
    sch = Schedule(from_source(HEAD + text.replace("LOOPS", "k, r")))
    refused(sch, lambda: sch.rfactor(sch.get_loops("B")[0], 0), "loop 'r' repeats block 'B'")
    sch = Schedule(from_source(HEAD + text.replace("LOOPS", "r, k").replace("(8, 2)", "(2, 8)")))
    given = np.arange(8, dtype="float32")
    sch.rfactor(sch.split(sch.get_loops("B")[1], [2, 4])[0], 0)
    np.testing.assert_allclose(results(sch.mod, [given], (1,), "main"), [28])


def test_rfactor_where_a_step_may_have_nothing_to_add() -> None:
    """With fewer elements than partial results some of these stay what a sum begins with."""
    for inner in (True, False):
        sch = Schedule(ROW_SUM.module)
        k0, k1 = sch.split(sch.get_loops("B")[1], [None, 16])
        sch.rfactor(k1 if inner else k0, 0)
        assert 'T.block("B_rf_init")' in sch.mod.script()
        runs(sch, ROW_SUM)
        for m in (1, 2, 17, 40):
            given = np.random.default_rng(m).standard_normal((3, m)).astype("float32")
            got = results(sch.mod, [given], (3,), "main")
            np.testing.assert_allclose(got, given.sum(1), rtol=1e-4, atol=1e-5)


def test_rfactor_where_a_step_may_have_nothing_and_sums_are_repeated() -> None:
    """A beginning in front of all loops is good for one time."""
    text = """def main(A: T.Buffer((3, 7), "float32"), B: T.Buffer((3, 4), "float32")):
    C = T.alloc_buffer((3,), "float32")
    for i, j in T.grid(3, 4):
        for k in range(7):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = 0.0
                C[vi] = C[vi] + A[vi, vk]
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = C[vi]
"""
    program = Program("repeated", text, [(3, 7), (3, 4)], lambda a: np.tile(a.sum(1)[:, None], 4))
    sch = Schedule(program.module)
    _, inner = sch.split(sch.get_loops("C")[2], [None, 2])
    refused(sch, lambda: sch.rfactor(inner, 0), "loop 'j' may reduce an element several times")
    sch = Schedule(program.module)
    sch.rfactor(sch.get_loops("C")[2], 0)
    runs(sch, program)


def test_decompose_reduction_of_an_element_that_a_loop_has_several_times() -> None:
    """`i % 3` says which element it is, but not which of the times that it is computed."""
    text = """def main(A: T.Buffer((3, 5), "float32"), B: T.Buffer((6,), "float32")):
    C = T.alloc_buffer((3,), "float32")
    for i in range(6):
        for k in range(5):
            with T.block("C"):
                vi, vk = T.axis.S(3, i % 3), T.axis.R(5, k)
                with T.init():
                    C[vi] = 0.0
                C[vi] = C[vi] + A[vi, vk]
        with T.block("B"):
            vi = T.axis.spatial(6, i)
            B[vi] = C[vi % 3]
"""
    program = Program("periodic", text, [(3, 5), (6,)], lambda a: np.tile(a.sum(1), 2))
    sch = Schedule(program.module)
    i, k = sch.get_loops("C")
    refused(sch, lambda: sch.decompose_reduction("C", i), "loop 'i' repeats block 'C'")
    sch.decompose_reduction("C", k)
    runs(sch, program)


def test_rfactor_of_digits_of_one_loop() -> None:
    """What is left of them is one iterator: digits of it would have other points elsewhere."""
    text = """def main(A: T.Buffer((4, 4, 4), "float32"), B: T.Buffer((4,), "float32")):
    C = T.alloc_buffer((4,), "float32")
    for i, k in T.grid(4, 16):
        with T.block("C"):
            vi, vk, vl = T.axis.S(4, i), T.axis.R(4, k // 4), T.axis.R(4, k % 4)
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vk, vl]
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = C[vi]
"""
    program = Program("digits", text, [(4, 4, 4), (4,)], lambda a: a.sum((1, 2)))
    sch = Schedule(program.module)
    _, k = sch.get_loops("C")
    rf = sch.rfactor(sch.split(k, [None, 2])[1], 0)
    sch.compute_at(rf, sch.get_loops("C")[0])
    runs(sch, program)
    # Two iterators that are one are moved nowhere; those that are digits are.
    sch = Schedule(from_source(HEAD + text.replace("R(4, k % 4)", "R(16, k)").replace(
        "vk, vl]", "vk, vl // 4]")))  # fmt: skip
    place = sch.get_loops("B")[0]
    refused(sch, lambda: sch.compute_at("C", place), "not known to have each point")
    sch = Schedule(program.module)
    sch.split(sch.get_loops("C")[1], [None, 8])
    sch.compute_at("C", sch.get_loops("B")[0])
    runs(sch, program)


def test_rfactor_of_what_has_another_layout() -> None:
    sch = Schedule(MATMUL.module)
    sch.transform_layout("C", ("write", 0), lambda i, j: (j, i // 2, i % 2))
    back = Schedule(sch.mod)
    back.transform_layout("C", ("write", 0), lambda j, i0, i1: (i0 * 2 + i1, j))
    for one in (sch, back):
        one.rfactor(one.get_loops("C")[2], 1)
    np.testing.assert_allclose(
        results(back.mod, MATMUL.inputs(), MATMUL.shapes[-1], "main"),
        MATMUL.want(*MATMUL.inputs()), rtol=1e-4, atol=1e-5,
    )  # fmt: skip


def test_a_sum_that_is_repeated_begins_each_time() -> None:
    sch = Schedule(MATMUL_RELU.module)
    i, j = sch.get_loops("D")
    sch.compute_at("C", i)
    inside = sch.get_loops("C")
    sch.add_unit_loop(inside[1])
    sch.decompose_reduction("C", sch.get_loops("C")[1])
    runs(sch, MATMUL_RELU)
    sch = Schedule(SOFTMAX.module)
    i, j = sch.get_loops("B")
    sch.compute_at("total", j)
    refused(sch, lambda: sch.decompose_reduction("total", i), "loop 'j' repeats block 'total'")
    sch.decompose_reduction("total", sch.get_loops("total")[-1])
    runs(sch, SOFTMAX)


def test_what_a_sum_begins_with_runs_as_the_sum_does() -> None:
    sch = Schedule(MATMUL.module)
    i, j, k = sch.get_loops("C")
    sch.reorder(i, k, j)
    sch.vectorize(j)
    sch.annotate(j, "note", 1)
    sch.annotate("C", "own", 2)
    init = sch.decompose_reduction("C", k)
    assert 'in T.vectorized(10, annotations={"note": 1}):' in sch.mod.script()
    assert sch.mod.script().count('T.block_attr({"own": 2})') == 2
    assert len(sch.get_loops(init)) == 2
    runs(sch, MATMUL)


def test_rfactor_of_what_is_fused() -> None:
    sch = Schedule(CONVOLUTION.module)
    o, x, c, r = sch.get_loops("C")
    outer, inner = sch.split(sch.fuse(c, r), [None, 4])
    sch.reorder(o, outer, x, inner)
    sch.rfactor(outer, 1)
    runs(sch, CONVOLUTION)


OPERATIONS = [
    ("float32", "T.max({a}, {b})", "-100.0", np.maximum.reduce),
    ("float32", "T.min({b}, {a})", "100.0", np.minimum.reduce),
    ("float32", "{a} * {b}", "1.0", np.multiply.reduce),
    ("int32", "{a} + {b}", "5", lambda x, axis: x.sum(axis) + 5),
    ("int32", "T.max({a}, {b})", "T.min_value('int32')", np.maximum.reduce),
    ("uint8", "T.min({a}, {b})", "T.uint8(255)", np.minimum.reduce),
]


@pytest.mark.parametrize(("dtype", "update", "start", "want"), OPERATIONS)
def test_rfactor_of_every_operation(dtype: str, update: str, start: str, want: object) -> None:
    assert callable(want)
    start = start if "min_value" not in start else "T.int32(-2147483648)"
    text = f"""def main(A: T.Buffer((4, 12), "{dtype}"), B: T.Buffer((4,), "{dtype}")):
    for i, k in T.grid(4, 12):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = {start}
            B[vi] = {update.format(a="B[vi]", b="A[vi, vk]")}
"""
    sch = Schedule(from_source(HEAD + text))
    k0, _ = sch.split(sch.get_loops("B")[1], [None, 5])
    sch.rfactor(k0, 1)
    rng = np.random.default_rng(3)
    given = rng.integers(1, 9, (4, 12)).astype(dtype)
    got = results(sch.mod, [given], (4,), "main", dtype)
    np.testing.assert_allclose(got, want(given, axis=1), rtol=1e-5)


def test_rfactor_refuses() -> None:
    sch = Schedule(MATMUL.module)
    i, _, k = sch.get_loops("C")
    refused(sch, lambda: sch.rfactor(i, 0), "loop 'i' is no loop of the reduction")
    refused(sch, lambda: sch.rfactor(k, 3), r"factor_axis must be in the range \[-3, 2\], got 3")
    sch.annotate(k, "note", 1)
    refused(sch, lambda: sch.rfactor(k, 0), "loop 'k' has annotations")
    sch = Schedule(ELEMENTWISE.module)
    refused(sch, lambda: sch.rfactor(sch.get_loops("B")[0], 0), "no reduction block")
    text = ROW_SUM.text.replace("B[vi] + A[vi, vk]", "B[vi] - A[vi, vk]")
    sch = Schedule(from_source(HEAD + text))
    refused(sch, lambda: sch.rfactor(sch.get_loops("B")[1], 0), "no sum, product, maximum")


ARGMAX = """def main(A: T.Buffer((5, 24), "float32"), B: T.Buffer((5,), "float32")):
    I = T.alloc_buffer((5,), "int32")
    M = T.alloc_buffer((5,), "float32")
    for i, k in T.grid(5, 24):
        with T.block("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                I[vi] = -1
                M[vi] = T.min_value("float32")
            place = T.Select(CHOOSES, I[vi], T.cast(vk, "int32"))
            most = T.Select(M[vi] >= A[vi, vk], M[vi], A[vi, vk])
            I[vi] = place
            M[vi] = most
    for i in range(5):
        with T.block("B"):
            vi = T.axis.spatial(5, i)
            B[vi] = T.cast(I[vi], "float32") * T.float32(64) + M[vi]
"""
BY_NUMBER = "M[vi] >= A[vi, vk]"
BY_PLACE = "M[vi] > A[vi, vk] or M[vi] == A[vi, vk] and I[vi] < T.cast(vk, 'int32')"


@pytest.mark.parametrize("factor", [None, 5])
@pytest.mark.parametrize("chooses", [BY_NUMBER, BY_PLACE], ids=["number", "place"])
def test_rfactor_of_argmax(chooses: str, factor: int | None) -> None:
    source = from_source(HEAD + ARGMAX.replace("CHOOSES", chooses))
    sch = Schedule(source)
    loop = sch.get_loops("M")[1]
    for axis in (0, -1):
        if factor is not None:
            loop = sch.split(loop, [None, factor])[1]
        block = sch.rfactor(loop, axis)
        assert "I_rf = T.alloc_buffer" in sch.mod.script()
        sch.parallel(sch.get_loops(block)[0])
        loop = sch.get_loops("M")[-1]
    assert_structural_equal(from_source(sch.mod.script()), sch.mod)
    replays(sch, source)
    given = np.random.default_rng(3).permuted(
        np.arange(120, dtype="float32").reshape(5, 24) / 2 - 40, axis=1
    )
    if chooses == BY_PLACE:  # of equal numbers the first one
        given = np.floor(given / 4)
    got = results(sch.mod, [given], (5,), "main")
    np.testing.assert_array_equal(got, given.argmax(1) * 64 + given.max(1))


def test_what_rfactor_of_argmax_makes() -> None:
    sch = Schedule(from_source(HEAD + ARGMAX.replace("CHOOSES", BY_NUMBER)))
    sch.rfactor(sch.split(sch.get_loops("M")[1], [None, 8])[1], 1)
    text = (
        ARGMAX[: ARGMAX.index("    for")]
        + """    I_rf = T.alloc_buffer((5, 8), "int32")
    M_rf = T.alloc_buffer((5, 8), "float32")
    for i, k_0, k_1 in T.grid(5, 3, 8):
        with T.block("M_rf"):
            vk_1, vi, vk_0 = T.axis.remap("SSR", [k_1, i, k_0])
            with T.init():
                I_rf[vi, vk_1] = -1
                M_rf[vi, vk_1] = T.min_value("float32")
            k = vk_1 + vk_0 * 8
            place = T.Select(M_rf[vi, vk_1] >= A[vi, k], I_rf[vi, vk_1], T.cast(k, "int32"))
            most = T.Select(M_rf[vi, vk_1] >= A[vi, k], M_rf[vi, vk_1], A[vi, k])
            I_rf[vi, vk_1] = place
            M_rf[vi, vk_1] = most
    for i, k_1 in T.grid(5, 8):
        with T.block("M"):
            vk_1, vi = T.axis.remap("RS", [k_1, i])
            with T.init():
                I[vi] = -1
                M[vi] = T.min_value("float32")
            place = T.Select(M[vi] >= M_rf[vi, vk_1], I[vi], I_rf[vi, vk_1])
            most = T.Select(M[vi] >= M_rf[vi, vk_1], M[vi], M_rf[vi, vk_1])
            I[vi] = place
            M[vi] = most
"""
    )
    becomes(sch, text + ARGMAX[ARGMAX.index("    for i in") :])


@pytest.mark.parametrize(
    "steps", [
        "M[vi] = M[vi] + A[vi, vk]; I[vi] = T.max(I[vi], A[vi, vk])",
        "I[vi] = T.min(A[vi, vk], I[vi]); M[vi] = M[vi] * A[vi, vk]",
    ],
)  # fmt: skip
def test_rfactor_of_reductions_side_by_side(steps: str) -> None:
    lines = ARGMAX.replace('(5,), "int32"', '(5,), "float32"').replace("= -1", "= 2.0")
    lines = lines.replace('T.min_value("float32")', "1.5").split("\n")
    lines = [line for line in lines if "Select" not in line and "= most" not in line]
    at = next(i for i, line in enumerate(lines) if "= place" in line)
    lines[at : at + 1] = [" " * 12 + step.strip() for step in steps.split(";")]
    source = from_source(HEAD + "\n".join(lines))
    sch = Schedule(source)
    sch.rfactor(sch.split(sch.get_loops("M")[1], [None, 8])[0], 0)
    given = np.random.default_rng(3).uniform(0.8, 1.2, (5, 24)).astype("float32")
    want = results(source, [given], (5,), "main")
    np.testing.assert_allclose(results(sch.mod, [given], (5,), "main"), want, rtol=1e-5)


@pytest.mark.parametrize(
    ("old", "new"), [
        ("M[vi] >= A[vi, vk], M[vi]", "M[vi] <= A[vi, vk], M[vi]"),  # one least, one most
        ("M[vi] >= A[vi, vk], I[vi]", "M[vi] >= A[vi, 0], I[vi]"),
        ("M[vi] >= A[vi, vk], I[vi]", "M[vi] > A[vi, vk], I[vi]"),
        ("I[vi] = place", "I[vi] = place + 1"),
        ("M[vi], A[vi, vk])", "M[vi], M[vi] + A[vi, vk])"),
        ("I[vi] = place", "I[4 - vi] = place"),
    ],
)  # fmt: skip
def test_rfactor_refuses_what_is_no_argmax(old: str, new: str) -> None:
    text = ARGMAX.replace("CHOOSES", BY_NUMBER)
    assert old in text
    sch = Schedule(from_source(HEAD + text.replace(old, new)))
    refused(sch, lambda: sch.rfactor(sch.get_loops("M")[1], 0), "cannot be decomposed")


def test_rfactor_refuses_an_element_added_to_itself() -> None:
    text = ROW_SUM.text.replace("B[vi] + A[vi, vk]", "B[vi] + B[vi]")
    assert text != ROW_SUM.text
    sch = Schedule(from_source(HEAD + text))
    refused(sch, lambda: sch.rfactor(sch.get_loops("B")[1], 0), "cannot be decomposed")
