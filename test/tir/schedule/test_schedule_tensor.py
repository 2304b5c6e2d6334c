"""Blocks made of loops, and tensor intrinsics in their place."""

import pytest
from scheduled_programs import (
    CHAIN,
    DYNAMIC,
    DYNAMIC_MATMUL,
    ELEMENTWISE,
    HEAD,
    MATMUL,
    MATMUL_RELU,
    NEAREST,
    ROW_SUM,
    SOFTMAX,
    Program,
)
from schedules import becomes, refused, runs

from relax_mlir.script import from_source
from relax_mlir.tir import TensorIntrin
from relax_mlir.tir.schedule import Schedule


def tiled(sch, name="C", factors=(2, 2, 4)):
    pairs = [
        sch.split(loop, [None, f]) for loop, f in zip(sch.get_loops(name), factors, strict=True)
    ]
    outer, inner = zip(*pairs, strict=True)
    sch.reorder(*outer, *inner)
    return inner[0]


DOUBLE = Program(
    "double",
    """def main(A: T.Buffer((24, 10), "float32"), C: T.Buffer((24, 10), "float32")):
    B = T.alloc_buffer((24, 10), "float32")
    for i, j in T.grid(24, 10):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, 9 - vj] = A[vi, 9 - vj] * 2.0
    for i, j in T.grid(24, 10):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0
""",
    [(24, 10), (24, 10)],
    lambda a: a * 2 + 1,
)


def test_blockize():
    sch = Schedule(MATMUL.module)
    block = sch.get_block("C")
    made = sch.blockize(tiled(sch))
    assert len(sch.get_loops(made)) == 3
    assert len(sch.get_loops(block)) == 3
    assert len(sch.get_child_blocks(made)) >= 1
    becomes(
        sch,
        """def main(A: T.Buffer((6, 8), "float32"), B: T.Buffer((8, 10), "float32"),
             C: T.Buffer((6, 10), "float32")):
    for i0, j0, k0 in T.grid(3, 5, 2):
        with T.block("C_o"):
            io, jo, ko = T.axis.remap("SSR", [i0, j0, k0])
            T.reads(C[io * 2 : io * 2 + 2, jo * 2 : jo * 2 + 2],
                    A[io * 2 : io * 2 + 2, ko * 4 : ko * 4 + 4],
                    B[ko * 4 : ko * 4 + 4, jo * 2 : jo * 2 + 2])
            T.writes(C[io * 2 : io * 2 + 2, jo * 2 : jo * 2 + 2])
            with T.init():
                for i1, j1 in T.grid(2, 2):
                    with T.block("C_init"):
                        vi, vj = T.axis.remap("SS", [i1, j1])
                        C[io * 2 + vi, jo * 2 + vj] = 0.0
            for i1, j1, k1 in T.grid(2, 2, 4):
                with T.block("C"):
                    vi, vj, vk = T.axis.remap("SSR", [i1, j1, k1])
                    C[io * 2 + vi, jo * 2 + vj] = (
                        C[io * 2 + vi, jo * 2 + vj] + A[io * 2 + vi, ko * 4 + vk]
                        * B[ko * 4 + vk, jo * 2 + vj])
""",
    )
    runs(sch, MATMUL)


CASES = [
    (MATMUL, "C", 0), (MATMUL, "C", 1), (MATMUL, "C", 2), (DYNAMIC_MATMUL, "C", 1),
    (DYNAMIC_MATMUL, "C", 0), (ROW_SUM, "B", 1), (DYNAMIC, "B", 1), (DYNAMIC, "B", 0),
]  # fmt: skip


@pytest.mark.parametrize("preserve", [True, False])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_blockize_any_loop(case, preserve):
    program, name, position = CASES[case]
    sch = Schedule(program.module)
    sch.blockize(sch.get_loops(name)[position], preserve_unit_iters=preserve)
    runs(sch, program)


def test_blocks_of_blocks_go_on():
    sch = Schedule(MATMUL.module)
    sch.decompose_reduction("C", sch.get_loops("C")[0])
    made = sch.blockize(tiled(sch, "C_update"))
    sch.parallel(sch.get_loops(made)[0])
    sch.reorder(*reversed(sch.get_loops("C_update")))
    sch.vectorize(sch.get_loops("C_update")[1])
    runs(sch, MATMUL)


@pytest.mark.parametrize("factors", [(4, 4, 4), (8, 2, 4), (2, 4, 8), (3, 5, 8)])
@pytest.mark.parametrize("depth", [0, 1])
def test_only_the_tiles_that_are_needed_move(factors, depth):
    sch = Schedule(MATMUL_RELU.module)
    sch.pad_einsum("C", [8, 8, 8])
    sch.blockize(tiled(sch, "C", (4, 2, 4)))
    rows, columns = sch.get_loops("C_pad")
    i0, i1 = sch.split(rows, [None, factors[0]])
    j0, j1 = sch.split(columns, [None, factors[1]])
    sch.reorder(i0, j0, i1, j1)
    sch.compute_at("C_o", [i0, j0][depth])
    runs(sch, MATMUL_RELU)


def test_compute_at_of_a_tile():
    sch = Schedule(DOUBLE.module)
    sch.blockize(tiled(sch, "B", (4, 2)))
    i0, i1 = sch.split(sch.get_loops("C")[0], [None, 8])
    sch.compute_at("B_o", i0)
    assert "for i_0 in range(3):\n            for ax0, ax1 in T.grid(2, 5):" in sch.mod.script()
    sch.parallel(i0)
    runs(sch, DOUBLE)
    columns = sch.get_loops("C")[2]
    sch.reorder(columns, i1)
    sch.compute_at("B_o", columns)
    assert "for ax0 in range(2):" in sch.mod.script()
    runs(sch, DOUBLE)


def test_reverse_compute_at_of_a_tile():
    sch = Schedule(DOUBLE.module)
    sch.blockize(tiled(sch, "C", (6, 5)))
    i0, _ = sch.split(sch.get_loops("B")[0], [None, 12])
    sch.reverse_compute_at("C_o", i0)
    assert len(sch.get_loops("C_o")) == 3
    runs(sch, DOUBLE)


def test_blockize_keeps_how_loops_run():
    sch = Schedule(MATMUL.module)
    i, j, _ = sch.get_loops("C")
    sch.parallel(i)
    sch.annotate(j, "note", 1)
    sch.unroll(j)
    sch.blockize(i)
    assert sch.mod.script().count("in T.parallel(6)") == 2
    assert sch.mod.script().count('in T.unroll(10, annotations={"note": 1})') == 2
    runs(sch, MATMUL)


def test_one_tile_of_all_that_another_layout_has():
    """Iterators that are numbers leave no arithmetic with 0 behind."""
    sch = Schedule(DYNAMIC.module)
    sch.pad_einsum("B", [4, 2])
    sch.blockize(sch.get_loops("A_pad")[0])
    sch.transform_block_layout("A_pad_o", lambda i, j: (i, j))
    runs(sch, DYNAMIC)


def test_blockize_is_refused():
    sch = Schedule(MATMUL.module)
    loops = sch.get_loops("C")
    outer, inner = sch.split(loops[0], [None, 4])
    refused(sch, lambda: sch.blockize(inner), "compares loops inside with loops around")
    del outer
    sch = Schedule(MATMUL.module)
    i, j, _ = sch.get_loops("C")
    fused = sch.fuse(i, j)
    _, part = sch.split(fused, [None, 4])
    refused(sch, lambda: sch.blockize(part), "not known to be one part")
    sch = Schedule(MATMUL.module)
    sch.decompose_reduction("C", sch.get_loops("C")[2])
    refused(sch, lambda: sch.blockize(sch.get_loops("C_init")[1]), "holds 2 blocks")


DESC = """def desc(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (2, 4), "float32")
    B = T.match_buffer(b, (4, 2), "float32")
    C = T.match_buffer(c, (2, 2), "float32")
    with T.block("root"):
        T.reads(C[0:2, 0:2], A[0:2, 0:4], B[0:4, 0:2])
        T.writes(C[0:2, 0:2])
        for i, j, k in T.grid(2, 2, 4):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + B[vk, vj] * A[vi, vk]
"""
IMPL = """def impl(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (2, 4), "float32")
    B = T.match_buffer(b, (4, 2), "float32")
    C = T.match_buffer(c, (2, 2), "float32")
    for k in T.serial(4):
        for i in T.unroll(2):
            for j in T.vectorized(2):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]
"""


def intrinsic(name, desc=DESC, impl=IMPL):
    TensorIntrin.register(name, from_source(HEAD + desc), from_source(HEAD + impl), override=True)
    return name


@pytest.mark.parametrize("decomposed", [False, True])
def test_tensorize(decomposed):
    sch = Schedule(MATMUL.module)
    name = "C"
    if decomposed:
        sch.decompose_reduction("C", sch.get_loops("C")[0])
        name = "C_update"
    sch.tensorize(tiled(sch, name), intrinsic("test_matmul"))
    runs(sch, MATMUL)
    text = sch.mod.script()
    assert "T.unroll(2)" in text
    assert f'T.block("{name}")' not in text
    assert "C[vi_o * 2 + i, vj_o * 2 + j] = C[vi_o * 2 + i, vj_o * 2 + j] + A[vi_o * 2 + i" in text


def test_tensorize_a_block():
    sch = Schedule(MATMUL.module)
    made = sch.blockize(tiled(sch))
    sch.tensorize(made, intrinsic("test_matmul"))
    runs(sch, MATMUL)


BATCHED = Program(
    "batched",
    """def main(A: T.Buffer((3, 4, 8), "float32"), B: T.Buffer((3, 8, 6), "float32"),
             C: T.Buffer((3, 4, 6), "float32")):
    for b, i, j, k in T.grid(3, 4, 6, 8):
        with T.block("C"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                C[vb, vi, vj] = 0.0
            C[vb, vi, vj] = C[vb, vi, vj] + A[vb, vi, vk] * B[vb, vk, vj]
""",
    [(3, 4, 8), (3, 8, 6), (3, 4, 6)],
    lambda a, b: a @ b,
)


def test_tensorize_parts_of_larger_rank():
    sch = Schedule(BATCHED.module)
    loops = sch.get_loops("C")
    pairs = [sch.split(loop, [None, f]) for loop, f in zip(loops[1:], (2, 2, 4), strict=True)]
    sch.reorder(*(pair[0] for pair in pairs), *(pair[1] for pair in pairs))
    sch.tensorize(pairs[0][1], intrinsic("test_matmul"))
    sch.parallel(loops[0])
    runs(sch, BATCHED)


WRONG = [
    (("(2, 2, 4)", "(2, 2, 2)"), "extent"),
    (("B[vk, vj] * A", "B[vk, vj] + A"), "expected 'arith.addf', got"),
    (("SSR", "SRS"), "iterators"),
    (("B[vk, vj] * A[vi, vk]", "B[vk, vj] * A[vi, vk + 1]"), None),
    (("B[vk, vj] * A[vi, vk]", "B[vk, vj] * A[vi, 0]"), "no tile"),
    (("B[vk, vj] * A[vi, vk]", "B[vk, vj] * B[vk, vj]"), "two parts|no tile"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_tensorize_is_refused(number):
    (old, new), why = WRONG[number]
    desc = DESC.replace(old, new)
    if why is None:
        desc = desc.replace("(2, 4), ", "(2, 5), ")
        impl = IMPL.replace("(2, 4), ", "(2, 5), ").replace("A[i, k]", "A[i, k + 1]")
        sch = Schedule(MATMUL.module)
        sch.tensorize(tiled(sch), intrinsic("test_shifted", desc, impl))
        runs(sch, MATMUL)
        return
    sch = Schedule(MATMUL.module)
    loop = tiled(sch)
    name = intrinsic("test_wrong", desc)
    refused(sch, lambda: sch.tensorize(loop, name), why)


def test_tensorize_two_parts_of_one_buffer():
    text = """def main(A: T.Buffer((6, 8), "float32"), C: T.Buffer((6, 6), "float32")):
    for i, j, k in T.grid(6, 6, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * A[vj, vk]
"""
    program = Program("gram", text, [(6, 8), (6, 6)], lambda a: a @ a.T)
    desc, impl = (
        text.replace("B[vk, vj] * A[vi, vk]", "A[vi, vk] * B[vj, vk]").replace("B[k, j]", "B[j, k]")
        .replace("B[0:4, 0:2]", "B[0:2, 0:4]").replace("(b, (4, 2)", "(b, (2, 4)")
        for text in (DESC, IMPL)
    )  # fmt: skip
    sch = Schedule(program.module)
    sch.tensorize(tiled(sch), intrinsic("test_gram", desc, impl))
    runs(sch, program)


ROWS = """def {name}(a: T.handle, b: T.handle):
    A = T.match_buffer(a, ({rows}, 5), "float32")
    B = T.match_buffer(b, ({rows}, 5), "float32")
    with T.block("root"):
        T.reads(A[0:{rows}, 0:5])
        T.writes(B[0:{rows}, 0:5])
        {body}
"""
COPIED = """for i, j in T.grid({rows}, 5):
            with T.block("copy"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
"""
CALLED = 'T.call_extern("void", "memcpy", B.access_ptr("w"), A.access_ptr("r"), {rows} * 20)'
COPY = Program(
    "copy",
    """def main(A: T.Buffer((6, 10), "float32"), B: T.Buffer((6, 10), "float32")):
    for i, j in T.grid(6, 10):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
""",
    [(6, 10), (6, 10)],
    lambda a: a,
)


@pytest.mark.parametrize("rows", [1, 2])
def test_tensorize_by_a_c_function(rows):
    texts = (COPIED.format(rows=rows), CALLED.format(rows=rows))
    desc, impl = (ROWS.format(name="tile", rows=rows, body=text) for text in texts)
    name = intrinsic(f"test_memcpy_{rows}", desc, impl)
    sch = Schedule(COPY.module)
    loop = tiled(sch, "B", (rows, 5))
    if rows > 1:
        refused(sch, lambda: sch.tensorize(loop, name), "rows are not next to each other")
        return
    sch.tensorize(loop, name)
    assert "T.address_of(A[vi_o, vj_o * 5])" in sch.mod.script()
    runs(sch, COPY)


def test_intrinsics_are_checked():
    with pytest.raises(ValueError, match="there is a tensor intrinsic"):
        TensorIntrin.register(
            intrinsic("test_matmul"), from_source(HEAD + DESC), from_source(HEAD + IMPL)
        )
    with pytest.raises(ValueError, match="must take the same"):
        intrinsic("test_other", DESC, IMPL.replace("(2, 4)", "(2, 5)"))
    with pytest.raises(ValueError, match="no tensor intrinsic 'test_nothing'"):
        TensorIntrin.get("test_nothing")
    assert TensorIntrin.get("test_nothing", allow_missing=True) is None
    with pytest.raises(TypeError, match="one prim func"):
        TensorIntrin.register("test_none", None, None)
    sch = Schedule(MATMUL.module)
    with pytest.raises(ValueError, match="no tensor intrinsic"):
        sch.tensorize(sch.get_loops("C")[0], "test_nothing")


def test_blockize_several_blocks():
    sch = Schedule(CHAIN.module)
    sch.reverse_compute_at("C", sch.get_loops("B")[0])
    made = sch.blockize(["B", "C"])
    assert len(sch.get_loops(made)) == 1
    assert [len(sch.get_loops(name)) for name in ("B", "C")] == [1, 1]
    becomes(
        sch,
        """def main(A: T.Buffer((8, 9), "float32"), D: T.Buffer((8, 9), "float32")):
    B = T.alloc_buffer((8, 9), "float32")
    C = T.alloc_buffer((8, 9), "float32")
    for i in range(8):
        with T.block("outer_B_C"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi, 0:9], B[vi, 0:9])
            T.writes(B[vi, 0:9], C[vi, 0:9])
            for j in range(9):
                with T.block("B"):
                    wi = T.axis.spatial(8, vi)
                    wj = T.axis.spatial(9, j)
                    B[wi, wj] = A[wi, wj] * 2.0
            for j in range(9):
                with T.block("C"):
                    wi = T.axis.spatial(8, vi)
                    wj = T.axis.spatial(9, j)
                    C[wi, wj] = B[wi, wj] + A[wi, wj]
    for i, j in T.grid(8, 9):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] * B[vi, vj]
""",
    )
    runs(sch, CHAIN)


@pytest.mark.parametrize("preserve", [True, False])
def test_blockize_blocks_of_reductions_and_predicates(preserve):
    sch = Schedule(MATMUL_RELU.module)
    i, _, _ = sch.get_loops("C")
    i0, _ = sch.split(i, [None, 4])
    sch.add_unit_loop(i0)
    sch.reverse_compute_at("D", i0)
    made = sch.blockize(["C", "D"], preserve_unit_iters=preserve)
    sch.parallel(sch.get_loops(made)[-1])
    runs(sch, MATMUL_RELU)
    whole = Schedule(SOFTMAX.module)
    made = whole.blockize([whole.get_block(name) for name in ("most", "power", "total", "B")])
    assert whole.get_loops(made) == []
    runs(whole, SOFTMAX)


def test_blockize_of_all_that_a_predicate_leaves():
    sch = Schedule(ELEMENTWISE.module)
    i, j = sch.get_loops("B")
    sch.split(j, [None, 3])
    sch.blockize(i)
    runs(sch, ELEMENTWISE)


def test_a_copy_of_what_a_block_of_blocks_computes():
    sch = Schedule(MATMUL.module)
    made = sch.blockize(tiled(sch))
    back = sch.cache_write(made, 0, "local")
    assert [sch.get(loop).name for loop in sch.get_loops(back)] == ["tir.for"] * 2
    runs(sch, MATMUL)
    sch.reverse_compute_at(back, sch.get_loops(made)[1])
    runs(sch, MATMUL)
    sch = Schedule(ELEMENTWISE.module)
    i, j = sch.get_loops("B")
    sch.split(j, [None, 3])
    made = sch.blockize(i)
    refused(sch, lambda: sch.cache_write(made, 0, "local"), "neither one element of 'B' nor all")


def test_inside_there_are_no_iterators_of_one_value():
    sch = Schedule(MATMUL.module)
    sch.blockize(sch.get_loops("C")[1])
    text = sch.mod.script()
    assert "vj_o = T.axis.spatial(1, 0)" in text
    assert "vi_i" not in text
    runs(sch, MATMUL)


def test_blockize_of_loops_whose_steps_vary_is_refused():
    sch = Schedule(NEAREST.module)
    _, j = sch.get_loops("B")
    copy = sch.read_at(j, "B", 0, "local")
    refused(sch, lambda: sch.blockize([copy]), "how many steps loop 'ax1' makes is no size")


def test_blockize_several_blocks_is_refused():
    sch = Schedule(CHAIN.module)
    refused(sch, lambda: sch.blockize(["B", "D"]), "is between them")
    refused(sch, lambda: sch.blockize([]), "one block or more")
    refused(sch, lambda: sch.blockize(["B", "B"]), "given twice|twice")
    refused(sch, lambda: sch.blockize(["root"]), "the body of a function")
    with pytest.raises(TypeError, match="a LoopRV or blocks are needed"):
        sch.blockize(3)
    sch = Schedule(MATMUL_RELU.module)
    k = sch.get_loops("C")[2]
    sch.reorder(k, *sch.get_loops("C")[:2])
    refused(sch, lambda: sch.blockize(["C"]), "reduces over .*decompose_reduction")
    sch.decompose_reduction("C", k)
    sch.blockize(["C_update"])
    runs(sch, MATMUL_RELU)
