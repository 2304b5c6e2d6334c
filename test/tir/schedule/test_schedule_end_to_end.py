"""Whole schedules: packed and tiled matmul, convolution, sums in parts, tensorised tiles."""

import numpy as np
import pytest
from scheduled_programs import HEAD, Program, matmul, tiled
from schedules import refused, results, runs

from relax_mlir.script import from_source
from relax_mlir.tir import TensorIntrin
from relax_mlir.tir.schedule import Schedule


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("shape", [(16, 32, 24), (13, 37, 19), (1, 8, 3)])
def test_packed_matmul(shape, dynamic):
    program = matmul(*shape, dynamic)
    sch = Schedule(program.module)
    block = sch.get_block("C")
    (io, jo, ko), (ii, ji, ki) = tiled(sch, block, (4, 8, 4))
    sch.reorder(io, jo, ko, ki, ii, ji)
    sch.cache_read(block, 1, "global")
    packed = sch.cache_read(block, 0, "global")
    sch.compute_at(packed, io)
    back = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(back, jo)
    sch.decompose_reduction(block, ko)
    sch.vectorize(sch.get_loops("C_update")[-1])
    sch.parallel(io)
    runs(sch, program)


@pytest.mark.parametrize("shape", [(13, 37, 19), (6, 8, 5)])
def test_padded_matmul_in_blocked_layouts(shape):
    program = matmul(*shape)
    sch = Schedule(program.module)
    sch.pad_einsum("C", [4, 8, 4])
    sch.transform_layout("C", "B_pad", lambda k, j: (j // 8, k, j % 8))
    (io, jo, ko), (ii, ji, ki) = tiled(sch, "C", (4, 8, 4))
    sch.reorder(io, jo, ko, ki, ii, ji)
    sch.decompose_reduction("C", ko)
    sch.parallel(io)
    sch.vectorize(ji)
    assert "T.where" not in sch.mod.script()
    runs(sch, program)


def matmul_relu(m, n, k, dynamic):
    text = matmul(m, n, k, dynamic).text.replace("C[vi", "D[vi")
    rows, columns = ("m", "n") if dynamic else (m, n)
    head, loops = text.split("    for i, j, k", 1)
    text = f"""{head}    D = T.alloc_buffer(({rows}, {columns}), "float32")
    for i, j, k{loops}    for i, j in T.grid({rows}, {columns}):
        with T.block("R"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.max(D[vi, vj], 0.0)
"""
    shapes = [(m, k), (k, n), (m, n)]
    return Program("matmul_relu", text, shapes, lambda a, b: np.maximum(a @ b, 0))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("tiles_of", ["C", "R"])
def test_tiles_of_two_blocks_run_at_once(tiles_of, dynamic):
    program = matmul_relu(13, 37, 5, dynamic)
    sch = Schedule(program.module)
    (io, jo, *_), (ii, ji, *_) = tiled(sch, tiles_of, (4, 16, 2) if tiles_of == "C" else (4, 16))
    sch.reorder(io, jo, ii, ji)
    if tiles_of == "C":
        sch.reverse_compute_at("R", jo)
        both = sch.fuse(io, jo)
        sch.parallel(both)
    else:
        both = sch.fuse(io, jo)
        sch.parallel(both)
        sch.compute_at("C", both)
    runs(sch, program)


CONVOLUTION = Program(
    "convolution",
    """def main(X: T.Buffer((3, 9, 10), "float32"), W: T.Buffer((4, 3, 3, 3), "float32"),
             Y: T.Buffer((4, 9, 10), "float32")):
    P = T.alloc_buffer((3, 11, 12), "float32")
    Z = T.alloc_buffer((4, 9, 10), "float32")
    for c, h, w in T.grid(3, 11, 12):
        with T.block("P"):
            vc, vh, vw = T.axis.remap("SSS", [c, h, w])
            P[vc, vh, vw] = T.if_then_else(
                vh >= 1 and vh < 10 and vw >= 1 and vw < 11, X[vc, vh - 1, vw - 1], 0.0)
    for o, h, w, c, r, s in T.grid(4, 9, 10, 3, 3, 3):
        with T.block("Z"):
            vo, vh, vw, vc, vr, vs = T.axis.remap("SSSRRR", [o, h, w, c, r, s])
            with T.init():
                Z[vo, vh, vw] = 0.0
            Z[vo, vh, vw] = Z[vo, vh, vw] + P[vc, vh + vr, vw + vs] * W[vo, vc, vr, vs]
    for o, h, w in T.grid(4, 9, 10):
        with T.block("Y"):
            vo, vh, vw = T.axis.remap("SSS", [o, h, w])
            Y[vo, vh, vw] = T.max(Z[vo, vh, vw], 0.0)
""",
    [(3, 9, 10), (4, 3, 3, 3), (4, 9, 10)],
    lambda x, w: np.maximum(
        np.einsum(
            "chwrs,ocrs->ohw",
            np.lib.stride_tricks.sliding_window_view(
                np.pad(x, ((0, 0), (1, 1), (1, 1))), (3, 3), (1, 2)
            ),
            w,
        ),
        0,
    ),
)


@pytest.mark.parametrize("padding", ["inline", "compute_at", "decompose", "reindex"])
def test_convolution(padding):
    sch = Schedule(CONVOLUTION.module)
    if padding == "inline":
        sch.compute_inline("P")
    o, h, w, *_ = sch.get_loops("Y")
    outer, inner = sch.split(h, [None, 3])
    sch.reorder(outer, o, inner, w)
    sch.compute_at("Z", outer)
    if padding == "compute_at":
        sch.compute_at("P", outer)
    elif padding == "decompose":
        sch.decompose_padding("P", sch.get_loops("P")[0])
    elif padding == "reindex":
        sch.transform_layout("P", ("write", 0), lambda c, h, w: (h, w, c))
    if padding != "compute_at":
        sch.parallel(outer)
    runs(sch, CONVOLUTION)


@pytest.mark.parametrize("length", [64, 67, 1])
def test_sum_in_parts(length):
    program = Program(
        "sums",
        f"""def main(A: T.Buffer((5, {length}), "float32"), B: T.Buffer((5,), "float32")):
    for i, k in T.grid(5, {length}):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vi, vk]
""",
        [(5, length), (5,)],
        lambda a: a.sum(1),
    )
    sch = Schedule(program.module)
    _, lane = sch.split(sch.get_loops("B")[1], [None, 8])
    partial = sch.rfactor(lane, 0)
    if length % 8 == 0:
        sch.compute_at(partial, sch.get_loops("B")[0])
    runs(sch, program)


DOT = """def {name}(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (4, 4), "float32")
    B = T.match_buffer(b, (4, 8), "float32")
    C = T.match_buffer(c, (4, 8), "float32")
{body}"""
DESC = """    for i, j, k in T.grid(4, 8, 4):
        with T.block("update"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
IMPL = """    for k in T.serial(4):
        for i in T.unroll(4):
            for j in T.vectorized(8):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]
"""


@pytest.mark.parametrize("shape", [(16, 32, 24), (13, 37, 19)])
def test_tensorized_matmul(shape):
    TensorIntrin.register(
        "test_dot_4x8x4",
        from_source(HEAD + DOT.format(name="desc", body=DESC)),
        from_source(HEAD + DOT.format(name="impl", body=IMPL)),
        override=True,
    )
    program = matmul(*shape)
    sch = Schedule(program.module)
    exact = shape == (16, 32, 24)
    if not exact:
        other = sch.copy()
        (io, jo, ko), (ii, ji, ki) = tiled(other, "C", (4, 8, 4))
        other.reorder(io, jo, ko, ii, ji, ki)
        refused(other, lambda: other.tensorize(ii, "test_dot_4x8x4"), "compares loops inside")
        sch.pad_einsum("C", [4, 8, 4])
    (io, jo, ko), (ii, ji, ki) = tiled(sch, "C", (4, 8, 4))
    sch.reorder(io, jo, ko, ii, ji, ki)
    sch.decompose_reduction("C", ko)
    sch.tensorize(ii, "test_dot_4x8x4")
    sch.parallel(io)
    runs(sch, program)


def test_same_bits_for_every_run():
    program = matmul(13, 37, 19)
    sch = Schedule(program.module)
    io, _ = sch.split(sch.get_loops("C")[0], [None, 4])
    sch.reindex("C", ("read", 1))
    sch.parallel(io)
    inputs = program.inputs()
    first, second = (results(sch.mod, inputs, (13, 37), "main") for _ in range(2))
    assert np.array_equal(first, second)


TWO_PLACES = """def main(a: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (m, n), "float32")
    C = T.alloc_buffer((m, n), "float32")
    for i in T.parallel(n):
        for j, one in T.grid(m, 1):
            with T.block("outer"):
                vi, vj, v = T.axis.remap("SSS", [i, j, one])
                T.reads(A[vi, vj], C[vj, vi])
                T.writes(C[vj, vi], B[vj, vi])
                with T.block("C"):
                    vi1 = T.axis.spatial(n, vi)
                    vj1 = T.axis.spatial(m, vj)
                    C[vj1, vi1] = A[vi1, vj1] * 2.0
                with T.block("B"):
                    vi2 = T.axis.spatial(n, vi)
                    vj2 = T.axis.spatial(m, vj)
                    B[vj2, vi2] = C[vj2, vi2]
"""


def test_a_place_that_takes_what_another_place_holds():
    # The store of B changes when the load of C becomes a register, and is to be found all the same.
    program = Program("two_places", TWO_PLACES, [(7, 5), (5, 7)], lambda a: a.T * 2)
    runs(Schedule(program.module), program)
