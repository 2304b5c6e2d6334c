"""Copies laid out by iterators, padded sums of products, and padding decomposed."""

import numpy as np
import pytest
from scheduled_programs import (
    CHAIN,
    CONVOLUTION,
    DYNAMIC_MATMUL,
    HEAD,
    MATMUL,
    MATMUL_RELU,
    ROW_SUM,
    SOFTMAX,
    STENCIL,
    WINDOW,
    Program,
)
from schedules import becomes, refused, runs, stays_inside

from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import from_source
from relax_mlir.tir.schedule import Schedule

PADDED = Program(
    "padded",
    """def main(x: T.Buffer((12, 9), "float32"), y: T.Buffer((16, 12), "float32")):
    for i, j in T.grid(16, 12):
        with T.block("pad"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = T.if_then_else(2 <= vi and vi < 14 and vj < 9, x[vi - 2, vj], 1.5)
""",
    [(12, 9), (16, 12)],
    lambda x: np.pad(x, ((2, 2), (0, 3)), constant_values=1.5),
)
DYNAMIC_PADDED = Program(
    "dynamic_padded",
    """def main(a: T.handle, b: T.handle):
    n = T.int64()
    x = T.match_buffer(a, (n,), "float32")
    y = T.match_buffer(b, (n + 6,), "float32")
    for i in range(n + 6):
        with T.block("pad"):
            vi = T.axis.spatial(n + 6, i)
            y[vi] = T.if_then_else(vi >= 4 and vi < n + 4, x[vi - 4], 0.0)
""",
    [(7,), (13,)],
    lambda x: np.pad(x, (4, 2)),
)


def test_reindex():
    sch = Schedule(CONVOLUTION.module)
    copier = sch.reindex("C", ("read", 0))
    becomes(
        sch,
        """def main(A: T.Buffer((3, 10), "float32"), W: T.Buffer((4, 3, 3), "float32"),
             C: T.Buffer((4, 8), "float32")):
    A_reindex = T.alloc_buffer((8, 3, 3), "float32")
    for x, c, r in T.grid(8, 3, 3):
        with T.block("A_reindex_reindex"):
            vx, vc, vr = T.axis.remap("SSS", [x, c, r])
            A_reindex[vx, vc, vr] = A[vc, vx + vr]
    for o, x, c, r in T.grid(4, 8, 3, 3):
        with T.block("C"):
            vo, vx, vc, vr = T.axis.remap("SSRR", [o, x, c, r])
            with T.init():
                C[vo, vx] = 0.0
            C[vo, vx] = C[vo, vx] + A_reindex[vx, vc, vr] * W[vo, vc, vr]
""",
    )
    sch.compute_at(copier, sch.get_loops("C")[1])
    runs(sch, CONVOLUTION)


@pytest.mark.parametrize("buffer", [("read", 1), ("write", 0), "A"])
@pytest.mark.parametrize("program", [MATMUL, DYNAMIC_MATMUL, CONVOLUTION], ids=lambda p: p.name)
def test_reindex_of_any_buffer(program, buffer):
    sch = Schedule(program.module)
    outer, _ = sch.split(sch.get_loops("C")[0], [None, 2])
    sch.reindex("C", buffer)
    sch.parallel(outer)
    runs(sch, program)


@pytest.mark.parametrize("program", [PADDED, DYNAMIC_PADDED], ids=lambda p: p.name)
def test_reindex_of_what_a_condition_guards(program):
    """The copy has zeros where the block reads nothing."""
    sch = Schedule(program.module)
    sch.reindex("pad", ("read", 0))
    assert (
        "T.if_then_else" in sch.mod.script().partition("x_reindex_reindex")[2].split("T.block")[0]
    )
    inputs = program.inputs()
    got = stays_inside(sch.mod, inputs, program.shapes[-1])
    np.testing.assert_array_equal(got, program.want(*inputs))
    runs(sch, program)


def test_reindex_cache():
    sch = Schedule(DYNAMIC_MATMUL.module)
    sch.reindex_cache_read("C", 1, "local", lambda i, j, k: (j // 8, k, j % 8))
    sch.reindex_cache_write("C", 0, "local", lambda i, j, k: (j, i))
    text = sch.mod.script()
    assert "B_local[vj // 8, vk, vj % 8] = B[vk, vj]" in text
    assert "C[vi, vj] = C_local[vj, vi]" in text
    runs(sch, DYNAMIC_MATMUL)


def test_reindex_is_refused():
    sch = Schedule(MATMUL.module)
    reindex = sch.reindex_cache_read
    refused(sch, lambda: reindex("C", 0, "local", lambda i, j, k: (i, k // 2)), "'vk' would get")
    refused(sch, lambda: reindex("C", 0, "local", lambda i, j, k: (i, j, k)), "does not say which")
    refused(sch, lambda: reindex("C", 2, "local", lambda i, j, k: (i, k)), "number 2")
    with pytest.raises(ValueError, match="takes 2 indices, there are 3"):
        reindex("C", 0, "local", lambda i, k: (i, k))
    sch = Schedule(CHAIN.module)
    sch.reverse_compute_at("C", sch.get_loops("B")[0])
    refused(sch, lambda: sch.reindex("C", "B"), "block 'B' uses 'B' in loop 'i'")
    several = from_source(
        HEAD
        + """def main(A: T.Buffer((9,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + A[vi + 1]
"""
    )
    sch = Schedule(several)
    refused(sch, lambda: sch.reindex("B", "A"), "several elements")
    some = from_source(
        HEAD
        + """def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * 2.0
"""
    )
    sch = Schedule(some)
    refused(sch, lambda: sch.reindex("B", "A"), "does not run for all of its points")


def test_cache_inplace():
    sch = Schedule(ROW_SUM.module)
    there, back = sch.cache_inplace("B", "B", "local")
    assert len(sch.get_loops(there)) == len(sch.get_loops(back)) == 1
    runs(sch, ROW_SUM)
    sch = Schedule(MATMUL.module)
    refused(sch, lambda: sch.cache_inplace("C", "A", "local"), "does not read and write 'A'")
    refused(sch, lambda: sch.cache_inplace("C", 7, "local"), "number 7")


DIVIDED = Program(
    "divided",
    """def main(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        with T.block("B"):
            vi = T.axis.spatial(6, i)
            B[vi] = 100 // A[vi]
""",
    [(6,), (6,)],
    lambda a: 100 // a,
)
DIAGONAL = """def main(A: T.Buffer((6,), "float32"), C: T.Buffer((6, 6), "float32")):
    for i in range(6):
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            C[vi, vi] = A[vi]
"""


def test_pad_einsum():
    sch = Schedule(MATMUL.module)
    sch.pad_einsum("C", [4, 8, 5])
    becomes(
        sch,
        """def main(A: T.Buffer((6, 8), "float32"), B: T.Buffer((8, 10), "float32"),
             C: T.Buffer((6, 10), "float32")):
    C_pad = T.alloc_buffer((8, 16), "float32")
    A_pad = T.alloc_buffer((8, 10), "float32")
    B_pad = T.alloc_buffer((10, 16), "float32")
    for i, j in T.grid(8, 10):
        with T.block("A_pad"):
            vi, vj = T.axis.remap("SS", [i, j])
            A_pad[vi, vj] = T.if_then_else(vi < 6 and vj < 8, A[vi, vj], 0.0)
    for i, j in T.grid(10, 16):
        with T.block("B_pad"):
            vi, vj = T.axis.remap("SS", [i, j])
            B_pad[vi, vj] = T.if_then_else(vi < 8 and vj < 10, B[vi, vj], 0.0)
    for i, j, k in T.grid(8, 16, 10):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C_pad[vi, vj] = 0.0
            C_pad[vi, vj] = C_pad[vi, vj] + A_pad[vi, vk] * B_pad[vk, vj]
    for i, j in T.grid(6, 10):
        with T.block("C_pad"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = C_pad[vi, vj]
""",
    )
    runs(sch, MATMUL)


@pytest.mark.parametrize("padding", [[4, 8, 1], [1, 1, 4], [3, 1, 6], [1, 1, 1]])
@pytest.mark.parametrize("program", [DYNAMIC_MATMUL, MATMUL], ids=lambda p: p.name)
def test_pad_einsum_then_tile(program, padding):
    sch = Schedule(program.module)
    sch.pad_einsum("C", padding)
    for loop, factor in zip(sch.get_loops("C"), padding, strict=True):
        sch.split(loop, [None, factor])
    assert "T.where" not in sch.mod.script()
    runs(sch, program)


def test_pad_einsum_of_any_block_whose_sum_stays():
    """Nobody sees what is computed of the zeros."""
    sch = Schedule(SOFTMAX.module)
    sch.set_scope("power", 0, "local")
    for name, padding in {"most": [8, 1], "power": [4, 5], "total": [4, 5], "B": [3, 1]}.items():
        sch.pad_einsum(name, padding)
    assert (
        'power_local_pad = T.alloc_buffer((((n + 3) // 4) * 4, 15), "float32", scope="local")'
        in (sch.mod.script())
    )
    runs(sch, SOFTMAX)


@pytest.mark.parametrize("program", [DYNAMIC_MATMUL, MATMUL], ids=lambda p: p.name)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_pad_einsum_after_a_split(program, axis):
    sch = Schedule(program.module)
    outer, inner = sch.split(sch.get_loops("C")[axis], [None, 4])
    sch.annotate(outer, "note", 1)
    sch.pad_einsum("C", [4, 4, 4])
    assert "T.where" not in sch.mod.script()
    sch.unroll(inner)
    runs(sch, program)


def test_pad_einsum_of_a_divided_product():
    """A quotient of 0 is 0, whatever divides."""
    text = """def main(A: T.Buffer((7, 6), "int32"), B: T.Buffer((6, 5), "int32"),
         C: T.Buffer((7, 5), "int32")):
    for i, j, k in T.grid(7, 5, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj] // 2
"""
    sch = Schedule(from_source(HEAD + text))
    sch.pad_einsum("C", [4, 8, 5])
    script = sch.mod.script()
    assert "C_pad[vi, vj] = C_pad[vi, vj] + A_pad[vi, vk] * B_pad[vk, vj] // 2" in script
    assert_structural_equal(from_source(script), sch.mod)
    sch = Schedule(from_source(HEAD + text.replace("// 2", "// B[vk, vj]")))
    refused(sch, lambda: sch.pad_einsum("C", [4, 8, 5]), "computes no product of elements")


def test_pad_einsum_is_refused():
    sch = Schedule(ROW_SUM.module)
    refused(sch, lambda: sch.pad_einsum("B", [1]), "has 2 iterators")
    refused(sch, lambda: sch.pad_einsum("B", [1, 0]), "positive")
    sch = Schedule(CONVOLUTION.module)
    refused(sch, lambda: sch.pad_einsum("C", [1, 3, 1, 1]), "neither an iterator nor a constant")
    sch = Schedule(WINDOW.module)
    refused(sch, lambda: sch.pad_einsum("C", [5, 1]), "neither|no sum")
    sch = Schedule(SOFTMAX.module)
    refused(sch, lambda: sch.pad_einsum("most", [1, 5]), "no sum")
    sch = Schedule(DIVIDED.module)
    refused(sch, lambda: sch.pad_einsum("B", [4]), "cannot run for zeros: it holds 'arith.*divs")
    sch = Schedule(from_source(HEAD + DIAGONAL))
    refused(sch, lambda: sch.pad_einsum("C", [4]), "does not write all of 'C'")
    sch = Schedule(
        from_source(
            HEAD
            + """def main(A: T.Buffer((6,), "float32"), s: T.Buffer((5,), "float32"),
         C: T.Buffer((5,), "float32")):
    for i, k in T.grid(5, 6):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vk] * s[vi]
"""
        )
    )
    refused(sch, lambda: sch.pad_einsum("C", [1, 4]), "may be infinite")
    sch.pad_einsum("C", [4, 1])


def test_decompose_padding():
    sch = Schedule(PADDED.module)
    block = sch.get_block("pad")
    assert sch.can_decompose_padding(block, sch.get_loops(block)[0])
    sch.decompose_padding(block, sch.get_loops(block)[0])
    becomes(
        sch,
        """def main(x: T.Buffer((12, 9), "float32"), y: T.Buffer((16, 12), "float32")):
    for i, j in T.grid(16, 12):
        with T.block("pad_pad_const"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = 1.5
    for i, j in T.grid(12, 9):
        with T.block("pad"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi + 2, vj] = x[vi, vj]
""",
    )
    runs(sch, PADDED)


def test_decompose_padding_inside():
    sch = Schedule(PADDED.module)
    sch.decompose_padding("pad", sch.get_loops("pad")[1])
    runs(sch, PADDED)
    sch = Schedule(PADDED.module)
    sch.split(sch.get_loops("pad")[0], [None, 4])
    sch.decompose_padding("pad", sch.get_loops("pad")[0])
    runs(sch, PADDED)
    sch = Schedule(DYNAMIC_PADDED.module)
    sch.decompose_padding("pad", sch.get_loops("pad")[0])
    assert "T.where" not in sch.mod.script()
    runs(sch, DYNAMIC_PADDED)


def test_decompose_padding_is_refused():
    sch = Schedule(CHAIN.module)
    loops = sch.get_loops("B")
    refused(sch, lambda: sch.decompose_padding("B", loops[0]), "does not store T.if_then_else")
    refused(sch, lambda: sch.decompose_padding("C", loops[0]), "is not around")
    assert not sch.can_decompose_padding(sch.get_block("B"), loops[0])
    sch = Schedule(MATMUL_RELU.module)
    refused(sch, lambda: sch.decompose_padding("C", sch.get_loops("C")[0]), "no complete block")
    sch = Schedule(from_source(HEAD + PADDED.text.replace("j < 9", "j < 0")))
    loop = sch.get_loops("pad")[0]
    refused(sch, lambda: sch.decompose_padding("pad", loop), "all that block 'pad' stores is pad")


def test_guarded_elements_are_not_read():
    """The copy does not read in front of the buffer, which a condition kept the block from."""
    sch = Schedule(STENCIL.module)
    sch.reindex("P", ("read", 0))
    sch.reindex_cache_read("P", 0, "local", lambda i, j: (j, i))
    sch.reindex("B", ("read", 0))
    inputs = STENCIL.inputs()
    got = stays_inside(sch.mod, inputs, STENCIL.shapes[-1])
    np.testing.assert_allclose(got, STENCIL.want(*inputs), rtol=1e-4)
    runs(sch, STENCIL)


def test_guarded_elements_are_not_written():
    text = """def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(10):
        with T.block("B"):
            vi = T.axis.spatial(10, i)
            if vi < 8:
                B[vi] = A[vi]
"""
    sch = Schedule(from_source(HEAD + text))
    refused(sch, lambda: sch.reindex("B", ("write", 0)), "outside of 'B'")
    sch.reindex("B", ("read", 0))
    sch.compute_inline("A_reindex_reindex")
