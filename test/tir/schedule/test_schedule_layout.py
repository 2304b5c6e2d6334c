"""Layouts of buffers and of blocks, and the index maps that say them."""

import numpy as np
import pytest
from scheduled_programs import (
    CHAIN,
    DYNAMIC,
    DYNAMIC_MATMUL,
    ELEMENTWISE,
    MATMUL,
    MATMUL_RELU,
    WINDOW,
    Program,
)
from schedules import becomes, refused, replays, results, runs

from relax_mlir import tir
from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import from_source
from relax_mlir.tir import IndexMap
from relax_mlir.tir.schedule import Schedule
from relax_mlir.tir.schedule.analysis import is_output_block, suggest_index_map

n = tir.SizeVar("n", "int64")
MAPS = [
    (lambda i, j: (i // 4, j, i % 4), (16, 8)),
    (lambda i, j: (i * 8 + j,), (16, 8)),
    (lambda i, j: (j, i), (3, 5)),
    (lambda i: (i // 16, i // 4 % 4, i % 4), (64,)),
    (lambda i, j: (j * 4 + i % 4, i // 4), (16, 3)),
    (lambda i, j: (15 - i, 4 - j % 5, j // 5), (16, 15)),
    (lambda i, j: (11 - i * 4 - j,), (3, 4)),
    (lambda i, j: (i * 4 - j + 3,), (3, 4)),
    (lambda a, c, h, w: (a, c // 16, h, w, c % 16), (2, 32, 3, 5)),
    (lambda i, j: ((i * 8 + j) // 4, (i * 8 + j) % 4), (4, 8)),
    (lambda i: (0, i), (7,)),
]


@pytest.mark.parametrize("number", range(len(MAPS)))
def test_maps_have_inverses(number):
    function, shape = MAPS[number]
    index_map = IndexMap.from_func(function)
    inverse = index_map.inverse(shape)
    seen = set()
    for point in np.ndindex(*shape):
        there = tuple(int(str(e)) for e in index_map.map_indices(point))
        assert tuple(int(str(e)) for e in inverse.map_indices(there)) == point
        seen.add(there)
    reached = [int(str(dim)) for dim in index_map.map_shape(shape)]
    assert len(seen) == np.prod(reached) == np.prod(shape)
    assert IndexMap.from_json(index_map.as_json()["index_map"]).is_equivalent_to(index_map)
    assert eval(index_map.as_python(), {"tir": tir}).is_equivalent_to(index_map)


def test_layouts_in_which_loops_read_in_order():
    i, j, k = (tir.Var(name) for name in "ijk")
    cases = [
        ((8, 256), [i // 16 * 4 + j // 16, i % 16 * 16 + j % 16], (32, 64), 4),
        ((8,), [j % 4 * 2 + i], (2, 4), 2),
        ((5, 7), [j, i], (7, 5), 2),
        ((4, 6), [i % 4, i // 4 * 3 + k], (8, 1, 3), 3),
        ((4,), [i + j], (2, 3), None),
        ((4,), [i * 2], (2,), None),
    ]
    for shape, indices, extents, ndim in cases:
        loops = [
            tir.For(var, 0, extent, tir.ForKind.SERIAL, tir.Evaluate(0))
            for var, extent in zip((i, j, k), extents, strict=False)
        ]
        found = suggest_index_map(tir.decl_buffer(shape), indices, loops, True)
        if ndim is None:
            assert found is None
            continue
        assert len(found.final_indices) == ndim
        names = [str(loop.loop_var) for loop in loops]
        dims = [int(str(dim)) for dim in found.map_shape(shape)]
        places = []
        for point in np.ndindex(*extents):
            values = dict(zip(names, point, strict=True))
            at = found.map_indices([index.substitute(values) for index in indices])
            places.append(np.ravel_multi_index([int(str(each)) for each in at], dims))
        # Each element once; the last loop goes through neighbours.
        assert places == list(range(np.prod(shape)))


def test_blocks_that_write_parameters():
    schedule = Schedule(CHAIN.module)
    outputs = schedule.get_output_blocks("root")
    blocks = schedule.get_child_blocks(schedule.get_block("root"))
    found = [is_output_block(schedule, block) for block in blocks]
    assert 0 < sum(found) == len(outputs) < len(found)


def test_maps_of_symbolic_shapes():
    assert str(IndexMap.from_func(lambda i: (i // 4, i % 4)).map_shape([n])[0]) == "((n + 3) // 4)"
    inverse = IndexMap.from_func(lambda i, j: (i * n + j,)).inverse([4, n])
    assert str(inverse.map_indices([n * 2])[0]) == "2"
    named = IndexMap.from_func(lambda n: (n % tir.SizeVar("n", "int64"),))
    assert named.names == ["n_"]


@pytest.mark.parametrize(
    ("function", "shape", "why"),
    [
        (lambda i: (i % 4,), [16], "does not say all of 'i'"),
        (lambda i, j: (i + j,), [4, 4], "overlap"),
        (lambda i: (i // 4 * 8 + i % 4,), [16], "no"),
        (lambda i: (i // 4, i % 4), [10], "gaps"),
        (lambda i, j: (i * 16 + j,), [4, 10], "gaps"),
    ],
)
def test_maps_without_inverse(function, shape, why):
    with pytest.raises(ValueError, match=why):
        IndexMap.from_func(function).inverse(shape)


def test_maps_are_checked():
    with pytest.raises(ValueError, match="takes 2 indices, got 1"):
        IndexMap.from_func(lambda i, j: (i, j)).map_indices([1])
    with pytest.raises(ValueError, match="Give ndim"):
        IndexMap.from_func(lambda *i: i)
    with pytest.raises(ValueError, match="different symbols"):
        IndexMap(["i", "i"], [1])
    with pytest.raises(ValueError, match="separators"):
        IndexMap.from_func(lambda i: (i, IndexMap.AXIS_SEPARATOR))
    with pytest.raises(ValueError, match="ExprRV"):
        IndexMap.from_func(lambda i: (i, tir.schedule.ExprRV()))


def test_transform_layout_of_what_is_computed():
    sch = Schedule(CHAIN.module)
    sch.transform_layout("B", ("write", 0), lambda i, j: (i // 4, j, i % 4))
    becomes(
        sch,
        """def main(A: T.Buffer((8, 9), "float32"), D: T.Buffer((8, 9), "float32")):
    B = T.alloc_buffer((2, 9, 4), "float32")
    C = T.alloc_buffer((8, 9), "float32")
    for i, j in T.grid(8, 9):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi // 4, vj, vi % 4] = A[vi, vj] * 2.0
    for i, j in T.grid(8, 9):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi // 4, vj, vi % 4] + A[vi, vj]
    for i, j in T.grid(8, 9):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] * B[vi // 4, vj, vi % 4]
""",
    )
    runs(sch, CHAIN)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint32", "uint64"])
def test_transform_layout_of_what_data_chooses(dtype):
    program = Program(
        "gather",
        f"""def main(A: T.Buffer((16,), "float32"), X: T.Buffer((5,), "{dtype}"),
             C: T.Buffer((5,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("B"):
            v = T.axis.spatial(16, i)
            B[v] = A[v] * 2.0
    for i in range(5):
        with T.block("C"):
            v = T.axis.spatial(5, i)
            C[v] = B[X[v] + v]
""",
        [(16,), (5,), (5,)],
        lambda a, x: a[x.astype(int) + np.arange(5)] * 2,
    )
    a, x = np.arange(16, dtype="float32"), np.array([4, 3, 2, 11, 0], dtype)
    for index_map in (lambda i: (i // 5, i % 5), lambda i: (15 - i,)):
        sch = Schedule(program.module)
        sch.transform_layout("B", ("write", 0), index_map, pad_value=0.0)
        sch.cache_index("C", "local", 0)
        np.testing.assert_array_equal(results(sch.mod, [a, x], (5,), "main"), program.want(a, x))
        assert_structural_equal(from_source(sch.mod.script()), sch.mod)


def test_transform_layout_pads():
    sch = Schedule(MATMUL_RELU.module)
    sch.transform_layout("D", ("read", 0), lambda i, j: (i // 4, j, i % 4), pad_value=1.5)
    becomes(
        sch,
        """def main(a: T.handle, b: T.handle, d: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 8), "float32")
    B = T.match_buffer(b, (8, 6), "float32")
    D = T.match_buffer(d, (n, 6), "float32")
    C = T.alloc_buffer(((n + 3) // 4, 6, 4), "float32")
    for i, j, k in T.grid(n, 6, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi // 4, vj, vi % 4] = 0.0
            C[vi // 4, vj, vi % 4] = C[vi // 4, vj, vi % 4] + A[vi, vk] * B[vk, vj]
    for x, y, z in T.grid((n + 3) // 4, 6, 4):
        with T.block("C_pad"):
            vx, vy, vz = T.axis.remap("SSS", [x, y, z])
            T.where(x * 4 + z >= n)
            C[vx, vy, vz] = T.float32(1.5)
    for i, j in T.grid(n, 6):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi // 4, vj, vi % 4], 0.0)
""",
    )
    runs(sch, MATMUL_RELU)


@pytest.mark.parametrize("dtype", ["int4", "uint4", "bool"])
def test_padding_of_small_elements(dtype):
    """They are stored as bytes or parts of them; scripts know their values only."""
    byte = f"T.{dtype[:-1]}8"
    choice = f"T.Select(A[vi, vj] > 0.0, {byte}(1), {byte}(0))"
    text = f"""def main(A: T.Buffer((6, 5), "float32"), B: T.Buffer((6, 5), "float32")):
    C = T.alloc_buffer((6, 5), "{dtype}")
    for i, j in T.grid(6, 5):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = VALUE
    for i, j in T.grid(6, 5):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.Cast("float32", C[vi, 4 - vj])
""".replace("VALUE", "A[vi, vj] > 0.0" if dtype == "bool" else choice)
    program = Program("small", text, [(6, 5), (6, 5)], lambda a: (a[:, ::-1] > 0).astype("float32"))
    sch = Schedule(program.module)
    sch.transform_layout("C", ("write", 0), lambda i, j: (i // 4, j // 2, i % 4, j % 2), 0)
    sch.reindex("B", ("read", 0))
    runs(sch, program)


def test_transform_layout_notes_separators():
    sch = Schedule(CHAIN.module)
    sch.transform_layout("B", ("write", 0), lambda i, j: [j, IndexMap.AXIS_SEPARATOR, i])
    assert "axis_separators=[1]" in sch.mod.script()
    runs(sch, CHAIN)


def test_transform_layout_of_parameters():
    sch = Schedule(MATMUL.module)
    sch.transform_layout("C", "B", lambda k, j: (j // 8, k, j % 8), pad_value=0.0)
    sch.transform_layout("C", "C", lambda i, j: (j, i))
    a, b = MATMUL.inputs()
    packed = np.pad(b, ((0, 0), (0, 6))).reshape(8, 2, 8).transpose(1, 0, 2).copy()
    got = results(sch.mod, [a, packed], (10, 6), "main")
    np.testing.assert_allclose(got, (a @ b).T, rtol=1e-5, atol=1e-5)
    replays(sch, MATMUL.module)


def test_transform_layout_is_refused():
    sch = Schedule(CHAIN.module)
    move = sch.transform_layout
    refused(sch, lambda: move("B", ("write", 0), lambda i, j: (i // 4, j)), "different places")
    refused(sch, lambda: move("B", ("write", 0), lambda i, j: (i // 3, j, i % 3)), "pad_value")
    refused(sch, lambda: move("B", ("write", 1), lambda i, j: (j, i)), "number 1")
    refused(sch, lambda: move("B", "X", lambda i, j: (j, i)), "does not use 'X', but A, B")
    refused(sch, lambda: move("B", ("side", 0), lambda i, j: (j, i)), "given by its name")
    refused(sch, lambda: move("B", "B", lambda i, j: (i - j, j)), "how far")
    with pytest.raises(ValueError, match="takes 1 indices, there are 2"):
        move("B", "B", lambda i: (i,))
    with pytest.raises(TypeError, match="IndexMap or a function"):
        move("B", "B", 3)


def test_transform_layout_may_assume():
    sch = Schedule(CHAIN.module)
    step = lambda i, j: ((i * 9 + j) // 6, (i * 9 + j) % 6)  # noqa: E731
    sch.transform_layout("B", "B", step, assume_injective_transform=True)
    runs(sch, CHAIN)


STEPS = [
    (MATMUL, lambda i, j, k: (i // 4, j, i % 4, k)),
    (MATMUL, lambda i, j, k: (i * 10 + j, k)),
    (MATMUL, lambda i, j, k: (j, k // 4, i, k % 4)),
    (DYNAMIC_MATMUL, lambda i, j, k: (i // 4, j // 8, i % 4, j % 8, k // 3, k % 3)),
    (DYNAMIC_MATMUL, lambda i, j, k: (i // 4, j, i % 4, k)),
]


@pytest.mark.parametrize("number", range(len(STEPS)))
def test_transform_block_layout(number):
    program, step = STEPS[number]
    sch = Schedule(program.module)
    block = sch.get_block("C")
    sch.transform_block_layout(block, step)
    assert len(sch.get_loops(block)) == len(step(0, 0, 0))
    runs(sch, program)


def test_transform_block_layout_keeps_what_is_known():
    sch = Schedule(DYNAMIC.module)
    sch.annotate("B", "note", 1)
    sch.transform_block_layout("B", lambda i, j: (j // 4, i, j % 4))
    becomes(
        sch,
        """def main(a: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (m, n), "float32")
    for x, y, z in T.grid((m + 3) // 4, n, 4):
        with T.block("B"):
            vx, vy, vz = T.axis.remap("SSS", [x, y, z])
            T.where(x * 4 + z < m)
            T.block_attr({"note": 1})
            B[vx * 4 + vz, vy] = A[vy, vx * 4 + vz] * 2.0
""",
    )
    runs(sch, DYNAMIC)


def test_transform_block_layout_makes_serial_loops():
    sch = Schedule(ELEMENTWISE.module)
    sch.transform_block_layout("B", lambda i, j: (j, i))
    want = sch.mod
    sch = Schedule(ELEMENTWISE.module)
    i, j = sch.get_loops("B")
    sch.annotate(j, "note", 1)
    sch.bind(i, "blockIdx.x")
    sch.transform_block_layout("B", lambda i, j: (j, i))
    assert_structural_equal(sch.mod, want)
    runs(sch, ELEMENTWISE)


def test_transform_block_layout_is_refused():
    sch = Schedule(MATMUL.module)
    move = sch.transform_block_layout
    refused(sch, lambda: move("C", lambda i, j, k: (i, j * 8 + k)), "mixes reduction and spatial")
    refused(sch, lambda: move("C", lambda i, j, k: (i, j % 2, k)), "way back")
    sch.split(sch.get_loops("C")[0], [None, 2])
    refused(sch, lambda: move("C", lambda i, j, k: (j, i, k)), "not just the variable")
    sch = Schedule(WINDOW.module)
    sch.compute_at("B", sch.get_loops("C")[0])
    refused(sch, lambda: sch.transform_block_layout("C", lambda i, k: (k, i)), "not all that")
