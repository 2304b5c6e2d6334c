"""`cache_read`, `cache_write`, `set_scope`, `storage_align`: what they make and refuse."""

import numpy as np
import pytest
from scheduled_programs import (
    CHAIN,
    DYNAMIC,
    ELEMENTWISE,
    HEAD,
    MATMUL,
    MATMUL_RELU,
    WINDOW,
    Program,
)
from schedules import becomes, refused, runs, stored

from relax_mlir.script import from_source
from relax_mlir.tir import Schedule


def test_cache_read() -> None:
    sch = Schedule(ELEMENTWISE.module)
    sch.cache_read("B", 0, "shared")
    becomes(
        sch,
        """def main(A: T.Buffer((12, 10), "float32"), B: T.Buffer((12, 10), "float32")):
    A_shared = T.alloc_buffer((12, 10), "float32", scope="shared")
    for ax0, ax1 in T.grid(12, 10):
        with T.block("A_shared"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            A_shared[v0, v1] = A[v0, v1]
    for i, j in T.grid(12, 10):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A_shared[vi, vj] * 2.0 + 1.0
""",
    )
    runs(sch, ELEMENTWISE)


def test_cache_write() -> None:
    sch = Schedule(ELEMENTWISE.module)
    sch.cache_write("B", "B", "local")
    becomes(
        sch,
        """def main(A: T.Buffer((12, 10), "float32"), B: T.Buffer((12, 10), "float32")):
    B_local = T.alloc_buffer((12, 10), "float32", scope="local")
    for i, j in T.grid(12, 10):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B_local[vi, vj] = A[vi, vj] * 2.0 + 1.0
    for ax0, ax1 in T.grid(12, 10):
        with T.block("B_local"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            B[v0, v1] = B_local[v0, v1]
""",
    )
    runs(sch, ELEMENTWISE)


def test_some_of_the_readers() -> None:
    sch = Schedule(CHAIN.module)
    sch.cache_read("C", "B", "shared", ["C"])
    script = sch.mod.script()
    assert "C[vi, vj] = B_shared[vi, vj] + A[vi, vj]" in script
    assert "D[vi, vj] = C[vi, vj] * B[vi, vj]" in script
    runs(sch, CHAIN)
    sch = Schedule(MATMUL_RELU.module)
    sch.cache_write("C", 0, "local", consumer_blocks=["D"])
    assert "T.max(C_local[vi, vj], 0.0)" in sch.mod.script()
    runs(sch, MATMUL_RELU)


def test_a_copy_of_what_a_reduction_computes() -> None:
    sch = Schedule(MATMUL_RELU.module)
    sch.cache_read("D", 0, "local")
    text = sch.mod.script()
    assert "C_local[v0, v1] = C[v0, v1]" in text
    assert "T.max(C_local[vi, vj], 0.0)" in text
    runs(sch, MATMUL_RELU)


def loops_of(sch: Schedule, block: str) -> list[str]:
    with sch.state.entered():
        loops = [sch.get(loop) for loop in sch.get_loops(block)]
        return [str(sch.state.indices(loop).lift(loop.operands[1])) for loop in loops]


def test_the_loops_of_a_copy_are_those_of_the_buffer() -> None:
    """Whatever the loops of the block that writes."""
    sch = Schedule(MATMUL.module)
    i, j, k = sch.get_loops("C")
    i0, i1 = sch.split(i, [None, 4])
    j0, j1 = sch.split(j, [None, 4])
    sch.reorder(i0, j0, k, i1, j1)
    sch.fuse(i0, j0)
    sch.cache_write("C", 0, "local")
    assert loops_of(sch, "C_local") == ["6", "10"]
    runs(sch, MATMUL)
    sch = Schedule(DYNAMIC.module)
    sch.fuse(*sch.get_loops("B"))
    sch.cache_write("B", 0, "local")
    runs(sch, DYNAMIC)


def test_what_is_added_to_is_read_where_nothing_begins_it() -> None:
    sch = Schedule(MATMUL.module)
    sch.decompose_reduction("C", sch.get_loops("C")[2])
    refused(
        sch,
        lambda: sch.cache_read("C_update", 0, "local"),
        "everything that reads 'C' writes it too",
    )
    sch.cache_read("C_update", 1, "local")
    sch.cache_read("C_update", 2, "local")
    text = sch.mod.script()
    assert "A_local[vi1, vk] * B_local[vk, vj1]" in text
    runs(sch, MATMUL)


def test_only_what_is_read_is_copied() -> None:
    sch = Schedule(CHAIN.module)
    i, _ = sch.get_loops("D")
    sch.compute_at("C", i)
    sch.cache_read("D", "C", "local")
    assert loops_of(sch, "C_local") == ["8", "1", "9"]
    runs(sch, CHAIN)
    sch = Schedule(WINDOW.module)
    outer, _ = sch.split(sch.get_loops("C")[0], [None, 5])
    sch.compute_at("B", outer)
    sch.cache_read("C", "B", "local")
    assert "T.where(" in sch.mod.script()
    runs(sch, WINDOW)


PART = """def main(A: T.Buffer((12,), "float32"), B: T.Buffer((12,), "float32")):
    for i in range({steps}):
        with T.block("part"):
            vi = T.axis.spatial({extent}, {at})
            T.where({where})
            B[{to}] = A[vi] * 2.0
"""
PARTS = [
    ({"to": "vi + 3"}, "8", slice(3, 11), slice(0, 8)),
    ({"at": "i + 2", "extent": 10}, "8", slice(2, 10), slice(2, 10)),
    ({"to": "vi * 2", "steps": 5, "extent": 5}, "5", slice(0, 10, 2), slice(0, 5)),
    ({"where": "i < 5"}, "8", slice(0, 5), slice(0, 5)),
    ({"where": "i < 5", "extent": 5}, "5", slice(0, 5), slice(0, 5)),
    ({"where": "2 <= i"}, "8", slice(2, 8), slice(2, 8)),
    ({"at": "i - 2", "where": "2 <= i"}, "8", slice(0, 6), slice(0, 6)),
]


@pytest.mark.parametrize(("change", "steps", "written", "read"), PARTS)
def test_a_copy_of_a_part_leaves_the_rest(
    change: dict[str, object], steps: str, written: slice, read: slice
) -> None:
    known = {"steps": 8, "extent": 8, "at": "i", "where": "i < 20", "to": "vi"} | change

    def want(a: np.ndarray) -> np.ndarray:
        # What runs it gives it an array of these.
        b = np.full_like(a, np.nan)
        b[written] = a[read] * 2
        return b

    program = Program("part", PART.format(**known), [(12,), (12,)], want)
    sch = Schedule(program.module)
    sch.cache_write("part", 0, "local")
    assert loops_of(sch, "B_local") == [steps]
    runs(sch, program)


def test_a_copy_of_what_is_chosen() -> None:
    """A block may choose what it stores; only the store counts."""
    text = """def main(A: T.Buffer((6,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = T.if_then_else(1 <= vi and vi < 7, A[vi - 1], 0.0)
"""
    program = Program("pad", text, [(6,), (8,)], lambda a: np.pad(a, 1))
    sch = Schedule(program.module)
    sch.cache_write("B", 0, "local")
    runs(sch, program)


def test_two_copies_have_two_names() -> None:
    sch = Schedule(CHAIN.module)
    sch.cache_read("B", "A", "local", ["B"])
    sch.cache_read("C", "A", "local", ["C"])
    assert "A_local_1[vi, vj]" in sch.mod.script()
    runs(sch, CHAIN)


def test_a_tiled_matmul_with_caches() -> None:
    sch = Schedule(MATMUL.module)
    a, b = (sch.cache_read("C", name, "shared") for name in "AB")
    c = sch.cache_write("C", 0, "local")
    loops = [sch.split(loop, [None, 4]) for loop in sch.get_loops("C")]
    (i0, i1), (j0, j1), (k0, k1) = loops
    sch.reorder(i0, j0, k0, i1, k1, j1)
    sch.compute_at(a, k0)
    sch.compute_at(b, k0)
    sch.reverse_compute_at(c, j0)
    sch.vectorize(sch.get_loops(c)[-1])
    sch.unroll(i1)
    sch.decompose_reduction("C", k0)
    runs(sch, MATMUL)


def test_a_copy_inside_the_loop_of_who_writes() -> None:
    """What a loop computes and uses at once is copied inside it."""
    sch = Schedule(WINDOW.module)
    outer, _ = sch.split(sch.get_loops("C")[0], [None, 4])
    sch.compute_at("B", outer)
    sch.cache_read("C", "B", "local")
    assert len(sch.get_loops("B_local")) == 2
    runs(sch, WINDOW)
    sch.cache_write("B", 0, "shared")
    runs(sch, WINDOW)


def test_set_scope() -> None:
    sch = Schedule(CHAIN.module)
    sch.set_scope("B", 0, "shared")
    assert 'B_shared = T.alloc_buffer((8, 9), "float32", scope="shared")' in sch.mod.script()
    runs(sch, CHAIN)
    refused(sch, lambda: sch.set_scope("D", 0, "shared"), "is a parameter of the function")
    refused(sch, lambda: sch.set_scope("C", 1, "shared"), "no write buffer number 1")


def test_storage_align() -> None:
    sch = Schedule(CHAIN.module)
    sch.storage_align("B", 0, axis=0, factor=16, offset=1)
    sch.storage_align("B", 0, axis=-1, factor=8, offset=0)
    sch.storage_align("B", 0, axis=0, factor=32, offset=1)
    want = 'T.block_attr({"buffer_dim_align": [[0, 1, 8, 0], [0, 0, 32, 1]]})'
    assert want in sch.mod.script()
    runs(sch, CHAIN)
    refused(sch, lambda: sch.storage_align("B", 0, 2, 16, 0), r"axis 2 is not in the range \[-2, 2")
    refused(sch, lambda: sch.storage_align("B", 0, 0, 0, 0), "must be positive, got 0")
    refused(sch, lambda: sch.storage_align("D", 0, 0, 8, 0), "is a parameter")


@pytest.mark.parametrize(
    ("program", "block", "wishes", "type_"),
    [(CHAIN, "B", [(0, 16, 1)], "memref<8x17xf32>"),
     (CHAIN, "B", [(0, 16, 0)], "memref<8x16xf32>"),
     (CHAIN, "B", [(0, 1, 0)], "memref<8x9xf32>"),
     (CHAIN, "C", [(1, 4, 3)], "memref<8x9xf32, strided<[27, 3]>>"),
     (CHAIN, "B", [(1, 2, 0), (0, 7, 5)], "memref<8x9xf32, strided<[19, 2]>>"),
     (MATMUL_RELU, "C", [(0, 8, 3)], "memref<?x11xf32>")],
)  # fmt: skip
def test_storage_align_is_carried_out(
    program: Program, block: str, wishes: list[tuple[int, int, int]], type_: str
) -> None:
    """Rows are padded in the native code, with the same results."""
    sch = Schedule(program.module)
    for wish in wishes:
        sch.storage_align(block, 0, *wish)
    sch.parallel(sch.get_loops(block)[0])
    runs(sch, program)
    assert type_ in stored(sch.mod)


def test_storage_align_of_rows_of_symbolic_length() -> None:
    text = """def main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (3, 4, n), "float32")
    B = T.match_buffer(b, (3, 4, n), "float32")
    for i, j, k in T.grid(3, 4, n):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = A[vi, vj, vk] + 1.0
"""
    program = Program("rows", text, [(3, 4, 7), (3, 4, 7)], lambda a: a + 1)
    for wish in ((1, 16, 1), (0, 16, 1)):
        sch = Schedule(program.module)
        sch.cache_write("B", 0, "local")
        sch.storage_align("B", 0, *wish)
        runs(sch, program)


@pytest.mark.parametrize(
    ("which", "why"),
    [(2, "no read buffer number 2: there are B, A, counted from 0"),
     (-1, "no read buffer number -1"),
     ("X", "has no read buffer 'X', but B, A")],
)  # fmt: skip
def test_buffers_that_are_not_there(which: int | str, why: str) -> None:
    sch = Schedule(CHAIN.module)
    refused(sch, lambda: sch.cache_read("C", which, "shared"), why)


def test_caches_refuse() -> None:
    sch = Schedule(CHAIN.module)
    refused(sch, lambda: sch.cache_read("C", "B", "x", ["B"]), "block 'B' does not read 'B'")
    refused(sch, lambda: sch.cache_write("C", 0, "x", ["B"]), "block 'B' does not read 'C'")


_NESTED = """def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("A"):
            vi = T.axis.spatial(8, i)
            A[vi] = 2.0
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            if vi < 3:
                B[vi] = A[vi]
"""


def test_what_is_stored_under_a_condition_is_not_copied() -> None:
    """The copier would store what its buffer has never held."""
    sch = Schedule(from_source(HEAD + _NESTED))
    sch.blockize(sch.get_loops("B")[0])
    refused(sch, lambda: sch.cache_write("B", 0, "local"), "stores neither one element")
    refused(sch, lambda: sch.reindex("B", ("write", 0)), "for which it stores nothing")


_VIEWS = """def main(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    S = T.alloc_buffer((40,), "float32")
    B = T.decl_buffer((4, 8), "float32", data=S.data, elem_offset=3)
    Q = T.alloc_buffer((16,), "float32")
    D = T.decl_buffer((12,), "float32", data=Q.data)
    for i, j in T.grid(4, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
    for i in range(12):
        with T.block("D"):
            vi = T.axis.spatial(12, i)
            D[vi] = B[vi // 4, vi % 4]
    for i, j in T.grid(4, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, 7 - vj] + D[vi + vj]
"""


def test_blocks_declare_the_views_that_they_use() -> None:
    def want(a: np.ndarray) -> np.ndarray:
        d = a[:3, :4].ravel()
        return a[:, ::-1] + np.array([[d[i + j] for j in range(8)] for i in range(4)])

    program = Program("views", _VIEWS, [(4, 8), (4, 8)], want)
    sch = Schedule(program.module)
    sch.cache_write("C", 0, "local")
    sch.blockize(sch.split(sch.get_loops("C")[0], [None, 2])[1])
    sch.split(sch.get_loops("B")[0], [None, 2])
    runs(sch, program)
    assert "T.reads(B[vi_o * 2:vi_o * 2 + 2, 0:8], D[" in sch.mod.script()
